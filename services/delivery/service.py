"""delivery: verifies a command that carries two seals, claims it, calls the channel at most once, says what came of it.

The path of a text: `on_send_command` here → `calls.on_begin` → `calls` (the one request) → `settling`. News of the
channel (`on_status_reported`, `on_echo_seen`) settles what was left uncertain.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from contracts import messages as m
from contracts.channel import Level, advance
from services.delivery import by_hand, calls, metrics, settling
from services.delivery.calls import counted, stopped
from services.delivery.config import Config
from services.delivery.dispatch import BEGIN, RESERVE
from services.delivery.facts import Claim, Report
from services.delivery.facts import Heard as HeardOfOthers
from services.delivery.kit import Kit
from services.delivery.store import claims, heard
from services.delivery.verification import Refusal, Verified, is_genuine, verify
from shared import log
from shared.bus import NOTHING, Effects, Handlers, Heard, Load, Quick, Timer, each, no_facts
from shared.db import TRANSIENT, Database, Tx
from shared.ids import derived_id
from shared.runtime import Context, Service

_log = log.get(__name__)

GAUGE_SECONDS: Final = 15.0
RESTRICTED_CODE: Final = "463"
_LEVELS: Final[dict[str, Level]] = {
    "error": "failed",
    "pending": "pending",
    "server": "sent",
    "device": "delivered",
    "read": "read",
    "played": "played",
}

# ----------------------------------------------------------------------------------------------------------- commands


class CommandFacts(NamedTuple):
    """The decision's own claim, the others of its obligation, and what was heard."""

    own: Claim | None
    others: Sequence[Claim]
    heard: HeardOfOthers


async def load_command(tx: Tx, one: Heard[m.SendCommand]) -> CommandFacts:
    snapshot = one.message.snapshot
    found = await claims.of_obligation(tx, snapshot.obligation_id, snapshot.decision_id)
    own = next((claim for claim in found if claim.decision_id == snapshot.decision_id), None)
    others = [claim for claim in found if claim.decision_id != snapshot.decision_id]
    return CommandFacts(own, others, await heard.about(tx, snapshot))


def on_send_command(kit: Kit, one: Heard[m.SendCommand], facts: CommandFacts) -> Effects:
    """Claim a verified command; the loser of a claim stops here, before any transport."""
    command = one.message
    if facts.own is not None and facts.own.state != "lapsed":
        return _on_copy(kit, one)
    verdict = verify(command, facts.heard, ring=kit.ring, adapters=kit.adapters, now=one.now)
    metrics.SEAL_CHECKS.labels("refused" if isinstance(verdict, Refusal) else "ok").inc()
    if isinstance(verdict, Verified) and any(claim.state in {"claimed", "dispatching"} for claim in facts.others):
        verdict = Refusal(
            code="obligation_busy", detail="Another decision of this obligation is already on its way out."
        )
    if isinstance(verdict, Refusal):
        return _refuse(one, verdict)
    metrics.SENDS.labels("claimed").inc()
    first = RESERVE if kit.config.waha_preassign_ids else BEGIN
    return Effects(
        writes=[claims.insert(command, verdict.clearance.expires_at)],
        jobs=[settling.first_job(first, derived_id(one.id, first), command.snapshot)],
    )


def _on_copy(kit: Kit, one: Heard[m.SendCommand]) -> Effects:
    """A second command for a claimed decision: nothing happens. A forged one is kept, and says nothing either: a word
    about this decision could reopen what is on its way.
    """
    if is_genuine(one.message, kit.ring):
        metrics.SENDS.labels("duplicate").inc()
        return NOTHING
    metrics.ALARMS.labels("forged_copy").inc()
    refusal = Refusal(code="forged_copy", detail="It names a claimed decision and its seals do not hold.")
    return Effects(writes=[_kept(one, refusal)])


def _refuse(one: Heard[m.SendCommand], refusal: Refusal) -> Effects:
    snapshot = one.message.snapshot
    _log.warning("a command is refused", decision=str(snapshot.decision_id), code=refusal.code)
    if refusal.code == "clearance_from_future":
        metrics.ALARMS.labels("clearance_from_future").inc()
        _log.error("a clearance from the future", decision=str(snapshot.decision_id))
    said = m.SendRefused(
        tenant=one.tenant,
        decision_id=snapshot.decision_id,
        obligation_id=snapshot.obligation_id,
        conversation_id=snapshot.conversation_id,
        channel_id=snapshot.destination.channel_id,
        at=one.now,
        code=refusal.code,
        detail=refusal.detail,
    )
    return counted(Effects(writes=[_kept(one, refusal)], says=[said]))


def _kept(one: Heard[m.SendCommand], refusal: Refusal) -> Any:
    return claims.refused(one.id, one.message, refusal.code, refusal.detail, one.now)


# ------------------------------------------------------------------------------------------------- what stops a send


def on_conversation_moved(one: Heard[m.ConversationMessage], _: None) -> Effects:
    """A newer revision: what rests on an older one is refused when it would begin."""
    return Effects(writes=[heard.revision(one.message)])


def on_draft_filed(one: Heard[m.DraftFiled], _: None) -> Effects:
    return Effects(writes=[heard.epoch(one.message)])


async def load_of_obligation(tx: Tx, one: Heard[m.ApprovalEnded]) -> list[Claim]:
    return await claims.waiting_of_obligation(tx, one.message.obligation_id)


def on_approval_ended(one: Heard[m.ApprovalEnded], waiting: Sequence[Claim]) -> Effects:
    """Noted for commands still to come; claims that have not begun are cancelled at once."""
    ended = one.message
    gone = [claim for claim in waiting if claim.decision_id == ended.decision_id or claim.epoch < ended.epoch]
    if ended.decision_id is None:
        gone = [claim for claim in waiting if claim.epoch <= ended.epoch]
    refusal = Refusal(code="revoked", detail=f"The approval was ended ({ended.how}) before the send began.")
    return Effects(writes=[heard.ended(one.id, ended)]) + _cancelled(gone, refusal, one)


async def load_of_conversation(tx: Tx, one: Heard[m.OwnershipChanged]) -> list[Claim]:
    return await claims.waiting_of_conversation(tx, one.message.conversation_id)


def on_ownership_changed(one: Heard[m.OwnershipChanged], waiting: Sequence[Claim]) -> Effects:
    if one.message.is_handoff:
        return NOTHING  # a person was asked for; nobody has taken anything over
    noted = Effects(writes=[heard.owner(one.message)])
    if one.message.owner != "person":
        return noted
    agents = [claim for claim in waiting if claims.command_of(claim).snapshot.origin == "agent"]
    refusal = Refusal(code="taken_over", detail="A person took the conversation over before the send began.")
    return noted + _cancelled(agents, refusal, one)


async def load_of_contact(tx: Tx, one: Heard[m.ConsentChanged]) -> list[Claim]:
    return await claims.waiting_of_contact(tx, one.message.contact_id)


def on_consent_changed(one: Heard[m.ConsentChanged], waiting: Sequence[Claim]) -> Effects:
    noted = Effects(writes=[heard.consent(one.message)])
    if one.message.state not in {"opted_out", "erasure_requested"}:
        return noted
    unasked = [claim for claim in waiting if not claims.command_of(claim).snapshot.reply_after_opt_out]
    refusal = Refusal(code="opted_out", detail="The contact asked to be left alone before the send began.")
    return noted + _cancelled(unasked, refusal, one)


def _cancelled(waiting: Sequence[Claim], refusal: Refusal, one: Heard[Any]) -> Effects:
    effects = NOTHING
    for claim in waiting:
        effects += counted(stopped(claim, "cancelled", refusal, one.now))
    return effects


def on_channel_status_changed(one: Heard[m.ChannelStatusChanged], _: None) -> Effects:
    """Sends of a number that is not ready wait in its queue; it is asked again every two seconds."""
    return Effects(writes=[heard.channel(one.message)])


# ------------------------------------------------------------------------------------------------ news of the channel


def one_after_the_other(load_one: Callable[[Tx, Heard[Any]], Awaitable[Any]]) -> Load:
    """As `each`, with the numbers' calls kept from ending meanwhile."""
    load_each = each(load_one)

    async def load(tx: Tx, news: Sequence[Heard[Any]]) -> Sequence[Any]:
        await heard.one_after_the_other(tx, [one.message.channel_id for one in news])
        return await load_each(tx, news)

    return load


class StatusFacts(NamedTuple):
    owner: Claim | None
    parked: str | None


async def load_status(tx: Tx, one: Heard[m.StatusReported]) -> StatusFacts:
    channel_id, provider_id = one.message.channel_id, one.message.provider_id
    owner = await claims.owner_of(tx, channel_id, provider_id)
    return StatusFacts(owner, None if owner else await heard.early_level(tx, channel_id, provider_id))


def on_status_reported(kit: Kit, one: Heard[m.StatusReported], facts: StatusFacts) -> Effects:
    """Forward only. What comes before its message is known is kept and matched when the call ends."""
    reported = one.message
    paused = NOTHING
    if reported.error_code == RESTRICTED_CODE:
        until = reported.restricted_until or one.now + settling.FIRST_CONTACT_PAUSE
        paused = Effects(writes=[heard.pause_first_contacts(reported.channel_id, one.tenant, until)])
    level = _LEVELS.get(reported.level)
    if level is None:
        return paused
    if facts.owner is None or facts.owner.state == "dispatching":
        parked = advance(_level(facts.parked), level)
        return paused + Effects(writes=[heard.park_report(reported, parked or level, one.now)])
    report = Report(provider_id=reported.provider_id, level=level, error_code=reported.error_code, source="status")
    return paused + _told(kit, facts.owner, report, one)


def _level(text: str | None) -> Level | None:
    return next((level for level in _LEVELS.values() if level == text), None)


class EchoFacts(NamedTuple):
    claim: Claim | None
    parked: str | None
    """The level that was reported about the echo's id before this."""


async def load_echo(tx: Tx, one: Heard[m.EchoSeen]) -> EchoFacts:
    echo = one.message
    claim = await claims.owner_of(tx, echo.channel_id, echo.provider_id)
    if claim is None:
        claim = await claims.uncertain_by_text(tx, echo.channel_id, echo.text_digest, echo.at)
    return EchoFacts(claim, await heard.early_level(tx, echo.channel_id, echo.provider_id))


def on_echo_seen(kit: Kit, one: Heard[m.EchoSeen], facts: EchoFacts) -> Effects:
    """Our own message came back: the channel has it. Kept while its call is still under way."""
    claim = facts.claim
    if claim is None or claim.state == "dispatching":
        return Effects(writes=[heard.park_echo(one.message, one.now)])
    report = Report(provider_id=one.message.provider_id, level=_level(facts.parked), source="echo")
    return _told(kit, claim, report, one)


def _told(kit: Kit, claim: Claim, report: Report, one: Heard[Any]) -> Effects:
    if claim.state == "failed" and settling.proves_acceptance(report):
        metrics.ALARMS.labels("failed_send_shows_life").inc()
        _log.error("a failed send shows signs of life", decision=str(claim.decision_id), source=report.source)
    return counted(settling.of_report(claim, report, signer=kit.signer, now=one.now))


# -------------------------------------------------------------------------------------------------------------- wiring


def handlers(config: Config) -> Handlers:
    kit = Kit.from_config(config)
    moved = (m.MessageReceived, m.MessageEdited, m.MessageRevoked, m.PhoneReplied)
    return Handlers(
        quick=(
            Quick(m.SendCommand, each(load_command), partial(on_send_command, kit)),
            *(Quick(message, no_facts, on_conversation_moved) for message in moved),
            Quick(m.DraftFiled, no_facts, on_draft_filed),
            Quick(m.ApprovalEnded, each(load_of_obligation), on_approval_ended),
            Quick(m.OwnershipChanged, each(load_of_conversation), on_ownership_changed),
            Quick(m.ConsentChanged, each(load_of_contact), on_consent_changed),
            Quick(m.ChannelStatusChanged, no_facts, on_channel_status_changed),
            Quick(m.StatusReported, one_after_the_other(load_status), partial(on_status_reported, kit)),
            Quick(m.EchoSeen, one_after_the_other(load_echo), partial(on_echo_seen, kit)),
        ),
        slow=calls.slow(kit),
        timers=(*calls.timers(kit), Timer(by_hand.KIND, by_hand.load, partial(by_hand.decide, kit))),
        ignores=(
            m.MessageReacted,
            m.ContactSeen,
            m.FilingRefused,
            m.DraftApproved,
            m.DraftRejected,
            m.DraftSentBack,
        ),
    )


_watches: set[asyncio.Task[None]] = set()


async def start(context: Context[Config]) -> None:
    """Keep the gauge of uncertain sends true in every pod, whoever settles them."""
    task = asyncio.create_task(_watch_uncertain(context.db))
    _watches.add(task)
    task.add_done_callback(_watches.discard)


async def _watch_uncertain(db: Database) -> None:
    while True:
        try:
            async with db.autocommit() as tx:
                metrics.UNCERTAIN.set(await claims.count_uncertain(tx))
        except TRANSIENT as error:
            _log.warning("uncertain sends cannot be counted", error=repr(error))
        await asyncio.sleep(GAUGE_SECONDS)


SERVICE = Service("delivery", Config, handlers, start=start)
