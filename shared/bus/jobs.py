"""Timers and slow work: leased, fenced, counted before they run, fair.

Laws
- A job is taken by at most one pod at a time; its lease is renewed while the work runs, and a finish whose token is no
  longer the job's is refused as a whole (a zombie's effects never commit).
- An ordered job waits for the earlier ones of its kind and key, parked ones included. Only the first of them stands in
  the queue (`is_behind`, tables.sql), and the next joins it at its end: a key with many waits among the others.
- Attempts are counted in the transaction that takes the lease. A run that was never settled, because its process ended,
  is counted as lost, too; after enough of them the job is parked without another run.
- A free slot goes to the tenant that has the fewest running, among those to the one that waited longest for a turn: a
  tenant's job waits for one job of each other tenant and never for their backlog (shared/bus/turns.py).
- Timers have slots of their own: slow work never delays them.
"""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from shared import crash, log, metrics, trace
from shared.bus.breaker import Breaker
from shared.bus.effects import Effects, Job, Reject, Retry, Slow, Timer
from shared.bus.handling import Handling, perform
from shared.bus.inbox import BACKOFF_SECONDS, storable
from shared.bus.outbox import Outbox, Said
from shared.bus.turns import FREE, HEADS, SUSPECT, Turns
from shared.clock import monotonic
from shared.db import TRANSIENT, Database, Row, Tx

if TYPE_CHECKING:
    from uuid import UUID

_log = log.get(__name__)

_LEASE = """
update job set lease_token = gen_random_uuid(), attempts = attempts + 1,
  lost = lost + (lease_token is not null)::integer, leased_until = clock_timestamp() + make_interval(secs => $1)
where id = any(array(select id from due))
returning job.*, clock_timestamp() as now
"""
# The first due jobs of each (kind, tenant) in turn; each is one short stretch of the index `job_turn`, which ends where
# the future begins (a stable function; clock_timestamp() would read on to the last timer of the tenant).
TAKE = f"""
with due as materialized (
  select j.id
  from unnest($2::text[], $3::uuid[], $4::integer[]) as turn(kind, tenant, number) cross join lateral (
    select id from job
    where kind = turn.kind and tenant = turn.tenant and {FREE} and due_at <= statement_timestamp()
    order by due_at, seq limit turn.number for update skip locked) as j)
{_LEASE}"""  # noqa: S608 - only constants of our own
_TAKE_SUSPECT = f"with due as materialized ({SUSPECT}) {_LEASE}"


CANCELLED_WITHIN_SECONDS = 1.0
"""What hangs longer ends with its connection."""


class Fenced(Exception):  # noqa: N818 - not an error: somebody else owns the job now
    """The job was replaced, cancelled or taken over while it ran; nothing of this run is kept."""


class Jobs:
    """Takes due jobs and runs them, a bounded number at a time."""

    def __init__(
        self, db: Database, handling: Handling, outbox: Outbox, *, lease_seconds: float, concurrency: int,
        parked_after: int, heard_for: Callable[[], float] = lambda: math.inf, per_tenant: int | None = None,
        timers: int = 4, breaker: Breaker | None = None,
        when_sound: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    ) -> None:  # fmt: skip
        """`concurrency` and `per_tenant` bound the slow jobs of this process, `timers` its timers."""
        self._db = db
        self._handling = handling
        self._outbox = outbox
        self._lease_seconds = lease_seconds
        self._parked_after = parked_after
        self._heard_for = heard_for
        self._breaker = breaker or Breaker(db)
        self._when_sound = when_sound
        slow = [kind for kind in handling.job_kinds if handling.slow(kind) is not None]
        timed = [kind for kind in handling.job_kinds if handling.timer(kind) is not None]
        self._slow = Turns(slow, concurrency, per_tenant or max(1, concurrency * 3 // 4), self._breaker)
        self._timed = Turns(timed, timers, timers, self._breaker)
        self._suspect = Turns(handling.job_kinds, 1, 1, self._breaker)
        self._slots: dict[UUID, Turns] = {}
        """Whose slot each run holds, by its lease's token."""
        self._running: set[asyncio.Task[None]] = set()
        self._wake = asyncio.Event()
        self._is_stopping = False
        handling.started = self.wake

    async def run_due(self) -> int:
        """Run what is due now to its end; returns how many jobs that were. For tests and repairs."""
        self._ask_all()
        taken = await self._take_quietly()
        await asyncio.gather(*(self._run(job) for job in taken))
        return len(taken)

    def wake(self, kinds: set[str]) -> None:
        """Jobs of these kinds were started, or ended before their next."""
        for turns in (self._timed, self._slow):
            if turns.is_of(kinds):
                turns.ask()
        self._wake.set()

    def _ask_all(self) -> None:
        for turns in (self._timed, self._slow, self._suspect):
            turns.ask()

    async def run(self, poll_seconds: float) -> None:
        """Run what is due until `drain`."""
        while not self._is_stopping:
            async with self._when_sound():
                taken = await self._take_quietly(poll_seconds)
            if self._is_stopping:
                await asyncio.gather(*(self._put_off(job, 0, "", counts=False) for job in taken))
                return
            for job in taken:
                task = asyncio.create_task(self._run(job))
                self._running.add(task)
                task.add_done_callback(self._done)
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
        if late:
            await asyncio.wait(late, timeout=CANCELLED_WITHIN_SECONDS)

    async def _wait(self, poll_seconds: float) -> None:
        """Until something may be due: the clock says it, or whoever started it."""
        look_at = [turns.look_at for turns in (self._timed, self._slow, self._suspect) if not turns.is_idle]
        seconds = min(look_at, default=math.inf) - monotonic()
        if seconds > 0:
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds, poll_seconds)):
                    await self._wake.wait()
        self._wake.clear()

    async def _take_quietly(self, poll_seconds: float = 0.0) -> list[Job]:
        """What may begin now. What others started is found by looking again after `poll_seconds`."""
        await self._breaker.look()
        taken: list[Job] = []
        for turns, take in ((self._timed, self._by_turns), (self._slow, self._by_turns), (self._suspect, self._one)):
            now = monotonic()
            if turns.is_idle or now < turns.look_at:
                continue
            turns.look_at = now + poll_seconds
            try:
                taken += await self._begun(turns, await take(turns))
            except TRANSIENT as error:
                _log.warning("jobs cannot be read", error=repr(error))
                await asyncio.sleep(0.5)
        return taken

    async def _by_turns(self, turns: Turns) -> Sequence[Row]:
        async with self._db.autocommit() as tx:
            chosen = turns.choose(await tx.rows(HEADS, *turns.look))
            if not chosen:
                return []
            kinds, tenants, numbers = zip(*chosen, strict=True)
            rows = await tx.rows(TAKE, self._lease_seconds, kinds, tenants, numbers)
        if len(rows) == sum(numbers):
            turns.ask()  # there may be more of the same
        return rows

    async def _one(self, suspects: Turns) -> Sequence[Row]:
        async with self._db.autocommit() as tx:
            return await tx.rows(_TAKE_SUSPECT, self._lease_seconds, suspects.unbroken)

    async def _begun(self, turns: Turns, rows: Sequence[Row]) -> list[Job]:
        """Of the rows that were taken, the jobs to run; one whose process ended too often is parked instead."""
        jobs = [_job(row) for row in rows if row["lost"] < self._parked_after]
        for job in jobs:
            turns.begun(job.tenant)
            self._slots[job.token] = turns
        for row in rows:
            if row["lost"] >= self._parked_after:
                await self._park(_job(row), f"its process ended {row['lost']} times while it ran")
        if jobs:
            crash.point("job.taken")
        return jobs

    def _done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)

    async def _run(self, job: Job) -> None:
        trace.start(job.traceparent)
        try:
            with metrics.JOBS_RUNNING.track_inprogress(), metrics.JOB_SECONDS.labels(job.kind).time():
                result = await self._outcome(job)
        finally:
            self._slots.pop(job.token).ended(job.tenant)
            self.wake({job.kind})  # the next of its key has its turn
        metrics.JOBS.labels(job.kind, result).inc()

    async def _outcome(self, job: Job) -> str:
        try:
            await self._handle(job)
        except Fenced:
            return "fenced"
        except Retry as retry:
            await self._put_off(job, retry.after_seconds, str(retry), counts=False)
            return "put_off"
        except Reject as rejection:
            await self._park(job, str(rejection))
            return "parked"
        except TRANSIENT as error:
            await self._put_off(job, _backoff(job), repr(error), counts=True)
            return "put_off"
        except Exception as error:  # noqa: BLE001 - a bug of one job must not stop the others
            _log.exception("a job failed", kind=job.kind, job=str(job.id), attempt=job.attempts)
            await self._fail(job, repr(error))
            return "failed"
        self._breaker.ran(job.kind)
        return "done"

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
        await self._outbox.ready()
        async with self._db.transaction() as tx:
            await _end(tx, job)
            effects = timer.decide(job, await timer.load(tx, job))
            await self._commit(tx, job, effects)
        crash.point("job.after_commit_before_publish")

    async def _handle_slow(self, job: Job, slow: Slow) -> None:
        async with self._db.transaction() as tx:
            prepared = await slow.prepare(tx, job)
            await _keep(tx, job, self._lease_seconds)
        if prepared is None:
            async with self._db.transaction() as tx:
                await _end(tx, job)
            return
        result = await self._under_lease(job, slow.work, prepared)
        await self._outbox.ready()
        async with self._db.transaction() as tx:
            await _end(tx, job)
            await self._commit(tx, job, await slow.finish(tx, job, prepared, result))
        crash.point("job.after_commit_before_publish")

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

    async def _commit(self, tx: Tx, job: Job, effects: Effects) -> None:
        said = await perform(
            tx, effects, tenant=job.tenant, cause=job.id, traceparent=trace.current(), started=self.wake
        )
        await self._outbox.append(tx, _once(said, job))
        crash.point("job.before_commit")

    async def _fail(self, job: Job, why: str) -> None:
        if job.attempts >= self._parked_after:
            await self._park(job, why)
        else:
            await self._put_off(job, _backoff(job), why, counts=True)

    async def _put_off(self, job: Job, seconds: float, why: str, *, counts: bool) -> None:
        await self._settle(
            job,
            """update job set lease_token = null, leased_until = null, lost = 0, last_error = $3,
                 due_at = clock_timestamp() + make_interval(secs => $4), attempts = attempts - $5
               where id = $1 and lease_token = $2""",
            storable(why[:500]),
            seconds,
            0 if counts else 1,
        )

    async def _park(self, job: Job, why: str) -> None:
        _log.error("a job is parked", kind=job.kind, job=str(job.id), why=why)
        self._breaker.parked(job.kind)
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


def _once(said: Sequence[Said], job: Job) -> list[Said]:
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
