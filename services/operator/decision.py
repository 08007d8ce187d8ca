"""The one decision of a turn: whether the model is asked at all, and what its calls amount to."""

from typing import Final, Literal

from msgspec import Struct

from contracts.messages import TurnClosed
from services.operator.state import Settings, State

Outcome = Literal["acted", "nothing", "skipped", "could_not_act"]
CallOutcome = Literal["changed", "unchanged", "refused"]
SkipReason = Literal["preview", "person_has_lead", "role_off", "nothing_to_declare", "no_operations"]

MODEL_UNAVAILABLE: Final = "model_unavailable"


class Called(Struct, frozen=True, kw_only=True):
    """A call of the model, as it came, and what became of it."""

    ordinal: int
    operation: str
    arguments: str
    outcome: CallOutcome
    why: str = ""


class Use(Struct, frozen=True, kw_only=True):
    """What asking the model cost; no rounds means that it was not asked."""

    model: str = ""
    rounds: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Decision(Struct, frozen=True, kw_only=True):
    outcome: Outcome
    reason: str = ""
    calls: tuple[Called, ...] = ()
    note: str = ""
    use: Use = Use()


def why_skip(turn: TurnClosed, state: State, settings: Settings, operation_count: int) -> SkipReason | None:
    """The first rule that makes a model call needless, in order; None when the model must be asked.

    A declaration that is absent (null, malformed, never made) means that nobody evaluated: the model must be asked.
    Empty lists are not the assertion that there is nothing; only `nothing_to_declare` is.
    """
    if turn.kind == "preview_turn":
        return "preview"
    if state.owner == "person":
        return "person_has_lead"
    if not settings.is_role_on:
        return "role_off"
    declaration = turn.checkpoint.declaration if turn.checkpoint else None
    if declaration is not None and declaration.nothing_to_declare:
        return "nothing_to_declare"
    return None if operation_count else "no_operations"


def not_made_good(calls: tuple[Called, ...]) -> tuple[Called, ...]:
    """Refused calls whose operation did not succeed afterwards: what the role wanted and could not do."""
    return tuple(
        call
        for place, call in enumerate(calls)
        if call.outcome == "refused"
        and not any(later.operation == call.operation and later.outcome != "refused" for later in calls[place + 1 :])
    )


def conclude(calls: tuple[Called, ...], stopped_by: str, note: str, use: Use) -> Decision:
    """What the calls of a turn amount to. No calls is a decision too."""
    if any(call.outcome == "changed" for call in calls):
        outcome: Outcome = "acted"
    else:
        outcome = "could_not_act" if not_made_good(calls) else "nothing"
    return Decision(outcome=outcome, reason=stopped_by, calls=calls, note=note, use=use)


def skipped(reason: SkipReason, use: Use | None = None) -> Decision:
    # An assertion that there is nothing is an evaluation, not a turn that was passed over.
    outcome: Outcome = "nothing" if reason == "nothing_to_declare" else "skipped"
    return Decision(outcome=outcome, reason=reason, use=use or Use())
