"""The speaking turn: perhaps one search, then one message; a refused message is said another way."""

import re
from typing import Any
from zlib import crc32

from deploy.local.model.answer import Answer, Call
from deploy.local.model.language import SPOKEN, Heard, fold, listen
from deploy.local.model.phrases import ANY_THING, HELLO, OLD_DAY, REPLIES, THINGS, WANTS
from deploy.local.model.request import Result, Turn
from deploy.local.model.schema import MISSING, Schema, as_list, as_map, fit
from deploy.local.model.tricks import COMING_BACK, LEAKS, WILD_OFFERS, tricks_in
from deploy.local.model.wishes import SENTENCE, follow, leave_out, phrases_of

FACTUAL = frozenset({"hours", "price"})
NOTED = ("text", "content", "answer", "body", "snippet", "excerpt", "passage")
HINTS = {"hours": re.compile(r"\d ?h|\d:\d\d|\d ?(am|pm)|horas"), "price": re.compile(r"R\$|US\$|\$|€|\d,\d\d")}


def speak(turn: Turn, tools: dict[str, Schema]) -> Answer:
    heard, tricks = listen(turn.words, tuple(turn.earlier)), tricks_in(turn.words)
    refused = [result for result in turn.results_of("send_message") if is_refused(result)]
    if len(turn.results_of("send_message")) > len(refused):
        return Answer()
    if "opt_out" in heard.topics or "silent" in tricks:
        return Answer(content=REPLIES[heard.language]["opt_out" if "opt_out" in heard.topics else "other"][0])
    if "search_knowledge" in tools and needs_fact(heard) and not turn.results_of("search_knowledge"):
        wanted = fit(tools["search_knowledge"], {"query": heard.words})
        return Answer(calls=(Call("search_knowledge", wanted),))
    text = draft(turn, heard, refused)
    return Answer(calls=(Call("send_message", arguments(tools["send_message"], text, heard, tricks, refused)),))


def is_refused(result: Result) -> bool:
    return as_map(result.value).get("status") == "refused"


def needs_fact(heard: Heard) -> bool:
    return bool(FACTUAL & set(heard.topics)) or ("question" in heard.topics and not heard.wants)


def arguments(
    schema: Schema, text: str, heard: Heard, tricks: dict[str, int | None], refused: list[Result]
) -> dict[str, Any]:
    topic = subjects(heard)[0]
    asks_case = any(re.search(r"\b(case|caso)\b", result.content) for result in refused)
    return fit(
        schema,
        {
            "text": text,
            "message": text,
            "body": text,
            "language": heard.language,
            "intent": WANTS[heard.language].get(topic, topic),
            "needs_person": "human" in heard.topics or "person" in tricks,
            "needs_case": "complaint" in heard.topics or asks_case,
        },
    )


def draft(turn: Turn, heard: Heard, refused: list[Result]) -> str:
    """One draft: a trick's text where a marker asks for it, else the composed one without what was refused."""
    tricks, language = tricks_in(turn.words), heard.language
    if "leak-always" in tricks or ("leak" in tricks and not refused):
        return LEAKS[language]
    if "promise" in tricks and not refused:
        return WILD_OFFERS[language]
    text = compose(turn, heard, len(refused))
    for wish in turn.instructions:
        text = follow(text, wish, language)
    if "promise-owner" in tricks:
        text = f"{text} {COMING_BACK[language]}"
    unsaid = leave_out(text, [phrase for result in refused for phrase in phrases_of(result.value)])
    return unsaid or worded("other", turn, language, len(refused))


def compose(turn: Turn, heard: Heard, attempt: int) -> str:
    """A sentence for each thing asked, with a greeting on the first message of a conversation."""
    language = heard.language
    if turn.reply and not turn.instructions and not turn.results:
        return worded("follow_up", turn, language, attempt)
    sentences = [said(topic, turn, heard, attempt) for topic in subjects(heard)]
    opening = [pick(HELLO[language], turn, attempt)] if "greeting" in heard.topics else []
    return " ".join(dict.fromkeys(opening + sentences))


def subjects(heard: Heard) -> tuple[str, ...]:
    """What the reply speaks about: each thing wanted, else the stated fact, else the courtesy itself."""
    wants = tuple(
        topic for topic in heard.wants if topic != "human" or len(heard.wants) == 1 or heard.wants[-1] == topic
    )
    if heard.fact:
        return (*(topic for topic in wants if topic != "robot"), "fact")
    return (
        wants
        or tuple(topic for topic in ("thanks", "confirm", "question", "greeting") if topic in heard.topics)[:1]
        or ("other",)
    )


def said(topic: str, turn: Turn, heard: Heard, attempt: int) -> str:
    found = ""
    if topic in FACTUAL or topic == "question":
        found = relevant(turn, heard, topic)
        topic = "unknown" if not found else topic if topic in FACTUAL else "found"
    return worded(topic, turn, heard.language, attempt).format(
        found=found,
        thing=thing_in(heard),
        old_day=OLD_DAY[heard.language].format(day=heard.days[0]) if heard.days else "",
        day_and_hour=f": {when}"
        if (when := " ".join([*heard.days[:1], *([heard.hour] if heard.hour else [])]))
        else "",
        fact=" ".join(heard.fact) if heard.fact else "",
    )


def worded(topic: str, turn: Turn, language: str, attempt: int) -> str:
    return pick(REPLIES[language][topic], turn, attempt)


def pick(wordings: tuple[str, ...], turn: Turn, attempt: int) -> str:
    """Different conversations get different wordings, and so does each rewrite; the same request gets the same one."""
    conversation = crc32("\n".join([turn.prompt, *turn.earlier, *turn.customer]).encode("utf-8", "replace"))
    return wordings[(conversation + attempt) % len(wordings)]


def thing_in(heard: Heard) -> str:
    words = heard.words.lower()
    return next((name for part, name in THINGS[heard.language] if part in words), ANY_THING[heard.language])


def relevant(turn: Turn, heard: Heard, topic: str) -> str:
    """At most two sentences of what the search found, in their order: those that share the question's words or form."""
    found = [one.strip() for result in turn.results_of("search_knowledge") for one in sentences_of(result.value)]
    common = frozenset[str]().union(*SPOKEN.values())
    words = set(re.findall(r"[a-z]{4,}", fold(heard.words))) - common

    def score(sentence: str) -> int:
        shared = sum(word in fold(sentence) for word in words)
        return 4 * shared + (3 if topic in HINTS and HINTS[topic].search(sentence) else 0)

    best = sorted(dict.fromkeys(found), key=score, reverse=True)[:2]
    chosen = [one for one in found if one in best and score(one) and score(one) >= score(best[0]) - 1]
    return " ".join(one if one.endswith((".", "!", "?")) else f"{one}." for one in dict.fromkeys(chosen))


def sentences_of(found: Any) -> list[str]:
    """The readable sentences of a search result, whatever its shape; questions of an FAQ are not answers."""
    if isinstance(found, str):
        return [one for one in SENTENCE.split(found) if one.strip() and not one.rstrip().endswith("?")]
    if isinstance(found, list):
        return [one for item in as_list(found) for one in sentences_of(item)]
    named = as_map(found)
    direct = next((named[key] for key in NOTED if isinstance(named.get(key), str)), MISSING)
    if direct is not MISSING:
        return sentences_of(direct)
    return [one for value in named.values() if isinstance(value, dict | list) for one in sentences_of(value)]
