"""Slow work and timers: leases, fences, stops, and work that never succeeds."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import UUID, uuid4

from contracts import topology
from shared.bus import CancelJobs, Effects, Handlers, Job, Reject, Retry, Slow, StartJob, Timer
from shared.bus.breaker import Breaker
from shared.bus.handling import Handling, perform
from shared.bus.jobs import Jobs
from shared.bus.outbox import Outbox
from shared.db import Database, Tx, Write
from tests.shared.world import TENANT, one_value, until, values

Work = Callable[[Any], Awaitable[Any]]


async def key_of(_tx: Tx, job: Job) -> str:
    return job.key


async def write_result(_tx: Tx, job: Job, prepared: str, result: str) -> Effects:
    return Effects(writes=[Write("insert into effect (lane, value) values ($1, $2)", (prepared, result))])


def jobs(
    db: Database,
    work: Work,
    prepare: Callable[[Tx, Job], Awaitable[Any]] = key_of,
    lease: float = 30,
    *,
    slots: int = 4,
    per_tenant: int | None = None,
    timers: tuple[Timer, ...] = (),
    breaker: Breaker | None = None,
) -> Jobs:
    heard = tuple(m for topic in topology.heard_by("operator") for m in topic.says)
    slow = tuple(Slow(kind, prepare, work, write_result) for kind in ("work", "other"))
    return Jobs(
        db,
        Handling("operator", Handlers(slow=slow, timers=timers, ignores=heard)),
        Outbox(db),
        lease_seconds=lease,
        concurrency=slots,
        per_tenant=per_tenant,
        parked_after=3,
        breaker=breaker,
    )


async def start(db: Database, *started: StartJob, cancels: tuple[CancelJobs, ...] = (), tenant: UUID = TENANT) -> None:
    async with db.transaction() as tx:
        await perform(tx, Effects(jobs=started, cancels=cancels), tenant=tenant, cause=uuid4(), traceparent="")


async def make_due(db: Database) -> None:
    async with db.autocommit() as tx:
        await tx.execute("update job set due_at = clock_timestamp() where parked_at is null")


async def expire(db: Database) -> None:
    async with db.autocommit() as tx:
        await tx.execute("update job set leased_until = clock_timestamp() - interval '1 second'")


async def echo(prepared: str) -> str:
    return prepared


class Gate:
    """Work that begins, and ends when it is let."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.opened = asyncio.Event()

    async def work(self, prepared: str) -> str:
        self.begun.append(prepared)
        await self.opened.wait()
        return prepared

    async def prepare(self, _tx: Tx, job: Job) -> str:
        return await self.work(job.key)

    async def has_begun(self, number: int = 1) -> bool:
        return len(self.begun) >= number


async def test_a_zombie_that_wakes_while_preparing_does_no_work(operator_db: Database) -> None:
    gate, worked = Gate(), list[str]()

    async def work(prepared: str) -> str:
        worked.append(prepared)
        return prepared

    await start(operator_db, StartJob(uuid4(), "work", "k"))
    zombie = asyncio.create_task(jobs(operator_db, work, gate.prepare).run_due())
    await until(gate.has_begun)
    await expire(operator_db)
    assert await jobs(operator_db, work).run_due() == 1
    gate.opened.set()
    await zombie
    assert worked == ["k"]
    assert await values(operator_db) == ["k"]


async def test_a_zombie_that_wakes_after_its_work_writes_nothing(operator_db: Database) -> None:
    gate = Gate()
    await start(operator_db, StartJob(uuid4(), "work", "k"))
    zombie = asyncio.create_task(jobs(operator_db, gate.work).run_due())
    await until(gate.has_begun)
    await expire(operator_db)
    assert await jobs(operator_db, echo).run_due() == 1
    gate.opened.set()
    await zombie
    assert await values(operator_db) == ["k"]


async def test_a_job_cancelled_while_it_runs_writes_nothing(operator_db: Database) -> None:
    gate = Gate()
    await start(operator_db, StartJob(uuid4(), "work", "k"))
    running = asyncio.create_task(jobs(operator_db, gate.work).run_due())
    await until(gate.has_begun)
    await start(operator_db, cancels=(CancelJobs("work", "k"),))
    gate.opened.set()
    await running
    assert await values(operator_db) == []


async def test_a_job_started_again_while_it_runs_is_done_once_more_and_only_then_counts(operator_db: Database) -> None:
    gate, id = Gate(), uuid4()
    await start(operator_db, StartJob(id, "work", "old"))
    running = asyncio.create_task(jobs(operator_db, gate.work).run_due())
    await until(gate.has_begun)
    await start(operator_db, StartJob(id, "work", "new"))
    gate.opened.set()
    await running
    await jobs(operator_db, echo).run_due()
    assert await values(operator_db) == ["new"]


async def test_a_stop_lets_begun_work_end_and_begins_no_more(operator_db: Database) -> None:
    gate = Gate()
    work = jobs(operator_db, gate.work)
    await start(operator_db, StartJob(uuid4(), "work", "first"))
    running = asyncio.create_task(work.run(0.05))
    await until(gate.has_begun)
    stopping = asyncio.create_task(work.drain(20))
    await until(lambda: ended(running))
    await start(operator_db, StartJob(uuid4(), "work", "second"))
    gate.opened.set()
    await stopping
    assert gate.begun == ["first"]
    assert await values(operator_db) == ["first"]
    assert await one_value(operator_db, "select attempts from job") == 0


async def test_work_that_does_not_end_is_cut_before_the_stop_is_over(operator_db: Database) -> None:
    begins, cut = Gate(), list[str]()

    async def work(prepared: str) -> str:
        try:
            return await begins.work(prepared)
        finally:
            cut.append(prepared)

    begun = jobs(operator_db, work)
    await start(operator_db, StartJob(uuid4(), "work", "k"))
    running = asyncio.create_task(begun.run(0.05))
    await until(begins.has_begun)
    await begun.drain(0.1)
    assert cut == ["k"]
    running.cancel()
    with suppress(asyncio.CancelledError):
        await running


async def test_work_that_times_out_for_ever_is_tried_ever_more_rarely(operator_db: Database) -> None:
    async def work(prepared: str) -> str:
        raise TimeoutError(prepared)

    await start(operator_db, StartJob(uuid4(), "work", "k"))
    for _ in range(3):
        await make_due(operator_db)
        assert await jobs(operator_db, work).run_due() == 1
    assert await one_value(operator_db, "select due_at > clock_timestamp() + interval '3 seconds' from job")


async def test_work_that_fails_is_parked_after_its_last_attempt(operator_db: Database) -> None:
    async def work(prepared: str) -> str:
        raise ZeroDivisionError(prepared)

    await start(operator_db, StartJob(uuid4(), "work", "k"))
    for _ in range(3):
        assert await one_value(operator_db, "select parked_at is null from job")
        await make_due(operator_db)
        await jobs(operator_db, work).run_due()
    assert await one_value(operator_db, "select parked_at is not null from job")


async def test_work_put_off_does_not_count_as_a_failure(operator_db: Database) -> None:
    async def work(prepared: str) -> str:
        raise Retry(0, prepared)

    await start(operator_db, StartJob(uuid4(), "work", "k"))
    for _ in range(5):
        await jobs(operator_db, work).run_due()
    assert await one_value(operator_db, "select parked_at is null and attempts = 0 from job")


async def test_rejected_work_is_parked_at_once_whatever_its_words(operator_db: Database) -> None:
    async def work(prepared: str) -> str:
        raise Reject(f"{prepared} \0\ud800")

    await start(operator_db, StartJob(uuid4(), "work", "k"))
    await jobs(operator_db, work).run_due()
    assert await one_value(operator_db, "select parked_at is not null from job")


async def test_ordered_work_waits_for_what_is_parked_before_it(operator_db: Database) -> None:
    ids = sorted((uuid4(), uuid4()), reverse=True)
    await start(operator_db, *(StartJob(id, "work", "k", is_ordered=True) for id in ids))
    await start(operator_db, StartJob(uuid4(), "work", "other", is_ordered=True))
    async with operator_db.autocommit() as tx:
        await tx.execute("update job set parked_at = now() where id = $1", ids[0])
    while await jobs(operator_db, echo).run_due():
        continue
    assert await values(operator_db) == ["other"]
    async with operator_db.autocommit() as tx:
        await tx.execute("update job set parked_at = null")
    while await jobs(operator_db, echo).run_due():
        continue
    assert await values(operator_db) == ["other", "k", "k"]


async def ended(task: asyncio.Task[None]) -> bool:
    return task.done()
