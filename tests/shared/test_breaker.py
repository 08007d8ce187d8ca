"""The limit on parking: a broken release stops, instead of parking every lane."""

import asyncio
from itertools import pairwise
from typing import Any
from uuid import uuid4

import msgspec

from contracts.messages import ContactSeen
from shared.bus import Bus, Effects, Heard, Job, Quick, Reject, StartJob, no_facts
from shared.bus.breaker import Breaker
from shared.db import Database, Tx
from tests.harness import within
from tests.shared.test_jobs import jobs, start
from tests.shared.world import (
    World,
    hearing,
    one_value,
    open_schema,
    parked_lanes,
    running,
    said,
    say,
    until,
    values,
    write_effect,
)

LIMIT = 3
DRAINED_TOGETHER = 4
NEVER = 3600.0


def breaker(db: Database, *, window: float = 300.0, probe: float = NEVER) -> Breaker:
    return Breaker(db, limit=LIMIT, window_seconds=window, probe_seconds=probe)


async def resume(db: Database) -> None:
    async with db.autocommit() as tx:
        await tx.execute("insert into repair (who, what) values ('a person', 'resume')")


async def test_it_opens_at_the_limit_and_says_why_the_service_is_not_ready(operator_db: Database) -> None:
    one = breaker(operator_db)
    for _ in range(LIMIT - 1):
        one.parked("ContactSeen")
    assert not one.is_open
    assert not one.why_not_ready()
    one.parked("ContactSeen")
    assert one.is_open
    assert "ContactSeen" in one.why_not_ready()


async def test_one_that_ran_begins_the_count_anew_but_only_of_its_own_kind(operator_db: Database) -> None:
    one = breaker(operator_db)
    for _ in range(LIMIT - 1):
        one.parked("ContactSeen")
    one.ran("ContactSeen")
    one.parked("ContactSeen")
    assert not one.is_open
    one.ran("ContactSeen")
    for _ in range(LIMIT):
        one.parked("ContactSeen")
        one.ran("MessageReceived")
    assert one.is_open


async def test_what_was_parked_before_the_window_does_not_count(operator_db: Database) -> None:
    one = breaker(operator_db, window=0.05)
    for _ in range(LIMIT - 1):
        one.parked("ContactSeen")
    await asyncio.sleep(0.1)
    for _ in range(LIMIT - 1):
        one.parked("ContactSeen")
    assert not one.is_open


async def test_the_gate_lets_one_through_each_interval_until_one_has_run(operator_db: Database) -> None:
    one = breaker(operator_db, probe=0.2)
    for _ in range(LIMIT):
        one.parked("ContactSeen")
    passed = list[float]()

    async def caller() -> None:
        await one.gate()
        passed.append(asyncio.get_running_loop().time())

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(caller())
    assert all(later - earlier >= 0.19 for earlier, later in pairwise(passed))
    one.ran("ContactSeen")
    assert not one.is_open
    await within(one.gate(), 1)


async def test_a_person_resumes_it_once_and_an_older_resume_counts_for_nothing(operator_db: Database) -> None:
    await resume(operator_db)
    one = breaker(operator_db)
    for _ in range(LIMIT):
        one.parked("ContactSeen")
    await one.look()
    assert one.is_open
    await until(lambda: is_closed_when_asked(operator_db, one))
    for _ in range(LIMIT):
        one.parked("ContactSeen")
    await one.look()
    assert one.is_open


class Release:
    """A handler that fails for everybody until it is mended."""

    def __init__(self) -> None:
        self.is_broken = True

    def handle(self, heard: Heard[Any], facts: None) -> Effects:
        if self.is_broken:
            raise Reject("no release of ours can read this")
        return write_effect(heard, facts)


async def service(world: World, release: Release, *, probe: float) -> tuple[Bus, Database]:
    db = await open_schema(world.postgres, world.database, "operator")
    config = msgspec.structs.replace(
        world.config("operator", world.url("operator")), parking_limit=LIMIT, probe_seconds=probe
    )
    return Bus("operator", config, db, hearing("operator", Quick(ContactSeen, no_facts, release.handle))), db


async def last_parked(db: Database) -> int:
    """How many, once none was added for long enough to be heard, drained and parked, were it going on."""
    before = -1
    while before != (parked := await parked_lanes(db)):
        before = parked
        await asyncio.sleep(1.5)
    return parked


async def test_a_broken_release_parks_no_more_than_the_limit_and_a_person_lets_it_go_on(world: World) -> None:
    release = Release()
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, db = await service(world, release, probe=NEVER)
    lanes = [uuid4() for _ in range(30)]
    async with running(ingest, ingest_db), running(operator, db):
        await say(ingest, *(said(lane, "first") for lane in lanes))
        await until(lambda: is_stopped(operator))
        await say(ingest, *(said(lane, "second") for lane in lanes))
        parked = await last_parked(db)
        assert LIMIT <= parked < LIMIT + DRAINED_TOGETHER
        assert "ContactSeen" in operator.why_not_ready()

        release.is_broken = False
        await resume(db)
        await until(lambda: is_going(operator))
        await until(lambda: all_but(db, parked, 2 * len(lanes)))
        assert not operator.why_not_ready()
        assert await parked_lanes(db) == parked


async def test_a_mended_cause_is_noticed_by_a_probe(world: World) -> None:
    release = Release()
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, db = await service(world, release, probe=0.3)
    lanes = [uuid4() for _ in range(30)]
    async with running(ingest, ingest_db), running(operator, db):
        await say(ingest, *(said(lane, "first") for lane in lanes))
        await until(lambda: is_stopped(operator))
        release.is_broken = False
        await until(lambda: is_going(operator))
        parked = await parked_lanes(db)
        await until(lambda: all_but(db, parked, len(lanes)))
        assert parked < len(lanes)


async def test_a_kind_of_jobs_that_is_broken_stops_alone_and_one_is_tried_now_and_then(operator_db: Database) -> None:
    mended = list[bool]()

    async def prepare(_tx: Tx, job: Job) -> str:
        return f"{job.kind} {job.key}"

    async def work(prepared: str) -> str:
        if prepared.startswith("work") and not mended:
            raise Reject(prepared)
        return prepared

    one = breaker(operator_db, probe=0.3)
    await start(operator_db, *(StartJob(uuid4(), "work", f"{number}") for number in range(20)))
    broken = jobs(operator_db, work, prepare, slots=1, breaker=one)
    task = asyncio.create_task(broken.run(0.02))
    await until(lambda: is_open(one))
    await start(operator_db, StartJob(uuid4(), "other", "goes on"))
    await until(lambda: has(operator_db, "other goes on"))
    assert await one_value(operator_db, "select count(*) from job where parked_at is null") > 0
    mended.append(True)
    await until(lambda: is_done(operator_db))
    assert not one.is_open
    parked = await one_value(operator_db, "select count(*) from job")
    assert parked >= LIMIT
    assert len(await values(operator_db)) == 21 - parked
    await broken.drain(10)
    await task


async def is_closed_when_asked(db: Database, one: Breaker) -> bool:
    """A wish within the time of an answer counts as older: a person would ask again."""
    await resume(db)
    await one.look()
    return not one.is_open


async def is_open(one: Breaker) -> bool:
    return one.is_open


async def is_stopped(bus: Bus) -> bool:
    return bool(bus.why_not_ready())


async def is_going(bus: Bus) -> bool:
    return not bus.why_not_ready()


async def all_but(db: Database, parked: int, messages: int) -> bool:
    """Everything ran but what stands in the parked lanes."""
    behind = await one_value(db, "select count(*) from inbox")
    return len(await values(db)) == messages - behind and behind >= parked


async def has(db: Database, value: str) -> bool:
    return value in await values(db)


async def is_done(db: Database) -> bool:
    return await one_value(db, "select not exists (select from job where parked_at is null)")
