"""A turn of the speaking role, as values: what it is, and each move that it can make.

Laws
- drafting → judging → (drafting again, at most twice) → closing → closed | handed_off; superseded from anywhere.
- Every move raises `step`: whatever was started for an earlier step does nothing when it arrives.
- A turn whose outcome is `handed_off` is on its way to a person: it writes no more drafts.
- A closed turn holds no transcript.
"""

from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from contracts.messages import Destination, Evidence, ObligationRef, TurnKind, TurnOutcome
from shared.ids import derived_id

State = Literal["drafting", "judging", "closing", "closed", "superseded", "handed_off"]

MOST_REWRITES = 2
MOST_STEPS_PER_DRAFT = 6
MOST_ROUNDS = 3


class Turn(Struct, frozen=True, kw_only=True):
    """The whole turn; `outcome` is set as soon as it is certain, `transcript` is what was said to and by the model."""

    id: UUID
    tenant: UUID
    conversation_id: UUID
    contact_id: UUID
    channel_id: UUID
    kind: TurnKind
    state: State = "drafting"
    outcome: TurnOutcome | Literal[""] = ""
    reason: str = ""
    step: int = 0
    context_revision: int
    destination: Destination
    language: str
    started_at: datetime
    begun_at: datetime | None = None
    closed_at: datetime | None = None
    rewrites: int = 0
    vetoed_by: str = ""
    draft_id: UUID | None = None
    body: str = ""
    opens_case: UUID | None = None
    note: str = ""
    instruction: str = ""
    previous_body: str = ""
    redraft_of: ObligationRef | None = None
    transcript: tuple[dict[str, Any], ...] = ()
    evidence: tuple[Evidence, ...] = ()
    rolling_summary: str = ""

    @property
    def is_gathering(self) -> bool:
        """Still waiting for the rest of a burst: no model was asked yet."""
        return self.state == "drafting" and self.begun_at is None

    @property
    def is_handing_off(self) -> bool:
        return self.outcome == "handed_off"


def moved(turn: Turn, **changes: Any) -> Turn:
    return replace(turn, step=turn.step + 1, **changes)


def due_at(turn: Turn, now: datetime, *, debounce_seconds: float, cap_seconds: float) -> datetime:
    """When a gathering turn begins: after a silence, but never later than the cap after its first message."""
    return min(now + timedelta(seconds=debounce_seconds), turn.started_at + timedelta(seconds=cap_seconds))


def proposed(turn: Turn, body: str, *, needs_person: bool, opens_case: bool) -> Turn:
    """The model spoke: the text waits for its verdict. The draft's id is the same however often this is run."""
    return moved(
        turn,
        state="judging",
        draft_id=derived_id(turn.id, f"draft-{turn.rewrites}"),
        body=body,
        outcome="handed_off" if needs_person else "",
        reason="asked_for_person" if needs_person else "",
        opens_case=derived_id(turn.id, "case") if opens_case else None,
    )


def rendered(turn: Turn, body: str) -> Turn:
    """The text as people will read it: guardrails may have added the disclosure."""
    return replace(turn, body=body)


def closing(turn: Turn, outcome: TurnOutcome, reason: str = "") -> Turn:
    """On the way out; a turn that was already going to a person stays so."""
    if turn.is_handing_off:
        outcome, reason = "handed_off", turn.reason
    return moved(turn, state="closing", outcome=outcome, reason=reason)


def without_draft(turn: Turn) -> Turn:
    """The draft did not pass: nothing of it may look as if it had been said."""
    return replace(turn, draft_id=None, body="", opens_case=None)


def closed(turn: Turn, now: datetime, rolling_summary: str = "") -> Turn:
    state: State = "handed_off" if turn.is_handing_off else "closed"
    return moved(turn, state=state, closed_at=now, transcript=(), rolling_summary=rolling_summary)


def superseded(turn: Turn, now: datetime, reason: str) -> Turn:
    return moved(turn, state="superseded", outcome="superseded", reason=reason, closed_at=now, transcript=())


class Rewrite(Struct, frozen=True):
    """The model tries again."""

    turn: Turn


class OpenCase(Struct, frozen=True):
    """The same text once more, resting on a case that is opened for it."""

    turn: Turn


class HandOff(Struct, frozen=True):
    """A person gets the conversation."""

    reason: str


class End(Struct, frozen=True):
    """The turn ends without a word."""

    reason: str


def after_refusal(
    turn: Turn, gate: str, told: dict[str, Any], *, ends_turn: bool, code: str, lacks_only_a_case: bool = False
) -> Rewrite | OpenCase | HandOff | End:
    """What follows a text that may not be filed; `told` is what the model is told about it.

    A model that twice counts on somebody who was not told means it: the case is opened without it.
    """
    if ends_turn:
        return End(code)
    if turn.is_handing_off:
        return HandOff(turn.reason)
    if turn.rewrites >= MOST_REWRITES:
        return HandOff("drafts_refused")
    if lacks_only_a_case and turn.vetoed_by == gate and turn.opens_case is None:
        return OpenCase(_with_case(turn))
    told_model = moved(
        without_draft(turn),
        state="drafting",
        outcome="",
        rewrites=turn.rewrites + 1,
        vetoed_by=gate,
        transcript=(*turn.transcript, told),
    )
    return Rewrite(told_model)


def _with_case(turn: Turn) -> Turn:
    again = turn.rewrites + 1
    draft_id = derived_id(turn.id, f"draft-{again}")
    return moved(turn, draft_id=draft_id, rewrites=again, opens_case=derived_id(turn.id, "case"))


class Recovery(Struct, frozen=True):
    """What became of a rewrite, counted to the gate that had asked for it."""

    gate: str
    result: Literal["recovered", "refused_again", "handed_off"]


def recovery(turn: Turn, *, is_cleared: bool) -> Recovery | None:
    """None when the judged text was no rewrite."""
    if not turn.vetoed_by:
        return None
    if is_cleared:
        return Recovery(turn.vetoed_by, "recovered")
    return Recovery(turn.vetoed_by, "handed_off" if turn.rewrites >= MOST_REWRITES else "refused_again")
