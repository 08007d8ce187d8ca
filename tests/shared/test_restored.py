"""A database that was restored to an older state: seen at once, nothing goes on, and after `chancela recover` every
message has been heard once, in order, and nothing is said twice or into a place that is taken.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from typer.testing import CliRunner

from contracts.messages import ContactSeen, FactRecorded
from deploy import recovering
from deploy.cli import app
from deploy.keys import read_key
from shared.bus import Bus, Effects, Heard, Quick, continuity, heard, no_facts, past
from shared.bus.asking import Consumer, Floor
from shared.bus.continuity import Continuity, DatabaseRestored, Held
from shared.clock import utc_now
from shared.db import Database, Write
from tests.harness import drop_database, new_database
from tests.shared.restoring import consumer, copied, put_back, recovered, superuser
from tests.shared.world import (
    TENANT,
    World,
    all_is_published,
    hearing,
    one_value,
    open_schema,
    quarantined,
    running,
    said,
    say,
    told,
    until,
    values,
    write_effect,
)

LANES = [UUID(int=number) for number in range(1, 5)]


def recorded(contact: UUID, value: str) -> FactRecorded:
    return FactRecorded(
        tenant=TENANT,
        fact_id=uuid4(),
        contact_id=contact,
        kind="other",
        subject="name",
        value=value,
        source="test",
        observed_at=utc_now(),
    )


def fact(heard: Heard[ContactSeen], _facts: None) -> Effects:
    """What the operator does with a contact: it writes it down, and says so."""
    one = heard.message
    return write_effect(heard, None) + Effects(says=[recorded(one.contact_id, one.name)])


def learn(heard: Heard[FactRecorded], _facts: None) -> Effects:
    one = heard.message
    return Effects(writes=[Write("insert into effect (lane, value) values ($1, $2)", (str(one.contact_id), one.value))])


OPERATOR = hearing("operator", Quick(ContactSeen, no_facts, fact))
APPROVAL = hearing("approval", Quick(FactRecorded, no_facts, learn))


@dataclass
class Trio:
    """ingest says, operator hears and says on, approval hears that; the operator's database is one of its own."""

    others: World
    own: World
    ingest: Bus
    ingest_db: Database
    approval_db: Database
    number: int = 0

    async def say(self, *, to: list[UUID] = LANES) -> None:
        await say(self.ingest, *(said(lane, str(self.number)) for lane in to))
        self.number += 1

    async def heard_by_approval(self, number: int) -> None:
        async def is_there() -> bool:
            return len(await values(self.approval_db)) >= number

        await until(is_there)

    async def operator(self) -> tuple[Bus, Database]:
        db = await Database.connect(self.own.url("operator"), schema="operator", name="operator")
        return Bus("operator", self.own.config("operator", self.own.url("operator")), db, OPERATOR), db


@pytest.fixture
async def trio(world: World) -> AsyncIterator[Trio]:
    own = World(world.postgres, world.nats, world.keys, await new_database(world.postgres, []))
    await (await open_schema(world.postgres, own.database, "operator")).close()
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    approval, approval_db = await world.service("approval", APPROVAL)
    async with running(ingest, ingest_db), running(approval, approval_db):
        yield Trio(world, own, ingest, ingest_db, approval_db)
    await drop_database(world.postgres, own.database)


async def lose_the_second_half(trio: Trio) -> None:
    """Two messages a lane, a backup, two more, and the backup again."""
    bus, db = await trio.operator()
    async with running(bus, db):
        await trio.say()
        await trio.say()
        await trio.heard_by_approval(2 * len(LANES))
    backup = await copied(trio.own.postgres, trio.own.database)
    bus, db = await trio.operator()
    async with running(bus, db):
        await trio.say()
        await trio.say(to=[*LANES, UUID(int=77)])
        await trio.heard_by_approval(4 * len(LANES) + 1)
        await until(lambda: all_is_acknowledged(trio))
    await put_back(trio.own.postgres, trio.own.database, backup)


async def all_is_acknowledged(trio: Trio) -> bool:
    info = await consumer(trio.own, "INGEST_CONTACTS", "operator")
    return info["num_ack_pending"] == 0 and info["num_pending"] == 0


async def is_held(bus: Bus) -> bool:
    return "chancela recover operator" in bus.why_not_ready()


async def test_it_is_seen_and_held_and_recovered_without_a_gap_or_a_double(trio: Trio) -> None:
    await lose_the_second_half(trio)
    bus, db = await trio.operator()
    async with running(bus, db):
        await until(lambda: is_held(bus))
        assert told("chancela_bus_held", until="recovered") == 1
        await trio.say()
        await until(lambda: all_is_published(trio.ingest_db))
        with pytest.raises(Held, match="chancela recover operator"):
            await say(bus, recorded(LANES[0], "new"))
        assert await values(db) == ["0"] * len(LANES) + ["1"] * len(LANES)

        before = await dump(db)
        dry = await recovered(trio.own, "operator", is_dry=True)
        assert (dry.lost != [], dry.positions.lanes, dry.positions.remembered) == (
            True,
            len(LANES) + 1,
            2 * len(LANES) + 1,
        )
        assert await dump(db) == before
        assert await is_held(bus)

        done = await recovered(trio.own, "operator")
        assert (done.positions, done.lost) == (dry.positions, dry.lost)
        await trio.heard_by_approval(5 * len(LANES) + 1)
        await trio.say(to=[*LANES, UUID(int=77)])
        await trio.heard_by_approval(6 * len(LANES) + 2)
        assert bus.why_not_ready() == ""
        assert told("chancela_bus_held", until="lifted") == 0
        for hearer in (db, trio.approval_db):
            for lane in LANES:
                assert await values(hearer, lane) == [str(number) for number in range(6)]
            assert await values(hearer, UUID(int=77)) == ["3", "5"]
            assert await quarantined(hearer) == 0
            assert await one_value(hearer, "select count(*) from inbox") == 0

        once_more = await recovered(trio.own, "operator")
        assert (once_more.lost, once_more.positions.lanes) == ([], 0)
        audited = await one_value(db, "select count(*) from repair where what = 'recover' and who = 'ana'")
        assert audited == 3  # positions, the consumer, the end


@asynccontextmanager
async def recovered_without(step: str, trio: Trio, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Database]:
    """The operator, running after a recovery that left out one statement of `past`."""
    await lose_the_second_half(trio)
    monkeypatch.setattr(past, step, "select 0 where false")
    bus, db = await trio.operator()
    async with running(bus, db):
        await until(lambda: is_held(bus))
        await recovered(trio.own, "operator")
        yield db


async def test_without_the_ids_of_the_past_hearers_miss_something_or_hear_it_twice(
    trio: Trio, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recovered_without("_REMEMBER", trio, monkeypatch) as db:
        await trio.say()
        await until(lambda: has_heard_five(db))
        await until(lambda: all_is_published(db))
        await until(lambda: approval_has_all(trio))
        assert not await has_heard_five(trio.approval_db)


async def test_without_positions_beyond_the_stream_it_is_held_again(
    trio: Trio, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with recovered_without("_POSITIONS", trio, monkeypatch) as db:

        async def is_held_again() -> bool:
            return await one_value(db, "select count(*) = 1 from hold where lifted_at is null")

        await until(is_held_again)
        assert await values(db) == ["0"] * len(LANES) + ["1"] * len(LANES)


async def has_heard_five(db: Database) -> bool:
    return all([await values(db, lane) == [*"01234"] for lane in LANES])


async def approval_has_all(trio: Trio) -> bool:
    info = await consumer(trio.own, "OPERATOR_FACTS", "approval")
    return info["num_ack_pending"] == 0 and info["num_pending"] == 0


async def dump(db: Database) -> dict[str, Any]:
    """Everything of the bus's own tables."""
    tables = ("lane_in", "lane_out", "inbox", "outbox", "outbox_again", "heard", "said_before", "repair", "hold")
    async with db.autocommit() as tx:
        return {one: [tuple(row) for row in await tx.rows(f"select * from {one} order by 1, 2, 3")] for one in tables}


async def test_under_a_running_process_it_ends_the_process(trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """Restored into the tables in place, so that no connection is lost: found at the next look."""
    monkeypatch.setattr(continuity, "LOOK_SECONDS", 0.2)
    bus, db = await trio.operator()
    async with running(bus, db):
        await trio.say()
        await trio.heard_by_approval(len(LANES))
    bus, db = await trio.operator()
    task = asyncio.create_task(bus.run())
    await trio.say()
    await trio.heard_by_approval(2 * len(LANES))
    await until(lambda: all_is_acknowledged(trio))
    async with superuser(trio.own, "operator") as own:
        await own_second_half_is_gone(own)
    with pytest.raises(ExceptionGroup) as ended:
        await task
    assert ended.group_contains(DatabaseRestored)
    await bus.stop()
    await db.close()
    assert await values_of_own(trio) == ["0"] * len(LANES)


async def own_second_half_is_gone(db: Database) -> None:
    async with db.transaction() as tx:
        await tx.execute("delete from effect where value = '1'")
        await tx.execute("delete from heard where stream_seq > $1", len(LANES))
        await tx.execute("update lane_in set next_seq = 1")


async def values_of_own(trio: Trio) -> list[str]:
    async with superuser(trio.own, "operator") as db:
        return await values(db)


async def test_what_was_only_said_is_missed_too(trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of a night in which webhooks came and nobody answered: nothing was acknowledged since the backup."""
    monkeypatch.setattr(recovering, "OLDER", timedelta())  # as if all this had taken hours
    backup = ""
    for number in range(2):
        bus, db = await trio.operator()
        async with running(bus, db):
            await say(bus, recorded(LANES[0], f"{number}"))
            await trio.heard_by_approval(number + 1)
        backup = backup or await copied(trio.own.postgres, trio.own.database)
    await put_back(trio.own.postgres, trio.own.database, backup)
    bus, db = await trio.operator()
    await say(bus, recorded(LANES[0], "2"), recorded(LANES[0], "3"))  # before NATS was there: nobody could know
    async with running(bus, db):
        await until(lambda: is_held(bus))
        done = await recovered(trio.own, "operator")
        assert (len(done.lost), done.consumers, done.positions) == (1, [], past.Taken(0, 2, 1))
        await trio.heard_by_approval(4)
        await say(bus, recorded(LANES[0], "4"))
        await trio.heard_by_approval(5)
        assert await values(trio.approval_db) == ["0", "1", "2", "3", "4"]
        assert await quarantined(trio.approval_db) == 0


async def test_an_emptied_database_is_the_same(trio: Trio) -> None:
    backup = await copied(trio.own.postgres, trio.own.database)
    bus, db = await trio.operator()
    async with running(bus, db):
        await trio.say()
        await trio.heard_by_approval(len(LANES))
        await until(lambda: all_is_acknowledged(trio))
    await put_back(trio.own.postgres, trio.own.database, backup)
    bus, db = await trio.operator()
    async with running(bus, db):
        await until(lambda: is_held(bus))
        await recovered(trio.own, "operator")
        await trio.say()
        await trio.heard_by_approval(2 * len(LANES))
        assert [await values(db, lane) for lane in LANES] == [["0", "1"]] * len(LANES)
        assert await quarantined(trio.approval_db) == 0


HOUR = timedelta(hours=1)


def state(stream_seq: int, consumer_seq: int, *, is_new: bool = False, is_missing: bool = False) -> Consumer:
    """Of a consumer that was made a day ago, or an hour from now: after all rows."""
    created = utc_now() + (HOUR if is_new else -24 * HOUR)
    error = {"err_code": 10014} if is_missing else None
    return Consumer(utc_now(), created, 0, 0, Floor(stream_seq, consumer_seq), error)


HEARD_TO = (50, 20)
"""Place in the stream and delivery of the newest batch that the database has."""
FLOORS: dict[str, tuple[Consumer, bool]] = {
    "as far as the database": (state(50, 20), False),
    "behind: acknowledgements are on their way": (state(40, 15), False),
    "further: what was acknowledged is gone": (state(60, 25), True),
    "moved past other topics' messages": (state(60, 20), False),
    "settled by the acknowledgement of an earlier delivery": (state(50, 21), False),
    "of a stream that was wiped": (state(0, 0), False),
    "of a consumer that is gone": (state(0, 0, is_missing=True), False),
    "made anew, not as far yet": (state(30, 12, is_new=True), False),
    "made anew, further: what it acknowledged since is gone": (state(60, 12, is_new=True), True),
}


@pytest.mark.parametrize("name", FLOORS)
async def test_only_a_floor_that_is_ahead_in_stream_and_deliveries_tells_of_a_loss(
    operator_db: Database, name: str
) -> None:
    floor, is_lost = FLOORS[name]
    async with operator_db.autocommit() as tx:
        for batch in (heard.Reached("ingest.contacts", *HEARD_TO), heard.Reached("ingest.contacts", 30, 7)):
            await tx.execute(heard.REACH, *batch)
        await tx.execute(heard.REACH, "ingest.messages", 1000, 1000)
        assert bool(await continuity.lost(tx, {"ingest.contacts": floor})) is is_lost


async def test_a_topic_of_which_nothing_is_known_is_lost_once_anything_was_acknowledged(operator_db: Database) -> None:
    async with operator_db.autocommit() as tx:
        assert await continuity.lost(tx, {"ingest.contacts": state(9, 0)}) == []
        assert await continuity.lost(tx, {"ingest.contacts": state(9, 1)}) == [continuity.Lost("ingest.contacts", 9, 0)]


async def test_work_stops_before_a_connection_to_another_database_is_used(trio: Trio) -> None:
    backup = await copied(trio.own.postgres, trio.own.database)
    db = await Database.connect(trio.own.url("operator"), schema="operator", name="operator", max_size=1)
    met: list[str] = []
    db.on_another_life = lambda: met.append("another")
    async with db.autocommit() as tx:
        assert await tx.value("select 1") == 1
    assert met == []
    await put_back(trio.own.postgres, trio.own.database, backup)

    async def answers() -> bool:
        return await db.is_alive()

    await until(answers)
    assert met == ["another"]
    await db.close()


@pytest.mark.parametrize("stops_at_doubt", [True, False])
async def test_after_a_doubt_nothing_runs_before_a_look(
    trio: Trio, monkeypatch: pytest.MonkeyPatch, stops_at_doubt: bool
) -> None:
    """NATS does not answer about consumers for a while: what is said meanwhile waits."""
    bus, db = await trio.operator()
    async with running(bus, db):
        await trio.say()
        await trio.heard_by_approval(len(LANES))
        may_answer = asyncio.Event()
        look: Continuity = bus._continuity  # pyright: ignore[reportPrivateUsage] - as the connection does
        ask: Any = vars(look)["_ask"]

        async def later(one: Any) -> Consumer:
            await may_answer.wait()
            return await ask(one)

        monkeypatch.setattr(look, "_ask", later)
        if stops_at_doubt:
            look.doubt()
        await trio.say()
        await until(lambda: has_come(trio))
        if stops_at_doubt:
            assert await values(db) == ["0"] * len(LANES)
        else:
            await trio.heard_by_approval(2 * len(LANES))
        may_answer.set()
        await trio.heard_by_approval(2 * len(LANES))


async def has_come(trio: Trio) -> bool:
    """Everything that was said has been handed to the operator."""
    info = await consumer(trio.own, "INGEST_CONTACTS", "operator")
    return info["num_pending"] == 0 and info["delivered"]["consumer_seq"] == 2 * len(LANES)


async def test_the_command_recovers_and_says_what_is_next(trio: Trio, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovering, "NOTICED_SECONDS", 0.0)
    keys = {f"{name}_SEED": read_key(trio.own.keys, f"{one}.nk") for name, one in SEEDS.items()}
    environment = {
        "CHANCELA_NATS_URL": trio.own.nats.url,
        "CHANCELA_DATABASE_SUPERUSER_URL": trio.own.postgres.dsn(trio.own.database),
        **keys,
    }

    async def answer(*words: str) -> tuple[int, str]:
        done = await asyncio.to_thread(CliRunner().invoke, app, ["recover", *words], env=environment)
        return done.exit_code, done.output

    assert await answer("operator") == (0, "operator knows everything that it acknowledged: nothing to recover\n")
    await lose_the_second_half(trio)
    code, output = await answer("operator", "--dry-run")
    assert (code, "without --dry-run it is done" in output, "would be made anew" in output) == (0, True, True)
    code, output = await answer("operator", "--reason", "a backup", "--who", "ana")
    assert (code, "consumer INGEST_CONTACTS/operator: deleted" in output, "operator goes on" in output) == (
        0,
        True,
        True,
    )
    bus, db = await trio.operator()
    async with running(bus, db):
        await trio.say()
        await until(lambda: has_heard_five(db))
        assert await one_value(db, "select count(*) from repair where who = 'ana' and reason = 'a backup'") == 3
    wrong = {
        ("nobody",): 2,
        ("operator", "--lift", "--reason", "x"): 2,
        ("delivery", "--lift"): 2,
    }
    assert {words: (await answer(*words))[0] for words in wrong} == wrong
    environment["CHANCELA_NATS_SEED"] = keys["CHANCELA_NATS_ADMIN_SEED"]
    code, output = await answer("operator")
    assert (code, "does NATS run with this release's accounts.conf" in output) == (3, True), output


SEEDS = {"CHANCELA_NATS_ADMIN": "admin", "CHANCELA_NATS": "operator"}
