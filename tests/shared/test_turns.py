"""Fairness of slow work and timers: who is next, who is bounded, and what a look costs with a long backlog."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest

from shared.bus import Effects, Job, StartJob, Timer
from shared.bus.handling import perform
from shared.bus.jobs import TAKE
from shared.bus.turns import HEADS, LOOKED_AT
from shared.db import Database, Tx, Write
from tests.shared.test_jobs import Gate, echo, jobs, start
from tests.shared.world import TENANT, one_value, until, values

MANY = 10_000
OTHER = UUID(int=8)
_BACKLOG = """
insert into job (id, kind, key, is_ordered, tenant, cause, payload, due_at)
select gen_random_uuid(), $1, $2 || case when $3 then '' else n::text end, $3, $4, gen_random_uuid(), '{}',
  clock_timestamp() + make_interval(secs => $5)
from generate_series(1, $6::integer) as n
"""


async def backlog(
    db: Database, number: int, kind: str = "work", key: str = "k", tenant: UUID = TENANT, *, is_ordered: bool = False,
    due_in: float = -1,
) -> None:  # fmt: skip
    async with db.autocommit() as tx:
        await tx.execute(_BACKLOG, kind, key, is_ordered, tenant, due_in, number)


async def test_a_tenants_single_job_does_not_wait_for_another_tenants_backlog(operator_db: Database) -> None:
    work = jobs(operator_db, echo, slots=1)
    await backlog(operator_db, MANY)
    for _ in range(3):
        await work.run_due()
    await start(operator_db, StartJob(uuid4(), "work", "single"), tenant=OTHER)
    await work.run_due()
    assert (await values(operator_db))[-1] == "single"


async def test_tenants_with_backlogs_take_turns(operator_db: Database) -> None:
    work = jobs(operator_db, echo, slots=1)
    tenants = [UUID(int=number) for number in range(1, 6)]
    for tenant in tenants:
        await backlog(operator_db, 100, key=f"{tenant.int}.", tenant=tenant)
    for _ in range(15):
        await work.run_due()
    ran = [value.split(".")[0] for value in await values(operator_db)]
    assert all(sorted(ran[at : at + 5]) == ["1", "2", "3", "4", "5"] for at in (0, 5, 10))


async def test_a_single_job_does_not_wait_for_the_backlog_of_another_key(operator_db: Database) -> None:
    work = jobs(operator_db, echo, slots=1)
    await backlog(operator_db, MANY, is_ordered=True)
    for _ in range(3):
        await work.run_due()
    await start(operator_db, StartJob(uuid4(), "work", "single", is_ordered=True))
    for _ in range(2):
        await work.run_due()
    assert "single" in await values(operator_db)


async def test_a_single_job_does_not_wait_for_the_backlog_of_another_kind(operator_db: Database) -> None:
    work = jobs(operator_db, echo, slots=1)
    await backlog(operator_db, MANY)
    await work.run_due()
    await start(operator_db, StartJob(uuid4(), "other", "single"))
    await work.run_due()
    assert (await values(operator_db))[-1] == "single"


async def test_one_tenant_cannot_hold_every_slot(operator_db: Database) -> None:
    gate = Gate()
    work = jobs(operator_db, gate.work, slots=4, per_tenant=3)
    await backlog(operator_db, 10)
    running = asyncio.create_task(work.run(0.02))
    await until(lambda: gate.has_begun(3))
    await start(operator_db, StartJob(uuid4(), "work", "single"), tenant=OTHER)
    await until(lambda: gate.has_begun(4))
    assert gate.begun[3] == "single"
    gate.opened.set()
    await work.drain(10)
    await running
    assert await one_value(operator_db, "select count(*) from job where lease_token is not null") == 0


async def test_no_more_begin_than_there_are_slots_and_all_run_in_the_end(operator_db: Database) -> None:
    running, most = set[str](), [0]

    async def work(prepared: str) -> str:
        running.add(prepared)
        most[0] = max(most[0], len(running))
        await asyncio.sleep(0.001)
        running.discard(prepared)
        return prepared

    all_of_them = jobs(operator_db, work, slots=4, per_tenant=2)
    for tenant in range(1, 6):
        await backlog(operator_db, 20, key=f"{tenant}.", tenant=UUID(int=tenant))
    task = asyncio.create_task(all_of_them.run(0.02))
    await until(lambda: is_empty(operator_db))
    await all_of_them.drain(10)
    await task
    assert most[0] <= 4
    assert len(set(await values(operator_db))) == 100


async def test_slow_work_in_every_slot_does_not_delay_a_timer(operator_db: Database) -> None:
    async def nothing(_tx: Tx, _job: Job) -> None:
        return None

    def note(job: Job, _: Any) -> Effects:
        return Effects(writes=[Write("insert into effect (value) values ($1)", (job.key,))])

    gate = Gate()
    work = jobs(operator_db, gate.work, slots=2, per_tenant=2, timers=(Timer("note", nothing, note),))
    await backlog(operator_db, 10)
    running = asyncio.create_task(work.run(0.02))
    await until(lambda: gate.has_begun(2))
    await start(operator_db, StartJob(uuid4(), "note", "on time"))
    await until(lambda: holds(operator_db, "on time"))
    gate.opened.set()
    await work.drain(10)
    await running


async def test_more_tenants_than_one_look_takes_in_all_have_their_turn(operator_db: Database) -> None:
    async with operator_db.autocommit() as tx:
        for kind, due_in in (("work", 3600), ("other", 3600)):
            await tx.execute(
                """insert into job (id, kind, key, tenant, cause, payload, due_at)
                   select gen_random_uuid(), $1, 'later', ('00000000-0000-0000-0000-' || lpad(n::text, 12, '0'))::uuid,
                     gen_random_uuid(), '{}', clock_timestamp() + make_interval(secs => $2)
                   from generate_series(1, $3::integer) as n""",
                kind,
                due_in,
                3 * LOOKED_AT,
            )
    await start(operator_db, StartJob(uuid4(), "work", "the last"), tenant=UUID(int=1 << 100))
    work = jobs(operator_db, echo)
    running = asyncio.create_task(work.run(30))
    await until(lambda: holds(operator_db, "the last"))
    await work.drain(10)
    await running


async def test_ordered_jobs_that_are_started_while_others_end_all_run_in_order(operator_db: Database) -> None:
    """The one that is started must learn that the one before it is gone, or be told."""
    keys = [f"key {number}" for number in range(4)]

    async def add(key: str) -> None:
        for number in range(40):
            await start(operator_db, StartJob(uuid4(), "work", f"{key}", str(number).encode(), is_ordered=True))

    async def number_of(_tx: Tx, job: Job) -> str:
        return f"{job.key} {job.payload.decode()}"

    work = jobs(operator_db, echo, number_of, slots=4, per_tenant=4)
    running = asyncio.create_task(work.run(0.02))
    await asyncio.gather(*(add(key) for key in keys))
    await until(lambda: is_empty(operator_db))
    await work.drain(10)
    await running
    ran = await values(operator_db)
    for key in keys:
        assert [one for one in ran if one.startswith(key)] == [f"{key} {number}" for number in range(40)]


async def test_an_ordered_job_whose_start_saw_the_one_before_it_just_before_that_ended_still_runs(
    operator_db: Database,
) -> None:
    await start(operator_db, StartJob(uuid4(), "work", "k", is_ordered=True))
    async with operator_db.transaction() as tx:
        second = Effects(jobs=[StartJob(uuid4(), "work", "k", is_ordered=True)])
        await perform(tx, second, tenant=TENANT, cause=uuid4(), traceparent="")
        ending = asyncio.create_task(jobs(operator_db, echo).run_due())
        await asyncio.sleep(0.3)  # long enough for it to end, were nothing in its way
    assert await ending == 1
    assert await jobs(operator_db, echo).run_due() == 1


async def test_an_ordered_job_that_is_started_while_the_one_before_it_ends_still_runs(operator_db: Database) -> None:
    first = uuid4()
    await start(operator_db, StartJob(first, "work", "k", is_ordered=True))
    async with operator_db.transaction() as tx:
        await tx.execute("delete from job where id = $1", first)
        starting = asyncio.create_task(start(operator_db, StartJob(uuid4(), "work", "k", is_ordered=True)))
        await asyncio.sleep(0.3)  # as above
    await starting
    assert await jobs(operator_db, echo).run_due() == 1


async def test_an_ordered_job_begins_once_the_one_before_it_was_cancelled(operator_db: Database) -> None:
    first, second = uuid4(), uuid4()
    await start(operator_db, *(StartJob(id, "work", "k", is_ordered=True) for id in (first, second)))
    assert await one_value(operator_db, "select is_behind from job where id = $1", second)
    async with operator_db.autocommit() as tx:
        await tx.execute("delete from job where id = $1", first)
    assert not await one_value(operator_db, "select is_behind from job where id = $1", second)


@pytest.mark.parametrize("is_ordered", [False, True])
async def test_a_look_and_a_take_read_as_much_with_a_long_backlog_as_with_a_short_one(
    operator_db: Database, is_ordered: bool
) -> None:
    """With the plans that were made while the table was empty, and without statistics: the worst that can happen."""
    async with operator_db.transaction() as tx:
        await tx.execute(f"prepare look (text[], uuid, integer) as {HEADS}")
        await tx.execute(f"prepare take (float8, text[], uuid[], integer[]) as {TAKE}")
        await tx.execute("set local plan_cache_mode = force_generic_plan")
        await read_by(tx)  # plans are made now
        read: list[tuple[int, int]] = []
        for number in (500, 10_000):
            for tenant in range(1, 11):
                await tx.execute(_BACKLOG, "work", "k", is_ordered, UUID(int=tenant), -1.0, number // 10)
                await tx.execute(_BACKLOG, "other", "l", False, UUID(int=tenant), 3600.0, number // 10)
            read.append(await read_by(tx))
        assert read[0] == read[1]
        assert sum(read[1]) < 100


async def read_by(tx: Tx) -> tuple[int, int]:
    """Rows of `job` that a look and a take for one tenant touch; the take is undone."""
    look = "execute look(array['work', 'other'], '00000000-0000-0000-0000-000000000000', 200)"
    take = f"execute take(30, array['work', 'other'], array['{UUID(int=3)}', '{UUID(int=3)}']::uuid[], array[4, 4])"
    await tx.execute("savepoint before")
    found = [await read(tx, look), await read(tx, take)]
    await tx.execute("rollback to before")
    return found[0], found[1]


async def read(tx: Tx, statement: str) -> int:
    plan = json.loads(await tx.value(f"explain (analyze, format json, costs off, timing off) {statement}"))
    scans = [node for node in nodes(plan[0]["Plan"]) if node.get("Relation Name") == "job"]
    assert not [node for node in scans if node["Node Type"] == "Seq Scan"], plan
    return sum(
        round((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"]) for node in scans
    )


def nodes(plan: Any) -> Iterator[Any]:
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


async def is_empty(db: Database) -> bool:
    return await one_value(db, "select not exists (select from job)")


async def holds(db: Database, value: str) -> bool:
    return value in await values(db)
