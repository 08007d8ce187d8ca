"""The bus between two services on a real nats-server and a real Postgres."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from contracts import topology
from contracts.messages import ContactSeen, Message, MessageReacted
from deploy.keys import create_keys, read_key
from deploy.local.bus import apply_streams, server_config
from shared.bus import Bus, CancelJobs, Effects, Handlers, Heard, Quick, StartJob, Timer, no_facts
from shared.bus.handling import Handling
from shared.config import BusConfig
from shared.db import Database, Write
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import NatsServer, NatsServerFactory, PostgresServer

TENANT = UUID(int=7)


@dataclass
class World:
    """Servers and keys of one test."""

    postgres: PostgresServer
    nats: NatsServer
    keys: Path
    database: str

    async def service(self, name: str, handlers: Handlers) -> tuple[Bus, Database]:
        owner = await asyncpg.connect(self.postgres.dsn(self.database, f"{name}_owner", PASSWORD))
        await owner.execute(files("shared.bus").joinpath("tables.sql").read_text())
        await owner.execute("create table effect (n bigint generated always as identity, lane text, value text)")
        await owner.execute(f"grant usage on schema {name} to {name}_bus")
        await owner.execute(f"grant all on all tables in schema {name} to {name}_bus")
        await owner.execute(f"grant all on all sequences in schema {name} to {name}_bus")
        await owner.close()
        url = self.postgres.dsn(self.database, f"{name}_bus", PASSWORD)
        db = await Database.connect(url, schema=name, name=name)
        return Bus(name, self.config(name, url), db, handlers), db

    def config(self, name: str, url: str) -> BusConfig:
        return BusConfig(
            database_url=url,
            nats_url=self.nats.url,
            nats_seed=read_key(self.keys, f"{name}.nk"),
            digest_key="d",
            poll_seconds=0.1,
            lease_seconds=1.0,
        )


@pytest.fixture
async def world(
    postgres_server: PostgresServer, nats_server_factory: NatsServerFactory, tmp_path: Path
) -> AsyncIterator[World]:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path))
    await apply_streams(server.url, tmp_path, ack_wait_seconds=1.5)
    database = await new_database(postgres_server, [])
    yield World(postgres_server, server, tmp_path, database)
    await drop_database(postgres_server, database)


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


def hearing(service: str, *quick: Quick, timers: tuple[Timer, ...] = ()) -> Handlers:
    listed = {one.message for one in quick}
    heard = {message for topic in topology.heard_by(service) for message in topic.says}
    return Handlers(quick=quick, timers=timers, ignores=tuple(heard - listed))


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


async def test_messages_of_a_lane_arrive_once_and_in_order(world: World) -> None:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    lanes = [uuid4() for _ in range(20)]
    async with running(ingest, ingest_db), running(operator, operator_db):
        for number in range(10):
            await say(ingest, *(said(lane, str(number)) for lane in lanes))
        await until(lambda: _count(operator_db, 200))
        for lane in lanes:
            assert await values(operator_db, lane) == [str(number) for number in range(10)]
        await until(lambda: _all_published(ingest_db))


async def test_a_restarted_server_loses_and_doubles_nothing(world: World) -> None:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    lanes = [uuid4() for _ in range(10)]
    assert world.nats.local is not None
    async with running(ingest, ingest_db), running(operator, operator_db):
        for number in range(30):
            await say(ingest, *(said(lane, str(number)) for lane in lanes))
            if number == 10:
                world.nats.local.kill()
            if number == 15:
                await asyncio.to_thread(world.nats.local.restart)
        await until(lambda: _count(operator_db, 300), 40)
        for lane in lanes:
            assert await values(operator_db, lane) == [str(number) for number in range(30)]


async def test_a_failing_message_costs_only_its_own_lane(world: World) -> None:
    def fail_on_bad(heard: Heard[Any], facts: None) -> Effects:
        if heard.message.name == "bad":
            raise ZeroDivisionError
        return write_effect(heard, facts)

    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, fail_on_bad))
    )
    good, bad = uuid4(), uuid4()
    async with running(ingest, ingest_db), running(operator, operator_db):
        await say(ingest, said(bad, "first"), said(bad, "bad"), said(bad, "after"), said(good, "a"), said(good, "b"))
        await until(lambda: _count(operator_db, 3))
        assert await values(operator_db, good) == ["a", "b"]
        assert await values(operator_db, bad) == ["first"]


async def test_the_same_position_with_another_body_is_quarantined(world: World) -> None:
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    lane = uuid4()
    async with running(ingest, ingest_db), running(operator, operator_db):
        await say(ingest, said(lane, "true"))
        await until(lambda: _count(operator_db, 1))
        async with ingest_db.autocommit() as tx:  # a database restored from a backup says the same slot anew
            await tx.execute("update lane_out set next_seq = 0")
            await tx.execute("delete from outbox")
        await say(ingest, said(lane, "other"))
        await until(lambda: _quarantined(operator_db))
        assert await values(operator_db) == ["true"]


async def test_a_timer_fires_once_and_a_cancelled_one_never(world: World) -> None:
    async def nothing(_tx: Any, _job: Any) -> None:
        return None

    timer = Timer(
        "note", nothing, lambda job, _: Effects(writes=[Write("insert into effect (value) values ($1)", (job.key,))])
    )
    operator, db = await world.service("operator", hearing("operator", timers=(timer,)))
    async with running(operator, db):
        async with operator.unit(tenant=TENANT, cause=uuid4()) as unit:
            await unit.perform(
                Effects(jobs=[StartJob(uuid4(), "note", "kept"), StartJob(uuid4(), "note", "gone", after_seconds=1)])
            )
        async with operator.unit(tenant=TENANT, cause=uuid4()) as unit:
            await unit.perform(
                Effects(
                    cancels=[CancelJobs("note", "gone")], jobs=[StartJob(uuid4(), "note", "later", after_seconds=1.2)]
                )
            )
        await until(lambda: _count(db, 2))
        assert await values(db) == ["kept", "later"]


def test_a_service_that_forgets_a_message_does_not_start() -> None:
    with pytest.raises(ValueError, match="MessageReacted"):
        Handling(
            "operator",
            Handlers(
                ignores=tuple(m for t in topology.heard_by("operator") for m in t.says if m is not MessageReacted)
            ),
        )


async def _count(db: Database, number: int) -> bool:
    return len(await values(db)) >= number


async def _all_published(db: Database) -> bool:
    async with db.autocommit() as tx:
        return await tx.value("select not exists (select 1 from outbox where published_at is null)")


async def _quarantined(db: Database) -> int:
    async with db.autocommit() as tx:
        return await tx.value("select count(*) from quarantine")
