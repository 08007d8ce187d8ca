"""Two services over links that break: every message once and in order (see test_reports)."""

import asyncio
import random
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import msgspec
import pytest

from contracts.messages import ContactSeen
from shared.bus import Bus, Quick, no_facts
from shared.db import Database
from tests.harness import drop_database, new_database
from tests.links.proxy import Proxy
from tests.links.test_database import pgbouncer
from tests.links.world import Links
from tests.servers import PostgresServer
from tests.shared.world import (
    World,
    all_is_published,
    has_effects,
    hearing,
    open_schema,
    running,
    said,
    say,
    until,
    values,
    write_effect,
)

SEEN = Quick(ContactSeen, no_facts, write_effect)
LANES, EACH = 8, 15


@pytest.fixture
async def world(links: Links, postgres_server: PostgresServer) -> AsyncIterator[World]:
    database = await new_database(postgres_server, [])
    yield World(postgres_server, links.server, links.keys, database)
    await drop_database(postgres_server, database)


@asynccontextmanager
async def pod(
    world: World, service: str, *, nats: Proxy | None = None, database_url: str = "", cache: int = 512
) -> AsyncGenerator[tuple[Bus, Database]]:
    """One running process's side of the bus; its schema is there already."""
    url = database_url or world.url(service)
    db = await Database.connect(url, schema=service, name=service, statement_cache_size=cache)
    config = msgspec.structs.replace(
        world.config(service, url), nats_url=nats.url if nats else world.nats.url, nats_ping_seconds=0.3
    )
    bus = Bus(service, config, db, hearing(service, *([SEEN] if service == "operator" else [])))
    async with running(bus, db):
        yield bus, db


async def make_schemas(world: World) -> None:
    for service in ("ingest", "operator"):
        await (await open_schema(world.postgres, world.database, service)).close()


async def say_in_lanes(bus: Bus, lanes: list[UUID], numbers: range) -> None:
    for number in numbers:
        await say(bus, *(said(lane, str(number)) for lane in lanes))
        await asyncio.sleep(0.01)


async def was_heard_once_and_in_order(db: Database, lanes: list[UUID]) -> None:
    await until(lambda: has_effects(db, len(lanes) * EACH), 60)
    for lane in lanes:
        assert await values(db, lane) == [str(number) for number in range(EACH)]


async def test_messages_doubled_and_overtaken_on_both_sides_are_heard_once_and_in_order(
    world: World, proxy: Proxy
) -> None:
    await make_schemas(world)
    chance, lanes = random.Random(11), [uuid4() for _ in range(LANES)]
    proxy.there.delay = proxy.back.delay = lambda: chance.choice((0, 0, 0, 0.01))
    proxy.there.alter = lambda frame: [frame, frame] if frame.startswith(b"HPUB") else [frame]
    proxy.back.alter = lambda frame: [frame, frame] if frame.startswith(b"HMSG") else [frame]
    async with (
        pod(world, "ingest", nats=proxy) as (one, _),
        pod(world, "ingest", nats=proxy) as (other, _),
        pod(world, "operator", nats=proxy) as (_, db),
    ):
        for number in range(EACH):
            await say_in_lanes((one, other)[number % 2], lanes, range(number, number + 1))
        await was_heard_once_and_in_order(db, lanes)


async def test_links_that_are_cut_and_fall_silent_again_and_again_lose_double_and_reorder_nothing(
    world: World, links: Links
) -> None:
    await make_schemas(world)
    chance, lanes = random.Random(12), [uuid4() for _ in range(LANES)]
    async with (
        Proxy.to(links.server.url) as to_nats,
        Proxy.to(world.url("operator")) as to_postgres,
        pod(world, "ingest", nats=to_nats) as (ingest, ingest_db),
        pod(world, "operator", nats=to_nats, database_url=to_postgres.through(world.url("operator"))) as (_, db),
    ):
        breaking = asyncio.create_task(break_again_and_again(to_nats, to_postgres, chance))
        for number in range(EACH):
            await say_in_lanes(ingest, lanes, range(number, number + 1))
            await asyncio.sleep(0.2)
        await breaking
        await until(lambda: all_is_published(ingest_db), 60)
        await was_heard_once_and_in_order(db, lanes)


async def break_again_and_again(to_nats: Proxy, to_postgres: Proxy, chance: random.Random) -> None:
    for _ in range(8):
        await asyncio.sleep(chance.random())
        link = chance.choice((to_nats, to_nats, to_postgres))
        match chance.choice(("cut", "silent", "refuse")):
            case "cut":
                link.cut()
            case "silent":
                link.freeze(new=chance.random() < 0.5)
                await asyncio.sleep(chance.choice((0.2, 1.5)))
                link.thaw()
            case _:
                link.refuse()
                link.cut()
                await asyncio.sleep(0.5)
                await link.accept()


async def test_an_acknowledgement_by_one_whose_message_another_has_by_now_makes_no_second_effect(
    world: World, links: Links
) -> None:
    """S#4786: the server takes it. One process's transaction hangs, another is given its messages, then both end."""
    await make_schemas(world)
    lane = uuid4()
    async with (
        Proxy.to(world.url("operator")) as to_postgres,
        pod(world, "ingest") as (ingest, _),
        pod(world, "operator", database_url=to_postgres.through(world.url("operator"))) as (late, _),
    ):
        await until(lambda: is_here(late))
        to_postgres.freeze(new=True)
        await say(ingest, said(lane, "0"), said(lane, "1"))
        await until(lambda: has_unacknowledged(links, 2))
        async with pod(world, "operator") as (_, db):
            await until(lambda: has_effects(db, 2))
            to_postgres.thaw()
            await until(lambda: has_unacknowledged(links, 0))
            await say(ingest, said(lane, "2"))
            await until(lambda: has_effects(db, 3))
            assert await values(db, lane) == ["0", "1", "2"]


async def is_here(bus: Bus) -> bool:
    """It has looked at its database, and asks for messages."""
    return bool(bus._hearing)  # pyright: ignore[reportPrivateUsage] - no message has to be heard for it


async def has_unacknowledged(links: Links, number: int) -> bool:
    return await links.unacknowledged() == number


async def test_a_whole_hop_runs_through_pgbouncer_in_transaction_mode(world: World) -> None:
    await make_schemas(world)
    lanes = [uuid4() for _ in range(LANES)]
    async with (
        pgbouncer(world.url("operator")) as url,
        pod(world, "ingest") as (ingest, _),
        pod(world, "operator", database_url=url, cache=0) as (_, db),
    ):
        await say_in_lanes(ingest, lanes, range(EACH))
        await was_heard_once_and_in_order(db, lanes)


async def test_what_a_flipped_byte_took_from_a_stream_is_said_again(world: World, links: Links) -> None:
    """S#7545, #7549: a message whose checksum is wrong is gone. The minute before the loss is said again."""
    await make_schemas(world)
    lanes = [uuid4() for _ in range(LANES)]
    async with pod(world, "ingest") as (ingest, ingest_db):
        await say_in_lanes(ingest, lanes, range(EACH))
        await until(lambda: all_is_published(ingest_db))
        links.local.kill()
        [block] = (links.local.log_file.parent / "jetstream").glob("**/INGEST_CONTACTS/msgs/1.blk")
        damaged = bytearray(block.read_bytes())
        damaged[len(damaged) // 2] ^= 0xFF
        block.write_bytes(damaged)
        for index in block.parent.glob("index.db"):
            index.unlink()  # else the server looks at a message only when it is asked for
        await asyncio.to_thread(links.local.restart)
        async with pod(world, "operator") as (_, db):
            await was_heard_once_and_in_order(db, lanes)
