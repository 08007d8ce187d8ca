"""A service that begins to hear a topic, and one that ceases to, while others say and hear it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest
from typer.testing import CliRunner

from contracts import topology
from contracts.messages import ContactSeen
from deploy.cli import app
from deploy.joining import Joined, JoinError, join, leave
from deploy.keys import create_keys, read_key
from deploy.local.bus import apply_streams, server_config, wanted_streams
from shared.bus import Bus, Quick, no_facts
from shared.bus.setup import Setup
from shared.db import Database
from tests.harness import drop_database, new_database
from tests.servers import NatsServerFactory, PostgresServer
from tests.shared.world import (
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

CONTACTS = topology.BY_MESSAGE[ContactSeen]
LANES = [UUID(int=number) for number in range(1, 9)]
QUIET = UUID(int=99)
"""A lane in which nothing is said while the service joins."""
REVOKED = next((Path(__file__).parents[2] / "contracts" / "examples" / "ingest.messages").glob("*Revoked*.json"))


def as_before() -> Mapping[str, Any]:
    """The map before the release: the operator did not hear the topic."""
    wanted: Mapping[str, Any] = wanted_streams()
    new = topology.Consumer("operator", CONTACTS)
    known = [one for one in wanted["consumers"] if (one["stream"], one["durable_name"]) != (new.stream, new.durable)]
    return {**wanted, "consumers": known}


@dataclass
class Talk:
    """What ingest goes on saying."""

    bus: Bus
    said: dict[UUID, list[str]] = field(default_factory=dict[UUID, list[str]])
    number: int = 0
    is_over: bool = False

    async def say(self, *lanes: UUID) -> None:
        await say(self.bus, *(said(lane, str(self.number)) for lane in lanes))
        for lane in lanes:
            self.said.setdefault(lane, []).append(str(self.number))
        self.number += 1

    async def say_on(self) -> None:
        """Until it is over: ended in the middle, what was committed would be missing in `said`."""
        while not self.is_over:
            await self.say(*LANES)
            if self.number % 5 == 0:
                await self.say(uuid4())  # a lane of its own that nobody knew
            await asyncio.sleep(0.01)


@pytest.fixture
async def world(
    postgres_server: PostgresServer,
    nats_server_factory: NatsServerFactory,
    tmp_path: Path,
) -> AsyncIterator[World]:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path))
    await apply_streams(server.url, tmp_path, ack_wait_seconds=1.5, wanted=as_before())
    database = await new_database(postgres_server, [])
    yield World(postgres_server, server, tmp_path, database)
    await drop_database(postgres_server, database)


@asynccontextmanager
async def both(world: World) -> AsyncGenerator[tuple[Setup, Any]]:
    """NATS as the admin, PostgreSQL as a superuser."""
    seed = read_key(world.keys, "admin.nk")
    setup = await Setup.open(world.nats.url, seed, wanted_streams(), ack_wait_seconds=1.5)
    connection = await asyncpg.connect(world.postgres.dsn(world.database))
    try:
        yield setup, connection
    finally:
        await connection.close()
        await setup.close()


async def joined(world: World, *, with_history: bool) -> Joined:
    async with both(world) as (setup, connection):
        return await join(setup, connection, "operator", CONTACTS, with_history=with_history)


@asynccontextmanager
async def two_services(world: World) -> AsyncGenerator[tuple[Talk, Database, Database]]:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    async with running(ingest, ingest_db), running(operator, operator_db):
        yield Talk(ingest), ingest_db, operator_db


@asynccontextmanager
async def talking(talk: Talk) -> AsyncGenerator[None]:
    async with asyncio.TaskGroup() as group:
        group.create_task(talk.say_on())
        try:
            yield
        finally:
            talk.is_over = True


async def heard_to_the_end(db: Database, talk: Talk) -> None:
    """Every lane's last message has run."""

    async def is_all() -> bool:
        return all([(await values(db, lane))[-1:] == names[-1:] for lane, names in talk.said.items()])

    await until(is_all)


@pytest.mark.parametrize("with_history", [False, True])
async def test_it_joins_while_others_talk_and_hears_each_lane_without_a_gap(world: World, with_history: bool) -> None:
    async with two_services(world) as (talk, ingest_db, operator_db):
        await talk.say(QUIET, *LANES)
        async with talking(talk):
            await until(lambda: has_said(talk, 20))
            await joined(world, with_history=with_history)
            await until(lambda: has_said(talk, 60))
            await joined(world, with_history=with_history)  # once more, as after a command that was killed
        if not with_history:  # what was said before is not heard, and a lane of one message may be either
            talk.said = {lane: names for lane, names in talk.said.items() if lane in LANES}
        await talk.say(QUIET, uuid4())
        await until(lambda: all_is_published(ingest_db))
        await heard_to_the_end(operator_db, talk)
        for lane, names in talk.said.items():
            heard = await values(operator_db, lane)
            assert heard == names[-len(heard) :], "a gap, a double or another order"
            if with_history:
                assert heard == names
            elif lane in LANES:
                assert "0" not in heard
        assert await one_value(operator_db, "select count(*) from inbox") == 0
        assert await one_value(operator_db, "select count(*) from quarantine") == 0


async def has_said(talk: Talk, number: int) -> bool:
    return talk.number >= number


async def test_left_and_joined_again_it_hears_what_is_said_from_then_on(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with two_services(world) as (talk, ingest_db, operator_db):
        await joined(world, with_history=False)
        await talk.say(*LANES)
        await until(lambda: has_effects(operator_db, len(LANES)))
        with monkeypatch.context() as changed:
            deaf = msgspec.structs.replace(CONTACTS, heard_by=tuple(x for x in CONTACTS.heard_by if x != "operator"))
            changed.setattr(topology, "TOPICS", tuple(deaf if one is CONTACTS else one for one in topology.TOPICS))
            async with both(world) as (_, connection):
                wanted = as_before()
                seed = read_key(world.keys, "admin.nk")
                setup = await Setup.open(world.nats.url, seed, wanted, ack_wait_seconds=1.5)
                done = await leave(setup, connection, "operator", deaf)
                assert done.lanes == len(LANES)
                assert (await leave(setup, connection, "operator", deaf)).lanes == 0
                await setup.close()
            await talk.say(*LANES)
            await until(lambda: all_is_published(ingest_db))
        await joined(world, with_history=False)
        await talk.say(*LANES)
        await heard_to_the_end(operator_db, talk)
        assert [await values(operator_db, lane) for lane in LANES] == [["0", "2"]] * len(LANES)


async def test_without_the_map_nobody_joins_or_leaves(world: World) -> None:
    async with both(world) as (setup, connection):
        statuses = topology.BY_ROOT["ingest.statuses"]
        with pytest.raises(JoinError, match=r"by the map operator does not hear ingest\.statuses"):
            await join(setup, connection, "operator", statuses, with_history=False)
        with pytest.raises(JoinError, match=r"by the map operator hears ingest\.contacts"):
            await leave(setup, connection, "operator", CONTACTS)


@dataclass
class Odd:
    """A connection that leaves one kind of statement out, and in whose time others talk on after the first."""

    connection: Any
    left_out: str
    meanwhile: Callable[[], Awaitable[None]]

    async def execute(self, sql: str, *args: object) -> str:
        done: str = (
            "INSERT 0 0" if self.left_out and self.left_out in sql else await self.connection.execute(sql, *args)
        )
        if "insert into operator.lane_in" in sql:
            await self.meanwhile()
        return done


@pytest.mark.parametrize(("left_out", "is_right"), [("", True), ("insert into operator.lane_in", False)])
async def test_a_join_without_positions_is_found_out(world: World, left_out: str, is_right: bool) -> None:
    async with two_services(world) as (talk, ingest_db, operator_db):
        await talk.say(*LANES)
        await until(lambda: all_is_published(ingest_db))
        async with both(world) as (setup, connection):
            odd: Any = Odd(connection, left_out, lambda: talk_and_arrive(talk, ingest_db))
            await join(setup, odd, "operator", CONTACTS, with_history=False)
        await talk.say(*LANES)
        expected = [["1", "2"]] * len(LANES)
        if is_right:
            await heard_to_the_end(operator_db, talk)
        else:
            await asyncio.sleep(2.0)
        heard = [await values(operator_db, lane) for lane in LANES]
        assert (heard == expected) is is_right, heard


async def talk_and_arrive(talk: Talk, db: Database) -> None:
    """Also of what the operator hears already: so its consumer has gone past what else was said."""
    await talk.say(*LANES)
    await say(talk.bus, topology.decode(topology.BY_ROOT["ingest.messages"], REVOKED.read_bytes()))
    await until(lambda: all_is_published(db))


async def test_the_command_joins_and_names_what_cannot_be(world: World) -> None:
    environment = {
        "CHANCELA_NATS_URL": world.nats.url,
        "CHANCELA_NATS_ADMIN_SEED": read_key(world.keys, "admin.nk"),
        "CHANCELA_DATABASE_SUPERUSER_URL": world.postgres.dsn(world.database),
    }

    async def told(*words: str) -> tuple[int, str]:
        done = await asyncio.to_thread(CliRunner().invoke, app, ["bus", *words], env=environment)
        return done.exit_code, done.output

    async with two_services(world) as (talk, _, operator_db):
        code, output = await told("join", "operator", CONTACTS.root)
        assert (code, "consumer INGEST_CONTACTS/operator: missing" in output) == (0, True), output
        await talk.say(*LANES)
        await until(lambda: has_effects(operator_db, len(LANES)))
    for words, expected in ((("join", "operator", "ingest.statuses"), 1), (("leave", "operator", "no.topic"), 2)):
        code, output = await told(*words)
        assert code == expected, output
