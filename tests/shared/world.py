"""Two services' sides of the bus on a real nats-server and a real Postgres, and what tests say and look at."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
from prometheus_client import REGISTRY

from contracts import topology
from contracts.messages import ContactSeen, Message
from deploy.keys import read_key
from shared.bus import Bus, Effects, Handlers, Heard, Quick, Slow, Timer
from shared.config import BusConfig
from shared.db import Database, Write
from tests.harness import PASSWORD
from tests.servers import NatsServer, PostgresServer

TENANT = UUID(int=7)


@dataclass
class World:
    """Servers and keys of one test."""

    postgres: PostgresServer
    nats: NatsServer
    keys: Path
    database: str

    async def service(self, name: str, handlers: Handlers) -> tuple[Bus, Database]:
        db = await open_schema(self.postgres, self.database, name)
        return Bus(name, self.config(name, self.url(name)), db, handlers), db

    def url(self, name: str) -> str:
        return self.postgres.dsn(self.database, f"{name}_bus", PASSWORD)

    def config(self, name: str, url: str) -> BusConfig:
        return BusConfig(
            database_url=url,
            nats_url=self.nats.url,
            nats_seed=read_key(self.keys, f"{name}.nk"),
            digest_key="d",
            poll_seconds=0.1,
            lease_seconds=1.0,
        )


async def open_schema(postgres: PostgresServer, database: str, name: str) -> Database:
    """The bus's tables in a service's schema, and one of effects; connected as the service's bus role."""
    owner = await asyncpg.connect(postgres.dsn(database, f"{name}_owner", PASSWORD))
    await owner.execute(files("shared.bus").joinpath("tables.sql").read_text())
    await owner.execute("create table effect (n bigint generated always as identity, lane text, value text)")
    await owner.execute(f"grant usage on schema {name} to {name}_bus")
    await owner.execute(f"grant all on all tables in schema {name} to {name}_bus")
    await owner.execute(f"grant all on all sequences in schema {name} to {name}_bus")
    await owner.close()
    return await Database.connect(postgres.dsn(database, f"{name}_bus", PASSWORD), schema=name, name=name)


@asynccontextmanager
async def running(bus: Bus, db: Database) -> AsyncGenerator[None]:
    task = asyncio.create_task(bus.run())
    try:
        yield
    finally:
        await bus.stop()
        task.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await task
        await db.close()


async def until(condition: Callable[[], Any], seconds: float = 20.0) -> Any:
    deadline = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < deadline:
        found = await condition()
        if found:
            return found
        await asyncio.sleep(0.02)
    raise AssertionError("the condition did not come true")


def hearing(service: str, *quick: Quick, timers: tuple[Timer, ...] = (), slow: tuple[Slow, ...] = ()) -> Handlers:
    listed = {one.message for one in quick}
    heard = {message for topic in topology.heard_by(service) for message in topic.says}
    return Handlers(quick=quick, slow=slow, timers=timers, ignores=tuple(heard - listed))


def said(contact: UUID, text: str) -> ContactSeen:
    return ContactSeen(tenant=TENANT, contact_id=contact, channel_id=uuid4(), name=text, has_phone=False, is_new=False)


def write_effect(heard: Heard[Any], _facts: None) -> Effects:
    return Effects(
        writes=[
            Write(
                "insert into effect (lane, value) values ($1, $2)", (str(heard.message.contact_id), heard.message.name)
            )
        ]
    )


async def values(db: Database, lane: UUID | None = None) -> list[str]:
    async with db.autocommit() as tx:
        rows = await tx.rows(
            "select value from effect where $1::text is null or lane = $1 order by n", str(lane) if lane else None
        )
    return [row["value"] for row in rows]


async def say(bus: Bus, *messages: Message) -> None:
    async with bus.unit(tenant=TENANT, cause=uuid4()) as unit:
        await unit.perform(Effects(says=messages))


async def has_effects(db: Database, number: int) -> bool:
    return len(await values(db)) >= number


async def all_is_published(db: Database) -> bool:
    return await one_value(
        db,
        """select not exists (select 1 from outbox o join outbox_writer w using (writer)
             where o.batch > w.mark and w.swept_at is null) and not exists (select 1 from outbox_again)""",
    )


async def quarantined(db: Database) -> int:
    return await one_value(db, "select count(*) from quarantine")


async def parked_lanes(db: Database) -> int:
    return await one_value(db, "select count(*) from lane_in where parked_at is not null")


async def one_value(db: Database, sql: str, *args: Any) -> Any:
    async with db.autocommit() as tx:
        return await tx.value(sql, *args)


def told(name: str, **labels: str) -> float:
    """What a scrape of this process would find; fails when the series is not there."""
    found = REGISTRY.get_sample_value(name, labels)
    assert found is not None, f"{name}{labels} is told by nobody"
    return found
