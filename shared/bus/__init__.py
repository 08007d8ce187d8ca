"""The bus as a service sees it: handlers in, effects out; NATS and lanes stay behind this door."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from uuid import UUID

import nats.errors
from nats.aio.msg import Msg

from contracts import topology
from shared import crash, log, metrics, trace
from shared.bus.asking import ask, last_said
from shared.bus.breaker import Breaker
from shared.bus.connection import Connection
from shared.bus.continuity import Continuity
from shared.bus.effects import (
    NOTHING,
    CancelJobs,
    Effects,
    Handlers,
    Heard,
    Job,
    Load,
    Quick,
    Reject,
    Retry,
    Slow,
    StartJob,
    Timer,
    each,
    no_facts,
)
from shared.bus.handling import Handling, Started, perform, told_to_nobody
from shared.bus.inbox import Delivered, Inbox
from shared.bus.jobs import Jobs
from shared.bus.outbox import Outbox, Said
from shared.bus.publisher import Publisher
from shared.bus.pull import Pull, delivered
from shared.bus.watch import Watch
from shared.config import BusConfig
from shared.db import TRANSIENT, Database, Tx
from shared.tls import NATS, client_context

__all__ = [
    "NOTHING",
    "Bus",
    "CancelJobs",
    "Effects",
    "Handlers",
    "Heard",
    "Job",
    "Load",
    "Quick",
    "Reject",
    "Retry",
    "Slow",
    "StartJob",
    "Timer",
    "Unit",
    "each",
    "no_facts",
]

_log = log.get(__name__)

WORK_DRAIN_SECONDS = 8.0
FLUSH_SECONDS = 5.0
LANES_DRAINED_AT_ONCE = 4


class Unit:
    """One transaction of an HTTP edge: read, decide, then `perform` the effects."""

    def __init__(self, tx: Tx, tenant: UUID, cause: UUID, now: datetime, started: Started = told_to_nobody) -> None:
        self.tx = tx
        self.now = now
        self._started = started
        self._tenant = tenant
        self._cause = cause
        self.said: list[Said] = []

    async def perform(self, effects: Effects) -> None:
        offset = len(self.said)
        said = await perform(
            self.tx,
            effects,
            tenant=self._tenant,
            cause=self._cause,
            traceparent=trace.current(),
            started=self._started,
        )
        self.said += [one._replace(step=str(offset + index)) for index, one in enumerate(said)]


class Bus:
    """A service's side of the bus: pulls, inbox, jobs and outbox of one process."""

    def __init__(self, service: str, config: BusConfig, db: Database, handlers: Handlers) -> None:
        self._service = service
        self._db = db
        self._poll_seconds = config.poll_seconds
        tls = client_context(NATS, config.nats_ca_file, config.nats_cert_file, config.nats_key_file)
        self._connection = Connection(
            config.nats_url, config.nats_seed, service, tls, ping_seconds=config.nats_ping_seconds
        )
        handling = Handling(service, handlers)
        heard = topology.heard_by(service)
        metrics.expect(
            [topic.root for topic in heard],
            [message.__name__ for topic in heard for message in topic.says],
            handling.job_kinds,
        )
        self._watch = Watch(service, db, self._connection)
        self._outbox = Outbox(db)
        self._publisher = Publisher(db, self._outbox, self._connection)
        self._continuity = Continuity(
            service,
            db,
            lambda one: ask(self._connection, one),
            lambda stream: last_said(self._connection, stream),
            on_another_life=self._publisher.let_go,
        )
        self._breaker, self._job_breaker = (
            Breaker(
                db,
                limit=config.parking_limit,
                window_seconds=config.parking_window_seconds,
                probe_seconds=config.probe_seconds,
            )
            for _ in range(2)
        )
        self._inbox = Inbox(
            db, handling, self._outbox, config.digest_key.encode(), config.parked_after_attempts, self._breaker
        )
        self._jobs = Jobs(
            db,
            handling,
            self._outbox,
            lease_seconds=config.lease_seconds,
            concurrency=config.slow_concurrency,
            per_tenant=config.slow_per_tenant,
            timers=config.timer_concurrency,
            breaker=self._job_breaker,
            parked_after=config.parked_after_attempts,
            heard_for=self._connection.heard_for,
            when_sound=self._continuity.when_sound,
        )
        self._pulls = [Pull(self._connection, one) for one in topology.consumers(service)]
        self._hearing: set[asyncio.Task[None]] = set()
        self._lanes_wait = asyncio.Event()

    @property
    def is_connected(self) -> bool:
        return self._connection.is_connected

    def why_not_ready(self) -> str:
        """Empty unless NATS refused us, which ends the process, the database was restored, or too many lanes or jobs
        were parked in a row.
        """
        if self._connection.is_refused:
            return "refused by NATS; the log says why"
        stands = self._continuity.why_not_ready()
        return stands or self._breaker.why_not_ready() or self._job_breaker.why_not_ready()

    @asynccontextmanager
    async def unit(self, *, tenant: UUID, cause: UUID, db: Database | None = None) -> AsyncGenerator[Unit]:
        """A transaction whose messages are published when it has committed. `db` defaults to the bus role's.

        Raises:
            Held: the database was restored; a caller that may come again should.
        """
        self._continuity.refuse_when_held()
        await self._outbox.ready()
        async with (db or self._db).transaction(tenant) as tx:
            unit = Unit(tx, tenant, cause, await tx.now(), self._jobs.wake)
            yield unit
            await self._outbox.append(tx, unit.said)
            crash.point("unit.before_commit")
        crash.point("unit.after_commit_before_publish")

    async def run(self) -> None:
        """Everything that must go on while the process lives; a fault of any part ends it."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publisher_when_open())
            group.create_task(self._jobs.run(self._poll_seconds))
            group.create_task(self._drain_waiting())
            group.create_task(self._watch.run())

    async def _publisher_when_open(self) -> None:
        await self._connection.open()
        self._connection.on_reconnect = self._reconnected
        async with asyncio.TaskGroup() as group:
            group.create_task(self._end_when_refused())
            group.create_task(self._continuity.run())
            await self._continuity.gate()
            group.create_task(self._publisher.run())
            for pull in self._pulls:
                self._hearing.add(group.create_task(self._hear(pull)))

    async def _end_when_refused(self) -> None:
        await self._connection.fatal

    async def _reconnected(self) -> None:
        self._continuity.doubt()
        for pull in self._pulls:
            pull.forget()
        self._publisher.resend_before(self._connection.lost_at)

    async def _hear(self, pull: Pull) -> None:
        topic = pull.topic
        while messages := await self._next_batch(pull):
            batch = delivered(messages)
            metrics.BATCH_MESSAGES.labels(topic).observe(len(batch))
            metrics.REDELIVERED.labels(topic).inc(sum(one.is_redelivered for one in batch))
            with metrics.HANDLING.labels(topic).time():
                lanes = await self._take(batch)
            self._watch.heard(topic, messages)
            crash.point("inbox.after_commit_before_ack")
            try:
                await self._connection.acknowledge(messages)
            except nats.errors.Error as error:
                _log.warning("acknowledging stopped; redeliveries will be swallowed", error=repr(error))
            crash.point("inbox.acked_before_drain")
            if lanes:
                self._lanes_wait.set()

    async def _next_batch(self, pull: Pull) -> list[Msg]:
        await self._breaker.gate()
        async with self._continuity.when_sound():
            return await pull.next_batch()

    async def _take(self, batch: Sequence[Delivered]) -> list[str]:
        """Keep the batch until Postgres takes it: it is in memory and nobody else's.

        A second try only stores: a handler whose statement never comes back must not hold up the other lanes.
        """
        take = self._inbox.take
        while True:
            try:
                lanes = await take(batch)
            except TRANSIENT as error:
                _log.warning("the inbox is waiting for Postgres", error=repr(error))
                take = self._inbox.store
                await asyncio.sleep(0.5)
                continue
            return lanes

    async def _drain_waiting(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._poll_seconds):
                    await self._lanes_wait.wait()
            self._lanes_wait.clear()
            await self._continuity.gate()
            try:
                lanes, suspects = await self._inbox.waiting()
            except TRANSIENT as error:
                _log.warning("waiting lanes cannot be read", error=repr(error))
                continue
            slots = asyncio.Semaphore(LANES_DRAINED_AT_ONCE)
            async with asyncio.TaskGroup() as group:
                for lane in lanes:
                    group.create_task(self._drain_in_turn(lane, slots))
            for lane in suspects:
                await self._drain_in_turn(lane, slots)
            if lanes or suspects:
                self._lanes_wait.set()

    async def _drain_in_turn(self, lane: str, slots: asyncio.Semaphore) -> None:
        async with slots:
            await self._breaker.gate()
            try:
                await self._inbox.drain(lane)
            except TRANSIENT as error:
                _log.warning("a lane is left to the next round", lane=lane, error=repr(error))

    async def stop(self) -> None:
        """Graceful: stop pulling, let work end, publish what is committed, close. Bounded, whoever is away."""
        await asyncio.gather(*(pull.end() for pull in self._pulls))
        await asyncio.gather(self._jobs.drain(WORK_DRAIN_SECONDS), self._let_hearing_end())
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                await self._publisher.leave()
        except TRANSIENT as error:
            _log.warning("left to the sweeper of the next start", error=repr(error))
        await self._connection.close()

    async def _let_hearing_end(self) -> None:
        if not self._continuity.is_open:
            for task in self._hearing:
                task.cancel()  # it waits at the gate, with what stays unacknowledged
        if self._hearing:
            await asyncio.wait(self._hearing, timeout=WORK_DRAIN_SECONDS)
