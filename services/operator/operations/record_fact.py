"""Put something on record about the contact. Never a contract: only people or its source system confirm one."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from contracts.messages import FactRecorded
from services.operator.operation import Done, Example, Ids, Operation, Refusal
from services.operator.state import Fact, State
from services.operator.store import leads
from shared.bus.effects import Effects

SOURCE = "operator"


class RecordFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Record something durable that the customer stated: a preference, who they are, another lasting fact."""

    kind: Annotated[Literal["preference", "identity", "other"], Meta(description="What sort of fact it is.")]
    subject: Annotated[str, Meta(min_length=1, max_length=120, description="What it is about: “allergy”, “birthday”.")]
    value: Annotated[str, Meta(min_length=1, max_length=1000, description="What the customer said it is.")]


def decide(arguments: RecordFact, state: State, ids: Ids, now: datetime) -> Done | Refusal:
    subject, value = arguments.subject.strip(), arguments.value.strip()
    if not subject or not value:
        return Refusal("subject, value: neither may be empty")
    if any(_is_known(one, subject, value) for one in state.facts):
        return Done(state)
    fact = Fact(kind=arguments.kind, subject=subject, value=value, source=SOURCE, observed_at=now)
    fact_id = ids.of("fact")
    said = FactRecorded(
        tenant=state.tenant,
        fact_id=fact_id,
        contact_id=state.contact_id,
        conversation_id=state.conversation_id,
        kind=fact.kind,
        subject=subject,
        value=value,
        source=SOURCE,
        observed_at=now,
    )
    effects = Effects(writes=(leads.record_fact(state, fact_id, fact),), says=(said,))
    return Done(replace(state, facts=(fact, *state.facts)), effects, f"{subject}: {value}")


def _is_known(fact: Fact, subject: str, value: str) -> bool:
    return fact.subject.casefold() == subject.casefold() and fact.value.casefold() == value.casefold()


_ID = UUID(int=1)
_AT = State(tenant=_ID, conversation_id=_ID, contact_id=_ID)
_BIRTHDAY = {"kind": "identity", "subject": "aniversário", "value": "12 de maio"}

OPERATION = Operation(
    name="record_fact",
    arguments=RecordFact,
    decide=decide,
    risk="safe",
    bundle="evolve",
    examples=(
        Example(_BIRTHDAY, _AT, "changed", names="aniversário: 12 de maio"),
        Example({**_BIRTHDAY, "kind": "contract_signed"}, _AT, "refused", names="kind"),
        Example({**_BIRTHDAY, "kind": "contract_delivered"}, _AT, "refused", names="kind"),
        Example({**_BIRTHDAY, "value": " "}, _AT, "refused", names="value"),
        Example({**_BIRTHDAY, "source": "erp"}, _AT, "refused", names="source"),
    ),
)
