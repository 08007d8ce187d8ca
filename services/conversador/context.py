"""The prompt of the speaking role: a stable prefix, then what is particular to this conversation.

Laws
- Pure: the same `Situation` renders the same messages. The prefix depends on the house and the language alone.
- No word of a machine: no operation, table, field or role is named here (the leak detector reads every turn kind).
- Customers' words are theirs: never rewritten, always in the customer's place, and never able to pose as a note of
  the house (`[instruction]`, `[case]`, `[follow-up]`).
"""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from contracts.messages import TurnKind
from services.conversador.projection import spoken
from services.conversador.tools import KnowledgeFound, Refusal, refused
from services.conversador.voice import Voice, voice_of

SHOWN_ENTRIES = 30

ChatMessage = dict[str, Any]

_MARK: Final = re.compile(r"^([ \t]*)(?=\[)", re.MULTILINE)
_NAME: Final = re.compile(r"[^\W\d_][^\W\d_'’. -]{0,39}")
_MARKS: Final[dict[TurnKind, str]] = {
    "inbound_turn": "note",
    "preview_turn": "note",
    "followup_turn": "follow-up",
    "case_reply_turn": "case",
}


class Entry(Struct, frozen=True, kw_only=True):
    """A message of the conversation as history holds it."""

    author: Literal["customer", "us", "person"]
    text: str
    media_kind: str | None = None
    is_edited: bool = False
    is_revoked: bool = False


class Situation(Struct, frozen=True, kw_only=True):
    """Everything that a prompt is made of; `now` is local to the house."""

    kind: TurnKind
    language: str
    now: datetime
    house_name: str = ""
    house_voice: str = ""
    knowledge_titles: tuple[str, ...] = ()
    sender_name: str = ""
    summary: str = ""
    case_subject: str = ""
    facts: tuple[tuple[str, str], ...] = ()
    found: tuple[KnowledgeFound, ...] = ()
    entries: tuple[Entry, ...] = ()
    note: str = ""
    instruction: str = ""
    previous_body: str = ""


def drafting(situation: Situation, transcript: tuple[ChatMessage, ...]) -> list[ChatMessage]:
    """The prompt of a draft: everything, then what was already said in this turn."""
    return [*_base(situation), *_occasion(situation), *transcript]


def closing(situation: Situation, body: str) -> list[ChatMessage]:
    """The prompt of a closing: the conversation, the text of this turn, and the request to note what it meant."""
    voice = voice_of(situation.language)
    said: ChatMessage = {"role": "assistant", "content": body or voice.said_nothing}
    return [*_base(situation), *_occasion(situation), said, {"role": "user", "content": voice.close}]


def _base(situation: Situation) -> list[ChatMessage]:
    voice = voice_of(situation.language)
    return [
        {"role": "system", "content": _prefix(situation, voice)},
        {"role": "system", "content": "\n".join(_particulars(situation, voice))},
        *(_said(entry, voice) for entry in situation.entries),
    ]


def _prefix(situation: Situation, voice: Voice) -> str:
    titles = ", ".join(title for title in situation.knowledge_titles if spoken(title))
    house = situation.house_name or {"en": "us", "es": "nosotros"}.get(situation.language[:2], "nós")
    lines = [voice.who.format(house=house), situation.house_voice, *voice.rules]
    if titles:
        lines.append(voice.knows.format(titles=titles))
    return "\n".join(line for line in lines if line)


def _particulars(situation: Situation, voice: Voice) -> Iterator[str]:
    now = situation.now
    yield voice.today.format(weekday=voice.weekdays[now.weekday()], date=f"{now:%d/%m/%Y}", time=f"{now:%H:%M}")
    name = _NAME.fullmatch(situation.sender_name.partition("\n")[0].strip())
    if name:
        yield voice.person.format(name=name[0])
    if summary := spoken(situation.summary):
        yield voice.summary.format(summary=summary)
    if subject := spoken(situation.case_subject):
        yield voice.case.format(subject=subject)
    facts = [
        f"{spoken(subject)}: {spoken(value)}" for subject, value in situation.facts if spoken(subject) and spoken(value)
    ]
    if facts:
        yield voice.facts.format(facts="; ".join(facts))
    if situation.found:
        yield voice.found
        yield from (f"- {one.title}: {one.text}" for one in situation.found)


def _said(entry: Entry, voice: Voice) -> ChatMessage:
    if entry.author != "customer":
        return {"role": "assistant", "content": entry.text}
    return {"role": "user", "content": words_of(entry, voice)}


def words_of(entry: Entry, voice: Voice) -> str:
    """A customer's message: a note about what is no text, then the words; a bracket at a line's start is set off."""
    if entry.is_revoked:
        return voice.revoked
    media = voice.media.get(entry.media_kind, voice.other_media) if entry.media_kind else ""
    edited = voice.edited if entry.is_edited else ""
    return " ".join(part for part in (media, _MARK.sub(r"\1“", entry.text), edited) if part)


def _occasion(situation: Situation) -> Iterator[ChatMessage]:
    """Why the turn speaks when it is not the customer who just wrote, and what a person wants said differently."""
    if situation.note:
        yield {"role": "user", "content": f"[{_MARKS[situation.kind]}] {situation.note}"}
    if situation.instruction:
        yield from _sent_back(situation)


def _sent_back(situation: Situation) -> Iterator[ChatMessage]:
    arguments = {"text": situation.previous_body, "needs_person": False, "needs_case": False, "reason": ""}
    call = {
        "id": "earlier",
        "type": "function",
        "function": {"name": "send_message", "arguments": msgspec.json.encode(arguments).decode()},
    }
    asked: ChatMessage = {"role": "assistant", "content": None, "tool_calls": [call]}
    yield asked
    yield refused([asked], Refusal((), voice_of(situation.language).not_sent))
    yield {"role": "user", "content": f"[instruction] {situation.instruction}"}
