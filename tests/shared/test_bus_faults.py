"""The bus when a server goes, comes back emptied, or when the process stops: nothing lost, nothing left behind."""

import asyncio
import shutil
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from nats.aio.client import Client

from contracts.messages import ContactSeen
from deploy.keys import read_key
from deploy.local.bus import apply_streams
from shared.bus import Bus, Effects, Heard, Quick, Slow, StartJob, no_facts, pull
from shared.db import Database, Write
from tests.shared.world import (
    TENANT,
    World,
    all_is_published,
    has_effects,
    hearing,
    one_value,
    running,
    said,
    say,
    until,
    values,
    write_effect,
)

SEEN = Quick(ContactSeen, no_facts, write_effect)


async def two(world: World, *quick: Quick) -> tuple[Bus, Database, Bus, Database]:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service("operator", hearing("operator", *(quick or (SEEN,))))
    return ingest, ingest_db, operator, operator_db


async def unacknowledged(world: World, durable: str) -> int:
    """How many messages the server still waits to hear of."""
    client = Client()
    await client.connect(world.nats.url, nkeys_seed_str=read_key(world.keys, "admin.nk"), inbox_prefix="_INBOX_admin")
    try:
        answer = await client.request(f"$JS.API.CONSUMER.INFO.INGEST_CONTACTS.{durable}", b"")
        return int(msgspec.json.decode(answer.data)["num_ack_pending"])
    finally:
        await client.close()


async def test_what_a_power_cut_took_from_the_stream_is_said_again(world: World) -> None:
    ingest, ingest_db, operator, operator_db = await two(world)
    lane = uuid4()
    assert world.nats.local is not None
    async with running(ingest, ingest_db):
        await say(ingest, said(lane, "0"), said(lane, "1"))
        await until(lambda: all_is_published(ingest_db))
        world.nats.local.kill()
        shutil.rmtree(world.nats.local.log_file.parent / "jetstream")
        await asyncio.to_thread(world.nats.local.restart)
        await apply_streams(world.nats.url, world.keys, ack_wait_seconds=1.5)
        async with running(operator, operator_db):
            await say(ingest, said(lane, "2"))
            await until(lambda: has_effects(operator_db, 3))
            assert await values(operator_db, lane) == ["0", "1", "2"]


async def test_a_stop_leaves_nothing_unacknowledged(world: World) -> None:
    ingest, ingest_db, operator, operator_db = await two(world)
    async with running(ingest, ingest_db):
        async with running(operator, operator_db):
            for _ in range(10):
                await say(ingest, *(said(uuid4(), "a") for _ in range(50)))
            await until(lambda: has_effects(operator_db, 1))
        await until(lambda: nothing_pends(world))


async def nothing_pends(world: World) -> bool:
    return await unacknowledged(world, "operator") == 0


async def test_a_statement_that_never_comes_back_holds_up_only_its_own_lane(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shared.db.COMMAND_SECONDS", 1.0)

    def hang(heard: Heard[Any], facts: None) -> Effects:
        if heard.message.name == "hangs":
            return Effects(writes=[Write("select pg_sleep(600)")])
        return write_effect(heard, facts)

    ingest, ingest_db, operator, operator_db = await two(world, Quick(ContactSeen, no_facts, hang))
    async with running(ingest, ingest_db), running(operator, operator_db):
        await say(ingest, said(uuid4(), "hangs"), said(uuid4(), "a"))
        await until(lambda: has_effects(operator_db, 1))
        await say(ingest, said(uuid4(), "b"))
        await until(lambda: has_effects(operator_db, 2))


async def test_a_long_absence_of_the_server_leaves_no_subscription_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull, "SILENCE_SECONDS", 0.2)
    monkeypatch.setattr(pull, "PAUSE_SECONDS", 0.1)
    ingest, ingest_db, operator, operator_db = await two(world)
    assert world.nats.local is not None
    async with running(ingest, ingest_db), running(operator, operator_db):
        await say(ingest, said(uuid4(), "a"))
        await until(lambda: has_effects(operator_db, 1))
        before = subscriptions(operator)
        for _ in range(3):
            world.nats.local.kill()
            await until(lambda: is_away(operator))
            await asyncio.to_thread(world.nats.local.restart)
            await say(ingest, said(uuid4(), "b"))
            await until(lambda: all_is_published(ingest_db))
        await until(lambda: has_effects(operator_db, 4))
        assert subscriptions(operator) <= before


def subscriptions(bus: Bus) -> int:
    return len(bus._connection._client._subs)  # pyright: ignore[reportPrivateUsage] - nobody else counts them


async def is_away(bus: Bus) -> bool:
    return not bus.is_connected


async def test_a_stop_while_the_server_was_never_there_ends(world: World) -> None:
    operator, db = await world.service("operator", hearing("operator", SEEN))
    assert world.nats.local is not None
    world.nats.local.kill()
    task = asyncio.create_task(operator.run())
    await say_nothing(operator)
    async with asyncio.timeout(30):
        await operator.stop()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await db.close()


async def say_nothing(bus: Bus) -> None:
    async with bus.unit(tenant=TENANT, cause=uuid4()) as unit:
        await unit.perform(Effects())


async def is_here(bus: Bus) -> bool:
    return bus.is_connected


async def test_work_begun_before_a_stop_ends_and_its_messages_leave(world: World) -> None:
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def prepare(_tx: Any, job: Any) -> Any:
        return job.key

    async def work(prepared: str) -> str:
        begun.set()
        await may_end.wait()
        return prepared

    async def finish(_tx: Any, _job: Any, prepared: str, _result: str) -> Effects:
        return Effects(says=[said(uuid4(), prepared)])

    ingest, db = await world.service("ingest", hearing("ingest", slow=(Slow("work", prepare, work, finish),)))
    task = asyncio.create_task(ingest.run())
    async with ingest.unit(tenant=TENANT, cause=uuid4()) as unit:
        await unit.perform(Effects(jobs=[StartJob(uuid4(), "work", "k")]))
    await begun.wait()
    await until(lambda: is_here(ingest))
    stopping = asyncio.create_task(ingest.stop())
    may_end.set()
    await stopping
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert await all_is_published(db)
    assert await one_value(db, "select count(*) from outbox") == 1
    await db.close()
