"""What follows from a fate or a proof: the claim's move, its receipt, and what is said. Pure.

Laws
- A receipt (seal 3) is written in the transaction that accepts the claim, never without it.
- The same coordinate again changes nothing; another coordinate for an accepted claim is an error for people.
- `uncertain` is left by evidence only, and never by sending again.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final, assert_never
from uuid import UUID

import msgspec

from contracts import messages as m
from contracts.channel import Accepted, Failed, Fate, Level, TryAgain, Uncertain, advance
from services.delivery.dispatch import BEGIN, OVERDUE, RECONCILE, ForDecision, rest_step, wait_after
from services.delivery.facts import Claim, Report
from services.delivery.store import claims, heard
from services.delivery.verification import Refusal
from shared import seal
from shared.bus import NOTHING, CancelJobs, Effects, Reject, StartJob
from shared.ids import derived_id
from shared.seal import ReceiptSeal, Signer

_json = msgspec.json.Encoder()

FIRST_CONTACT_PAUSE: Final = timedelta(hours=24)
EARLY_NEWS_KEPT: Final = timedelta(days=1)
HAND_FAILURE_AFTER: Final = timedelta(minutes=10)
FIRST_LOOKUP_SECONDS: Final = 10.0

_SPOKEN: Final[dict[Level, Any]] = {"sent": "server", "delivered": "device", "read": "read", "played": "played"}


def about(claim: Claim, now: datetime) -> dict[str, Any]:
    """The fields that every message of delivery shares."""
    return {
        "tenant": claim.tenant,
        "decision_id": claim.decision_id,
        "obligation_id": claim.obligation_id,
        "conversation_id": claim.conversation_id,
        "channel_id": claim.channel_id,
        "at": now,
    }


def job(
    kind: str, id_: UUID, claim: Claim, *, token: UUID | None = None, tries: int = 0, after: float = 0.0
) -> StartJob:
    """A job about a claim. Those of the queue are ordered by number; the others are the decision's own."""
    payload = ForDecision(claim.decision_id, token, tries)
    if kind == BEGIN:
        return _queued(kind, id_, payload, claim.channel_id, after)
    return StartJob(id_, kind, str(claim.decision_id), _json.encode(payload), after_seconds=after)


def first_job(kind: str, id_: UUID, snapshot: m.Snapshot) -> StartJob:
    """The first job of a claim that is being made: at the end of its number's queue."""
    return _queued(kind, id_, ForDecision(snapshot.decision_id), snapshot.destination.channel_id, 0.0)


def _queued(kind: str, id_: UUID, payload: ForDecision, channel_id: UUID, after: float) -> StartJob:
    return StartJob(id_, kind, str(channel_id), _json.encode(payload), after_seconds=after, is_ordered=True)


# --------------------------------------------------------------------------------------------------------------- fates


def of_fate(claim: Claim, fate: Fate, early: Report | None, *, signer: Signer, cause: UUID, now: datetime) -> Effects:
    """What a call's end leads to. `early` is what was already reported about the message."""
    ended = Effects(
        writes=[claims.end_attempt(claim, fate, now)], cancels=[CancelJobs(OVERDUE, str(claim.decision_id))]
    )
    match fate:
        case Accepted():
            return ended + accepted(claim, fate, early, "the channel's answer", signer=signer, now=now)
        case Failed():
            return ended + _pause(claim, fate, now) + _failed(claim, fate.code, fate.detail, now)
        case TryAgain():
            return ended + again(claim, fate, cause, now)
        case Uncertain():
            if claim.state != "dispatching":
                return ended
            return ended + unknown(claim, fate, early, signer=signer, cause=cause, now=now)
        case _:
            assert_never(fate)


def accepted(
    claim: Claim, taken: Accepted, early: Report | None, evidence: str, *, signer: Signer, now: datetime
) -> Effects:
    """Accept once: claim, receipt and event together."""
    if claim.state == "accepted" and taken.stanza_id == claim.stanza_id:
        return NOTHING
    if claim.state not in {"dispatching", "uncertain"}:
        raise Reject(f"decision {claim.decision_id} is {claim.state} and the channel names another message for it")
    envelope = _receipt(claim, taken, signer, now)
    level = advance("pending", early.level if early else None)
    before = now - EARLY_NEWS_KEPT
    said = m.SendAccepted(
        **about(claim, now),
        provider_id=taken.stanza_id,
        receipt=envelope,
        body=claims.command_of(claim).snapshot.body,
    )
    return Effects(
        writes=[
            claims.accept(claim, taken, level, evidence, now),
            claims.receipt(claim, taken, envelope, now),
            *heard.forget_early(claim.channel_id, before),
        ],
        says=[said, *_news(claim, taken.stanza_id, level, early, now)],
        cancels=[CancelJobs(RECONCILE, str(claim.decision_id))],
    )


def _receipt(claim: Claim, taken: Accepted, signer: Signer, now: datetime) -> m.Envelope:
    command = claims.command_of(claim)
    statement = ReceiptSeal(
        decision_id=claim.decision_id,
        obligation_id=claim.obligation_id,
        commitment=command.snapshot.commitment,
        approval_sha256=seal.fingerprint(command.approval_seal),
        clearance_sha256=seal.fingerprint(command.clearance_seal),
        provider_id=taken.provider_id,
        accepted_at=now,
    )
    return signer.sign(statement, now=now)


def _failed(claim: Claim, code: str, detail: str, now: datetime, evidence: str = "the channel's answer") -> Effects:
    return Effects(
        writes=[claims.settle(claim, "failed", code, detail, evidence=evidence, now=now)],
        says=[m.SendFailed(**about(claim, now), code=code, detail=detail)],
        cancels=[CancelJobs(RECONCILE, str(claim.decision_id))],
    )


def _pause(claim: Claim, fate: Failed, now: datetime) -> Effects:
    if not fate.is_account_restricted:
        return NOTHING
    return Effects(writes=[heard.pause_first_contacts(claim.channel_id, claim.tenant, now + FIRST_CONTACT_PAUSE)])


def again(claim: Claim, fate: TryAgain, cause: UUID, now: datetime) -> Effects:
    """Back into the queue within `send_by`; the number rests meanwhile."""
    wait = wait_after(claim.attempts, fate.retry_after)
    held = Effects(writes=[heard.hold_number(claim, now + wait)])
    if claim.state != "dispatching":  # the watchdog was faster: it may not be sent any more
        return held + _failed(claim, fate.code, fate.detail, now)
    if now + wait >= claim.send_by:
        detail = f"{fate.detail} There was no time left for another try."
        return held + _failed(claim, "send_by_passed", detail, now)
    return held + Effects(
        writes=[claims.rearm(claim, fate.code, fate.detail)],
        jobs=[job(BEGIN, derived_id(cause, BEGIN), claim, after=rest_step(wait))],
    )


def not_called() -> TryAgain:
    """No attempt was begun, or no byte was written: as certain as a refused connection."""
    return TryAgain(code="not_called", detail="The call was not made in time; nothing left.")


def unknown(
    claim: Claim, fate: Uncertain, early: Report | None, *, signer: Signer, cause: UUID, now: datetime
) -> Effects:
    """A call that does not tell: what was reported meanwhile does, or it is uncertain."""
    proven = of_report(claim, early, signer=signer, now=now) if early else NOTHING
    return uncertain(claim, fate, cause, now) if proven is NOTHING else proven


def uncertain(claim: Claim, fate: Uncertain, cause: UUID, now: datetime) -> Effects:
    """Held, shown, looked up where there is an id to look up; never sent again."""
    lookup = derived_id(cause, RECONCILE)
    return Effects(
        writes=[claims.settle(claim, "uncertain", fate.code, fate.detail, evidence="", now=now)],
        says=[m.SendUncertain(**about(claim, now), code=fate.code, detail=fate.detail)],
        jobs=[job(RECONCILE, lookup, claim, after=FIRST_LOOKUP_SECONDS)] if claim.message_id else [],
    )


# -------------------------------------------------------------------------------------------------------------- proofs


def of_report(claim: Claim, report: Report, *, signer: Signer, now: datetime) -> Effects:
    """What news about a message means for the claim that owns it. NOTHING when it proves and changes nothing."""
    if claim.state == "accepted":
        return _advanced(claim, report, now)
    if claim.state not in {"dispatching", "uncertain"}:
        return NOTHING
    if report.level == "failed":
        code, detail = _given_up(report)
        return _failed(claim, code, detail, now, evidence=f"{report.source} {report.provider_id}")
    if not proves_acceptance(report):
        return NOTHING
    taken = Accepted(provider_id=report.provider_id, stanza_id=report.provider_id)
    return accepted(claim, taken, report, f"{report.source} {report.provider_id}", signer=signer, now=now)


def of_reports(news: Sequence[tuple[Claim, Report]], *, signer: Signer, now: datetime) -> Effects:
    """Each report to its claim."""
    effects = NOTHING
    for claim, report in news:
        effects += of_report(claim, report, signer=signer, now=now)
    return effects


def proves_acceptance(report: Report) -> bool:
    """A level from the server on, or an echo. `pending` is only the channel's own queue."""
    return report.source != "status" or report.level not in {None, "pending", "failed"}


def _advanced(claim: Claim, report: Report, now: datetime) -> Effects:
    level = advance(claim.level, report.level)
    if level is None or level == claim.level or claim.stanza_id is None:
        return NOTHING
    said = _news(claim, claim.stanza_id, level, report, now)
    return Effects(writes=[claims.set_level(claim, level)], says=said)


def _news(
    claim: Claim, provider_id: str, level: Level | None, report: Report | None, now: datetime
) -> list[m.SendMessage]:
    if level == "failed" and report is not None:
        code, detail = _given_up(report)
        return [m.SendFailed(**about(claim, now), code=code, detail=detail)]
    if level is None or level not in _SPOKEN:
        return []
    return [m.SendStatusChanged(**about(claim, now), provider_id=provider_id, level=_SPOKEN[level])]


def _given_up(report: Report) -> tuple[str, str]:
    return f"provider_{report.error_code or 'error'}", "The channel reported that it gave the message up."


# -------------------------------------------------------------------------------------------------------------- people


def why_not_by_hand(claim: Claim, *, is_sent: bool, now: datetime) -> Refusal | None:
    """Why a person's word cannot settle this send; None when it can."""
    if claim.state != "uncertain" or claim.begun_at is None:
        return Refusal(
            code="not_uncertain", detail=f"This send is {claim.state}, not uncertain; there is nothing to settle."
        )
    if not is_sent and now < claim.begun_at + HAND_FAILURE_AFTER:
        detail = "It may still be on its way; 'not sent' can be settled 10 minutes after the send began."
        return Refusal(code="too_soon", detail=detail)
    return None


def by_hand(
    claim: Claim, provider_id: str | None, early: Report | None, *, evidence: str, signer: Signer, now: datetime
) -> Effects:
    """A person settles an uncertain send: accepted as `provider_id`, or (None) failed."""
    if provider_id is None:
        return _failed(claim, "settled_by_person", "A person settled that it was not sent.", now, evidence)
    taken = Accepted(provider_id=provider_id, stanza_id=provider_id)
    return accepted(claim, taken, early, evidence, signer=signer, now=now)
