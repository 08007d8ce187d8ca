"""Gauges say what Postgres and the streams hold, at a cost that does not grow, and whoever is away."""

import asyncio
import re
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest
from nats.aio.client import Client

from contracts.messages import ContactSeen
from deploy.keys import create_keys, read_key
from shared import metrics
from shared.bus import Quick, no_facts, watch
from shared.bus.asking import Consumer, Floor
from shared.bus.connection import Connection
from shared.bus.repair import Repair
from shared.bus.watch import Frontier, Watch
from shared.db import Database, Tx
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import PostgresServer
from tests.shared.world import World, hearing, one_value, open_schema, running, said, say, told, until, write_effect

# ------------------------------------------------------------------------------------------- age of what was not heard

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return NOON + timedelta(seconds=seconds)


def state(*, pending: int = 0, unacknowledged: int = 0, floor: int = 0) -> Consumer:
    return Consumer(ts=NOON, num_pending=pending, num_ack_pending=unacknowledged, ack_floor=Floor(stream_seq=floor))


def test_a_consumer_with_nothing_left_has_no_age() -> None:
    assert Frontier().age(at(0), state(floor=9)) == 0


def test_what_came_after_the_last_empty_look_is_as_old_as_that_look_at_most() -> None:
    frontier = Frontier()
    frontier.age(at(0), state(floor=9))
    frontier.age(at(100), state(floor=9))
    assert frontier.age(at(110), state(pending=1, floor=9)) == 10
    assert frontier.age(at(180), state(pending=1, floor=9)) == 80


def test_a_backlog_is_as_old_as_the_newest_message_acknowledged() -> None:
    frontier = Frontier()
    assert frontier.age(at(0), state(pending=900)) == 0  # nothing is known yet
    assert frontier.age(at(60), state(pending=900)) == 60  # at least since the first look
    frontier.heard(256, at(-3600))
    assert frontier.age(at(70), state(pending=644, floor=256)) == 3670
    frontier.heard(512, at(-1800))
    assert frontier.age(at(80), state(pending=388, floor=512)) == 1880


def test_a_message_below_the_others_that_is_not_acknowledged_keeps_its_age() -> None:
    frontier = Frontier()
    frontier.heard(10, at(0))
    frontier.age(at(1), state(pending=1, floor=10))
    frontier.heard(300, at(40))
    assert frontier.age(at(50), state(unacknowledged=1, floor=10)) == 50
    assert frontier.age(at(60), state(unacknowledged=1, floor=300)) == 20


def test_a_redelivery_makes_nothing_older() -> None:
    frontier = Frontier()
    frontier.heard(300, at(40))
    frontier.heard(7, at(0))
    assert frontier.age(at(50), state(pending=1, floor=300)) == 10


# ----------------------------------------------------------------------------------------------------------- Postgres


@pytest.fixture
async def nowhere(tmp_path: Path) -> AsyncIterator[Connection]:
    """The operator's connection, never opened."""
    create_keys(tmp_path)
    connection = Connection("nats://127.0.0.1:1", read_key(tmp_path, "operator.nk"), "operator")
    yield connection
    await connection.close()


@pytest.fixture
def looking(operator_db: Database, nowhere: Connection) -> Watch:
    return Watch("operator", operator_db, nowhere)


async def run(db: Database, *statements: str) -> None:
    async with db.autocommit() as tx:
        for statement in statements:
            await tx.execute(statement)


WAITS = "insert into lane_in (lane, next_seq, has_waiting, waiting_since, parked_at) values"
STORED = "insert into inbox (lane, lane_seq, msg_id, digest, subject, payload) values"


async def test_lanes_are_told_apart_by_why_they_wait(operator_db: Database, looking: Watch) -> None:
    await run(
        operator_db,
        f"{WAITS} ('idle', 5, false, null, null)",
        f"{WAITS} ('late', 5, true, now() - interval '50 s', null)",
        f"{WAITS} ('gap', 5, true, now() - interval '40 s', null)",
        f"{WAITS} ('fresh gap', 5, true, now() - interval '20 s', null)",
        f"{WAITS} ('parked', 5, true, now() - interval '900 s', now() - interval '800 s')",
        f"{STORED} ('late', 5, gen_random_uuid(), '', '', '')",
        f"{STORED} ('gap', 6, gen_random_uuid(), '', '', '')",
        f"{STORED} ('fresh gap', 6, gen_random_uuid(), '', '', '')",
        f"{STORED} ('parked', 5, gen_random_uuid(), '', '', '')",
    )
    await looking.look_at_postgres()
    assert told("chancela_bus_waiting_lanes") == 3
    assert told("chancela_bus_waiting_messages") == 4
    assert told("chancela_bus_gaps") == 1
    assert told("chancela_bus_parked", what="lane") == 1
    assert 50 <= told("chancela_bus_waiting_age_seconds") < 110
    assert 800 <= told("chancela_bus_parked_age_seconds", what="lane") < 860


async def test_what_was_repaired_is_no_longer_told(operator_db: Database, looking: Watch) -> None:
    await run(operator_db, f"{WAITS} ('parked', 5, true, now(), now() - interval '800 s')")
    await looking.look_at_postgres()
    await run(operator_db, "update lane_in set parked_at = null, has_waiting = false, waiting_since = null")
    await looking.look_at_postgres()
    assert told("chancela_bus_parked", what="lane") == 0
    assert told("chancela_bus_parked_age_seconds", what="lane") == 0


async def test_the_quarantine_tells_how_many_and_when_the_latest_came(operator_db: Database, looking: Watch) -> None:
    await looking.look_at_postgres()
    assert told("chancela_bus_quarantine_newest_timestamp_seconds") == 0
    await run(
        operator_db,
        "insert into quarantine (subject, digest, why, at) values ('a', 'a', 'w', to_timestamp(1000))",
        "insert into quarantine (subject, digest, why, at) values ('b', 'b', 'w', to_timestamp(2000))",
    )
    await looking.look_at_postgres()
    assert told("chancela_bus_quarantine_messages") == 2
    assert told("chancela_bus_quarantine_newest_timestamp_seconds") == 2000


async def test_what_a_person_skipped_is_no_news_of_the_quarantine(operator_db: Database, looking: Watch) -> None:
    lane = f"ingest.contacts:0:{uuid4()}"
    await run(
        operator_db,
        f"{WAITS} ('{lane}', 5, true, now(), now())",
        f"{STORED} ('{lane}', 5, gen_random_uuid(), '', '', '')",
    )
    await Repair(operator_db, "somebody", is_dry=False).skip(lane, "it was a test")
    await looking.look_at_postgres()
    assert told("chancela_bus_quarantine_messages") == 1
    assert told("chancela_bus_quarantine_newest_timestamp_seconds") == 0


async def test_the_outbox_counts_what_is_beyond_each_writers_mark(operator_db: Database, looking: Watch) -> None:
    await run(
        operator_db,
        "insert into outbox_writer (mark) values (2), (0)",
        "insert into outbox_writer (mark, closed_at, swept_at) values (1, now(), now())",
        """insert into outbox (writer, batch, item, msg_id, lane, lane_seq, cause, traceparent, payload, created_at)
           select writer, batch, 0, gen_random_uuid(), 'l', 0, gen_random_uuid(), '', '',
             now() - make_interval(secs => 100 * writer + 10 * (5 - batch))
           from generate_series(1, 3) as writer, generate_series(1, 4) as batch""",
    )
    await looking.look_at_postgres()
    assert told("chancela_bus_outbox_rows") == 2 + 4
    assert 240 <= told("chancela_bus_outbox_age_seconds") < 300
    await run(
        operator_db, "insert into outbox_again (writer, batch, item, since) values (1, 1, 0, now() - interval '1 h')"
    )
    await looking.look_at_postgres()
    assert told("chancela_bus_outbox_again_rows") == 1
    assert told("chancela_bus_outbox_age_seconds") >= 3600
    await run(operator_db, "update outbox_writer set mark = 4", "delete from outbox_again")
    await looking.look_at_postgres()
    assert told("chancela_bus_outbox_rows") == 0
    assert told("chancela_bus_outbox_age_seconds") == 0


JOB = "insert into job (id, kind, cause, payload, key, is_ordered, tenant, due_at, leased_until, parked_at)"
JOB_VALUES = f"{JOB} values (gen_random_uuid(), 'k', gen_random_uuid(), '',"


async def test_jobs_are_due_when_nothing_but_a_free_hand_is_missing(operator_db: Database, looking: Watch) -> None:
    one, two = UUID(int=1), UUID(int=2)
    await run(
        operator_db,
        f"{JOB_VALUES} 'a', false, '{one}', now() - interval '30 s', null, null)",
        f"{JOB_VALUES} 'b', false, '{two}', now() - interval '60 s', null, null)",
        f"{JOB_VALUES} 'not yet', false, '{two}', now() + interval '60 s', null, null)",
        f"{JOB_VALUES} 'leased', false, '{one}', now() - interval '9 h', now() + interval '60 s', null)",
        f"{JOB_VALUES} 'parked', true, '{one}', now() - interval '8 h', null, now() - interval '7 h')",
        f"{JOB_VALUES} 'parked', true, '{one}', now() - interval '6 h', null, null)",  # waits for the one before
    )
    await looking.look_at_postgres()
    assert told("chancela_bus_jobs_due") == 2
    assert 60 <= told("chancela_bus_jobs_overdue_seconds") < 120
    assert told("chancela_bus_parked", what="job") == 1
    assert 7 * 3600 <= told("chancela_bus_parked_age_seconds", what="job") < 7 * 3600 + 60
    await run(operator_db, "update job set leased_until = now() - interval '1 s', lost = 1 where key = 'leased'")
    await looking.look_at_postgres()
    assert told("chancela_bus_jobs_overdue_seconds") >= 9 * 3600


async def test_a_count_ends_at_its_limit(
    operator_db: Database, looking: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "COUNTED_AT_MOST", 3)
    await run(operator_db, *(f"{WAITS} ('{n}', 5, true, now(), null)" for n in range(9)))
    await looking.look_at_postgres()
    assert told("chancela_bus_waiting_lanes") == 3


LATER = f"{JOB} select gen_random_uuid(), 'k', gen_random_uuid(), '', 'key ' || n, false"


async def test_a_look_walks_through_no_table_that_grows(postgres_server: PostgresServer) -> None:
    """Idle lanes, timers of tomorrow and published rows cost a look nothing."""
    name = await new_database(postgres_server, [])
    db = await open_schema(postgres_server, name, "operator")
    owner = await asyncpg.connect(postgres_server.dsn(name, "operator_owner", PASSWORD))
    await owner.execute("set search_path = operator")
    await owner.execute(
        f"""insert into lane_in (lane, next_seq) select 'lane ' || n, 1 from generate_series(1, 30000) n;
        insert into outbox_writer (mark) values (30000);
        insert into outbox (writer, batch, item, msg_id, lane, lane_seq, cause, traceparent, payload)
          select 1, n, 0, gen_random_uuid(), 'l', n, gen_random_uuid(), '', '' from generate_series(1, 30000) n;
        {LATER}, gen_random_uuid(), now() + interval '1 d', null::timestamptz, null::timestamptz
          from generate_series(1, 300) n;
        {LATER}, '{uuid4()}', now() + interval '1 d', null::timestamptz, null::timestamptz
          from generate_series(1, 30000) n"""
    )
    await owner.execute("analyze")
    await owner.close()
    statements = [(watch.LANES, (100_000, 30)), (watch.OUTBOX, (100_000,)), (watch.JOBS, (100_000, 10_000))]
    async with db.transaction() as tx:
        read = [await rows_read(tx, sql, args) for sql, args in statements]
    await db.close()
    await drop_database(postgres_server, name)
    assert all(number < 2_000 for number in read), read


async def rows_read(tx: Tx, sql: str, args: tuple[int, ...]) -> float:
    """Rows that the statement took from tables and indexes, also those that a filter threw away."""
    numbered = re.sub(r"\$(\d)", lambda found: str(args[int(found[1]) - 1]), sql)
    lines = await tx.rows(f"explain (analyze, timing off) {numbered}")
    plan = "\n".join(line[0] for line in lines)
    scanned = re.findall(r"Scan .*?rows=([\d.]+) loops=(\d+)\)", re.sub(r"\(cost.*?\) ", "", plan))
    dropped = re.findall(r"Rows Removed by Filter: (\d+)", plan)
    assert scanned, plan
    return sum(float(rows) * int(loops) for rows, loops in scanned) + sum(map(int, dropped))


async def test_a_look_that_fails_is_told_and_ends_nothing(
    postgres_server: PostgresServer, nowhere: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "LOOK_SECONDS", 0.01)
    name = await new_database(postgres_server, [])
    db = await Database.connect(postgres_server.dsn(name, "operator_bus", PASSWORD), schema="operator", name="t")
    metrics.WATCHED.labels("postgres").set(17)
    looking = asyncio.create_task(Watch("operator", db, nowhere).run())
    try:
        await asyncio.sleep(0.3)
        assert not looking.done()  # the schema has no tables
        assert told("chancela_bus_watched_timestamp_seconds", source="postgres") == 17
    finally:
        looking.cancel()
        await asyncio.gather(looking, return_exceptions=True)
        await db.close()
        await drop_database(postgres_server, name)


async def test_ticks_of_a_blocked_event_loop_are_lost() -> None:
    ticking = asyncio.create_task(watch.count_lost_ticks())
    await asyncio.sleep(0)
    before = told("chancela_process_lost_ticks_total")
    time.sleep(1.1)  # noqa: ASYNC251 - blocking the loop is what this is about
    await asyncio.sleep(0.05)
    assert told("chancela_process_lost_ticks_total") - before >= 3
    ticking.cancel()


# ------------------------------------------------------------------------------------------------------------ streams


async def test_what_a_service_has_not_heard_is_told_and_then_no_longer(world: World) -> None:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    contact = uuid4()
    async with running(ingest, ingest_db):
        await say(ingest, *(said(contact, str(n)) for n in range(7)))
        connection = Connection(world.nats.url, read_key(world.keys, "operator.nk"), "operator")
        await connection.open()
        looking = Watch("operator", operator_db, connection)

        async def all_pend() -> bool:
            await looking.look_at_streams()
            return told("chancela_bus_pending_messages", topic="ingest.contacts") == 7

        await until(all_pend)
        await asyncio.sleep(0.3)
        await looking.look_at_streams()
        assert told("chancela_bus_unheard_age_seconds", topic="ingest.contacts") >= 0.3
        assert told("chancela_bus_consumer_missing", topic="ingest.contacts") == 0
        before = {name: told(name, **labels) for name, labels in MOVED.items()}
        async with running(operator, operator_db):
            await until(lambda: heard_all(operator_db, 7))

            async def all_acknowledged() -> bool:
                await looking.look_at_streams()
                left = ("pending_messages", "unacknowledged_messages", "unheard_age_seconds")
                return all(told(f"chancela_bus_{name}", topic="ingest.contacts") == 0 for name in left)

            await until(all_acknowledged)
        await connection.close()
    after = {name: told(name, **labels) for name, labels in MOVED.items()}
    assert [name for name in MOVED if after[name] <= before[name]] == []


MOVED: dict[str, dict[str, str]] = {
    "chancela_bus_batch_messages_sum": {"topic": "ingest.contacts"},
    "chancela_bus_batch_seconds_count": {"topic": "ingest.contacts"},
    "chancela_bus_handler_seconds_count": {"message": "ContactSeen"},
    "chancela_bus_heard_age_seconds_count": {"topic": "ingest.contacts"},
    "chancela_bus_heard_total": {"topic": "ingest.contacts", "result": "run"},
    "chancela_database_commit_seconds_count": {},
}
"""What must have moved when a service heard something; with what its producer moved, all calls on the fast path."""


async def heard_all(db: Database, number: int) -> bool:
    return await one_value(db, "select count(*) from effect") >= number


async def test_what_was_said_is_counted_by_the_streams_answer(world: World) -> None:
    bus, db = await world.service("ingest", hearing("ingest"))
    before = told("chancela_bus_published_total", result="acknowledged")
    async with running(bus, db):
        await say(bus, *(said(uuid4(), str(n)) for n in range(5)))
        await until(lambda: counted(before + 5))
    assert told("chancela_bus_publish_seconds_count") >= 1


async def counted(number: float) -> bool:
    return told("chancela_bus_published_total", result="acknowledged") >= number


async def test_a_consumer_that_was_deleted_is_told(world: World) -> None:
    admin = Client()
    await admin.connect(world.nats.url, nkeys_seed_str=read_key(world.keys, "admin.nk"), inbox_prefix="_INBOX_admin")
    await admin.request("$JS.API.CONSUMER.DELETE.CONVERSADOR_TURNS.operator", b"", timeout=5)
    await admin.close()
    connection = Connection(world.nats.url, read_key(world.keys, "operator.nk"), "operator")
    await connection.open()
    db = await open_schema(world.postgres, world.database, "operator")
    await Watch("operator", db, connection).look_at_streams()
    assert told("chancela_bus_consumer_missing", topic="conversador.turns") == 1
    assert told("chancela_bus_consumer_missing", topic="ingest.contacts") == 0
    await connection.close()
    await db.close()
