"""Looks every ten seconds at what waits, in Postgres and in the streams, and tells it as metrics.

Laws
- Reading only: counts by index, and the state of our own durables, which the accounts allow (CONSUMER.INFO). A count
  ends at `COUNTED_AT_MOST`: a look must not cost more the worse things are.
- Whoever is away, the other is still looked at; `WATCHED` tells how old each part is, so that a number that stands
  still is not taken for a number that is good. No fault in here ends the process.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import nats.errors

from contracts import topology
from shared import log, metrics
from shared.bus.asking import Consumer, ask
from shared.bus.connection import Connection
from shared.clock import monotonic, utc_now
from shared.db import TRANSIENT, Database, Row, Tx

if TYPE_CHECKING:
    from nats.aio.msg import Msg

_log = log.get(__name__)

LOOK_SECONDS = 10.0
TICK_SECONDS = 0.25
GAP_SECONDS = 30
"""As long as the streams' ack wait: until then the missing message may be on its way once more."""
COUNTED_AT_MOST = 100_000
QUEUES_AT_MOST = 10_000
"""Kinds of jobs × tenants."""
REMEMBERED_BATCHES = 10_000

# each statement is a transaction of its own: now() is its start, and an index can be searched by it
# (what a person skipped is in the quarantine as well, and no alarm: repair.py)
LANES = """
select
  (select count(*) from (
     select from lane_in where has_waiting and parked_at is null limit $1) as found) as waiting,
  (select extract(epoch from now() - min(waiting_since))::float8
     from lane_in where has_waiting and parked_at is null) as waiting_age,
  (select count(*) from (
     select from lane_in l where has_waiting and parked_at is null
       and waiting_since < now() - make_interval(secs => $2)
       and not exists (select from inbox i where i.lane = l.lane and i.lane_seq = l.next_seq)
     limit $1) as found) as gaps,
  (select count(*) from (select from lane_in where parked_at is not null limit $1) as found) as parked,
  (select extract(epoch from now() - min(parked_at))::float8
     from lane_in where parked_at is not null) as parked_age,
  (select count(*) from (select from inbox limit $1) as found) as messages,
  (select count(*) from (select from quarantine limit $1) as found) as quarantined,
  (select extract(epoch from max(at))::float8 from (
     select at, why from quarantine order by id desc limit 1000) as latest
   where why not like 'skipped by %') as quarantined_at
"""
OUTBOX = """
with unmarked as materialized (
  select o.rows, o.since from outbox_writer w, lateral (
    select count(*) as rows, min(created_at) as since from (
      select created_at from outbox where writer = w.writer and batch > w.mark
      order by batch, item limit $1) as found) as o
  where w.swept_at is null),
again as materialized (
  select count(*) as rows, min(since) as since from (select since from outbox_again limit $1) as found)
select
  coalesce((select sum(rows) from unmarked), 0)::bigint as rows,
  (select rows from again) as again,
  extract(epoch from now() - least((select min(since) from unmarked), (select since from again)))::float8
    as age
"""
_QUEUED = "parked_at is null and not is_behind"
_DUE = "due_at <= now() and (leased_until is null or leased_until < now())"
JOBS = f"""
with recursive turn as (
  (select kind, tenant, 1 as number from job where {_QUEUED} and lost = 0 order by kind, tenant, due_at, seq limit 1)
  union all
  select one.kind, one.tenant, turn.number + 1 from turn, lateral (
    select kind, tenant from job where {_QUEUED} and lost = 0 and (kind, tenant) > (turn.kind, turn.tenant)
    order by kind, tenant, due_at, seq limit 1) as one
  where turn.number < $2),
due as materialized (
  select free.number, free.since from turn, lateral (
    select count(*) as number, min(due_at) as since from (
      select due_at from job where {_QUEUED} and lost = 0 and kind = turn.kind and tenant = turn.tenant and {_DUE}
      order by due_at, seq limit $1) as found) as free
  union all
  select count(*), min(due_at) from (
    select due_at from job where {_QUEUED} and lost > 0 and {_DUE} order by due_at limit $1) as found)
select
  coalesce((select sum(number) from due), 0)::bigint as due,
  (select extract(epoch from now() - min(since))::float8 from due) as overdue,
  (select count(*) from (select from job where parked_at is not null limit $1) as found) as parked,
  (select extract(epoch from now() - min(parked_at))::float8 from job where parked_at is not null) as parked_age
"""  # noqa: S608 - only constants of this file
"""From one kind and tenant to the next by the index `job_turn`, as turns.py does: timers of tomorrow are not walked
through. Those whose process ended while they ran stand in `job_suspect`."""


class Frontier:
    """When the oldest message that a consumer has not acknowledged came, as far as that can be known from outside.

    A consumer's state has no time of its next message. But that message came after everything below it: after the
    newest acknowledged one, and after the last look that found nothing left. The later of the two is told.
    """

    def __init__(self) -> None:
        self._heard: deque[tuple[int, datetime]] = deque(maxlen=REMEMBERED_BATCHES)
        self._known: datetime | None = None
        self._first_look: datetime | None = None

    def heard(self, stream_seq: int, at: datetime) -> None:
        """A batch has committed whose newest message has this place and time in the stream."""
        if not self._heard or stream_seq > self._heard[-1][0]:  # else a redelivery
            self._heard.append((stream_seq, at))

    def age(self, now: datetime, consumer: Consumer) -> float:
        """Seconds, by the server's clock; 0 when nothing is left."""
        while self._heard and self._heard[0][0] <= consumer.ack_floor.stream_seq:
            self._know(self._heard.popleft()[1])
        if consumer.num_pending + consumer.num_ack_pending == 0:
            self._know(now)
            return 0.0
        self._first_look = self._first_look or now
        return max(0.0, (now - (self._known or self._first_look)).total_seconds())

    def _know(self, at: datetime) -> None:
        self._known = at if self._known is None else max(self._known, at)


class Watch:
    """One service's looks; `heard` tells it what the pulls brought."""

    def __init__(self, service: str, db: Database, connection: Connection) -> None:
        self._service = service
        self._db = db
        self._connection = connection
        self._consumers = {one.topic.root: one for one in topology.consumers(service)}
        self._frontiers = {topic: Frontier() for topic in self._consumers}

    def heard(self, topic: str, messages: Sequence["Msg"]) -> None:
        """A batch has committed."""
        oldest, newest = messages[0].metadata, messages[-1].metadata
        metrics.HEARD_AGE.labels(topic).observe(max(0.0, (utc_now() - oldest.timestamp).total_seconds()))
        self._frontiers[topic].heard(newest.sequence.stream, newest.timestamp)

    async def run(self) -> None:
        """Look for ever; ends only by cancellation."""
        async with asyncio.TaskGroup() as group:
            group.create_task(count_lost_ticks())
            group.create_task(self._for_ever("postgres", self.look_at_postgres))
            group.create_task(self._for_ever("nats", self.look_at_streams))

    async def _for_ever(self, source: str, look: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await look()
            except (*TRANSIENT, nats.errors.Error) as error:
                _log.warning("what waits cannot be counted", source=source, error=repr(error))
            except Exception:  # noqa: BLE001 - measuring must not end what it measures; WATCHED stands still and alerts
                _log.exception("what waits cannot be counted", source=source)
            await asyncio.sleep(LOOK_SECONDS)

    # ------------------------------------------------------------------------------------------------------- Postgres

    async def look_at_postgres(self) -> None:
        """Set the gauges of lanes, quarantine, outbox and jobs."""
        async with self._db.autocommit() as tx:
            _show_lanes(await _only_row(tx, LANES, COUNTED_AT_MOST, GAP_SECONDS))
            _show_outbox(await _only_row(tx, OUTBOX, COUNTED_AT_MOST))
            _show_jobs(await _only_row(tx, JOBS, COUNTED_AT_MOST, QUEUES_AT_MOST))
        metrics.WATCHED.labels("postgres").set_to_current_time()

    # -------------------------------------------------------------------------------------------------------- streams

    async def look_at_streams(self) -> None:
        """Set the gauges of each topic's consumer.

        Raises:
            TimeoutError: the server does not answer; nothing was set for that topic and those after it.
        """
        if not self._connection.is_connected:
            return
        for topic, frontier in self._frontiers.items():
            _show_consumer(topic, frontier, await ask(self._connection, self._consumers[topic]))
        metrics.WATCHED.labels("nats").set_to_current_time()


async def _only_row(tx: Tx, sql: str, *args: int) -> Row:
    row = await tx.row(sql, *args)
    assert row is not None  # a select without a table has one row
    return row


def _or_zero(value: float | None) -> float:
    """Nothing waits; or what waits came after the statement began."""
    return max(0.0, value or 0.0)


def _show_lanes(row: Row) -> None:
    metrics.WAITING.set(row["waiting"])
    metrics.WAITING_AGE.set(_or_zero(row["waiting_age"]))
    metrics.WAITING_MESSAGES.set(row["messages"])
    metrics.GAPS.set(row["gaps"])
    metrics.PARKED.labels("lane").set(row["parked"])
    metrics.PARKED_AGE.labels("lane").set(_or_zero(row["parked_age"]))
    metrics.QUARANTINE.set(row["quarantined"])
    metrics.QUARANTINE_NEWEST.set(_or_zero(row["quarantined_at"]))


def _show_outbox(row: Row) -> None:
    metrics.OUTBOX_ROWS.set(row["rows"])
    metrics.OUTBOX_AGAIN.set(row["again"])
    metrics.OUTBOX_AGE.set(_or_zero(row["age"]))


def _show_jobs(row: Row) -> None:
    metrics.JOBS_DUE.set(row["due"])
    metrics.JOBS_OVERDUE.set(_or_zero(row["overdue"]))
    metrics.PARKED.labels("job").set(row["parked"])
    metrics.PARKED_AGE.labels("job").set(_or_zero(row["parked_age"]))


def _show_consumer(topic: str, frontier: Frontier, consumer: Consumer) -> None:
    metrics.CONSUMER_MISSING.labels(topic).set(consumer.is_missing)
    if consumer.ts is not None:
        metrics.PENDING.labels(topic).set(consumer.num_pending)
        metrics.UNACKNOWLEDGED.labels(topic).set(consumer.num_ack_pending)
        metrics.UNHEARD_AGE.labels(topic).set(frontier.age(consumer.ts, consumer))


async def count_lost_ticks() -> None:
    """For ever: a tick that comes late has swallowed those before it."""
    last = monotonic()
    while True:
        await asyncio.sleep(TICK_SECONDS)
        now = monotonic()
        metrics.LOST_TICKS.inc(max(0, int((now - last) / TICK_SECONDS) - 1))
        last = now
