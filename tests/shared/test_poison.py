"""A handler that ends its process: counted, tried ever more rarely, parked; nothing but its lane stands still."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID, uuid4

from deploy.keys import read_key
from shared.bus import Effects, StartJob
from shared.db import Database
from tests.shared.deadly_service import DEADLY, EXIT_CODE, LONG, WORK
from tests.shared.world import (
    TENANT,
    World,
    has_effects,
    hearing,
    one_value,
    parked_lanes,
    running,
    said,
    say,
    until,
    values,
)

ROOT = Path(__file__).parents[2]
PARKED_AFTER = 3


class Supervised:
    """The deadly service, started again whenever it ends, as Kubernetes does it."""

    def __init__(self, world: World, folder: Path) -> None:
        self._runs = folder / "runs"
        self._log = folder / "log"
        self._environ = {
            "PATH": os.defpath,
            "CHANCELA_DATABASE_URL": world.url("operator"),
            "CHANCELA_NATS_URL": world.nats.url,
            "CHANCELA_NATS_SEED": read_key(world.keys, "operator.nk"),
            "CHANCELA_DIGEST_KEY": "d",
            "CHANCELA_POLL_SECONDS": "0.1",
            "CHANCELA_LEASE_SECONDS": "1",
            "CHANCELA_PARKED_AFTER_ATTEMPTS": str(PARKED_AFTER),
        }
        self._process = self._started()
        self.deaths = 0

    def _started(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.shared.deadly_service", str(self._runs)],
                env=self._environ,
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    def keep_alive(self) -> None:
        code = self._process.poll()
        if code is not None:
            assert code == EXIT_CODE, self._log.read_text()
            self.deaths += 1
            self._process = self._started()

    def runs(self) -> Counter[str]:
        return Counter(self._runs.read_text().split() if self._runs.exists() else ())

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def supervised(world: World, folder: Path) -> Generator[Supervised]:
    service = Supervised(world, folder)
    try:
        yield service
    finally:
        service.kill()


async def test_a_message_whose_handler_ends_the_process_parks_its_lane_alone(world: World, tmp_path: Path) -> None:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    _, db = await world.service("operator", hearing("operator"))
    deadly, good = uuid4(), [uuid4() for _ in range(5)]
    async with running(ingest, ingest_db):
        await say(ingest, *(said(lane, "first") for lane in good), said(deadly, "first"), said(deadly, DEADLY))
        await say(ingest, said(deadly, "behind it"))
        with supervised(world, tmp_path) as service:

            async def is_parked() -> bool:
                service.keep_alive()
                return await parked_lanes(db) == 1

            await until(is_parked, 90)
            deaths = service.deaths
            await say(ingest, *(said(lane, "second") for lane in good))
            for lane in good:
                await until(lambda lane=lane: has_ended_with(db, "second", lane), 30)
                assert await values(db, lane) == ["first", "second"]
            service.keep_alive()
            assert service.deaths == deaths
    assert await values(db, deadly) == ["first"]
    # once on the fast path, where a redelivery is what counts, and then as often as may be
    assert service.runs() == {"quick": PARKED_AFTER + 1}
    assert "ended the process" in await one_value(db, "select parked_why from lane_in where parked_at is not null")
    assert await one_value(db, "select attempts from inbox order by lane_seq limit 1") == PARKED_AFTER
    await db.close()


async def test_slow_work_that_ends_the_process_is_parked_alone(world: World, tmp_path: Path) -> None:
    operator, db = await world.service("operator", hearing("operator"))
    beside = [f"{LONG} {number}" for number in range(4)]
    async with operator.unit(tenant=TENANT, cause=uuid4()) as unit:
        work = [StartJob(uuid4(), WORK, key, is_ordered=True) for key in (DEADLY, DEADLY, "good", *beside)]
        await unit.perform(Effects(jobs=work))
    with supervised(world, tmp_path) as service:

        async def is_parked() -> bool:
            service.keep_alive()
            return await one_value(db, "select count(*) from job where parked_at is not null") == 1

        await until(is_parked, 90)
        deaths = service.deaths
        async with operator.unit(tenant=TENANT, cause=uuid4()) as unit:
            await unit.perform(Effects(jobs=[StartJob(uuid4(), WORK, "later", is_ordered=True)]))
        await until(lambda: has_ended_with(db, "later"), 30)
        await until(lambda: has_effects(db, len(beside) + 2), 30)
        service.keep_alive()
        assert service.deaths == deaths == PARKED_AFTER
    assert sorted(await values(db)) == sorted(["good", "later", *beside])
    assert await one_value(db, "select count(*) from job") == 2
    assert service.runs() == {"slow": PARKED_AFTER}
    assert "ended" in await one_value(db, "select last_error from job where parked_at is not null")
    await db.close()


async def has_ended_with(db: Database, value: str, lane: UUID | None = None) -> bool:
    return (await values(db, lane))[-1:] == [value]
