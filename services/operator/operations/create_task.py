"""Give somebody of the team something to do, with a date where one was named."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.operator.operation import Done, Example, Ids, Operation, Refusal
from services.operator.state import State, Task
from services.operator.store import leads
from shared.bus.effects import Effects

MOST_OPEN_TASKS = 50


class CreateTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Create a task for the team. Use it for whatever was promised to the customer and for what a person has to do."""

    title: Annotated[str, Meta(min_length=1, max_length=200, description="What has to be done, in one line.")]
    details: Annotated[str, Meta(max_length=2000, description="What the person should know.")] = ""
    due_at: Annotated[
        Annotated[datetime, Meta(tz=True)] | None,
        Meta(description="When it is due, with time zone (RFC 3339); null when nobody named a date."),
    ] = None


def decide(arguments: CreateTask, state: State, ids: Ids, now: datetime) -> Done | Refusal:
    title = " ".join(arguments.title.split())
    if not title:
        return Refusal("title: it has no letters")
    if arguments.due_at is not None and arguments.due_at <= now:
        return Refusal(f"due_at: {arguments.due_at.isoformat()} is past; it is {now.isoformat()} now")
    if any(_same(title, task.title) and task.due_at == arguments.due_at for task in state.tasks):
        return Done(state)
    if len(state.tasks) >= MOST_OPEN_TASKS:
        return Refusal(f"title: {MOST_OPEN_TASKS} tasks are open already; a person has to close some")
    task = Task(task_id=ids.of("task"), title=title, due_at=arguments.due_at)
    entry = f"{title} ({task.due_at:%Y-%m-%d %H:%M %Z})" if task.due_at else title
    write = leads.create_task(state, ids.turn_id, task, arguments.details, now)
    return Done(replace(state, tasks=(*state.tasks, task)), Effects(writes=(write,)), entry)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


_ID = UUID(int=1)
_AT = State(tenant=_ID, conversation_id=_ID, contact_id=_ID, tasks=(Task(task_id=_ID, title="Ligar para a Ana"),))
_FULL = replace(_AT, tasks=tuple(Task(task_id=UUID(int=n), title=f"task {n}") for n in range(MOST_OPEN_TASKS)))
_PAST = datetime(2001, 1, 1, tzinfo=UTC).isoformat()

OPERATION = Operation(
    name="create_task",
    arguments=CreateTask,
    decide=decide,
    risk="safe",
    bundle="serve",
    examples=(
        Example({"title": "Remarcar a consulta"}, _AT, "changed", names="Remarcar a consulta"),
        Example({"title": "Retornar", "due_at": "2999-01-05T10:00:00-03:00"}, _AT, "changed", names="2999-01-05 10:00"),
        Example({"title": "ligar para a ana"}, _AT, "unchanged"),
        Example({"title": " "}, _AT, "refused", names="title"),
        Example({"title": "Retornar", "due_at": _PAST}, _AT, "refused", names="due_at"),
        Example({"title": "Retornar", "due_at": "2999-01-05T10:00:00"}, _AT, "refused", names="due_at"),
        Example({"title": "Retornar"}, _FULL, "refused", names="close some"),
        Example({"title": "Retornar", "assignee": "Bia"}, _AT, "refused", names="assignee"),
    ),
)
