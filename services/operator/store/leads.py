"""Leads, tags, tasks, cases, facts, and the timeline that tells people about them."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from services.operator.stages import Stage
from services.operator.state import Case, Fact, FactKind, Lead, Priority, State, Task
from shared.db import Tx, Write

Actor = Literal["agent", "person", "customer", "system"]

_LEAD = "insert into lead (contact_id, tenant, name) values ($1, $2, $3) on conflict (contact_id) do {}"
_KNOW = _LEAD.format("update set name = excluded.name where excluded.name <> '' and lead.name <> excluded.name")
_ENSURE = _LEAD.format("nothing")
_CONTACTED = """update lead set stage = 'contacted', version = version + 1, moved_by = 'system'
where contact_id = $1 and stage = 'new'"""
_MOVE = """update lead set stage = $3, version = version + 1, moved_by = 'agent'
where contact_id = $1 and version = $2"""
_TAG = "insert into tag (tenant, contact_id, tag) values ($1, $2, $3) on conflict do nothing"
_TASK = """
insert into task (task_id, tenant, contact_id, conversation_id, turn_id, title, details, due_at, created_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (task_id) do nothing
"""
_CASE = """
insert into support_case (case_id, tenant, contact_id, conversation_id, turn_id, subject, details, priority, opened_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (case_id) do nothing
"""
_FACT = """
insert into fact (fact_id, tenant, contact_id, conversation_id, kind, subject, value, source, observed_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (fact_id) do nothing
"""
_ENTRY = """
insert into timeline (entry_id, tenant, contact_id, conversation_id, turn_id, by, kind, text, at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (entry_id) do nothing
"""


def know_lead(tenant: UUID, contact_id: UUID, name: str = "") -> Write:
    return Write(_KNOW, (contact_id, tenant, name))


def lead_was_contacted(contact_id: UUID) -> Write:
    return Write(_CONTACTED, (contact_id,))


def move_stage(state: State, stage: Stage) -> Write:
    """Compare-and-set on the version in `state`."""
    return Write(_MOVE, (state.contact_id, state.lead.version, stage))


def add_tag(state: State, tag: str) -> Write:
    return Write(_TAG, (state.tenant, state.contact_id, tag))


def create_task(state: State, turn_id: UUID, task: Task, details: str, now: datetime) -> Write:
    of = (state.tenant, state.contact_id, state.conversation_id)
    return Write(_TASK, (task.task_id, *of, turn_id, task.title, details, task.due_at, now))


def open_case(state: State, turn_id: UUID, case: Case, details: str) -> Write:
    of = (state.tenant, state.contact_id, state.conversation_id)
    return Write(_CASE, (case.case_id, *of, turn_id, case.subject, details, case.priority, case.opened_at))


def record_fact(state: State, fact_id: UUID, fact: Fact) -> Write:
    of = (state.tenant, state.contact_id, state.conversation_id)
    return Write(_FACT, (fact_id, *of, fact.kind, fact.subject, fact.value, fact.source, fact.observed_at))


def tell(
    entry_id: UUID, tenant: UUID, contact_id: UUID, *, conversation_id: UUID | None, turn_id: UUID | None = None,
    by: Actor, kind: str, text: str, at: datetime,
) -> Write:  # fmt: skip
    """A line of the lead's timeline."""
    return Write(_ENTRY, (entry_id, tenant, contact_id, conversation_id, turn_id, by, kind, text, at))


async def lock_lead(tx: Tx, tenant: UUID, contact_id: UUID) -> Lead:
    """The lead, created if nobody heard of it yet; locked until the transaction ends."""
    await tx.execute(_ENSURE, contact_id, tenant, "")
    row = await tx.row("select name, stage, version, moved_by from lead where contact_id = $1 for update", contact_id)
    assert row is not None  # ensured above
    return Lead(name=row["name"], stage=row["stage"], version=row["version"], moved_by=row["moved_by"])


async def tags_of(tx: Tx, contact_id: UUID) -> tuple[str, ...]:
    rows = await tx.rows("select tag from tag where contact_id = $1 order by tag", contact_id)
    return tuple(row["tag"] for row in rows)


async def open_tasks(tx: Tx, contact_id: UUID) -> tuple[Task, ...]:
    rows = await tx.rows(
        "select task_id, title, due_at from task where contact_id = $1 and state = 'open' order by created_at, task_id",
        contact_id,
    )
    return tuple(Task(task_id=row["task_id"], title=row["title"], due_at=row["due_at"]) for row in rows)


async def open_case_of(tx: Tx, conversation_id: UUID) -> Case | None:
    row = await tx.row(
        """select case_id, subject, priority, opened_at from support_case
           where conversation_id = $1 and state in ('awaiting_human', 'awaiting_lead')""",
        conversation_id,
    )
    if row is None:
        return None
    priority: Priority = row["priority"]
    return Case(case_id=row["case_id"], subject=row["subject"], priority=priority, opened_at=row["opened_at"])


async def facts_of(tx: Tx, contact_id: UUID, limit: int) -> tuple[Fact, ...]:
    """The latest facts, newest first."""
    rows = await tx.rows(
        """select kind, subject, value, source, observed_at from fact
           where contact_id = $1 order by observed_at desc, fact_id limit $2""",
        contact_id,
        limit,
    )
    return tuple(_fact(row["kind"], row["subject"], row["value"], row["source"], row["observed_at"]) for row in rows)


def _fact(kind: FactKind, subject: str, value: str, source: str, observed_at: datetime) -> Fact:
    return Fact(kind=kind, subject=subject, value=value, source=source, observed_at=observed_at)
