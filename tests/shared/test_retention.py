"""What goes after its time, what stays however old, and that a lane whose rows went loses and doubles nothing."""

from datetime import date, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import topology
from contracts.messages import ContactSeen
from services.approval.service import SERVICE as APPROVAL
from services.conversador.service import SERVICE as CONVERSADOR
from services.guardrails.service import SERVICE as GUARDRAILS
from services.ingest.service import SERVICE as INGEST
from shared import retention
from shared.bus import Quick, no_facts, outbox
from shared.db import Database
from shared.retention import BUS, Class, forget, forget_all
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import PostgresServer
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

BY_TABLE = {one.table: one for one in BUS}


async def run(db: Database, *statements: str) -> None:
    async with db.transaction() as tx:
        for statement in statements:
            await tx.execute(statement)


async def count(db: Database, table: str) -> int:
    return await one_value(db, f"select count(*) from {table}")


OUTBOX = """
insert into outbox (writer, batch, item, msg_id, lane, lane_seq, cause, traceparent, payload, created_at)
select 1, batch, 0, gen_random_uuid(), 'l', batch, gen_random_uuid(), '', '', now() - make_interval(days => {days})
from generate_series({first}, {last}) as batch"""


async def test_how_far_a_topic_was_heard_stays_however_long_ago(operator_db: Database) -> None:
    """Else a topic that was silent for a month would look like one whose rows are lost (shared/bus/continuity.py)."""
    rows = "insert into heard (at, entries, topic, stream_seq, consumer_seq) select now() - interval '31 days', '', "
    await run(
        operator_db,
        f"{rows} 'ingest.contacts', place, place from generate_series(1, 9) as place",
        f"{rows} 'ingest.contacts', 4, 10",  # a repeated delivery is its newest
        f"{rows} 'ingest.messages', 1, 1",
        f"{rows} '', 0, 0 from generate_series(1, 3)",  # drained
    )
    assert await forget_all(operator_db, BY_TABLE["heard"]) == 8 + 3
    async with operator_db.autocommit() as tx:
        left = await tx.rows(
            "select topic, max(stream_seq), max(consumer_seq) from heard group by topic order by topic"
        )
    assert [tuple(row) for row in left] == [("ingest.contacts", 9, 10), ("ingest.messages", 1, 1)]


async def test_of_the_outbox_only_what_its_stream_has_goes(operator_db: Database) -> None:
    await run(
        operator_db,
        "insert into outbox_writer (mark) values (3)",
        OUTBOX.format(days=31, first=1, last=5),  # 4 and 5 are not acknowledged
        OUTBOX.format(days=29, first=6, last=6),
        "insert into outbox_again (writer, batch, item) values (1, 2, 0)",  # was refused: goes again
    )
    assert await forget_all(operator_db, BY_TABLE["outbox"]) == 2
    left = "select array_agg(batch order by batch) from outbox"
    assert await one_value(operator_db, left) == [2, 4, 5, 6]


async def test_a_writer_stays_while_a_row_of_it_does(operator_db: Database) -> None:
    swept = "clock_timestamp() - interval '31 d'"
    await run(
        operator_db,
        f"insert into outbox_writer (mark, closed_at, swept_at) values (1, {swept}, {swept}), (0, {swept}, {swept})",
        OUTBOX.format(days=29, first=1, last=1),
    )
    assert await forget_all(operator_db, BY_TABLE["outbox_writer"]) == 1
    assert await one_value(operator_db, "select array_agg(writer) from outbox_writer") == [1]


async def test_lanes_that_stand_still_stay_however_old(operator_db: Database) -> None:
    await run(
        operator_db,
        """insert into lane_in (lane, moved_on, has_waiting, parked_at) values
             ('a:1:idle', current_date - 61, false, null), ('a:1:used', current_date - 59, false, null),
             ('a:1:waits', current_date - 400, true, null), ('a:1:parked', current_date - 400, false, now())""",
    )
    assert await forget_all(operator_db, BY_TABLE["lane_in"]) == 1
    assert await one_value(operator_db, "select count(*) from lane_in where lane = 'a:1:idle'") == 0


async def test_a_batch_has_its_size_and_the_rest_goes_in_the_next(
    operator_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = "insert into heard (at, entries) select now() - interval '31 d', '' from generate_series(1, 25)"
    await run(operator_db, old, "insert into heard (entries) values ('')")
    assert await forget(operator_db, BY_TABLE["heard"], at_most=10) == 10
    assert await count(operator_db, "heard") == 16
    monkeypatch.setattr(retention, "ROWS_AT_ONCE", 10)
    monkeypatch.setattr(retention, "PAUSE_SECONDS", 0.0)
    assert await forget_all(operator_db, BY_TABLE["heard"]) == 15
    assert await count(operator_db, "heard") == 1


async def test_a_second_pod_leaves_it_to_the_first(operator_db: Database) -> None:
    await run(operator_db, "insert into heard (at, entries) values (now() - interval '31 d', '')")
    async with operator_db.transaction() as tx:
        assert await tx.value(retention.ONE_AT_A_TIME, "heard")
        assert await forget(operator_db, BY_TABLE["heard"]) == 0
    assert await forget(operator_db, BY_TABLE["heard"]) == 1


@pytest.mark.parametrize("table", ["outbox", "heard"])
async def test_looking_for_what_is_old_reads_no_whole_table_that_grows_with_messages(
    operator_db: Database, table: str
) -> None:
    one = BY_TABLE[table]
    filling = {
        "outbox": OUTBOX.format(days=0, first=1, last=20_000),
        "heard": "insert into heard (entries) select '\\x00'::bytea from generate_series(1, 20000)",
    }
    await run(operator_db, filling[table], f"analyze {table}")
    async with operator_db.transaction() as tx:
        await tx.execute("set local plan_cache_mode = force_generic_plan")
        await tx.execute(retention.BY_INDEX)
        await tx.execute(f"prepare p (interval, bigint) as {one.statement}")
        plan = "\n".join(row[0] for row in await tx.rows("explain execute p ('30 days', 2000)"))
    assert f"Seq Scan on {table} t" not in plan, plan


OWN: dict[str, tuple[Class, ...]] = {
    "ingest": INGEST.forgets,
    "conversador": CONVERSADOR.forgets,
    "guardrails": GUARDRAILS.forgets,
    "approval": APPROVAL.forgets,
}


@pytest.mark.parametrize("name", OWN)
async def test_a_services_own_classes_name_what_there_is(postgres_server: PostgresServer, name: str) -> None:
    classes = OWN[name]
    database = await new_database(postgres_server, [name])
    db = await Database.connect(postgres_server.dsn(database, f"{name}_bus", PASSWORD), schema=name, name=name)
    try:
        assert [await forget_all(db, one) for one in classes] == [0] * len(classes)
    finally:
        await db.close()
        await drop_database(postgres_server, database)


# ------------------------------------------------------------------------------------------------------ generations


@given(used=st.dates(date(2026, 1, 1), date(2100, 1, 1)), idle=st.integers(topology.GENERATION_DAYS + 1, 5000))
def test_a_lane_opened_anew_has_a_later_generation(used: date, idle: int) -> None:
    """`used` is the last day on which anything was said: the lane's generation is of that day at the latest."""
    assert topology.generation(used + timedelta(days=idle)) > topology.generation(used)


async def lanes(db: Database) -> list[str]:
    async with db.autocommit() as tx:
        return [row["lane"] for row in await tx.rows("select lane from outbox order by writer, batch, item")]


@pytest.mark.parametrize("are_rows_gone", [False, True])
async def test_a_lane_that_was_idle_goes_on_under_its_next_generation(
    world: World, are_rows_gone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "KNOWN_SECONDS", 0.0)  # 70 days later
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    lane = uuid4()
    async with running(ingest, ingest_db), running(operator, operator_db):
        await run(ingest_db, f"insert into lane_out (topic, key, generation) values ('ingest.contacts', '{lane}', 7)")
        await say(ingest, said(lane, "0"), said(lane, "1"))
        await until(lambda: has_effects(operator_db, 2))
        await until(lambda: all_is_published(ingest_db))
        await run(ingest_db, "update lane_out set used_on = current_date - 70")  # as if all that was then
        await run(operator_db, "update lane_in set moved_on = current_date - 70")
        if are_rows_gone:
            assert await forget_all(ingest_db, BY_TABLE["lane_out"]) == 1
            assert await forget_all(operator_db, BY_TABLE["lane_in"]) == 1
        await say(ingest, said(lane, "2"), said(lane, "3"))
        await until(lambda: has_effects(operator_db, 4))
        assert await values(operator_db, lane) == ["0", "1", "2", "3"]
        now = topology.lane(topology.BY_MESSAGE[ContactSeen], lane, topology.generation(await today(ingest_db)))
        before = topology.lane(topology.BY_MESSAGE[ContactSeen], lane, 7)
        assert await lanes(ingest_db) == [before, before, now, now]
        assert await one_value(operator_db, f"select next_seq from lane_in where lane = '{now}'") == 2


async def today(db: Database) -> date:
    return await one_value(db, "select current_date")
