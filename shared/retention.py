"""How long what is no longer needed stays: one table of classes, and the loop that lets it go, in small batches.

Laws
- What is the proof of something (audit, ledger, verdicts of what was sent, receipts, claims) is not on this table.
- The permanent duplicate test needs none of this: it is a lane's position. A lane's rows go when its key cannot come
  under that generation again: the producer opens another after GENERATION_DAYS, and a hearer waits for three times as
  long, more than these and the stream's 14 days together.
- A row of the outbox that no stream acknowledged stays, however old.
- One pod at a time works; a batch is one short transaction, so that nobody waits for it.
"""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from contracts.topology import GENERATION_DAYS
from shared import log, metrics
from shared.db import TRANSIENT, Database

_log = log.get(__name__)

ROWS_AT_ONCE = 2_000
PAUSE_SECONDS = 0.2
"""Between batches: the work that people wait for comes first."""
BY_INDEX = "set local enable_seqscan = off"
"""Most of the time nothing is old: a plan that expects a third of the table to be would read all of it to find out."""
ONE_AT_A_TIME = "select pg_try_advisory_xact_lock(hashtext(current_schema || '.retention.' || $1))"


@dataclass(frozen=True, slots=True)
class Class:
    """Rows of one table that may go."""

    table: str
    clock: str
    """The column that says how old a row is."""
    days: int
    why: str
    """What would need it until then."""
    also: str = ""
    """A further condition, in SQL on `t`."""
    hours: float = 0.2
    """Between two looks; longer where looking reads the whole table."""

    @property
    def statement(self) -> str:
        """Deletes the oldest rows, $2 at the most, that are older than $1."""
        also = f" and {self.also}" if self.also else ""
        return (
            f"delete from {self.table} where ctid = any (array(select t.ctid from {self.table} t"  # noqa: S608 - constants
            f" where t.{self.clock} < now() - $1::interval{also} limit $2))"
        )


BUS = (
    Class(
        "outbox",
        "created_at",
        30,
        "a stream that was wiped is filled again from here; streams themselves keep 14 days",
        "exists (select 1 from outbox_writer w where w.writer = t.writer and t.batch <= w.mark)"
        " and (t.writer, t.batch, t.item) not in (select writer, batch, item from outbox_again)",
    ),
    Class(
        "outbox_writer",
        "swept_at",
        30,
        "its rows say which of them are published",
        "not exists (select 1 from outbox o where o.writer = t.writer)",
    ),
    Class(
        "heard",
        "at",
        30,
        "tells a redelivery from a second message on the same position; a topic's furthest stay: how far it was heard",
        "(t.topic = '' or (exists (select from heard n where n.topic = t.topic and n.stream_seq > t.stream_seq)"
        " and exists (select from heard n where n.topic = t.topic and n.stream_seq >= t.stream_seq"
        " and n.consumer_seq > t.consumer_seq)))",
    ),
    Class(
        "said_before", "at", 30, "what was said before a restore may be led to again while a stream or outbox has it"
    ),
    Class("quarantine", "at", 30, "a person looks at what could not be taken"),
    Class("lane_out", "used_on", int(1.5 * GENERATION_DAYS), "the next position to say", hours=24),
    Class(
        "lane_in",
        "moved_on",
        3 * GENERATION_DAYS,
        "what may still come under this generation is known by its position",
        "not t.has_waiting and t.parked_at is null",
        hours=24,
    ),
)
"""In every service's schema. The log of repairs stays."""


async def forget(db: Database, one: Class, *, at_most: int = ROWS_AT_ONCE) -> int:
    """One batch of a class; returns the number of rows that went. 0 also while another pod is at it."""
    async with db.transaction() as tx:
        if not await tx.value(ONE_AT_A_TIME, one.table):
            return 0
        await tx.execute(BY_INDEX)
        return await tx.execute(one.statement, timedelta(days=one.days), at_most)


async def forget_all(db: Database, one: Class) -> int:
    """Until nothing of the class is left that may go; returns the number of rows."""
    total = 0
    while gone := await forget(db, one):
        metrics.FORGOTTEN.labels(one.table).inc(gone)
        total += gone
        if gone < ROWS_AT_ONCE:
            break
        await asyncio.sleep(PAUSE_SECONDS)
    return total


async def run(db: Database, classes: Sequence[Class]) -> None:
    """Look at each class in its turn, for ever; ends only by cancellation."""
    async with asyncio.TaskGroup() as group:
        for one in classes:
            group.create_task(_look_for_ever(db, one))


async def _look_for_ever(db: Database, one: Class) -> None:
    """The first look comes within the hour: a pod may not live for a day. Pods of a service do not look together."""
    seconds = min(one.hours, 1.0) * 3600 * random.random()  # noqa: S311 - no secret
    while True:
        await asyncio.sleep(seconds)
        seconds = one.hours * 3600 * random.uniform(0.8, 1.2)  # noqa: S311 - no secret
        try:
            gone = await forget_all(db, one)
        except TRANSIENT as error:
            _log.warning("nothing could be forgotten", table=one.table, error=repr(error))
            continue
        if gone:
            _log.info("forgotten: their time was over", table=one.table, rows=gone, after_days=one.days)
