"""What the operating role sees: the raw state of a lead and its conversation. Nothing is projected away here."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from contracts.messages import Owner
from services.operator.stages import Stage

FactKind = Literal["contract_signed", "contract_delivered", "preference", "identity", "other"]
Priority = Literal["normal", "high"]


class Lead(Struct, frozen=True, kw_only=True):
    """`version` grows with each move; who moved it last is on record, for a person's move wins."""

    name: str = ""
    stage: Stage = "new"
    version: int = 0
    moved_by: Literal["agent", "person", "system"] = "system"


class Task(Struct, frozen=True, kw_only=True):
    task_id: UUID
    title: str
    due_at: datetime | None = None


class Case(Struct, frozen=True, kw_only=True):
    case_id: UUID
    subject: str
    priority: Priority = "normal"
    opened_at: datetime


class Fact(Struct, frozen=True, kw_only=True):
    kind: FactKind
    subject: str
    value: str
    source: str
    observed_at: datetime


class Line(Struct, frozen=True, kw_only=True):
    """Something that was really said: a customer's words, or a text that left. Never a draft."""

    by: Literal["customer", "business"]
    text: str
    at: datetime


class State(Struct, frozen=True, kw_only=True):
    """`seen_version` is the lead's version when the model looked: a move that rests on an older look is refused."""

    tenant: UUID
    conversation_id: UUID
    contact_id: UUID
    owner: Owner = "agent"
    language: str = "pt-BR"
    lead: Lead = Lead()
    seen_version: int = 0
    tags: tuple[str, ...] = ()
    tasks: tuple[Task, ...] = ()
    case: Case | None = None
    facts: tuple[Fact, ...] = ()
    lines: tuple[Line, ...] = ()


class Settings(Struct, frozen=True, kw_only=True):
    """A tenant's switches. `operations` None means all that there are; an empty list means none."""

    is_role_on: bool = True
    operations: tuple[str, ...] | None = None
