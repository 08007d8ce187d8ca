"""The way from the outbox to the streams: at once for what this process committed, by sweeping for the rest.

Laws
- Publishing twice is harmless: the server drops it inside its window, the hearers' lane positions for ever.
- What no stream answered stays outstanding. What a stream refused goes to `outbox_again`, so that it holds up nobody.
- Silent writers are closed, then swept page by page. Two sweepers are harmless.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple, Protocol

from shared import crash, log, metrics
from shared.bus.outbox import STORED, Batch, Outbox, Row, Writer, row_of
from shared.clock import monotonic
from shared.db import TRANSIENT, Database

_log = log.get(__name__)

SWEEP_SECONDS = 0.5
SWEEP_AT_ONCE = 500
AGAIN_SECONDS = 2.0
MARK_SECONDS = 1.0
ANSWERED_SECONDS = 3.0
"""So long a stop waits for the answers to what was just published; else the next start publishes it again."""
SILENT_SECONDS = 15.0
"""After which a writer is taken for dead. One that was only stopped finds itself closed and opens another."""
RESEND_SECONDS = 60
"""With `sync_interval` 10 s a power loss can take acknowledged messages: what was said in the minute before the
connection was lost goes again, however long the server was away; at start too, as the loss may have been ours."""

_MARK = """
update outbox_writer set mark = greatest(mark, $2), seen_at = clock_timestamp()
from set_config('synchronous_commit', 'off', true) where writer = $1
"""
"""Not flushed at once: a mark that is lost is an old one, and what is beyond it is published again."""
_LEAVE = """
update outbox_writer set mark = greatest(mark, $2), closed_at = clock_timestamp(), swept_at = clock_timestamp()
where writer = $1
"""
_SILENT = """
select writer from outbox_writer
where closed_at is null and seen_at < clock_timestamp() - make_interval(secs => $1) order by writer
"""
_HOLD = """
select 1 from outbox_writer where writer = $1 and closed_at is null
  and (seen_at < clock_timestamp() - make_interval(secs => $2)) for update
"""
_CLOSE = "update outbox_writer set closed_at = clock_timestamp() where writer = $1 and closed_at is null"
_LEFT = "select writer, mark from outbox_writer where closed_at is not null and swept_at is null order by writer"
_PAGE = f"""
select {STORED} from outbox where writer = $1 and (batch, item) > ($2, $3) order by batch, item limit $4
"""  # noqa: S608 - a constant of ours
_SWEPT = "update outbox_writer set mark = greatest(mark, $2), swept_at = clock_timestamp() where writer = $1"
_REFUSED = """
insert into outbox_again (writer, batch, item) select * from unnest($1::int[], $2::bigint[], $3::int[])
on conflict do nothing
"""
_AGAIN = f"""
select {STORED} from outbox join outbox_again using (writer, batch, item)
where (writer, batch, item) > ($1, $2, $3) order by writer, batch, item limit $4
"""  # noqa: S608 - as above
_TAKEN = """
delete from outbox_again a using unnest($1::int[], $2::bigint[], $3::int[]) as t(writer, batch, item)
where a.writer = t.writer and a.batch = t.batch and a.item = t.item
"""
_RESEND_SINCE = """
select least(max(created_at), clock_timestamp() - make_interval(secs => $1)) - make_interval(secs => $2) as since,
  clock_timestamp() as until from outbox
"""
_RECENT = f"""
select {STORED} from outbox where created_at between $1 and $2 and (writer, batch, item) > ($3, $4, $5)
order by writer, batch, item limit $6
"""  # noqa: S608 - as above
FIRST = (0, 0, -1)


class Answers(NamedTuple):
    """What the streams said of what was published; what nobody answered is in neither."""

    taken: list[Row]
    refused: list[Row]


class Transport(Protocol):
    """What the publisher needs of the bus connection."""

    async def publish(self, rows: Sequence[Row]) -> Answers:
        """Publish in order and await the answers together."""
        ...


class Publisher:
    """Publishes what was committed and sweeps what was left behind."""

    def __init__(self, db: Database, outbox: Outbox, transport: Transport) -> None:
        self._db = db
        self._outbox = outbox
        self._transport = transport
        self._fresh: list[tuple[Writer, Batch]] = []
        self._wake = asyncio.Event()
        self._sending = asyncio.Lock()
        self._underway = 0
        self._all_answered = asyncio.Event()
        self._all_answered.set()
        self._again_after = FIRST
        self._lost_at: float | None = monotonic()
        outbox.on_commit = self._committed

    def _committed(self, writer: Writer, batch: Batch) -> None:
        batch.is_sending = True
        self._fresh.append((writer, batch))
        self._wake.set()

    async def run(self) -> None:
        """Publish for ever; ends only by cancellation."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._publish_fresh())
            group.create_task(self._sweep_for_ever())

    async def _publish_fresh(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.flush()

    async def _sweep_for_ever(self) -> None:
        again_at = marked_at = 0.0
        while True:
            try:
                await self._resend()
                await self._send_unsent()
                if monotonic() - marked_at >= MARK_SECONDS:
                    await self._keep_mark()
                    await self._close_and_sweep()
                    marked_at = monotonic()
                if monotonic() - again_at >= AGAIN_SECONDS:
                    await self._try_again()
                    again_at = monotonic()
            except TRANSIENT as error:
                _log.warning("the outbox cannot be swept", error=repr(error))
            await asyncio.sleep(SWEEP_SECONDS)

    async def flush(self) -> None:
        """Publish what has committed and was not yet sent."""
        fresh, self._fresh = self._fresh, []
        await self._send(fresh)

    async def leave(self) -> None:
        """At a graceful stop: what has committed goes out and its answers are awaited, for a bounded time; what is out
        is marked; and a writer without debts is closed, so that nobody sweeps it.
        """
        writer = self._outbox.writer
        if writer is None:
            return
        self._outbox.retire(writer)
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWERED_SECONDS):
                await self.flush()
                await self._all_answered.wait()
        async with self._db.autocommit() as tx:
            if writer.oldest_seconds() == 0.0:
                await tx.execute(_LEAVE, writer.number, writer.mark)
            else:
                await tx.execute(_MARK, writer.number, writer.mark)

    def let_go(self) -> None:
        """What this process wrote may stand otherwise in the database now, or not at all: it is swept from there."""
        self._fresh.clear()
        self._outbox.let_writer_go()

    def resend_before(self, lost_at: float) -> None:
        """The connection is back that was lost at this monotonic time."""
        self._lost_at = lost_at if self._lost_at is None else min(lost_at, self._lost_at)
        self._again_after = FIRST

    # ---------------------------------------------------------------------------------------------- this process's own

    async def _send(self, batches: Sequence[tuple[Writer, Batch]]) -> None:
        """In order, in one go. A batch of which nothing was answered stays as it is, to be sent again."""
        rows = [row for _, batch in batches for row in batch.rows]
        if not rows:
            return
        self._underway += 1
        self._all_answered.clear()
        places = {(writer.number, batch.number): (writer, batch) for writer, batch in batches}
        try:
            answers = await self._publish(rows)
            crash.point("outbox.published_before_mark")
            if answers.refused:
                await self._remember_refused(answers.refused)
            for row in (*answers.taken, *answers.refused):
                writer, batch = places[row.place[:2]]
                writer.acknowledged(batch, 1)
            left = {row.place for row in (*answers.taken, *answers.refused)}
            for _, batch in batches:
                batch.rows = [row for row in batch.rows if row.place not in left] if batch.missing > 0 else []
        except TRANSIENT as error:
            _log.warning("publishing is waiting", error=repr(error), rows=len(rows))
        finally:
            for _, batch in batches:
                batch.is_sending = False
            self._underway -= 1
            if not self._underway:
                self._all_answered.set()

    async def _publish(self, rows: Sequence[Row]) -> Answers:
        async with self._sending:
            with metrics.PUBLISH.time():
                answers = await self._transport.publish(rows)
        metrics.PUBLISHED.labels("acknowledged").inc(len(answers.taken))
        metrics.PUBLISHED.labels("refused").inc(len(answers.refused))
        metrics.PUBLISHED.labels("unanswered").inc(len(rows) - len(answers.taken) - len(answers.refused))
        return answers

    async def _remember_refused(self, rows: Sequence[Row]) -> None:
        async with self._db.autocommit() as tx:
            await tx.execute(_REFUSED, *_columns(rows))

    async def _send_unsent(self) -> None:
        writer = self._outbox.writer
        while writer is not None and (unsent := writer.unsent()):
            page = unsent[:SWEEP_AT_ONCE]
            for batch in page:
                batch.is_sending = True
            await self._send([(writer, batch) for batch in page])
            if any(batch.missing > 0 for batch in page):
                return  # nobody answers; later

    async def _keep_mark(self) -> None:
        writer = self._outbox.writer
        if writer is None:
            return
        async with self._db.autocommit() as tx:
            await tx.execute(_MARK, writer.number, writer.mark)

    # --------------------------------------------------------------------------------------------------- left behind

    async def _close_and_sweep(self) -> None:
        while self._outbox.retired:
            await self._close(self._outbox.retired[0].number, silent_for=-1)
            self._outbox.retired.pop(0)
        async with self._db.autocommit() as tx:
            silent = [row["writer"] for row in await tx.rows(_SILENT, SILENT_SECONDS)]
        for number in silent:
            await self._close(number, silent_for=SILENT_SECONDS)
        async with self._db.autocommit() as tx:
            left = await tx.rows(_LEFT)
        for row in left:
            if not await self._sweep(row["writer"], row["mark"]):
                return  # nobody answers; later

    async def _close(self, number: int, *, silent_for: float) -> None:
        """Waits for the writer's open transactions: after it, everything of it is there to be swept."""
        async with self._db.transaction() as tx:
            if await tx.value(_HOLD, number, silent_for) is not None:
                await tx.execute(_CLOSE, number)
                _log.info("a writer of the outbox is closed", writer=number, silent_for=silent_for)

    async def _sweep(self, number: int, mark: int) -> bool:
        """Publish what a closed writer left, page by page; false when nobody answers."""
        after = (mark, LAST_ITEM)
        while True:
            async with self._db.autocommit() as tx:
                rows = [row_of(one) for one in await tx.rows(_PAGE, number, *after, SWEEP_AT_ONCE)]
            if rows:
                answers = await self._publish(rows)
                if answers.refused:
                    await self._remember_refused(answers.refused)
                if len(answers.taken) + len(answers.refused) < len(rows):
                    return False
                after = rows[-1].place[1:]
            async with self._db.autocommit() as tx:
                if len(rows) < SWEEP_AT_ONCE:
                    await tx.execute(_SWEPT, number, after[0])
                    return True
                await tx.execute(_MARK, number, after[0] - 1)  # the page may end inside a batch

    async def _try_again(self) -> None:
        """Page by page what was refused or asked for. A refused page holds up nobody: those behind it are next."""
        while True:
            async with self._db.autocommit() as tx:
                rows = [row_of(one) for one in await tx.rows(_AGAIN, *self._again_after, SWEEP_AT_ONCE)]
            is_full = len(rows) == SWEEP_AT_ONCE
            self._again_after = rows[-1].place if is_full else FIRST
            if not rows:
                return
            answers = await self._publish(rows)
            if answers.taken:
                async with self._db.autocommit() as tx:
                    await tx.execute(_TAKEN, *_columns(answers.taken))
            if not is_full or len(answers.taken) < len(rows):
                return

    async def _resend(self) -> None:
        """Say the minute before the loss again. Nothing is written unless a stream refuses it now."""
        lost_at, after = self._lost_at, FIRST
        if lost_at is None:
            return
        async with self._db.autocommit() as tx:
            span = await tx.row(_RESEND_SINCE, monotonic() - lost_at, RESEND_SECONDS)
        while span is not None and span["since"] is not None:
            async with self._db.autocommit() as tx:
                found = await tx.rows(_RECENT, span["since"], span["until"], *after, SWEEP_AT_ONCE)
            rows = [row_of(one) for one in found]
            if not rows:
                break
            answers = await self._publish(rows)
            if answers.refused:
                await self._remember_refused(answers.refused)
            if len(answers.taken) + len(answers.refused) < len(rows):
                return
            after = rows[-1].place
        if self._lost_at == lost_at:
            self._lost_at = None


LAST_ITEM = 2**31 - 1


def _columns(rows: Sequence[Row]) -> tuple[list[int], list[int], list[int]]:
    return [row.place[0] for row in rows], [row.place[1] for row in rows], [row.place[2] for row in rows]
