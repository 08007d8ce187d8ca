"""After a restore of this database: what the stream DELIVERY still says of each decision, as claims again. Pure.

Laws
- What is there is never taken back: an accepted, failed or cancelled claim stays, a level only goes forward.
- Begun and without an end that the stream knows: uncertain, said so, and settled by what the channel said or says. The
  same of a dispatch that the database still shows: its call may have been made in the part of the past that is lost.
- Nothing here sends, or leads to a send.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

import msgspec

from contracts import messages as m
from contracts.channel import Accepted, Level, Uncertain, advance
from services.delivery import settling
from services.delivery.dispatch import EARLY
from services.delivery.facts import Claim
from services.delivery.store import claims, recovered
from shared import seal
from shared.bus import NOTHING, CancelJobs, Effects
from shared.db import Write
from shared.ids import derived_id

LOST: Final = Uncertain(
    code="record_lost", detail="delivery's database was restored; the channel may have taken it before."
)
_ENDS: Final[dict[type[m.SendMessage], Literal["uncertain", "failed", "cancelled"]]] = {
    m.SendUncertain: "uncertain",
    m.SendFailed: "failed",
    m.SendRefused: "cancelled",  # the channel had proved that it took nothing, and then it was stopped
}
_LEVELS: Final[dict[str, Level]] = {"server": "sent", "device": "delivered", "read": "read", "played": "played"}


class Past(msgspec.Struct, frozen=True, kw_only=True):
    """What delivery said of a decision that it began to send, up to the last word."""

    begun: m.SendBegun
    state: Literal["begun", "uncertain", "accepted", "failed", "cancelled"] = "begun"
    code: str = ""
    detail: str = ""
    at: datetime
    accepted: m.SendAccepted | None = None
    level: Level | None = None


def pasts(said: Iterable[m.Message]) -> dict[UUID, Past]:
    """By decision. What was refused before it began is in none: nothing was sent.

    Args:
        said: the messages of `delivery.sends`, those of a conversation in their order.
    """
    found: dict[UUID, Past] = {}
    for one in said:
        match one:
            case m.SendBegun():
                found[one.decision_id] = Past(begun=one, at=one.at)
            case m.SendAccepted() | m.SendUncertain() | m.SendFailed() | m.SendRefused() | m.SendStatusChanged():
                if one.decision_id in found:
                    found[one.decision_id] = _after(found[one.decision_id], one)
            case _:
                pass
    return found


def _after(past: Past, one: m.SendMessage) -> Past:
    changed = msgspec.structs.replace
    match one:
        case m.SendAccepted():
            return changed(past, state="accepted", accepted=one, level="pending", at=one.at)
        case m.SendStatusChanged():
            return changed(past, level=advance(past.level, _LEVELS[one.level]))
        case m.SendFailed() if past.accepted is not None:
            return changed(past, level="failed")
        case m.SendFailed() | m.SendUncertain() | m.SendRefused():
            return changed(past, state=_ENDS[type(one)], code=one.code, detail=one.detail, at=one.at)
        case _:
            return past


def is_of(command: m.SendCommand, past: Past) -> bool:
    """Whether it is the command of this send, by what both say of text and chat."""
    snapshot = command.snapshot
    digest = seal.text_digest(snapshot.destination.chat, snapshot.body)
    return (snapshot.decision_id, digest) == (past.begun.decision_id, past.begun.text_digest)


# ------------------------------------------------------------------------------------------------------------- a claim


def made(command: m.SendCommand, past: Past) -> Write | None:
    """The claim that is gone, where the stream says that it ended; None where nothing was sent."""
    if past.state == "cancelled":
        return None
    state = "uncertain" if past.state == "begun" else past.state
    code, detail = (LOST.code, LOST.detail) if past.state == "begun" else (past.code, past.detail)
    stanza = past.accepted.provider_id if past.accepted else None
    return recovered.insert(command, past.begun, state, code, detail, stanza=stanza, level=past.level, at=past.at)


def after_it_was_made(claim: Claim, past: Past, now: datetime) -> Effects:
    """What belongs to a claim that `made` wrote: its receipt, or the news that nobody knows."""
    if past.accepted is not None:
        return Effects(writes=[_receipt(claim, past.accepted)])
    if past.state in {"begun", "uncertain"}:
        told = _unknown(claim, now)
        return told if past.state == "begun" else Effects(jobs=told.jobs)
    return NOTHING


def moved(claim: Claim, past: Past | None, now: datetime) -> Effects:
    """What a claim that is there lacks."""
    if claim.state == "accepted":
        return _level(claim, past)
    if past is None or _is_known(claim, past):
        return _unknown(claim, now) if claim.state == "dispatching" else NOTHING
    return NOTHING if claim.state in {"failed", "cancelled"} else _caught_up(claim, past, now)


def _is_known(claim: Claim, past: Past) -> bool:
    """The database has this beginning, and the stream no end of it: what the claim became is all that is known."""
    return past.state == "begun" and claim.begun_at is not None and past.begun.at <= claim.begun_at


def _caught_up(claim: Claim, past: Past, now: datetime) -> Effects:
    if past.state == "cancelled":
        return Effects(writes=recovered.stopped(claim, past.code, past.detail, past.at))
    if past.state in {"begun", "uncertain"}:
        return _uncertain(claim, past, now)
    begun = recovered.begun(claim, past.begun)
    if past.accepted is None:
        ended = claims.settle(claim, "failed", past.code, past.detail, evidence="the stream", now=past.at)
        return Effects(writes=[*begun, ended], cancels=_lookups(claim))
    stanza = past.accepted.provider_id
    taken = Accepted(provider_id=stanza, stanza_id=stanza)
    accepted = claims.accept(claim, taken, past.level, "the stream", past.at)
    return Effects(writes=[*begun, accepted, _receipt(claim, past.accepted)], cancels=_lookups(claim))


def _uncertain(claim: Claim, past: Past, now: datetime) -> Effects:
    if claim.state == "uncertain":
        return NOTHING
    told = _unknown(claim, now)
    said = told.says if past.state == "begun" else ()
    return Effects(writes=[*recovered.begun(claim, past.begun), *told.writes], says=said, jobs=told.jobs)


def _unknown(claim: Claim, now: datetime) -> Effects:
    """Uncertain, and what came of it before this is looked for in the database."""
    told = settling.uncertain(claim, LOST, derived_id(claim.decision_id, "recovered"), now)
    look = settling.job(EARLY, derived_id(claim.decision_id, EARLY), claim)
    return told + Effects(jobs=[look])


def _level(claim: Claim, past: Past | None) -> Effects:
    level = advance(claim.level, past.level) if past else None
    return NOTHING if level is None or level == claim.level else Effects(writes=[claims.set_level(claim, level)])


def _receipt(claim: Claim, accepted: m.SendAccepted) -> Write:
    taken = Accepted(provider_id=accepted.provider_id, stanza_id=accepted.provider_id)
    return claims.receipt(claim, taken, accepted.receipt, accepted.at)


def _lookups(claim: Claim) -> list[CancelJobs]:
    return [CancelJobs(settling.RECONCILE, str(claim.decision_id))]
