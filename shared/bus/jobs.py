"""Timers and slow work: leased, fenced, counted before they run.

Laws
- A job is taken by at most one pod at a time; its lease is renewed while the work runs, and a finish whose token is no
  longer the job's is refused as a whole (a zombie's effects never commit).
- An ordered job waits for the earlier ones of its kind and key, parked ones included.
- Attempts are counted in the transaction that takes the lease.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from typing import Any

from shared import crash, log, metrics, trace
from shared.bus import outbox
from shared.bus.effects import Effects, Job, Reject, Retry, Slow, Timer
from shared.bus.handling import Handling, perform
from shared.bus.inbox import BACKOFF_SECONDS, storable
from shared.db import TRANSIENT, Database, Tx

_log = log.get(__name__)

_TAKE = """
with due as (
  select j.id from job j
  where j.parked_at is null and j.due_at <= clock_timestamp() and j.kind = any($3)
    and (j.leased_until is null or j.leased_until < clock_timestamp())
    and (not j.is_ordered or not exists (
      select 1 from job e where e.kind = j.kind and e.key = j.key and e.is_ordered and e.seq < j.seq))
  order by j.due_at, j.seq limit $1 for update skip locked)
update job set lease_token = gen_random_uuid(), attempts = attempts + 1,
  leased_until = clock_timestamp() + make_interval(secs => $2)
from due where job.id = due.id
returning job.*, clock_timestamp() as now
"""


class Fenced(Exception):  # noqa: N818 - not an error: somebody else owns the job now
    """The job was replaced, cancelled or taken over while it ran; nothing of this run is kept."""


class Jobs:
    """Takes due jobs and runs them, a bounded number at a time."""

    def __init__(
        self, db: Database, handling: Handling, publisher: outbox.Publisher, *, lease_seconds: float, concurrency: int,
        parked_after: int, heard_for: Callable[[], float] = lambda: math.inf,
    ) -> None:  # fmt: skip
        self._db = db
        self._handling = handling
        self._publisher = publisher
        self._lease_seconds = lease_seconds
        self._parked_after = parked_after
        self._heard_for = heard_for
        self._free = concurrency
        self._running: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._is_stopping = False

    async def run_due(self) -> int:
        """Run what is due now to its end; returns how many jobs that were. For tests and repairs."""
        taken = await self._take_quietly()
        await asyncio.gather(*(self._run(job) for job in taken))
        self._free += len(taken)
        return len(taken)

    def wake(self) -> None:
        """Something may be due now."""
        self._wake.set()

    async def run(self, poll_seconds: float) -> None:
        """Run what is due until `drain`."""
        while not self._is_stopping:
            taken = await self._take_quietly()
            if self._is_stopping:
                await asyncio.gather(*(self._put_off(job, 0, "", counts=False) for job in taken))
                return
            for job in taken:
                task = asyncio.create_task(self._run(job))
                self._running.add(task)
                task.add_done_callback(self._done)
            if not taken:
                await self._wait(poll_seconds)

    async def drain(self, seconds: float) -> None:
        """Take nothing more and let what runs end; what does not is cut, and left to its lease."""
        self._is_stopping = True
        self._wake.set()
        if not self._running:
            return
        _, late = await asyncio.wait(self._running, timeout=seconds)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    async def _wait(self, poll_seconds: float) -> None:
        seconds = await self._until_next(poll_seconds)
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return
        self._wake.clear()

    async def _until_next(self, poll_seconds: float) -> float:
        try:
            async with self._db.autocommit() as tx:
                seconds = await tx.value(
                    """select extract(epoch from min(due_at) - clock_timestamp())::float8 from job
                       where parked_at is null and leased_until is null and due_at > clock_timestamp()"""
                )
        except TRANSIENT:
            return poll_seconds
        return poll_seconds if seconds is None else max(0.0, min(seconds, poll_seconds))

    async def _take_quietly(self) -> Sequence[Job]:
        if self._free <= 0:
            return []
        try:
            async with self._db.transaction() as tx:
                rows = await tx.rows(_TAKE, self._free, self._lease_seconds, self._handling.job_kinds)
                parked = await tx.value("select count(*) from job where parked_at is not null")
        except TRANSIENT as error:
            _log.warning("jobs cannot be read", error=repr(error))
            await asyncio.sleep(0.5)
            return []
        metrics.PARKED.labels("job").set(parked)
        self._free -= len(rows)
        if rows:
            crash.point("job.taken")
        return [_job(row) for row in rows]

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        self._free += 1
        self._wake.set()

    async def _run(self, job: Job) -> None:
        trace.start(job.traceparent)
        result = "done"
        try:
            await self._handle(job)
        except Fenced:
            result = "fenced"
        except Retry as retry:
            result = "put_off"
            await self._put_off(job, retry.after_seconds, str(retry), counts=False)
        except Reject as rejection:
            result = "parked"
            await self._park(job, str(rejection))
        except TRANSIENT as error:
            result = "put_off"
            await self._put_off(job, _backoff(job), repr(error), counts=True)
        except Exception as error:  # noqa: BLE001 - a bug of one job must not stop the others
            result = "failed"
            _log.exception("a job failed", kind=job.kind, job=str(job.id), attempt=job.attempts)
            await self._fail(job, repr(error))
        metrics.JOBS.labels(job.kind, result).inc()

    async def _handle(self, job: Job) -> None:
        slow = self._handling.slow(job.kind)
        if slow is not None:
            await self._handle_slow(job, slow)
            return
        timer = self._handling.timer(job.kind)
        assert timer is not None  # jobs of other kinds are not taken
        await self._handle_timer(job, timer)

    async def _handle_timer(self, job: Job, timer: Timer) -> None:
        too_soon = timer.after_hearing_seconds - self._heard_for()
        if too_soon > 0:
            raise Retry(too_soon, "what was said meanwhile may still be on its way")
        async with self._db.transaction() as tx:
            await _end(tx, job)
            effects = timer.decide(job, await timer.load(tx, job))
            rows = await self._commit(tx, job, effects)
        self._committed(rows)

    async def _handle_slow(self, job: Job, slow: Slow) -> None:
        async with self._db.transaction() as tx:
            prepared = await slow.prepare(tx, job)
            await _keep(tx, job, self._lease_seconds)
        if prepared is None:
            async with self._db.transaction() as tx:
                await _end(tx, job)
            return
        result = await self._under_lease(job, slow.work, prepared)
        async with self._db.transaction() as tx:
            await _end(tx, job)
            rows = await self._commit(tx, job, await slow.finish(tx, job, prepared, result))
        self._committed(rows)

    async def _under_lease(self, job: Job, work: Any, prepared: Any) -> Any:
        renewing = asyncio.create_task(self._renew(job))
        try:
            return await work(prepared)
        finally:
            renewing.cancel()

    async def _renew(self, job: Job) -> None:
        while True:
            await asyncio.sleep(self._lease_seconds / 3)
            try:
                async with self._db.autocommit() as tx:
                    await _keep(tx, job, self._lease_seconds)
            except Fenced:
                return
            except TRANSIENT as error:
                _log.warning("a lease could not be renewed", job=str(job.id), error=repr(error))

    async def _commit(self, tx: Tx, job: Job, effects: Effects) -> list[outbox.Row]:
        said = await perform(tx, effects, tenant=job.tenant, cause=job.id, traceparent=trace.current())
        rows = await outbox.append(tx, _once(said, job))
        crash.point("job.before_commit")
        return rows

    def _committed(self, rows: Sequence[outbox.Row]) -> None:
        crash.point("job.after_commit_before_publish")
        self._publisher.committed(rows)
        self._wake.set()

    async def _fail(self, job: Job, why: str) -> None:
        if job.attempts >= self._parked_after:
            await self._park(job, why)
        else:
            await self._put_off(job, _backoff(job), why, counts=True)

    async def _put_off(self, job: Job, seconds: float, why: str, *, counts: bool) -> None:
        await self._settle(
            job,
            """update job set lease_token = null, leased_until = null, last_error = $3,
                 due_at = clock_timestamp() + make_interval(secs => $4), attempts = attempts - $5
               where id = $1 and lease_token = $2""",
            storable(why[:500]),
            seconds,
            0 if counts else 1,
        )

    async def _park(self, job: Job, why: str) -> None:
        _log.error("a job is parked", kind=job.kind, job=str(job.id), why=why)
        await self._settle(
            job,
            """update job set parked_at = clock_timestamp(), lease_token = null, leased_until = null, last_error = $3
               where id = $1 and lease_token = $2""",
            storable(why[:500]),
        )

    async def _settle(self, job: Job, sql: str, *args: Any) -> None:
        try:
            async with self._db.autocommit() as tx:
                await tx.execute(sql, job.id, job.token, *args)
        except TRANSIENT as error:
            _log.warning("a job is left to its lease", job=str(job.id), error=repr(error))


async def _keep(tx: Tx, job: Job, seconds: float) -> None:
    """Renew the lease; refuse when it is no longer ours."""
    kept = await tx.execute(
        """update job set leased_until = clock_timestamp() + make_interval(secs => $3)
           where id = $1 and lease_token = $2""",
        job.id,
        job.token,
        seconds,
    )
    if kept != 1:
        raise Fenced


async def _end(tx: Tx, job: Job) -> None:
    """Remove the job in the transaction of its effects; refuse when the lease is no longer ours."""
    if await tx.execute("delete from job where id = $1 and lease_token = $2", job.id, job.token) != 1:
        raise Fenced


def _backoff(job: Job) -> float:
    return BACKOFF_SECONDS[min(job.attempts, len(BACKOFF_SECONDS)) - 1]


def _once(said: Sequence[outbox.Said], job: Job) -> list[outbox.Said]:
    """A job that is started again under its own id says new things: the token tells its runs apart."""
    return [one._replace(step=f"{job.token}:{one.step}") for one in said]


def _job(row: Any) -> Job:
    return Job(
        id=row["id"],
        kind=row["kind"],
        key=row["key"],
        tenant=row["tenant"],
        cause=row["cause"],
        traceparent=row["traceparent"],
        payload=row["payload"],
        attempts=row["attempts"],
        token=row["lease_token"],
        now=row["now"],
    )
