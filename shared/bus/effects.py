"""What a handler is given and what it returns. Handlers never publish, acknowledge or see NATS."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar
from uuid import UUID

from contracts.messages import Message
from shared.db import Tx, Write

M_co = TypeVar("M_co", bound=Message, covariant=True)


class Retry(Exception):  # noqa: N818 - a request, not an error
    """Raised by a handler: run this again after so many seconds; does not count as a failure."""

    def __init__(self, after_seconds: float, why: str) -> None:
        super().__init__(why)
        self.after_seconds = after_seconds


class Reject(Exception):  # noqa: N818 - a verdict on the message, not an error of ours
    """Raised by a handler: this can never be handled; park its lane (or job) at once and show it."""


@dataclass(frozen=True, slots=True)
class Heard(Generic[M_co]):
    """A message with what the handler may know of its arrival."""

    message: M_co
    id: UUID
    tenant: UUID
    cause: UUID
    traceparent: str
    now: datetime
    """The database's clock when its transaction began."""


@dataclass(frozen=True, slots=True)
class Job:
    """A timer that is due, or slow work, under a lease."""

    id: UUID
    kind: str
    key: str
    tenant: UUID
    cause: UUID
    traceparent: str
    payload: bytes
    attempts: int
    """How often this was begun, this time included."""
    token: UUID
    now: datetime


@dataclass(frozen=True, slots=True)
class StartJob:
    """Run `kind` when due. The same id again replaces the waiting one, and fences one that is running."""

    id: UUID
    kind: str
    key: str
    payload: bytes = b"{}"
    after_seconds: float = 0.0
    due_at: datetime | None = None
    """Absolute time; None means now. `after_seconds` is added to it."""
    is_ordered: bool = False
    """Jobs of one kind and key run one after the other, in the order in which they were started."""


@dataclass(frozen=True, slots=True)
class CancelJobs:
    """Remove what waits of a kind under a key; what runs is fenced."""

    kind: str
    key: str


@dataclass(frozen=True, slots=True)
class Effects:
    """What becomes true when the transaction commits: rows, messages, timers; all of it or nothing."""

    writes: Sequence[Write] = ()
    says: Sequence[Message] = ()
    cancels: Sequence[CancelJobs] = ()
    jobs: Sequence[StartJob] = ()

    def __add__(self, other: "Effects") -> "Effects":
        return Effects(
            (*self.writes, *other.writes),
            (*self.says, *other.says),
            (*self.cancels, *other.cancels),
            (*self.jobs, *other.jobs),
        )


NOTHING = Effects()

Load = Callable[[Tx, Sequence[Heard[Any]]], Awaitable[Sequence[Any]]]
Decide = Callable[[Heard[Any], Any], Effects]


@dataclass(frozen=True, slots=True)
class Quick:
    """`load` reads the facts of a batch, `decide` is pure. Runs inside the inbox's transaction."""

    message: type[Message]
    load: Load
    decide: Decide


@dataclass(frozen=True, slots=True)
class Slow:
    """`prepare(tx)` → `work()` under a lease, no transaction open → `finish(tx)`; a zombie's finish is refused.

    `prepare` returning None means there is nothing to do: the job ends without work.
    """

    on: type[Message] | str
    """A message heard, or the kind of a job that handlers start."""
    prepare: Callable[[Tx, Job], Awaitable[Any]]
    work: Callable[[Any], Awaitable[Any]]
    finish: Callable[[Tx, Job, Any, Any], Awaitable[Effects]]


@dataclass(frozen=True, slots=True)
class Timer:
    """A job that is one short transaction: `load` then `decide`."""

    kind: str
    load: Callable[[Tx, Job], Awaitable[Any]]
    decide: Callable[[Job, Any], Effects]
    after_hearing_seconds: float = 0.0
    """For decisions of the form "nobody said it by now": due only when the bus has been heard for so long without a
    break. What was said meanwhile may still be on its way after a restart, for as long as the stream's ack wait."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """Everything a service reacts to. A message type of a heard topic that is not listed must be in `ignores`."""

    quick: Sequence[Quick] = ()
    slow: Sequence[Slow] = ()
    timers: Sequence[Timer] = ()
    ignores: Sequence[type[Message]] = field(default_factory=tuple)


def each(load_one: Callable[[Tx, Heard[Any]], Awaitable[Any]]) -> Load:
    """A `load` that asks for each message in turn: for topics too rare to deserve a set-based query."""

    async def load(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[Any]:
        return [await load_one(tx, one) for one in heard]

    return load


async def no_facts(_tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[None]:
    """A `load` for handlers that need nothing but the message."""
    return [None] * len(heard)
