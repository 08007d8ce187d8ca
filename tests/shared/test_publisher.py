"""The way out of the outbox: order, marks, what is sent again, what a refusing or absent stream may hold up."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID, uuid4

import pytest

from shared.bus import outbox, publisher
from shared.bus.outbox import Outbox, Row, Said
from shared.bus.publisher import Answers, Publisher
from shared.clock import monotonic
from shared.db import Database, Outcome
from tests.shared.world import all_is_published, one_value, said, until


class Stream:
    """A stream's door: remembers what came, answers unless it is closed, refuses what it is told to."""

    def __init__(self) -> None:
        self.came: list[str] = []
        self.refuses: set[str] = set()
        self.is_away = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def publish(self, rows: Sequence[Row]) -> Answers:
        if self.is_away:
            return Answers([], [])
        for row in rows:
            self.came.append(str(row.msg_id))
            await self.may_answer.wait()
        refused = [row for row in rows if str(row.msg_id) in self.refuses]
        return Answers([row for row in rows if row not in refused], refused)


async def commit(db: Database, box: Outbox, number: int, lane: UUID | None = None) -> list[str]:
    """Say something in a transaction; returns the ids, in order."""
    key = lane or uuid4()
    await box.ready()
    async with db.transaction() as tx:
        await box.append(tx, [Said(said(key, str(n)), uuid4(), "0", "") for n in range(number)])
    async with db.autocommit() as tx:
        rows = await tx.rows("select msg_id from outbox order by writer, batch, item")
    return [str(row["msg_id"]) for row in rows][-number:]


@asynccontextmanager
async def publishing(box: Outbox, stream: Stream) -> AsyncGenerator[Publisher]:
    one = Publisher(box._db, box, stream)  # pyright: ignore[reportPrivateUsage] - the box's own database
    task = asyncio.create_task(one.run())
    try:
        yield one
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def has_come(stream: Stream, ids: Sequence[str]) -> bool:
    return set(ids) <= set(stream.came)


async def age(db: Database, by: str) -> None:
    async with db.autocommit() as tx:
        await tx.execute(f"update outbox set created_at = created_at - interval '{by}'")


async def fall_silent(db: Database) -> None:
    async with db.autocommit() as tx:
        await tx.execute("update outbox_writer set seen_at = seen_at - interval '1 minute'")


async def writers(db: Database) -> int:
    return await one_value(db, "select count(*) from outbox_writer")


# --------------------------------------------------------------------------------------------------------------- marks


def test_a_writers_mark_waits_for_the_slowest() -> None:
    writer = outbox.Writer(1)
    slow, fast = writer.reserve(), writer.reserve()
    for batch in (slow, fast):
        batch.rows = [Row((1, batch.number, 0), uuid4(), "", {}, b"")]
        writer.committed(batch)
    writer.acknowledged(fast, 1)
    assert writer.mark == 0
    writer.acknowledged(slow, 1)
    assert writer.mark == 2


def test_an_open_transaction_holds_the_mark_and_one_that_left_nothing_does_not() -> None:
    writer = outbox.Writer(1)
    open_, done = writer.reserve(), writer.reserve()
    writer.give_back(done)
    assert writer.mark == 0
    writer.give_back(open_)
    assert writer.mark == 2


# --------------------------------------------------------------------------------------------------------- left behind


async def test_a_dead_process_rows_are_swept_by_another(operator_db: Database) -> None:
    dead = Outbox(operator_db)
    rows = await commit(operator_db, dead, 3)
    await age(operator_db, "1 hour")  # so that it is not the minute before the start
    await fall_silent(operator_db)
    stream = Stream()
    async with publishing(Outbox(operator_db), stream):
        await commit(operator_db, Outbox(operator_db), 1)
        await until(lambda: has_come(stream, rows))
        await until(
            lambda: one_value(operator_db, "select exists (select 1 from outbox_writer where swept_at is not null)")
        )


async def test_closing_a_writer_waits_for_its_open_transactions(operator_db: Database) -> None:
    """Else its mark could pass a batch that commits a moment later: lost for ever."""
    box, stream = Outbox(operator_db), Stream()
    await box.ready()
    async with operator_db.transaction() as tx:
        await box.append(tx, [Said(said(uuid4(), "late"), uuid4(), "0", "")])
        await fall_silent(operator_db)
        async with publishing(Outbox(operator_db), stream):
            await asyncio.sleep(2 * publisher.MARK_SECONDS)
            assert await one_value(operator_db, "select count(*) from outbox_writer where closed_at is not null") == 0
    async with publishing(Outbox(operator_db), stream):
        await until(lambda: one_value(operator_db, "select count(*) = 1 from outbox_writer where swept_at is not null"))
    assert len(stream.came) >= 1


async def test_a_writer_that_was_taken_for_dead_writes_no_more_and_opens_another(operator_db: Database) -> None:
    box = Outbox(operator_db)
    await commit(operator_db, box, 1)
    async with operator_db.autocommit() as tx:
        await tx.execute("update outbox_writer set closed_at = clock_timestamp()")
    with pytest.raises(outbox.WriterClosedError):
        await commit(operator_db, box, 1)
    await commit(operator_db, box, 1)
    assert await writers(operator_db) == 2


async def test_a_commit_in_doubt_retires_its_writer_and_is_swept(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    await commit(operator_db, box, 1)
    writer = box.writer
    assert writer is not None
    async with operator_db.transaction() as tx:
        await box.append(tx, [Said(said(uuid4(), "doubtful"), uuid4(), "0", "")])
        tx.over(Outcome.IN_DOUBT)  # what db.py says when the answer to COMMIT was lost
    assert writer.is_retired
    async with publishing(box, stream):
        await until(lambda: all_is_published(operator_db))
    assert len(set(stream.came)) == 2


async def test_a_long_absence_is_not_held_in_memory_and_loses_nothing(
    operator_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "HELD_AT_MOST", 20)
    box, stream = Outbox(operator_db), Stream()
    stream.is_away = True
    async with publishing(box, stream):
        rows = [id for _ in range(10) for id in await commit(operator_db, box, 10)]
        assert await writers(operator_db) > 1
        stream.is_away = False
        await until(lambda: has_come(stream, rows))
        await until(lambda: all_is_published(operator_db))


async def test_an_absent_stream_is_asked_again(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    stream.is_away = True
    async with publishing(box, stream) as one:
        rows = await commit(operator_db, box, 3)
        await one.flush()
        assert not stream.came
        stream.is_away = False
        await until(lambda: has_come(stream, rows))
        await until(lambda: all_is_published(operator_db))


async def test_a_graceful_stop_leaves_nothing_to_sweep(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    one = Publisher(operator_db, box, stream)
    await commit(operator_db, box, 3)
    await one.flush()
    await one.leave()
    assert await all_is_published(operator_db)
    assert await one_value(operator_db, "select count(*) from outbox_writer where swept_at is null") == 0


# ------------------------------------------------------------------------------------------------------------ refusals


async def test_refused_rows_hold_up_nobody_and_are_tried_until_they_are_taken(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    dead = Outbox(operator_db)
    refused = await commit(operator_db, dead, publisher.SWEEP_AT_ONCE)
    good = await commit(operator_db, dead, 1)
    await dead.close()
    stream.refuses = set(refused)
    async with publishing(box, stream):
        await until(lambda: has_come(stream, good))
        again = "select count(*) from outbox_again"
        await until(lambda: one_value(operator_db, f"select ({again}) = {len(refused)}"))
        stream.refuses = set()
        await until(lambda: one_value(operator_db, f"select ({again}) = 0"))
        await until(lambda: all_is_published(operator_db))


async def test_a_flush_during_a_flush_keeps_the_order(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    one = Publisher(operator_db, box, stream)
    stream.may_answer.clear()
    first = await commit(operator_db, box, 20)
    flushes = [asyncio.create_task(one.flush())]
    await until(lambda: has_come(stream, first[:1]))
    second = await commit(operator_db, box, 20)
    flushes.append(asyncio.create_task(one.flush()))
    await asyncio.sleep(0)  # the second begins while the first is under way
    stream.may_answer.set()
    await asyncio.gather(*flushes)
    assert stream.came == [*first, *second]


# --------------------------------------------------------------------------------------------------- the minute before


async def test_the_minute_before_a_loss_goes_again_however_long_the_server_was_away(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    async with publishing(box, stream) as one:
        rows = await commit(operator_db, box, 3)
        await until(lambda: has_come(stream, rows))
        await age(operator_db, "10 minutes")
        stream.came.clear()
        one.resend_before(monotonic() - 599)
        await until(lambda: has_come(stream, rows))


async def test_what_was_said_long_before_a_loss_does_not_go_again(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    async with publishing(box, stream) as one:
        old = await commit(operator_db, box, 2)
        await until(lambda: has_come(stream, old))
        await age(operator_db, "5 minutes")
        new = await commit(operator_db, box, 2)
        await until(lambda: has_come(stream, new))
        stream.came.clear()
        one.resend_before(monotonic())
        await until(lambda: has_come(stream, new))
        assert not set(old) & set(stream.came)


async def test_a_process_that_starts_sends_the_last_minute_of_the_one_before_it(operator_db: Database) -> None:
    first, second = Stream(), Stream()
    box = Outbox(operator_db)
    async with publishing(box, first):
        rows = await commit(operator_db, box, 3)
        await until(lambda: has_come(first, rows))
    await age(operator_db, "1 hour")
    async with publishing(Outbox(operator_db), second):
        await until(lambda: has_come(second, rows))


async def test_what_a_stream_does_not_take_again_is_swept_until_it_does(operator_db: Database) -> None:
    box, stream = Outbox(operator_db), Stream()
    async with publishing(box, stream) as one:
        rows = await commit(operator_db, box, 3)
        await until(lambda: has_come(stream, rows))
        stream.refuses = {rows[1]}
        one.resend_before(monotonic())
        await until(lambda: one_value(operator_db, "select exists (select 1 from outbox_again)"))
        stream.refuses = set()
        await until(lambda: one_value(operator_db, "select not exists (select 1 from outbox_again)"))
