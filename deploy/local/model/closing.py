"""The closing: what the customer wants, with their words, and what our reply promised."""

import re
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

import msgspec

from deploy.local.model.answer import Answer
from deploy.local.model.language import Heard, fold, listen
from deploy.local.model.phrases import WANTS
from deploy.local.model.request import Message, Turn, read_closed_turn
from deploy.local.model.schema import Schema, fit
from deploy.local.model.tricks import tricks_in
from deploy.local.model.wishes import SENTENCE

PROMISE = re.compile(
    r"\b(retorn(amos|o|aremos)|respond(emos|o) (ate|amanha|hoje)|(te|lhe) (aviso|avisamos|envio|enviamos|ligo|ligamos)"
    r"|(vou|vamos) (te |lhe )?(avisar|enviar|retornar|ligar|mandar)|entreg(amos|aremos)"
    r"|we will|we'll|i will|i'll|get back to you|le (respondemos|avisamos|enviamos|llamamos))\b"
)
TOMORROW = re.compile(r"\b(amanha|tomorrow|manana)\b")
TODAY = re.compile(
    r"(?:hoje|today|hoy|now|agora|ahora)\D{0,30}?(?:(\d{4})-(\d\d)-(\d\d)|(\d\d)/(\d\d)/(\d{4}))", re.IGNORECASE
)
DUE_HOUR = time(18, tzinfo=timezone(timedelta(hours=-3)))
NEXT = {
    "pt": {
        "reschedule": "combinar o novo dia",
        "cancel": "confirmar o cancelamento",
        "book": "combinar o dia",
        "price": "acompanhar o interesse",
        "complaint": "entender o que houve",
        "human": "uma pessoa assumir",
    },
    "en": {
        "reschedule": "agree on the new day",
        "cancel": "confirm the cancellation",
        "book": "agree on the day",
        "price": "follow up on the interest",
        "complaint": "find out what went wrong",
        "human": "a person takes over",
    },
    "es": {
        "reschedule": "acordar el nuevo día",
        "cancel": "confirmar la cancelación",
        "book": "acordar el día",
        "price": "seguir el interés",
        "complaint": "entender lo que pasó",
        "human": "una persona toma la conversación",
    },
}
SUMMARY = {
    "pt": "Cliente escreveu: “{words}”. Resposta: “{reply}”.",
    "en": "Customer wrote: “{words}”. Reply: “{reply}”.",
    "es": "El cliente escribió: “{words}”. Respuesta: “{reply}”.",
}
BROKEN: dict[str, Any] = {"intencoes": [], "promessas": [], "resumo": "…", "nada": True}


def close(messages: list[Message], schema: Schema) -> Answer:
    turn = read_closed_turn(messages)
    tricks = tricks_in(turn.words)
    if "no-closing" in tricks or ("broken-closing" in tricks and not is_correction(messages)):
        return Answer(content=encoded(BROKEN))
    return Answer(content=encoded(fit(schema, checkpoint(turn))))


def is_correction(messages: list[Message]) -> bool:
    """A closing of ours came back, or somebody names a field that only a broken closing has."""
    return any(
        (message.role == "assistant" and message.text.lstrip().startswith("{")) or "intencoes" in message.text
        for message in messages
    )


def encoded(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def checkpoint(turn: Turn) -> dict[str, Any]:
    heard = listen(turn.words, tuple(turn.earlier))
    intents, promises = intents_of(turn, heard), promises_of(turn)
    nexts = NEXT[heard.language]
    return {
        "commitments": [promise["what"] for promise in promises],
        "objections": [turn.words] if "expensive" in heard.topics else [],
        "next_action": next((nexts[topic] for topic in heard.wants if topic in nexts), None),
        "rolling_summary": SUMMARY[heard.language].format(words=shortened(turn.words), reply=shortened(turn.reply)),
        "declaration": {
            "intents": intents,
            "promises": promises,
            "nothing_to_declare": not intents and not promises,
        },
    }


def intents_of(turn: Turn, heard: Heard) -> list[dict[str, str]]:
    """Each thing wanted, with the message that shows it word for word; courtesy is nothing to declare."""
    names, found = WANTS[heard.language], list[dict[str, str]]()
    for words in turn.customer:
        one = listen(words, (*turn.earlier, *turn.customer))
        stated = [f"{names['fact']}: {' '.join(one.fact)}"] if one.fact else []
        confirmed = ["confirm"] if "confirm" in one.topics and (one.days or one.hour) else []
        asked = [*one.wants, *confirmed] or (["question"] if "question" in one.topics else [])
        unclear = ["other"] if not (asked or stated or one.topics) and one.words else []
        found += [{"what": what, "evidence": words} for what in [*(names[name] for name in asked + unclear), *stated]]
    return found


def promises_of(turn: Turn) -> list[dict[str, str | None]]:
    promised = [one.strip() for one in SENTENCE.split(turn.reply) if PROMISE.search(fold(one))]
    return [{"what": sentence, "due": due_of(sentence, turn.prompt)} for sentence in promised]


def due_of(sentence: str, prompt: str) -> str | None:
    """An instant only where the prompt says what today is: a guessed date would be worse than none."""
    stated = TODAY.search(prompt)
    if stated is None or not TOMORROW.search(fold(sentence)):
        return None
    year, month, day = stated.group(1, 2, 3) if stated[1] else stated.group(6, 5, 4)
    tomorrow = date(int(year), int(month), int(day)) + timedelta(days=1)
    return datetime.combine(tomorrow, DUE_HOUR).isoformat()


def shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 160 else f"{line[:159]}…"
