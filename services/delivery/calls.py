"""The way out of one claimed text: reserve an id, begin, call once, and the watchdog. The only slow work is the call.

Laws
- `begin` is one transaction: `claimed → dispatching`, `SendBegun` and the call's job; the call comes after its commit.
- `call` commits "perhaps called" (the attempt row) before it writes a byte. Whoever finds that row calls no more: what
  a crash interrupted is uncertain, whatever happened.
- The watchdog ends a dispatch whose call vanished: never called → back into the queue, perhaps called → uncertain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

import msgspec

from contracts import messages as m
from contracts.channel import Accepted, CannotSend, Failed, Fate, HttpRequest, Uncertain
from services.delivery import dispatch, metrics, settling
from services.delivery.adapters import WahaAdapter
from services.delivery.dispatch import BEGIN, CALL, EARLY, OVERDUE, RECONCILE, RESERVE, ForDecision
from services.delivery.facts import Claim, Number, Report
from services.delivery.kit import Kit
from services.delivery.sender import Call, TooLate
from services.delivery.store import claims, heard
from services.delivery.verification import Refusal, Verified, verify
from shared import crash, log
from shared.bus import NOTHING, CancelJobs, Effects, Job, Retry, Slow, Timer
from shared.clock import monotonic
from shared.db import Tx
from shared.ids import derived_id

_log = log.get(__name__)
_payload = msgspec.json.Decoder(ForDecision)

LOOKUP_SECONDS = (30.0, 60.0, 120.0, 300.0, 600.0)
INTERRUPTED = Uncertain(
    code="interrupted", detail="The process stopped during the call; the channel may have taken it."
)
NO_RESULT = Uncertain(code="no_result", detail="The call's result was never recorded; the channel may have taken it.")


def slow(kit: Kit) -> tuple[Slow, ...]:
    return (
        Slow(RESERVE, partial(_prepare_reserve, kit), kit.sender.call, partial(_finish_reserve, kit)),
        Slow(CALL, partial(_prepare_call, kit), partial(_work_call, kit), partial(_finish_call, kit)),
        Slow(RECONCILE, partial(_prepare_lookup, kit), kit.sender.call, partial(_finish_lookup, kit)),
    )


def timers(kit: Kit) -> tuple[Timer, ...]:
    return (
        Timer(BEGIN, partial(_load_begin, kit), partial(on_begin, kit)),
        Timer(OVERDUE, _load_overdue, partial(on_overdue, kit)),
        Timer(EARLY, _load_early, partial(on_early, kit)),
    )


def _adapter(kit: Kit, claim: Claim) -> WahaAdapter | None:
    return kit.adapters.get(claim.channel_id)


def _lookup(kit: Kit, adapter: WahaAdapter, request: HttpRequest) -> Call:
    seconds = kit.config.lookup_timeout_seconds
    return Call(
        base_url=adapter.channel.base_url,
        credential=adapter.credential,
        request=request,
        timeout_seconds=seconds,
        write_before=monotonic() + seconds,
    )


def counted(effects: Effects) -> Effects:
    """Count what is said about sends."""
    for said in effects.says:
        name = type(said).__name__.removeprefix("Send").lower()
        if name != "statuschanged":
            metrics.SENDS.labels(name).inc()
    return effects


# ------------------------------------------------------------------------------------------------------- reserve an id


async def _prepare_reserve(kit: Kit, tx: Tx, job: Job) -> Call | None:
    claim = await claims.locked(tx, _payload.decode(job.payload).decision_id)
    adapter = _adapter(kit, claim) if claim else None
    if claim is None or claim.state != "claimed" or adapter is None:
        return None
    return _lookup(kit, adapter, adapter.ask_message_id())


async def _finish_reserve(kit: Kit, tx: Tx, job: Job, _call: Call, answer: Any) -> Effects:
    """With an id or without one: a channel that cannot reserve sends all the same."""
    claim = await claims.locked(tx, _payload.decode(job.payload).decision_id)
    adapter = _adapter(kit, claim) if claim else None
    if claim is None or claim.state != "claimed" or adapter is None:
        return NOTHING
    message_id = None if isinstance(answer, TooLate) else adapter.message_id_of(answer)
    writes = [claims.reserve(claim, message_id)] if message_id and claim.message_id is None else []
    return Effects(writes=writes, jobs=[settling.job(BEGIN, derived_id(job.id, BEGIN), claim)])


# --------------------------------------------------------------------------------------------------------------- begin


class Beginning(msgspec.Struct, frozen=True):
    """A claim at the head of its number's queue."""

    claim: Claim
    verdict: Verified | Refusal
    number: Number


async def _load_begin(kit: Kit, tx: Tx, job: Job) -> Beginning | None:
    crash.point("delivery.claimed")
    claim = await claims.locked(tx, _payload.decode(job.payload).decision_id)
    if claim is None or claim.state != "claimed":
        return None
    number = await heard.number(tx, claim)
    command = claims.command_of(claim)
    known = await heard.about(tx, command.snapshot)
    return Beginning(claim, verify(command, known, ring=kit.ring, adapters=kit.adapters, now=job.now), number)


def on_begin(kit: Kit, job: Job, beginning: Beginning | None) -> Effects:
    """Begin-dispatch: verified again, compare-and-set, said, and only then the call."""
    if beginning is None:
        return NOTHING
    claim = beginning.claim
    decision = dispatch.decide(beginning.verdict, beginning.number, signs_until=kit.signs_until, now=job.now)
    match decision:
        case dispatch.Wait():
            raise Retry(decision.seconds, decision.why)
        case dispatch.Stop():
            return counted(stopped(claim, decision.state, decision.refusal, job.now))
        case dispatch.Go():
            return counted(_go(job, claim, decision.call_before))


def stopped(claim: Claim, state: str, refusal: Refusal, now: datetime) -> Effects:
    """Nothing was sent and nothing will be by this claim; people see why."""
    return Effects(
        writes=[claims.stop(claim, state, refusal.code, refusal.detail, now)],
        says=[m.SendRefused(**settling.about(claim, now), code=refusal.code, detail=refusal.detail)],
    )


def _go(job: Job, claim: Claim, call_before: datetime) -> Effects:
    begun = m.SendBegun(
        **settling.about(claim, job.now), chat=claim.chat, text_digest=claim.text_digest, provider_id=claim.message_id
    )
    watch = dispatch.WATCH_AFTER.total_seconds()
    return Effects(
        writes=[claims.begin(claim, job.token, job.now, call_before)],
        says=[begun],
        jobs=[
            settling.job(CALL, derived_id(job.id, CALL), claim, token=job.token),
            settling.job(OVERDUE, derived_id(job.id, OVERDUE), claim, token=job.token, after=watch),
        ],
    )


# ---------------------------------------------------------------------------------------------------------------- call


@dataclass(frozen=True, slots=True)
class Prepared:
    """A call whose attempt row is committed; without `call` it must not be made."""

    claim: Claim
    call: Call | None
    instead: Fate | None = None


async def _prepare_call(kit: Kit, tx: Tx, job: Job) -> Prepared | None:
    crash.point("delivery.begun")
    started = monotonic()
    payload = _payload.decode(job.payload)
    claim = await claims.locked(tx, payload.decision_id)
    if claim is None or claim.state != "dispatching" or claim.token != payload.token or claim.call_before is None:
        return None
    if await heard.is_held(tx) and not await claims.has_attempt(tx, claim):
        return Prepared(claim, None, settling.not_called())
    if not await claims.begin_attempt(tx, claim):
        return Prepared(claim, None, INTERRUPTED)
    now = await tx.now()
    metrics.WAITED.observe(max(0.0, (now - claim.decided_at).total_seconds()))
    return _prepared(kit, claim, started + (claim.call_before - now).total_seconds())


def _prepared(kit: Kit, claim: Claim, write_before: float) -> Prepared:
    adapter = _adapter(kit, claim)
    if adapter is None:
        return Prepared(claim, None, Failed(code="channel_unknown", detail="The channel is not configured here."))
    snapshot = claims.command_of(claim).snapshot
    request = adapter.render(snapshot.destination, snapshot.body, claim.message_id)
    if isinstance(request, CannotSend):
        return Prepared(claim, None, Failed(code=request.code, detail=request.detail))
    call = Call(
        base_url=adapter.channel.base_url,
        credential=adapter.credential,
        request=request,
        timeout_seconds=kit.config.call_timeout_seconds,
        write_before=write_before,
    )
    return Prepared(claim, call)


async def _work_call(kit: Kit, prepared: Prepared) -> Fate | TooLate:
    adapter = _adapter(kit, prepared.claim)
    if prepared.call is None or adapter is None:
        assert prepared.instead is not None
        return prepared.instead
    _log.info("calling the channel", decision=str(prepared.claim.decision_id), attempt=prepared.claim.attempts)
    crash.point("delivery.before_call")
    answer = await kit.sender.call(prepared.call)
    crash.point("delivery.answered")
    return answer if isinstance(answer, TooLate) else adapter.fate(answer)


async def _finish_call(kit: Kit, tx: Tx, job: Job, prepared: Prepared, fate: Fate | TooLate) -> Effects:
    await heard.one_after_the_other(tx, [prepared.claim.channel_id])
    claim, waiting = await claims.of_text(tx, prepared.claim.decision_id)
    if claim is None or claim.token != prepared.claim.token:
        return NOTHING  # the watchdog gave this dispatch up before its attempt began
    settled = settling.not_called() if isinstance(fate, TooLate) else fate
    name = settled.__struct_config__.tag
    _log.info("the channel answered", decision=str(claim.decision_id), attempt=claim.attempts, fate=name)
    if name == "try_again":
        metrics.SENDS.labels("try_again").inc()
    early, now = await _early(tx, claim, settled), await tx.now()
    ended = settling.of_fate(claim, settled, early, signer=kit.signer, cause=job.id, now=now)
    left = await _left_over(tx, claim, settled, early, waiting)
    return counted(ended + settling.of_reports(left, signer=kit.signer, now=now))


async def _early(tx: Tx, claim: Claim, fate: Fate) -> Report | None:
    """What was reported before the call's end: by the message's ids, or by an echo of its text."""
    match fate:
        case Accepted():
            return await heard.early(tx, claim, [fate.stanza_id, fate.provider_id])
        case Uncertain() if claim.message_id:
            return await heard.early(tx, claim, [claim.message_id])
        case Uncertain():
            echoes = await heard.early_echoes_of_text(tx, claim)
            return await heard.early(tx, claim, echoes[:1])
        case _:
            return None


async def _left_over(
    tx: Tx, claim: Claim, fate: Fate, early: Report | None, waiting: Sequence[Claim]
) -> list[tuple[Claim, Report]]:
    """Echoes of the text that waited for the call's end and are not its own, for the sends that wait for one."""
    if not waiting:
        return []
    own = {fate.stanza_id, fate.provider_id} if isinstance(fate, Accepted) else {early.provider_id if early else ""}
    echoes = [one for one in await heard.early_echoes_of_text(tx, claim) if one not in own]
    pairs = zip(waiting, echoes, strict=False)
    return [(other, report) for other, echo in pairs if (report := await heard.early(tx, other, [echo]))]


# ------------------------------------------------------------------------------------------------------------ watchdog


class Overdue(msgspec.Struct, frozen=True):
    """A dispatch without an end."""

    claim: Claim
    was_begun: bool
    early: Report | None
    left: Sequence[tuple[Claim, Report]]


async def _load_overdue(tx: Tx, job: Job) -> Overdue | None:
    payload = _payload.decode(job.payload)
    channel_id = await claims.channel_of(tx, payload.decision_id)
    if channel_id is None:
        return None
    await heard.one_after_the_other(tx, [channel_id])
    claim, waiting = await claims.of_text(tx, payload.decision_id)
    if claim is None or claim.state != "dispatching" or claim.token != payload.token:
        return None
    was_begun = await claims.has_attempt(tx, claim)
    fate = NO_RESULT if was_begun else settling.not_called()
    early = await _early(tx, claim, fate)
    return Overdue(claim, was_begun, early, await _left_over(tx, claim, fate, early, waiting))


def on_overdue(kit: Kit, job: Job, overdue: Overdue | None) -> Effects:
    """A dispatch without an end after a minute."""
    if overdue is None:
        return NOTHING
    claim = overdue.claim
    left = counted(settling.of_reports(overdue.left, signer=kit.signer, now=job.now))
    gone = Effects(cancels=[CancelJobs(CALL, str(claim.decision_id))])
    if not overdue.was_begun:
        return gone + counted(settling.again(claim, settling.not_called(), job.id, job.now)) + left
    ended = settling.unknown(claim, NO_RESULT, overdue.early, signer=kit.signer, cause=job.id, now=job.now)
    return counted(ended) + left


# ----------------------------------------------------------------------------------------------------- after a restore


async def _load_early(tx: Tx, job: Job) -> list[tuple[Claim, Report]]:
    payload = _payload.decode(job.payload)
    channel_id = await claims.channel_of(tx, payload.decision_id)
    if channel_id is None:
        return []
    await heard.one_after_the_other(tx, [channel_id])
    claim, waiting = await claims.of_text(tx, payload.decision_id)
    if claim is None or claim.state != "uncertain":
        return []
    early = await _early(tx, claim, NO_RESULT)
    own = [(claim, early)] if early else []
    return own + await _left_over(tx, claim, NO_RESULT, early, waiting)


def on_early(kit: Kit, job: Job, news: Sequence[tuple[Claim, Report]]) -> Effects:
    """What had come of a send that a restore left uncertain: who recovers the database has no key for a receipt."""
    return counted(settling.of_reports(news, signer=kit.signer, now=job.now))


# ----------------------------------------------------------------------------------------------------------- reconcile


async def _prepare_lookup(kit: Kit, tx: Tx, job: Job) -> Call | None:
    claim = await claims.locked(tx, _payload.decode(job.payload).decision_id)
    adapter = _adapter(kit, claim) if claim else None
    if claim is None or claim.state != "uncertain" or claim.message_id is None or adapter is None:
        return None
    return _lookup(kit, adapter, adapter.ask_message(claim.chat, claim.message_id))


async def _finish_lookup(kit: Kit, tx: Tx, job: Job, _call: Call, answer: Any) -> Effects:
    """Presence settles; absence is a note for the person who settles; neither sends anything."""
    payload = _payload.decode(job.payload)
    claim = await claims.locked(tx, payload.decision_id)
    adapter = _adapter(kit, claim) if claim else None
    if claim is None or claim.state != "uncertain" or claim.message_id is None or adapter is None:
        return NOTHING
    presence = "unknown" if isinstance(answer, TooLate) else adapter.presence(answer)
    if presence == "present":
        report = Report(provider_id=claim.message_id, level=None, source="lookup")
        return counted(settling.of_report(claim, report, signer=kit.signer, now=job.now))
    writes = [claims.mark_absent(claim, job.now)] if presence == "absent" else []
    if payload.tries >= len(LOOKUP_SECONDS):
        return Effects(writes=writes)
    after, tries = LOOKUP_SECONDS[payload.tries], payload.tries + 1
    return Effects(
        writes=writes, jobs=[settling.job(RECONCILE, derived_id(job.id, str(tries)), claim, tries=tries, after=after)]
    )
