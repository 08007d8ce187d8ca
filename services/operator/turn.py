"""The operating turn: ask the model, try its calls on a copy of the state, tell it the results. Six rounds at most.

Laws
- Nothing is written while the model is asked. What it called is decided again on the state of the moment in which it
  is written (`settle`), under the lead's lock: what a person did meanwhile wins.
- A call that names no offered operation is refused like any other mistake. There is nothing else to reach.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec
from msgspec.structs import replace

from services.operator.decision import Called, CallOutcome, Use
from services.operator.model import AskedCall, Talk
from services.operator.operation import Done, Ids, Operation, Refusal
from services.operator.state import State
from services.operator.store import leads
from shared.bus.effects import NOTHING, Effects
from shared.tool_breaker import Breaker, Call, Result

ROUNDS: Final = 6
CALLS: Final = 24
NOTE_CHARACTERS: Final = 1000

_BREAKER_RESULT: Final[Mapping[CallOutcome, Result]] = {
    "changed": "changed",
    "unchanged": "unchanged",
    "refused": "failed",
}


class Operated(msgspec.Struct, frozen=True, kw_only=True):
    """What the model called and how it ended. `stopped_by` is empty when it ended by itself."""

    calls: tuple[Called, ...] = ()
    stopped_by: str = ""
    note: str = ""
    use: Use = Use()


class Desk:
    """Where the calls of one turn are carried out, one after the other, each on the state that the last one left."""

    def __init__(self, operations: Mapping[str, Operation], state: State, turn_id: UUID, now: datetime) -> None:
        self._operations = operations
        self._turn_id = turn_id
        self._now = now
        self.state = state
        self.breaker = Breaker()
        self.calls: list[Called] = []

    def take(self, asked: AskedCall) -> str:
        """Carry out one call; returns what the model is told, raw."""
        call = Call(asked.function.name, asked.function.arguments or "{}")
        ids = Ids(self._turn_id, len(self.calls))
        result = self._try(call, ids)
        outcome = outcome_of(result)
        why = result.why if isinstance(result, Refusal) else ""
        if isinstance(result, Done):
            self.state = result.state
        self.breaker = self.breaker.after(call, _BREAKER_RESULT[outcome])
        self.calls.append(
            Called(ordinal=ids.ordinal, operation=call.tool, arguments=call.arguments, outcome=outcome, why=why)
        )
        return _told(outcome, result, self.breaker.warning(call))

    def _try(self, call: Call, ids: Ids) -> Done | Refusal:
        if self.breaker.is_open(call):
            return Refusal("this exact call failed too often: it is no longer tried in this turn")
        if ids.ordinal >= CALLS:
            return Refusal(f"a turn has at most {CALLS} calls: end it")
        return run(self._operations, call, self.state, ids, self._now)


def run(operations: Mapping[str, Operation], call: Call, state: State, ids: Ids, now: datetime) -> Done | Refusal:
    operation = operations.get(call.tool)
    if operation is None:
        return Refusal(f"there is no operation {call.tool}; there are: {', '.join(operations)}")
    return operation.run(call.arguments, state, ids, now)


def outcome_of(result: Done | Refusal) -> CallOutcome:
    if isinstance(result, Refusal):
        return "refused"
    return "changed" if result.entry else "unchanged"


def _told(outcome: CallOutcome, result: Done | Refusal, warning: str) -> str:
    told = {"result": outcome}
    told |= {"why": result.why} if isinstance(result, Refusal) else {"now": result.entry or "it was so already"}
    return msgspec.json.encode(told | ({"warning": warning} if warning else {})).decode()


async def operate(talk: Talk, desk: Desk) -> Operated:
    """Let the model work at the desk until it has nothing left to call."""
    use, note = Use(model=talk.model), ""
    for _ in range(ROUNDS):
        answer = await talk.answer()
        note = answer.text[:NOTE_CHARACTERS] or note
        use = Use(
            model=use.model,
            rounds=use.rounds + 1,
            tokens_in=use.tokens_in + answer.usage.prompt_tokens,
            tokens_out=use.tokens_out + answer.usage.completion_tokens,
        )
        if not answer.calls:
            return Operated(calls=tuple(desk.calls), note=note, use=use)
        if why := _take_all(talk, desk, answer.calls):
            note = f"{note} [{why}]".strip()
            return Operated(calls=tuple(desk.calls), stopped_by="breaker", note=note, use=use)
    return Operated(calls=tuple(desk.calls), stopped_by="round_limit", note=note, use=use)


def _take_all(talk: Talk, desk: Desk, calls: Sequence[AskedCall]) -> str:
    """Carry out a round's calls; returns why the turn must stop, empty when it goes on."""
    for asked in calls:
        talk.give_result(asked, desk.take(asked))
        if why := desk.breaker.why_stop():
            return why
    return ""


def settle(
    calls: Sequence[Called], operations: Mapping[str, Operation], state: State, turn_id: UUID, now: datetime
) -> tuple[tuple[Called, ...], Effects]:
    """Decide the calls again, on the locked state of now; returns them with their true outcomes, and their effects."""
    settled: list[Called] = []
    effects = NOTHING
    for called in calls:
        if called.outcome == "refused":
            settled.append(called)
            continue
        ids = Ids(turn_id, called.ordinal)
        result = run(operations, Call(called.operation, called.arguments), state, ids, now)
        why = result.why if isinstance(result, Refusal) else ""
        settled.append(replace(called, outcome=outcome_of(result), why=why))
        if isinstance(result, Done):
            effects += _with_entry(result, called, state, ids, now)
            state = result.state
    return tuple(settled), effects


def _with_entry(done: Done, called: Called, state: State, ids: Ids, now: datetime) -> Effects:
    if not done.entry:
        return done.effects
    entry = leads.tell(
        ids.of("timeline"), state.tenant, state.contact_id, conversation_id=state.conversation_id,
        turn_id=ids.turn_id, by="agent", kind=called.operation, text=done.entry, at=now,
    )  # fmt: skip
    return done.effects + Effects(writes=(entry,))
