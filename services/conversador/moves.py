"""What becomes true when a turn moves: rows, messages and jobs, together. Pure.

Laws
- No job is cancelled, and none that may be running is replaced: what was started for an earlier step finds its step
  gone and does nothing. (A handler holds the conversation and would wait for the job; the job that ends holds itself
  and waits for the conversation.)
- Whoever ends a turn says `TurnClosed`, skipped and superseded turns included: every turn is a recorded decision.
- A person asked for is said once the closing is known, so that the person reads what the customer wants.
"""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from contracts.messages import (
    Checkpoint,
    Destination,
    DraftProposed,
    HandoffRequested,
    Message,
    ObligationRef,
    TurnClosed,
    TurnKind,
    TurnOutcome,
)
from services.conversador import turn as turns
from services.conversador.config import Config
from services.conversador.store.history import cancel_follow_ups
from services.conversador.store.scenes import Conversation, Scene, hold_for_person
from services.conversador.store.turns import save_turn
from services.conversador.tools import SendMessage
from services.conversador.turn import Turn
from shared.bus import NOTHING, Effects, StartJob
from shared.ids import derived_id

SkipReason = Literal["contact_blocked", "person_owns", "not_draftable"]
Origin = Literal["agent_model", "format_reserve", "none"]

_BLOCKED = frozenset({"opted_out", "erasure_requested"})


class Step(Struct, frozen=True):
    """Payload of a turn's jobs: which turn, and at which step it was when the job was started."""

    turn_id: UUID
    conversation_id: UUID
    step: int
    attempt: int = 1


class Occasion(Struct, frozen=True, kw_only=True):
    """Why the agent might speak now."""

    kind: TurnKind = "inbound_turn"
    opts_out: bool = False
    is_draftable: bool = True
    note: str = ""
    instruction: str = ""
    redraft_of: ObligationRef | None = None
    previous_body: str = ""
    destination: Destination | None = None
    """Where to, when it is not where the latest message came from."""


def why_silent(scene: Scene, occasion: Occasion) -> SkipReason | None:
    """The reasons not to ask a model, in their order."""
    if occasion.opts_out or scene.consent in _BLOCKED:
        return "contact_blocked"
    if occasion.kind == "followup_turn" and scene.consent == "paused":
        return "contact_blocked"
    if scene.owner == "person":
        return "person_owns"
    continues = scene.live is not None and not scene.live.is_handing_off
    return None if occasion.is_draftable or continues else "not_draftable"


def react(scene: Scene, occasion: Occasion, *, cause: UUID, now: datetime, config: Config) -> Effects:
    """Begin a turn, let one that still gathers a burst grow, or record why nothing is said."""
    conversation = scene.conversation
    assert conversation is not None  # the caller heard of the conversation
    reason = why_silent(scene, occasion)
    fresh = new_turn(conversation, occasion, cause, now)
    if reason is not None:
        return supersede(scene, now, reason) + _skipped(fresh, reason, now)
    live = scene.live
    if live is not None and live.is_gathering and _is_burst(live.kind, live.note + live.instruction, occasion):
        grown = turns.moved(live, context_revision=fresh.context_revision, destination=fresh.destination)
        return _gather(grown, now, config)
    return supersede(scene, now, "newer_context", even_handing_off=True) + _gather(fresh, now, config)


def _is_burst(kind: TurnKind, has_reason: str, occasion: Occasion) -> bool:
    """Only the customer's own messages gather."""
    return kind == occasion.kind == "inbound_turn" and not (has_reason or occasion.note or occasion.instruction)


def new_turn(conversation: Conversation, occasion: Occasion, cause: UUID, now: datetime) -> Turn:
    return Turn(
        id=derived_id(cause, "turn"),
        tenant=conversation.tenant,
        conversation_id=conversation.conversation_id,
        contact_id=conversation.contact_id,
        channel_id=conversation.channel_id,
        kind=occasion.kind,
        context_revision=conversation.context_revision,
        destination=occasion.destination or conversation.destination,
        language=conversation.language,
        started_at=now,
        note=occasion.note,
        instruction=occasion.instruction,
        previous_body=occasion.previous_body,
        redraft_of=occasion.redraft_of,
    )


def _gather(turn: Turn, now: datetime, config: Config) -> Effects:
    due = now
    if turn.kind == "inbound_turn" and not turn.instruction:
        due = turns.due_at(
            turn, now, debounce_seconds=config.burst_debounce_seconds, cap_seconds=config.burst_cap_seconds
        )
    return Effects(writes=[save_turn(turn)], jobs=[replace_due(draft_job(turn), due)])


def replace_due(job: StartJob, due: datetime) -> StartJob:
    return StartJob(id=job.id, kind=job.kind, key=job.key, payload=job.payload, due_at=due)


def draft_job(turn: Turn) -> StartJob:
    return _job(turn, "turn")


def closing_job(turn: Turn, *, attempt: int = 1, after_seconds: float = 0.0) -> StartJob:
    return _job(turn, "closing", attempt=attempt, after_seconds=after_seconds)


def verdict_timer(turn: Turn, config: Config) -> StartJob:
    return _job(turn, "verdict_late", after_seconds=config.verdict_timeout_seconds)


def _job(turn: Turn, kind: str, *, attempt: int = 1, after_seconds: float = 0.0) -> StartJob:
    # One id for all drafts of a turn, so that a burst that grows replaces the job that waits; else one a step.
    return StartJob(
        id=derived_id(turn.id, kind if kind == "turn" else f"{kind}-{turn.step}"),
        kind=kind,
        key=str(turn.conversation_id),
        payload=msgspec.json.encode(Step(turn.id, turn.conversation_id, turn.step, attempt)),
        after_seconds=after_seconds,
    )


def supersede(scene: Scene, now: datetime, reason: str, *, even_handing_off: bool = False) -> Effects:
    """End the live turn because the conversation went on. One on its way to a person goes on, if it can."""
    live = scene.live
    if live is None or (live.is_handing_off and not even_handing_off):
        return NOTHING
    ended = turns.superseded(live, now, reason)
    handoff = [handoff_requested(scene, live, None)] if live.is_handing_off else []
    return Effects(writes=[save_turn(ended)], says=[*handoff, turn_closed(ended, now)])


def _skipped(fresh: Turn, reason: SkipReason, now: datetime) -> Effects:
    ended = replace(fresh, state="closed", outcome="skipped", reason=reason, closed_at=now)
    return Effects(writes=[save_turn(ended)], says=[turn_closed(ended, now)])


def skip(turn: Turn, reason: SkipReason, now: datetime) -> Effects:
    """A turn that was begun and may not go on: something changed between its message and its start."""
    ended = replace(turns.closed(turns.without_draft(turn), now), outcome="skipped", reason=reason)
    return Effects(writes=[save_turn(ended)], says=[turn_closed(ended, now)])


def go_on(turn: Turn) -> Effects:
    """Ask the model again: after a look-up, or for a rewrite."""
    return Effects(writes=[save_turn(turn)], jobs=[draft_job(turn)])


def propose(turn: Turn, words: SendMessage, config: Config) -> Effects:
    said = Effects(writes=[save_turn(turn)], says=[_proposal(turn, words)], jobs=[verdict_timer(turn, config)])
    return said + _fall_silent(turn) if turn.is_handing_off else said


def _proposal(turn: Turn, words: SendMessage) -> DraftProposed:
    assert turn.draft_id is not None  # `proposed` names it
    return DraftProposed(
        tenant=turn.tenant,
        draft_id=turn.draft_id,
        turn_id=turn.id,
        conversation_id=turn.conversation_id,
        contact_id=turn.contact_id,
        destination=turn.destination,
        kind="follow_up" if turn.kind == "followup_turn" else "reply",
        body=turn.body,
        language="pt-BR" if words.language == "pt" else words.language or turn.language,
        context_revision=turn.context_revision,
        reason=words.reason,
        evidence=turn.evidence,
        opens_case=turn.opens_case,
        rewrite_number=turn.rewrites,
        redraft_of=turn.redraft_of,
    )


def _fall_silent(turn: Turn) -> Effects:
    return Effects(writes=[hold_for_person(turn.conversation_id, turn.tenant), cancel_follow_ups(turn.conversation_id)])


def leave(turn: Turn, outcome: TurnOutcome, reason: str = "") -> Effects:
    """On to the closing call."""
    leaving = turns.closing(turn, outcome, reason)
    return Effects(writes=[save_turn(leaving)], jobs=[closing_job(leaving)])


def hand_off(turn: Turn, reason: str) -> Effects:
    """The agent falls silent now; the person is asked for when the closing is known."""
    return leave(turn, "handed_off", reason) + _fall_silent(turn)


def hand_off_at_once(scene: Scene, turn: Turn, reason: str, now: datetime) -> Effects:
    """No model can be asked, so neither for the closing: the person is asked for without it."""
    leaving = turns.closing(turns.without_draft(turn), "handed_off", reason)
    return close(scene, leaving, now, None, "none") + _fall_silent(turn)


def end(scene: Scene, turn: Turn, reason: str, now: datetime) -> Effects:
    """Nothing may be said to this contact: no closing call either."""
    return close(scene, turns.closing(turns.without_draft(turn), "silent", reason), now, None, "none")


def close(scene: Scene, turn: Turn, now: datetime, checkpoint: Checkpoint | None, origin: Origin) -> Effects:
    """The end of a turn, with what it meant, or with nobody's word on it."""
    summary = checkpoint.rolling_summary if checkpoint else ""
    ended = turns.closed(turn, now, summary)
    handoff: list[Message] = [handoff_requested(scene, ended, checkpoint)] if turn.is_handing_off else []
    return Effects(writes=[save_turn(ended)], says=[*handoff, turn_closed(ended, now, checkpoint, origin)])


def turn_closed(turn: Turn, now: datetime, checkpoint: Checkpoint | None = None, origin: Origin = "none") -> TurnClosed:
    assert turn.outcome != ""
    return TurnClosed(
        tenant=turn.tenant,
        turn_id=turn.id,
        conversation_id=turn.conversation_id,
        contact_id=turn.contact_id,
        channel_id=turn.channel_id,
        kind=turn.kind,
        outcome=turn.outcome,
        reason=turn.reason,
        draft_id=turn.draft_id,
        checkpoint=checkpoint,
        origin=origin,
        closed_at=now,
        opens_case=turn.opens_case,
    )


def handoff_requested(scene: Scene, turn: Turn, checkpoint: Checkpoint | None) -> HandoffRequested:
    declaration = checkpoint.declaration if checkpoint else None
    earlier = scene.conversation.rolling_summary if scene.conversation else ""
    return HandoffRequested(
        tenant=turn.tenant,
        turn_id=turn.id,
        conversation_id=turn.conversation_id,
        contact_id=turn.contact_id,
        reason=turn.reason,
        summary=checkpoint.rolling_summary if checkpoint else earlier,
        wants=tuple(intent.what for intent in declaration.intents) if declaration else (),
        promises=declaration.promises if declaration else (),
    )
