"""From messages and jobs to effects, and from effects to rows, inside a transaction that the caller opened."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from contracts import topology
from contracts.messages import Message
from shared.bus.effects import CancelJobs, Effects, Handlers, Heard, Quick, Slow, StartJob, Timer
from shared.bus.outbox import Said
from shared.db import Tx, Write
from shared.ids import derived_id

_CANCEL = "delete from job where kind = $1 and key = $2"
_START = """
insert into job (id, kind, key, is_ordered, tenant, cause, traceparent, payload, due_at)
values ($1, $2, $3, $4, $5, $6, $7, $8, coalesce($9, clock_timestamp()) + make_interval(secs => $10))
on conflict (id) do update set kind = excluded.kind, key = excluded.key, payload = excluded.payload,
  due_at = excluded.due_at, cause = excluded.cause, traceparent = excluded.traceparent,
  attempts = 0, lease_token = null, leased_until = null, parked_at = null, last_error = null
"""


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
            for one, effects in zip(group, await self._effects(tx, kind, group), strict=True):
                said += await perform(tx, effects, tenant=one.tenant, cause=one.id, traceparent=one.traceparent)
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


async def perform(tx: Tx, effects: Effects, *, tenant: UUID, cause: UUID, traceparent: str) -> list[Said]:
    """Write an effect's rows and timers; returns what it says, for the outbox."""
    await tx.write(effects.writes)
    await tx.write(Write(_CANCEL, (one.kind, one.key)) for one in _cancels(effects.cancels))
    await tx.write(Write(_START, _start_args(one, tenant, cause, traceparent)) for one in effects.jobs)
    return [Said(message, cause, str(step), traceparent) for step, message in enumerate(effects.says)]


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
