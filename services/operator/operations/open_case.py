"""Ask the team to take something over: a case waits for a person's answer."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from contracts.messages import CaseOpened
from services.operator.operation import Done, Example, Ids, Operation, Refusal
from services.operator.state import Case, Priority, State
from services.operator.store import leads
from shared.bus.effects import Effects


class OpenCase(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Open a case for the team: a complaint, an exception, a question that only a person can answer.

    A conversation has one open case; while it is open, add a task instead.
    """

    subject: Annotated[str, Meta(min_length=1, max_length=200, description="What it is about, in one line.")]
    details: Annotated[str, Meta(max_length=2000, description="What happened, in the customer's words.")] = ""
    priority: Annotated[Priority, Meta(description="high when the customer suffers a loss or is about to leave.")] = (
        "normal"
    )


def decide(arguments: OpenCase, state: State, ids: Ids, now: datetime) -> Done | Refusal:
    subject = " ".join(arguments.subject.split())
    if not subject:
        return Refusal("subject: it has no letters")
    if state.case is not None and state.case.subject.casefold() == subject.casefold():
        return Done(state)
    if state.case is not None:
        return Refusal(f"subject: a case is open here already ({state.case.subject}); add a task to it instead")
    case = Case(case_id=ids.of("case"), subject=subject, priority=arguments.priority, opened_at=now)
    said = CaseOpened(
        tenant=state.tenant,
        case_id=case.case_id,
        conversation_id=state.conversation_id,
        contact_id=state.contact_id,
        subject=subject,
        opened_at=now,
    )
    write = leads.open_case(state, ids.turn_id, case, arguments.details)
    return Done(replace(state, case=case), Effects(writes=(write,), says=(said,)), subject)


_ID = UUID(int=1)
_AT = State(tenant=_ID, conversation_id=_ID, contact_id=_ID)
_OPEN = replace(_AT, case=Case(case_id=_ID, subject="Bolo veio errado", opened_at=datetime(2026, 1, 1, tzinfo=UTC)))

OPERATION = Operation(
    name="open_case",
    arguments=OpenCase,
    decide=decide,
    risk="attention",
    bundle="escalate",
    examples=(
        Example({"subject": "Bolo veio errado", "priority": "high"}, _AT, "changed", names="Bolo veio errado"),
        Example({"subject": "bolo veio errado"}, _OPEN, "unchanged"),
        Example({"subject": "Atraso na entrega"}, _OPEN, "refused", names="Bolo veio errado"),
        Example({"subject": " "}, _AT, "refused", names="subject"),
        Example({"subject": "Bolo", "priority": "urgent"}, _AT, "refused", names="priority"),
        Example({"subject": "Bolo", "reply": "oi"}, _AT, "refused", names="reply"),
    ),
)
