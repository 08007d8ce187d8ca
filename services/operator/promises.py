"""Promises that left with a text, and whether somebody is responsible for them.

Laws
- Nothing is judged before the text left: a promise in a draft binds nobody.
- A text that ended without a send voids its promises; filed again, they wait again.
- The alert says that nobody is responsible. It never says that a promise was not kept.
"""

from typing import Literal
from uuid import UUID

from msgspec import Struct

PromiseState = Literal["waiting", "void", "owned", "ownerless"]
FilingState = Literal["open", "ended", "sent"]


class Kept(Struct, frozen=True, kw_only=True):
    """A promise as it is remembered."""

    promise_id: UUID
    what: str
    state: PromiseState


class Standing(Struct, frozen=True, kw_only=True):
    """Everything that the judgement of a turn's promises rests on."""

    tenant: UUID
    turn_id: UUID
    conversation_id: UUID
    contact_id: UUID
    language: str
    promises: tuple[Kept, ...]
    filings: tuple[FilingState, ...]
    did_act: bool
    has_live_owner: bool


class Judged(Struct, frozen=True, kw_only=True):
    """A promise whose state changes."""

    promise_id: UUID
    what: str
    state: PromiseState


def judge(standing: Standing) -> tuple[Judged, ...]:
    """Only what changes. A promise that was found owned or ownerless stays so."""
    wanted = _state(standing)
    return tuple(
        Judged(promise_id=one.promise_id, what=one.what, state=wanted)
        for one in standing.promises
        if wanted and one.state in ("waiting", "void") and one.state != wanted
    )


def _state(standing: Standing) -> PromiseState | None:
    """What the promises of the turn are now; None while no text of the turn was filed."""
    if not standing.filings:
        return None
    if "sent" in standing.filings:
        return "owned" if standing.did_act or standing.has_live_owner else "ownerless"
    return "waiting" if "open" in standing.filings else "void"
