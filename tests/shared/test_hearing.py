"""Decisions of the form "nobody said it by now" wait until what was said can have arrived."""

from typing import Any
from uuid import uuid4

from contracts import topology
from shared.bus import Effects, Handlers, Job, StartJob, Timer
from shared.bus.handling import Handling
from shared.bus.jobs import Jobs
from shared.bus.outbox import Outbox
from shared.db import Database, Tx, Write
from tests.shared.test_jobs import make_due, start
from tests.shared.world import values


async def nothing(_tx: Tx, _job: Job) -> None:
    return None


def conclude(job: Job, _: Any) -> Effects:
    return Effects(writes=[Write("insert into effect (value) values ($1)", (job.key,))])


async def test_silence_counts_only_once_the_bus_was_heard_for_long_enough(operator_db: Database) -> None:
    ignores = tuple(m for topic in topology.heard_by("operator") for m in topic.says)
    timer = Timer("silence", nothing, conclude, after_hearing_seconds=5)
    handling = Handling("operator", Handlers(timers=(timer,), ignores=ignores))
    heard_for = [0.0]
    jobs = Jobs(
        operator_db,
        handling,
        Outbox(operator_db),
        lease_seconds=30,
        concurrency=4,
        parked_after=3,
        heard_for=lambda: heard_for[0],
    )
    await start(operator_db, StartJob(uuid4(), "silence", "a person"))
    await jobs.run_due()
    assert await values(operator_db) == []
    heard_for[0] = 4.9
    await make_due(operator_db)
    await jobs.run_due()
    assert await values(operator_db) == []
    heard_for[0] = 5.0
    await make_due(operator_db)
    await jobs.run_due()
    assert await values(operator_db) == ["a person"]
