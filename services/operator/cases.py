"""The case that a text counts on, opened by the runtime: a promise of it never depends on what a model calls."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from contracts.messages import CaseOpened, Message, TurnClosed
from services.operator import wording
from services.operator.state import Case, State
from services.operator.store import leads
from shared.bus import NOTHING, Effects
from shared.ids import derived_id

_LONGEST_SUBJECT: Final = 200


def counted_on(turn: TurnClosed, state: State, said: Iterable[Message], now: datetime) -> Effects:
    """Open the case whose id the turn's text rests on, unless one is open here or was opened in this turn."""
    if turn.opens_case is None or state.case is not None:
        return NOTHING
    if any(isinstance(one, CaseOpened) for one in said):
        return NOTHING
    subject = wording.counted_on(_wanted(turn), state.language)[:_LONGEST_SUBJECT]
    case = Case(case_id=turn.opens_case, subject=subject, priority="normal", opened_at=now)
    opened = CaseOpened(
        tenant=state.tenant,
        case_id=case.case_id,
        conversation_id=state.conversation_id,
        contact_id=state.contact_id,
        subject=subject,
        opened_at=now,
    )
    entry = leads.tell(
        derived_id(turn.opens_case, "timeline"), state.tenant, state.contact_id, conversation_id=state.conversation_id,
        turn_id=turn.turn_id, by="agent", kind="open_case", text=subject, at=now,
    )  # fmt: skip
    return Effects(writes=(leads.open_case(state, turn.turn_id, case, ""), entry), says=(opened,))


def _wanted(turn: TurnClosed) -> str:
    declaration = turn.checkpoint.declaration if turn.checkpoint else None
    if declaration is None:
        return ""
    promised = [one.what for one in declaration.promises]
    return "; ".join(promised or [one.what for one in declaration.intents])
