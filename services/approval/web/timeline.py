"""What happened to an item, in the order of time. Pure."""

from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple

from services.approval.store.views import Item
from services.approval.web.words import Speech

_LATE_SECONDS = 60


class Happened(NamedTuple):
    """A line of the timeline; `heard_at` only where we learned it noticeably later."""

    at: datetime
    what: str
    detail: str = ""
    heard_at: datetime | None = None


def timeline(item: Item, speech: Speech) -> list[Happened]:
    """Texts, votes, the customer's messages since the first text, and what guardrails and delivery told."""
    return sorted(
        (*_texts(item, speech), *_votes(item, speech), *_received(item, speech), *_told(item, speech)),
        key=lambda one: one.at,
    )


def author(name: str, origin: str, speech: Speech) -> str:
    return name if origin == "person" else speech.code("author", "agent")


def _texts(item: Item, speech: Speech) -> Iterable[Happened]:
    for version in item.versions:
        by = author(version.author, version.origin, speech)
        yield Happened(version.filed_at, speech.t("event.filed", n=version.epoch, author=by), version.commitment[:8])


def _votes(item: Item, speech: Speech) -> Iterable[Happened]:
    for vote in item.votes:
        yield Happened(vote.at, speech.t(f"event.{vote.verb}", who=vote.person, n=vote.epoch), vote.reason)


def _received(item: Item, speech: Speech) -> Iterable[Happened]:
    for said in item.conversation.history:
        if said.direction == "customer" and said.at >= item.opened_at:
            yield Happened(said.at, speech.t("event.received"))


def _told(item: Item, speech: Speech) -> Iterable[Happened]:
    for line in item.ledger:
        detail = " ".join(filter(None, (speech.code("code", line.code) if line.code else "", line.detail)))
        is_late = (line.heard_at - line.at).total_seconds() > _LATE_SECONDS
        yield Happened(line.at, speech.code("event", line.event), detail, line.heard_at if is_late else None)
