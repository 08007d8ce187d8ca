"""TurnClosed → one decision: prepare (facts, skip rules) → work (the model) → finish (decide again, write, tell)."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from contracts.messages import AlertRaised, TurnClosed
from services.operator import briefing, cases, metrics, wording
from services.operator.catalogue import offered
from services.operator.config import Config
from services.operator.decision import (
    MODEL_UNAVAILABLE,
    Called,
    Decision,
    SkipReason,
    conclude,
    not_made_good,
    skipped,
    why_skip,
)
from services.operator.model import Model, ModelUnavailableError
from services.operator.operation import Operation
from services.operator.state import State
from services.operator.store import leads, promises, turns
from services.operator.turn import Desk, Operated, operate, settle
from shared.bus import NOTHING, Effects, Job, StartJob
from shared.db import Tx, Write
from shared.ids import derived_id
from shared.tool_breaker import show_breaker

SETTLE: Final = "settle_promises"
_NO_CASE: Final[frozenset[str]] = frozenset({"preview", "person_has_lead"})
"""Nothing left, or a person has it in hand."""


class Settle(msgspec.Struct, frozen=True, kw_only=True):
    """Judge the promises of a turn, named itself or by the obligation that its text became."""

    turn_id: UUID | None = None
    obligation_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A turn with all that the work needs; `skip` names the rule that makes a model call needless."""

    turn: TurnClosed
    state: State
    operations: Mapping[str, Operation]
    skip: SkipReason | None
    attempt: int
    now: datetime


class Operating:
    """The slow work on a closed turn."""

    def __init__(self, config: Config, everything: Mapping[str, Operation]) -> None:
        self._model = Model(config)
        self._attempts = config.model_attempts
        self._everything = everything

    async def prepare(self, tx: Tx, job: Job) -> Prepared | None:
        """Nothing to do for a turn that is decided already."""
        turn = msgspec.json.decode(job.payload, type=TurnClosed)
        if await turns.is_decided(tx, turn.turn_id):
            return None
        state = await turns.state_of(tx, turn)
        settings = await turns.settings_of(tx, turn.tenant)
        operations = offered(self._everything, settings)
        skip = why_skip(turn, state, settings, len(operations))
        return Prepared(turn, state, operations, skip, job.attempts, job.now)

    async def work(self, prepared: Prepared) -> Operated:
        if prepared.skip is not None:
            return Operated()
        talk = self._model.talk(
            office=briefing.OFFICE,
            situation=briefing.situation(prepared.turn, prepared.state, prepared.now),
            tools=briefing.tools(prepared.operations),
        )
        desk = Desk(prepared.operations, prepared.state, prepared.turn.turn_id, prepared.now)
        try:
            return await operate(talk, desk)
        except ModelUnavailableError:
            if prepared.attempt < self._attempts:
                raise  # counted and tried again by the bus, from the start: nothing was written
            return Operated(stopped_by=MODEL_UNAVAILABLE)
        finally:
            show_breaker(desk.breaker, prepared.operations)

    async def finish(self, tx: Tx, job: Job, prepared: Prepared, operated: Operated) -> Effects:
        turn = prepared.turn
        state = await turns.state_of(tx, turn)
        if await turns.is_decided(tx, turn.turn_id):
            return NOTHING
        state = replace(state, seen_version=prepared.state.seen_version)
        decision, effects = decided(prepared, operated, state, job.now)
        metrics.count(decision, self._everything)
        return effects


def decided(prepared: Prepared, operated: Operated, state: State, now: datetime) -> tuple[Decision, Effects]:
    """The decision on the locked state, and everything that follows from it."""
    turn = prepared.turn
    calls, effects = settle(operated.calls, prepared.operations, state, turn.turn_id, prepared.now)
    if prepared.skip is not None:
        decision = skipped(prepared.skip)
    elif state.owner == "person":  # taken over while the model was asked: nothing of it counts
        decision, effects = skipped("person_has_lead", operated.use), NOTHING
    elif operated.stopped_by == MODEL_UNAVAILABLE:
        decision = Decision(outcome="could_not_act", reason=MODEL_UNAVAILABLE)
    else:
        decision = conclude(calls, operated.stopped_by, operated.note, operated.use)
    if decision.reason not in _NO_CASE:
        effects += cases.counted_on(turn, state, effects.says, now)
    recorded = Effects(writes=(turns.decide(turn, decision, now), *_remember(turn)), jobs=(settle_turn(turn.turn_id),))
    return decision, recorded + effects + _could_not(turn, decision, state.language, now)


def _remember(turn: TurnClosed) -> tuple[Write, ...]:
    return () if turn.kind == "preview_turn" else tuple(promises.remember(turn))


def _could_not(turn: TurnClosed, decision: Decision, language: str, now: datetime) -> Effects:
    """What was wanted and not possible: an alert with the reason and a line on the timeline, never a silent return."""
    failed = not_made_good(decision.calls)
    if not failed and decision.outcome != "could_not_act":
        return NOTHING
    text = wording.could_not_act(_reasons(failed), language)
    alert = AlertRaised(
        tenant=turn.tenant,
        alert_id=derived_id(turn.turn_id, "could_not_act"),
        conversation_id=turn.conversation_id,
        turn_id=turn.turn_id,
        kind="could_not_act",
        severity="warning",
        text=text,
        at=now,
    )
    entry = leads.tell(
        alert.alert_id, turn.tenant, turn.contact_id, conversation_id=turn.conversation_id,
        turn_id=turn.turn_id, by="agent", kind=alert.kind, text=text, at=now,
    )  # fmt: skip
    return Effects(writes=(entry,), says=(alert,))


def _reasons(failed: tuple[Called, ...]) -> str:
    """Each operation's last reason; a model's invention is cut, so that the alert stays readable."""
    latest = {call.operation: call.why for call in failed}
    return "; ".join(f"{operation[:60]} ({why[:300]})" for operation, why in list(latest.items())[:8])


def settle_turn(turn_id: UUID) -> StartJob:
    return StartJob(
        id=derived_id(turn_id, SETTLE),
        kind=SETTLE,
        key=str(turn_id),
        payload=msgspec.json.encode(Settle(turn_id=turn_id)),
    )


def settle_obligation(obligation_id: UUID) -> StartJob:
    """The turn is looked up when it runs: a filing and a send of one text are heard in no certain order."""
    return StartJob(
        id=derived_id(obligation_id, SETTLE),
        kind=SETTLE,
        key=str(obligation_id),
        payload=msgspec.json.encode(Settle(obligation_id=obligation_id)),
    )
