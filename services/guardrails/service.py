"""The story of guardrails: every draft is judged when it is filed, and every approved text again before it leaves.

A text that a person approved goes out only from here, as `SendCommand`, with our clearance sealed to the approval.
"""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import UUID

import msgspec

from contracts import messages as m
from services.guardrails import judging, metrics, shadow, store
from services.guardrails.chain import CHAIN_VERSION, ChainResult, Cleared, Deferred, Vetoed, chain_hash
from services.guardrails.classifier import Classifier
from services.guardrails.config import Config
from services.guardrails.facts import Draft, Facts
from services.guardrails.gate import Gate, Phase, Verdict
from services.guardrails.reviewing import asking
from services.guardrails.rules import TenantRules
from services.guardrails.store import contacts, runs
from services.guardrails.words import Judged
from shared import seal
from shared.bus import (
    NOTHING,
    CancelJobs,
    Effects,
    Handlers,
    Heard,
    Job,
    Quick,
    StartJob,
    Timer,
    no_facts,
)
from shared.ids import derived_id
from shared.retention import Class
from shared.runtime import Context, Service

SESSION_RETRY = timedelta(seconds=10)
CATCHING_UP = timedelta(seconds=0.3)
HEARD_WITHIN = timedelta(seconds=60)
"""Twice the streams' wait for an acknowledgement: what is not heard by then is missing, and the gates say so."""
CONSENT_OF: dict[str, str] = {
    "opt_out": "opted_out",
    "erasure_request": "erasure_requested",
    "opt_in": "opted_in",
    "ask": "paused",
}


# ------------------------------------------------------------------------------------------------------------- filing


def on_draft(heard: Heard[m.DraftProposed | m.DraftSubmitted], known: store.Known) -> Effects:
    """A draft is judged before a person sees it."""
    waiting = store.Waiting(draft=heard.message, heard_at=heard.now)
    return _file(waiting, known, run_id=derived_id(heard.id, "run"), filed_at=heard.now)


def on_filing_due(job: Job, known: store.Known) -> Effects:
    """A draft that could not be judged yet."""
    return _file(store.waiting(job), known, run_id=derived_id(job.token, "run"), filed_at=job.now)


def _file(waiting: store.Waiting, known: store.Known, *, run_id: UUID, filed_at: datetime) -> Effects:
    """What a draft rests on comes by other topics: it may be here before its contact, conversation or last message."""
    facts = known.facts
    if judging.is_ahead(waiting.draft, facts) and filed_at < waiting.heard_at + HEARD_WITHIN:
        return Effects(jobs=[_again(waiting, filed_at + CATCHING_UP)])
    if store.is_unread(facts):
        return Effects(jobs=[_read_first("filing_review", str(waiting.draft.draft_id), msgspec.json.encode(waiting))])
    message = waiting.draft
    draft = judging.draft_of(message, message.tenant, filed_at)
    result = judging.run_chain(draft, facts, Phase.FILING, observe)
    judged = _judged(draft, facts, Phase.FILING, result)
    for category in judging.leaks(result):
        metrics.LEAKS.labels(category).inc()
    writes = [runs.keep(runs.Record(run_id, message.tenant, Phase.FILING, judged, known.recent, result))]
    match result:
        case Cleared():
            return Effects(writes=writes, says=[_cleared(message, draft.body, result, facts)])
        case Vetoed():
            metrics.VETOES.labels(result.gate, result.code, Phase.FILING.value, known.channel_kind).inc()
            return Effects(writes=writes, says=[_vetoed(message, result)])
        case Deferred():
            return Effects(writes=writes, jobs=[_again(waiting, result.retry_at)])


def _read_first(kind: str, key: str, payload: bytes = b"{}") -> StartJob:
    """The classifier reads the text before it is judged; what it says is a fact of the chain."""
    return StartJob(id=derived_id(UUID(key), kind), kind=kind, key=key, payload=payload)


def _file_read(job: Job, unread: str) -> StartJob:
    return _again(msgspec.structs.replace(store.waiting(job), unread=unread), None)


def _dispatch_read(job: Job, unread: str) -> StartJob:
    payload = msgspec.json.encode(store.Undecided(unread=unread))
    return StartJob(id=derived_id(UUID(job.key), "dispatch"), kind="dispatch", key=job.key, payload=payload)


def _again(waiting: store.Waiting, due_at: datetime | None) -> StartJob:
    return StartJob(
        id=derived_id(waiting.draft.draft_id, "filing"),
        kind="filing",
        key=str(waiting.draft.draft_id),
        payload=msgspec.json.encode(waiting),
        due_at=due_at,
    )


def _cleared(
    message: m.DraftProposed | m.DraftSubmitted, drafted_body: str, result: Cleared, facts: Facts
) -> m.DraftCleared:
    is_agent = isinstance(message, m.DraftProposed)
    draft = judging.draft_of(message, message.tenant, facts.now)
    return m.DraftCleared(
        tenant=message.tenant,
        draft_id=message.draft_id,
        turn_id=message.turn_id if is_agent else None,
        origin="agent" if is_agent else message.origin,
        conversation_id=message.conversation_id,
        contact_id=message.contact_id,
        destination=message.destination,
        kind=message.kind,
        body=result.body,
        drafted_body=drafted_body,
        language=message.language,
        context_revision=message.context_revision,
        reason=message.reason if is_agent else "",
        evidence=message.evidence if is_agent else (),
        redraft_of=message.redraft_of if is_agent else None,
        verdicts=judging.shown(result.verdicts),
        classes=judging.classes(draft, facts),
        chain_version=str(CHAIN_VERSION),
        chain_hash=chain_hash(),
        facts_digest=judging.digest(facts),
    )


def _vetoed(message: m.DraftProposed | m.DraftSubmitted, result: Vetoed) -> m.DraftVetoed:
    return m.DraftVetoed(
        tenant=message.tenant,
        draft_id=message.draft_id,
        turn_id=message.turn_id if isinstance(message, m.DraftProposed) else None,
        conversation_id=message.conversation_id,
        contact_id=message.contact_id,
        gate=result.gate,
        code=result.code,
        instruction=" ".join(result.instructions),
        ends_turn=result.code in judging.ENDS_TURN,
        verdicts=judging.shown(result.verdicts),
        chain_version=str(CHAIN_VERSION),
        chain_hash=chain_hash(),
    )


# ----------------------------------------------------------------------------------------------------------- dispatch


def on_draft_filed(heard: Heard[m.DraftFiled], _: None) -> Effects:
    """The draft has an obligation now: the name under which it is decided and dispatched."""
    return Effects(writes=[runs.filed(heard.message, heard.now)])


def on_draft_approved(heard: Heard[m.DraftApproved], _: None) -> Effects:
    """A person said yes: the last look comes when the text may leave."""
    snapshot = heard.message.snapshot
    job = StartJob(
        id=derived_id(snapshot.decision_id, "dispatch"),
        kind="dispatch",
        key=str(snapshot.decision_id),
        due_at=snapshot.not_before,
    )
    return Effects(writes=[store.approved(heard.message)], jobs=[job])


def dispatching(signer: seal.Signer, clearance: timedelta) -> Callable[[Job, store.Dispatch | None], Effects]:
    """The dispatch chain, authoritative; the three answers are cleared, deferred and refused."""

    def on_dispatch_due(job: Job, waiting: store.Dispatch | None) -> Effects:
        if waiting is None:
            return NOTHING  # revoked, or settled by an earlier run
        snapshot = waiting.approval.snapshot
        if over := _over(waiting, job.now):
            return _refused(job, waiting, "binding", over, ())
        if judging.is_ahead(snapshot, waiting.facts) and job.now < waiting.since + HEARD_WITHIN:
            # people saw words that are not here yet, and they may say stop
            return Effects(jobs=[_dispatch_again(job, job.now + CATCHING_UP)])
        if not waiting.is_channel_ready:
            return _deferred(job, waiting, job.now + SESSION_RETRY, "session", "session_not_ready", ())
        if store.is_unread(waiting.facts):
            return Effects(jobs=[_read_first("dispatch_review", job.key)])
        return _dispatch(job, waiting, signer, clearance)

    return on_dispatch_due


def _over(waiting: store.Dispatch, now: datetime) -> str:
    """Why this decision no longer holds; empty while it does."""
    snapshot = waiting.approval.snapshot
    if waiting.facts.heard_revision > snapshot.context_revision:
        return "context_changed"
    return "send_by_passed" if now > snapshot.send_by else ""


def _dispatch(job: Job, waiting: store.Dispatch, signer: seal.Signer, clearance: timedelta) -> Effects:
    snapshot, run_id = waiting.approval.snapshot, derived_id(job.token, "run")
    draft = judging.draft_of(snapshot, job.tenant, snapshot.filed_at or snapshot.decided_at)
    result = judging.run_chain(draft, waiting.facts, Phase.DISPATCH, observe)
    judged = _judged(draft, waiting.facts, Phase.DISPATCH, result)
    record = runs.Record(run_id, job.tenant, Phase.DISPATCH, judged, waiting.recent, result, snapshot.decision_id)
    kept = Effects(writes=[runs.keep(record)])
    match result:
        case Cleared():
            return kept + _let_go(job, waiting, signer, clearance, result)
        case Deferred():
            gate, code = judging.deferring(result)
            return kept + _deferred(job, waiting, result.retry_at, gate, code, judging.shown(result.verdicts))
        case Vetoed():
            metrics.VETOES.labels(result.gate, result.code, Phase.DISPATCH.value, waiting.channel_kind).inc()
            return kept + _refused(job, waiting, result.gate, result.code, judging.shown(result.verdicts))


def _let_go(job: Job, waiting: store.Dispatch, signer: seal.Signer, clearance: timedelta, result: Cleared) -> Effects:
    metrics.DISPATCHES.labels("cleared").inc()
    approval, snapshot = waiting.approval, waiting.approval.snapshot
    expires_at = min(job.now + clearance, snapshot.send_by)
    statement = seal.ClearanceSeal(
        decision_id=snapshot.decision_id,
        approval_sha256=seal.fingerprint(approval.seal),
        chain_version=str(CHAIN_VERSION),
        chain_hash=chain_hash(),
        facts_digest=judging.digest(waiting.facts),
        cleared_at=job.now,
        expires_at=expires_at,
    )
    return Effects(
        writes=[
            store.settle(snapshot.decision_id, "cleared", job.now),
            store.reserve(snapshot, job.tenant, job.now),
            store.leaves(snapshot, job.tenant, job.now),
        ],
        says=[
            m.SendCommand(
                tenant=job.tenant,
                snapshot=snapshot,
                approval_seal=approval.seal,
                clearance_seal=signer.sign(statement, now=job.now),
            ),
            m.DispatchCleared(
                tenant=job.tenant,
                obligation_id=snapshot.obligation_id,
                decision_id=snapshot.decision_id,
                conversation_id=snapshot.conversation_id,
                expires_at=expires_at,
                verdicts=judging.shown(result.verdicts),
            ),
        ],
    )


def _deferred(  # noqa: PLR0917 - job and decision, then the verdict's three words and its record
    job: Job,
    waiting: store.Dispatch,
    retry_at: datetime,
    gate: str,
    code: str,
    verdicts: tuple[m.GateVerdict, ...],
) -> Effects:
    """A timer tries again; past `send_by` a deferral is a refusal."""
    snapshot = waiting.approval.snapshot
    if retry_at > snapshot.send_by:
        return _refused(job, waiting, gate, "send_by_passed", verdicts)
    metrics.DISPATCHES.labels("deferred").inc()
    said = m.DispatchDeferred(
        tenant=job.tenant,
        obligation_id=snapshot.obligation_id,
        decision_id=snapshot.decision_id,
        conversation_id=snapshot.conversation_id,
        gate=gate,
        code=code,
        retry_at=retry_at,
        verdicts=verdicts,
    )
    return Effects(says=[said], jobs=[_dispatch_again(job, retry_at)])


def _dispatch_again(job: Job, due_at: datetime) -> StartJob:
    return StartJob(id=job.id, kind="dispatch", key=job.key, due_at=due_at)


def _refused(job: Job, waiting: store.Dispatch, gate: str, code: str, verdicts: tuple[m.GateVerdict, ...]) -> Effects:
    metrics.DISPATCHES.labels("refused").inc()
    snapshot = waiting.approval.snapshot
    said = m.DispatchRefused(
        tenant=job.tenant,
        obligation_id=snapshot.obligation_id,
        decision_id=snapshot.decision_id,
        conversation_id=snapshot.conversation_id,
        gate=gate,
        code=code,
        detail=next((one.detail for one in verdicts if one.outcome == "veto"), ""),
        verdicts=verdicts,
    )
    return Effects(writes=[store.settle(snapshot.decision_id, "refused", job.now)], says=[said])


def on_approval_ended(heard: Heard[m.ApprovalEnded], _: None) -> Effects:
    """The approval is void: what waits here never leaves."""
    decision_id = heard.message.decision_id
    if decision_id is None:
        return NOTHING
    return Effects(
        writes=[store.settle(decision_id, "revoked", heard.now)], cancels=[CancelJobs("dispatch", str(decision_id))]
    )


def on_send_refused(heard: Heard[m.SendRefused], _: None) -> Effects:
    """Not sent after all. A clearance that ran out is renewed by running the chain again."""
    decision_id = heard.message.decision_id
    released = store.quota(decision_id, "released")
    if heard.message.code != "clearance_expired":
        return Effects(writes=[released])
    job = StartJob(id=derived_id(decision_id, "dispatch"), kind="dispatch", key=str(decision_id))
    return Effects(writes=[released, store.wait_again(decision_id)], jobs=[job])


# -------------------------------------------------------------------------------------------------------- what we know


def on_message_received(heard: Heard[m.MessageReceived], sender: contacts.Sender) -> Effects:
    """A customer wrote. A wish to be left alone is written down before anything else."""
    message = heard.message
    writes = [contacts.wrote_first(message), store.inbound(message)]
    return Effects(writes=writes) + _wish(message, sender, heard.now)


def on_message_edited(heard: Heard[m.MessageEdited], sender: contacts.Sender) -> Effects:
    """An edit is a message: it may hold an opt-out too."""
    message = heard.message
    return Effects(writes=[store.revision(message)]) + _wish(message, sender, heard.now)


def _wish(message: m.MessageReceived | m.MessageEdited, sender: contacts.Sender, now: datetime) -> Effects:
    """Kept once, and said of every id that others may know the person by."""
    state = CONSENT_OF.get(message.opt_out)
    if state is None or (state == "opted_in" and not sender.is_opted_out):
        return NOTHING
    changes = [
        m.ConsentChanged(
            tenant=message.tenant,
            contact_id=contact_id,
            conversation_id=message.conversation_id,
            state=state,  # pyright: ignore[reportArgumentType] - a value of the table above
            cause_message_id=message.message_id,
            at=now,
        )
        for contact_id in sender.ids
    ]
    return Effects(writes=[contacts.consent(changes[0])], says=changes)


def on_revision(heard: Heard[m.MessageRevoked | m.PhoneReplied], _: None) -> Effects:
    return Effects(writes=[store.revision(heard.message)])


def on_contact_seen(heard: Heard[m.ContactSeen], merged: contacts.Merged | None) -> Effects:
    """Of two who are one, each is left alone from now on if the other wished it."""
    known = Effects(writes=[contacts.known(heard.message)])
    if merged is None:
        return known
    says = [
        m.ConsentChanged(tenant=heard.tenant, contact_id=one, state=merged.wish, at=heard.now) for one in merged.untold
    ]
    return known + Effects(says=says)


def on_channel_status(heard: Heard[m.ChannelStatusChanged], _: None) -> Effects:
    writes = [store.channel_ready(heard.message)]
    return Effects(writes=[*writes, store.hurry(heard.message)] if heard.message.is_ready else writes)


def on_ownership_changed(heard: Heard[m.OwnershipChanged], _: None) -> Effects:
    """A take-over stops the agent's drafts; a handoff that nobody accepted yet has taken nothing over."""
    if heard.message.is_handoff:
        return NOTHING
    return Effects(writes=[store.owner(heard.message)])


def on_case_opened(heard: Heard[m.CaseOpened], _: None) -> Effects:
    return Effects(writes=[store.open_case(heard.message)])


def on_case_closed(heard: Heard[m.CaseClosed], _: None) -> Effects:
    return Effects(writes=[store.close_case(heard.message)])


def on_send_accepted(heard: Heard[m.SendAccepted], _: None) -> Effects:
    message = heard.message
    return Effects(writes=[store.quota(message.decision_id, "confirmed"), *store.sent(message)])


def on_send_uncertain(heard: Heard[m.SendUncertain], _: None) -> Effects:
    return Effects(writes=[store.quota(heard.message.decision_id, "confirmed")])


def on_send_failed(heard: Heard[m.SendFailed], _: None) -> Effects:
    return Effects(writes=[store.quota(heard.message.decision_id, "released")])


# ------------------------------------------------------------------------------------------------------------ the part


def _judged(draft: Draft, facts: Facts, phase: Phase, result: ChainResult) -> Judged:
    """With what the candidates say beside the ten, counted."""
    candidates = shadow.found()
    verdicts = shadow.beside(draft, facts, lambda gate, judge: observe(gate, phase, judge, "shadow"), candidates)
    for candidate, verdict in zip(candidates, verdicts, strict=True):
        direction = shadow.disagreement(candidate, verdict, result)
        if direction is not None:
            metrics.DISAGREEMENTS.labels(candidate.gate.name, direction.value).inc()
    return Judged(draft, facts, result.verdicts, verdicts)


def observe(gate: Gate, phase: Phase, judge: Callable[[], Verdict], disposition: str = "") -> Verdict:
    """Times and counts one gate."""
    began = time.perf_counter()
    verdict = judge()
    metrics.seconds_of(gate.name, phase)(time.perf_counter() - began)
    metrics.evaluated(gate.name, phase, verdict.outcome)()
    if verdict.warning:
        cause = verdict.code or "missing_fact"
        metrics.FAILURES.labels(gate.name, cause, disposition or gate.on_missing.value).inc()
    return verdict


def handlers(config: Config, classifier: Classifier | None = None) -> Handlers:
    signer = seal.Signer.from_json(config.seal_key, seal.CLEARANCE)
    clearance = timedelta(seconds=config.clearance_seconds)
    classifier = classifier or Classifier.of(config)
    reader = classifier.version if classifier else ""
    return Handlers(
        quick=(
            Quick(m.DraftProposed, partial(store.filing_facts, reader), on_draft),
            Quick(m.DraftSubmitted, partial(store.filing_facts, reader), on_draft),
            Quick(m.DraftFiled, no_facts, on_draft_filed),
            Quick(m.DraftApproved, no_facts, on_draft_approved),
            Quick(m.ApprovalEnded, no_facts, on_approval_ended),
            Quick(m.OwnershipChanged, no_facts, on_ownership_changed),
            Quick(m.MessageReceived, contacts.senders, on_message_received),
            Quick(m.MessageEdited, contacts.senders, on_message_edited),
            Quick(m.MessageRevoked, no_facts, on_revision),
            Quick(m.PhoneReplied, no_facts, on_revision),
            Quick(m.ContactSeen, contacts.merges, on_contact_seen),
            Quick(m.ChannelStatusChanged, no_facts, on_channel_status),
            Quick(m.CaseOpened, no_facts, on_case_opened),
            Quick(m.CaseClosed, no_facts, on_case_closed),
            Quick(m.SendAccepted, no_facts, on_send_accepted),
            Quick(m.SendUncertain, no_facts, on_send_uncertain),
            Quick(m.SendFailed, no_facts, on_send_failed),
            Quick(m.SendRefused, no_facts, on_send_refused),
        ),
        timers=(
            Timer("filing", partial(store.filing_again, reader), on_filing_due),
            Timer("dispatch", partial(store.dispatch_facts, reader), dispatching(signer, clearance)),
        ),
        slow=(
            (
                asking(classifier, "filing_review", store.question_of_draft, _file_read),
                asking(classifier, "dispatch_review", store.question_of_decision, _dispatch_read),
            )
            if classifier
            else ()
        ),
        ignores=(
            m.MessageReacted,
            m.StatusReported,
            m.EchoSeen,
            m.FilingRefused,
            m.DraftRejected,
            m.DraftSentBack,
            m.SendBegun,
            m.SendStatusChanged,
            m.FollowUpScheduled,
            m.FactRecorded,
        ),
    )


async def start(context: Context[Config]) -> None:
    """Bring channels and first rules from their files into tables."""
    channels, rules = _read_files(context.config)
    async with context.db.transaction() as tx:
        await store.load_channels(tx, channels)
        await store.load_rules(tx, rules)


def _read_files(config: Config) -> tuple[list[store.ChannelSetting], list[TenantRules]]:
    channels = msgspec.json.decode(Path(config.channels_file).read_bytes(), type=list[store.ChannelSetting])
    if not config.rules_file:
        return channels, []
    return channels, msgspec.json.decode(Path(config.rules_file).read_bytes(), type=list[TenantRules])


FORGETS = (
    Class("review", "at", runs.KEPT_DAYS, "as long as the runs that rest on it"),
    Class("run", "at", runs.KEPT_DAYS, "verdicts are explained and judged again by a newer chain"),
    Class("run_text", "at", runs.KEPT_DAYS, "a run is judged again with its words; what was sent has its seal"),
    Class("filed", "at", runs.KEPT_DAYS, "a run at dispatch leads to those at filing"),
    Class("sent_text", "at", runs.KEPT_DAYS, "a number's last texts, and the runs that were compared with them"),
)
SERVICE = Service("guardrails", Config, handlers, start=start, forgets=FORGETS)
