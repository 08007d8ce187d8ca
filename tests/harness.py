"""A service's handlers on a real database, without NATS: arrivals go through the real inbox, jobs run for real."""

import asyncio
import math
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar
from uuid import UUID, uuid4

import asyncpg

from contracts import generate, topology
from contracts.messages import Message
from shared.bus import Effects, Handlers, Unit
from shared.bus.handling import Handling
from shared.bus.inbox import Delivered, Inbox
from shared.bus.jobs import Jobs
from shared.bus.outbox import Outbox, subject_of
from shared.db import Database
from shared.migrate import migrate
from tests.servers import PostgresServer

BenchFactory = Callable[..., Awaitable["Bench"]]
PASSWORD = "test-only"
T = TypeVar("T")


async def within(waiting: Awaitable[T], seconds: float) -> T:
    """What it gives, or TimeoutError after so many seconds."""
    async with asyncio.timeout(seconds):
        return await waiting


_templates: dict[tuple[str, tuple[str, ...]], str] = {}
"""Migrated once for each server and set of services, then cloned: a schema costs half a second, a clone a tenth."""


async def new_database(server: PostgresServer, services: Sequence[str] = topology.SERVICES) -> str:
    """A database of its own with roles, rights and the services' schemas; returns its name."""
    kind = (server.admin_url, tuple(services))
    if kind not in _templates:
        _templates[kind] = await _template(server, services)
    name = _name()
    async with _connected(server.dsn("postgres")) as admin:
        await admin.execute(f"create database {name} template {_templates[kind]} strategy file_copy")
        await admin.execute(generate.database_settings(name))
        await admin.execute(f"grant connect on database {name} to public")
    return name


async def _template(server: PostgresServer, services: Sequence[str]) -> str:
    name = _name()
    async with _connected(server.dsn("postgres")) as admin:
        await admin.execute(f"create database {name}")
    async with _connected(server.dsn(name)) as owner:
        await owner.execute(generate.postgres_roles())
        for role in (f"{service}_{kind}" for service in topology.SERVICES for kind in ("owner", "bus", "web")):
            await owner.execute(f"alter role {role} password '{PASSWORD}'")
    for service in services:
        await migrate(server.dsn(name, f"{service}_owner", PASSWORD), service)
    async with _connected(server.dsn(name)) as owner:
        await owner.execute(generate.database_settings(name))
    return name


def _name() -> str:
    return f"t_{uuid4().hex[:12]}"


@asynccontextmanager
async def _connected(url: str) -> AsyncGenerator[Any]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def drop_database(server: PostgresServer, name: str) -> None:
    async with _connected(server.dsn("postgres")) as admin:
        await admin.execute(f"drop database {name} with (force)")


class Bench:
    """One service's handlers over its own schema; nothing leaves the outbox."""

    def __init__(self, service: str, handlers: Handlers, db: Database, web_db: Database) -> None:
        self.service = service
        self.db = db
        self.web_db = web_db
        self._handling = Handling(service, handlers)
        self._outbox = Outbox(db)
        self._inbox = Inbox(db, self._handling, self._outbox, b"digest-key-of-tests", 8)
        self.heard_for = math.inf
        """Seconds for which the bus was heard without a break."""
        self._jobs = Jobs(
            db, self._handling, self._outbox, lease_seconds=30, concurrency=8, parked_after=8,
            heard_for=lambda: self.heard_for,
        )  # fmt: skip
        self._positions: dict[str, int] = defaultdict(int)
        self._last_said = (0, 0, -1)

    @classmethod
    async def open(cls, server: PostgresServer, service: str, handlers: Handlers) -> tuple["Bench", str]:
        name = await new_database(server, [service])
        db = await Database.connect(server.dsn(name, f"{service}_bus", PASSWORD), schema=service, name="bench")
        web = await Database.connect(server.dsn(name, f"{service}_web", PASSWORD), schema=service, name="bench-web")
        return cls(service, handlers, db, web), name

    async def hear(self, *messages: Message, id: UUID | None = None) -> None:
        """As if these arrived, each at the next position of its lane. A handler that fails makes this fail."""
        batch = [self.deliver(message, id=id) for message in messages]
        await self.take(batch)

    def deliver(self, message: Message, *, id: UUID | None = None, seq: int | None = None) -> Delivered:
        topic = topology.BY_MESSAGE[type(message)]
        key = topology.key_of(message)
        lane = topology.lane(topic, key)
        if seq is None:
            seq = self._positions[lane]
            self._positions[lane] += 1
        headers = {"Lane": lane, "Lane-Seq": str(seq), "Nats-Msg-Id": str(id or uuid4()), "Tenant": str(message.tenant)}
        return Delivered(topology.subject(topic, key), headers, topology.encode(message), 0, False)

    async def take(self, batch: Sequence[Delivered]) -> None:
        lanes = await self._inbox.take(batch)
        for lane in lanes:
            await self._inbox.drain(lane)
            error = await self.value("select last_error from inbox where lane = $1", lane)
            if error:
                raise AssertionError(f"a handler of {self.service} failed: {error}")

    async def said(self) -> list[Message]:
        """What was said since the last call, decoded, in order."""
        rows = await self.rows(
            """select writer, batch, item, lane, payload from outbox where (writer, batch, item) > ($1, $2, $3)
               order by writer, batch, item""",
            *self._last_said,
        )
        if rows:
            self._last_said = rows[-1]["writer"], rows[-1]["batch"], rows[-1]["item"]
        return [_decoded(row["lane"], row["payload"]) for row in rows]

    async def perform(self, effects: Effects, *, tenant: UUID) -> None:
        """As an HTTP edge would."""
        async with self.unit(tenant=tenant, cause=uuid4()) as unit:
            await unit.perform(effects)

    def unit(self, *, tenant: UUID, cause: UUID, db: Database | None = None) -> Any:
        """Like `Bus.unit`."""
        return _unit(db or self.db, self._outbox, tenant, cause)

    async def run_jobs(self, *, all: bool = False, rounds: int = 50) -> int:
        """Run what is due now, again until nothing is; with `all`, what waits for later is made due first."""
        ran = 0
        for _ in range(rounds):
            if all:
                async with self.db.autocommit() as tx:
                    await tx.execute("update job set due_at = clock_timestamp() where parked_at is null")
            done = await self._jobs.run_due()
            if not done:
                break
            ran += done
            all = False
        return ran

    async def job_errors(self) -> list[str]:
        return [row["last_error"] for row in await self.rows("select last_error from job where last_error is not null")]

    async def rows(self, sql: str, *args: Any) -> Sequence[Any]:
        async with self.db.autocommit() as tx:
            return await tx.rows(sql, *args)

    async def value(self, sql: str, *args: Any) -> Any:
        async with self.db.autocommit() as tx:
            return await tx.value(sql, *args)

    async def close(self) -> None:
        await self.db.close()
        await self.web_db.close()


def _decoded(lane: str, payload: bytes) -> Message:
    topic = topology.topic_of_subject(subject_of(lane))
    assert topic is not None
    return topology.decode(topic, payload)


@asynccontextmanager
async def _unit(db: Database, outbox: Outbox, tenant: UUID, cause: UUID) -> AsyncGenerator[Unit]:
    await outbox.ready()
    async with db.transaction(tenant) as tx:
        unit = Unit(tx, tenant, cause, await tx.now())
        yield unit
        await outbox.append(tx, unit.said)
