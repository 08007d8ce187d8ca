"""From messages and jobs to effects, and from effects to rows, inside a transaction that the caller opened."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple
from uuid import UUID

from contracts import topology
from contracts.messages import Message
from shared import metrics
from shared.bus.effects import CancelJobs, Effects, Handlers, Heard, Quick, Slow, StartJob, Timer
from shared.bus.outbox import Said
from shared.db import Outcome, Tx, Write
from shared.ids import derived_id

_CANCEL = "delete from job where kind = $1 and key = $2"
_START = """
insert into job (id, kind, key, is_ordered, tenant, cause, traceparent, payload, due_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, clock_timestamp()) + make_interval(secs => $10))
on conflict (id) do update set kind = excluded.kind, key = excluded.key, payload = excluded.payload,
  due_at = excluded.due_at, cause = excluded.cause, traceparent = excluded.traceparent,
  attempts = 0, lost = 0, lease_token = null, leased_until = null, parked_at = null, last_error = null
"""


Started = Callable[[set[str]], None]
"""Told, once the transaction has committed, that jobs of these kinds were started, or made way for the next."""


def told_to_nobody(_kinds: set[str]) -> None:
    """They are found at the next look."""


def job_kind(message: type[Message]) -> str:
    """The kind of the job that a slow handler's message becomes."""
    return f"heard:{message.__name__}"


class Handling:
    """A service's handlers, checked against the map at start-up."""

    def __init__(self, service: str, handlers: Handlers) -> None:
        self._quick: dict[type[Message], Quick] = {one.message: one for one in handlers.quick}
        self._slow: dict[str, Slow] = {
            one.on if isinstance(one.on, str) else job_kind(one.on): one for one in handlers.slow
        }
        self._slow_messages = {one.on for one in handlers.slow if not isinstance(one.on, str)}
        self._timers: dict[str, Timer] = {one.kind: one for one in handlers.timers}
        self._ignores = set(handlers.ignores)
        self.started: Started = told_to_nobody
        """Replaced by whoever runs the jobs."""
        self._check(service)

    def _check(self, service: str) -> None:
        heard = {message for topic in topology.heard_by(service) for message in topic.says}
        handled = set(self._quick) | self._slow_messages | self._ignores
        if heard != handled:
            missing = sorted(m.__name__ for m in heard - handled)
            foreign = sorted(m.__name__ for m in handled - heard)
            raise ValueError(f"{service}: no handler for {missing}; not heard by it: {foreign} (contracts/topology.py)")

    def slow(self, kind: str) -> Slow | None:
        return self._slow.get(kind)

    def timer(self, kind: str) -> Timer | None:
        return self._timers.get(kind)

    @property
    def job_kinds(self) -> list[str]:
        return [*self._slow, *self._timers]

    async def heard(self, tx: Tx, round_: Sequence[Heard[Message]]) -> list[Said]:
        """Handle one message of each lane: load by type, decide, write."""
        by_type: dict[type[Message], list[Heard[Message]]] = defaultdict(list)
        for one in round_:
            by_type[type(one.message)].append(one)
        said: list[Said] = []
        for kind, group in by_type.items():
            with metrics.HANDLER.labels(kind.__name__).time():
                effects = await self._effects(tx, kind, group)
                caused = [
                    Caused(what, one.tenant, one.id, one.traceparent) for one, what in zip(group, effects, strict=True)
                ]
                said += await perform_all(tx, caused, self.started)
        return said

    async def _effects(self, tx: Tx, kind: type[Message], group: Sequence[Heard[Any]]) -> Sequence[Effects]:
        quick = self._quick.get(kind)
        if quick is not None:
            facts = await quick.load(tx, group)
            return [quick.decide(one, fact) for one, fact in zip(group, facts, strict=True)]
        if kind in self._slow_messages:
            return [Effects(jobs=[_as_job(one)]) for one in group]
        return [Effects()] * len(group)


def _as_job(one: Heard[Message]) -> StartJob:
    topic = topology.BY_MESSAGE[type(one.message)]
    return StartJob(
        id=derived_id(one.id, "slow"),
        kind=job_kind(type(one.message)),
        key=topology.lane(topic, topology.key_of(one.message)),
        payload=topology.encode(one.message),
        is_ordered=True,
    )


class Caused(NamedTuple):
    """Effects with what they came from."""

    effects: Effects
    tenant: UUID
    cause: UUID
    traceparent: str


async def perform(
    tx: Tx, effects: Effects, *, tenant: UUID, cause: UUID, traceparent: str, started: Started = told_to_nobody
) -> list[Said]:
    """Write an effect's rows and timers; returns what it says, for the outbox."""
    return await perform_all(tx, [Caused(effects, tenant, cause, traceparent)], started)


async def perform_all(tx: Tx, group: Sequence[Caused], started: Started) -> list[Said]:
    """As `perform`, for effects of different lanes together: equal statements travel as one batch.

    Each one's writes keep their order; between lanes there is none.
    """
    await tx.write(_woven([one.effects.writes for one in group]))
    cancels = [_cancels(one.effects.cancels) for one in group if one.effects.cancels]
    await tx.write(Write(_CANCEL, (one.kind, one.key)) for some in cancels for one in some)
    await tx.write(
        Write(_START, _start_args(job, one.tenant, one.cause, one.traceparent))
        for one in group
        for job in one.effects.jobs
    )
    kinds = {job.kind for one in group for job in (*one.effects.jobs, *one.effects.cancels)}
    if kinds:
        tx.when_over(lambda outcome: started(kinds) if outcome is Outcome.COMMITTED else None)
    return [
        Said(message, one.cause, str(step), one.traceparent)
        for one in group
        for step, message in enumerate(one.effects.says)
    ]


def _woven(lists: Sequence[Sequence[Write]]) -> Iterator[Write]:
    """The first writes of all, equal statements side by side, then the second ones, …"""
    for layer in zip_longest(*lists):
        by_sql: dict[str, list[Write]] = {}
        for write in layer:
            if write is not None:
                by_sql.setdefault(write.sql, []).append(write)
        for same in by_sql.values():
            yield from same


def _cancels(cancels: Sequence[CancelJobs]) -> Sequence[CancelJobs]:
    return sorted(set(cancels), key=lambda one: (one.kind, one.key))


def _start_args(one: StartJob, tenant: UUID, cause: UUID, traceparent: str) -> tuple[Any, ...]:
    return (
        one.id,
        one.kind,
        one.key,
        one.is_ordered,
        tenant,
        cause,
        traceparent,
        one.payload,
        one.due_at,
        one.after_seconds,
    )
