"""The way out of the outbox: order, what is sent again, what a refusing or absent stream may hold up."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from uuid import UUID, uuid4

from shared.bus import outbox
from shared.bus.outbox import Publisher, Row, Said
from shared.clock import monotonic
from shared.db import Database
from tests.shared.world import all_is_published, one_value, said, until


class Stream:
    """A stream's door: remembers what came, answers unless it is closed, refuses what it is told to."""

    def __init__(self) -> None:
        self.came: list[int] = []
        self.refuses: set[int] = set()
        self.is_away = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()

    async def publish(self, rows: Sequence[Row]) -> Sequence[int]:
        if self.is_away:
            return []
        for row in rows:
            self.came.append(row.id)
            await self.may_answer.wait()
        return [row.id for row in rows if row.id not in self.refuses]


async def commit(db: Database, number: int, lane: UUID | None = None) -> list[Row]:
    key = lane or uuid4()
    async with db.transaction() as tx:
        return await outbox.append(tx, [Said(said(key, str(n)), uuid4(), "0", "") for n in range(number)])


@asynccontextmanager
async def publishing(publisher: Publisher) -> AsyncGenerator[None]:
    task = asyncio.create_task(publisher.run())
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def published(db: Database, number: int) -> bool:
    return await one_value(db, "select count(*) from outbox where published_at is not null") >= number


async def age(db: Database, *, created: str = "0", published: str = "0") -> None:
    async with db.autocommit() as tx:
        await tx.execute(
            f"""update outbox set created_at = created_at - interval '{created}',
                  published_at = published_at - interval '{published}'"""
        )


async def test_the_minute_before_a_loss_goes_again_however_long_the_server_was_away(operator_db: Database) -> None:
    stream = Stream()
    publisher = Publisher(operator_db, stream)
    rows = await commit(operator_db, 3)
    async with publishing(publisher):
        publisher.committed(rows)
        await until(lambda: published(operator_db, 3))
        await age(operator_db, published="10 minutes")
        stream.came.clear()
        publisher.resend_before(monotonic() - 599)
        await until(lambda: has_come(stream, {row.id for row in rows}))


async def test_what_was_acknowledged_long_before_a_loss_does_not_go_again(operator_db: Database) -> None:
    stream = Stream()
    publisher = Publisher(operator_db, stream)
    old = await commit(operator_db, 2)
    async with publishing(publisher):
        publisher.committed(old)
        await until(lambda: published(operator_db, 2))
        await age(operator_db, published="5 minutes")
        new = await commit(operator_db, 2)
        publisher.committed(new)
        await until(lambda: published(operator_db, 4))
        stream.came.clear()
        publisher.resend_before(monotonic())
        await until(lambda: has_come(stream, {row.id for row in new}))
        assert not {row.id for row in old} & set(stream.came)


async def test_a_process_that_starts_sends_the_last_minute_of_the_one_before_it(operator_db: Database) -> None:
    first, second = Stream(), Stream()
    rows = await commit(operator_db, 3)
    publisher = Publisher(operator_db, first)
    async with publishing(publisher):
        publisher.committed(rows)
        await until(lambda: published(operator_db, 3))
    await age(operator_db, published="1 hour")
    async with publishing(Publisher(operator_db, second)):
        await until(lambda: has_come(second, {row.id for row in rows}))


async def test_a_connection_that_flaps_does_not_make_the_last_minute_longer(operator_db: Database) -> None:
    stream = Stream()
    publisher = Publisher(operator_db, stream)
    rows = await commit(operator_db, 3)
    async with publishing(publisher):
        publisher.committed(rows)
        await until(lambda: published(operator_db, 3))
        before = await one_value(operator_db, "select max(published_at) from outbox")
        stream.came.clear()
        publisher.resend_before(monotonic())
        await until(lambda: has_come(stream, {row.id for row in rows}))
        await until(lambda: all_is_published(operator_db))
    assert await one_value(operator_db, "select max(published_at) from outbox") == before


async def test_what_a_stream_does_not_take_again_is_swept_until_it_does(operator_db: Database) -> None:
    stream = Stream()
    publisher = Publisher(operator_db, stream)
    rows = await commit(operator_db, 3)
    async with publishing(publisher):
        publisher.committed(rows)
        await until(lambda: published(operator_db, 3))
        stream.refuses = {rows[1].id}
        publisher.resend_before(monotonic())
        await until(lambda: one_value(operator_db, "select exists (select 1 from outbox where published_at is null)"))
        stream.refuses = set()
        await until(lambda: all_is_published(operator_db))


async def test_a_flush_during_a_flush_keeps_the_order(operator_db: Database) -> None:
    stream = Stream()
    publisher = Publisher(operator_db, stream)
    first, second = await commit(operator_db, 20), await commit(operator_db, 20)
    publisher.committed(first)
    stream.may_answer.clear()
    flushes = [asyncio.create_task(publisher.flush())]
    await until(lambda: has_come(stream, {first[0].id}))
    publisher.committed(second)
    flushes.append(asyncio.create_task(publisher.flush()))
    await asyncio.sleep(0)  # the second begins while the first is under way
    stream.may_answer.set()
    await asyncio.gather(*flushes)
    assert stream.came == [row.id for row in (*first, *second)]


async def test_refused_rows_do_not_hold_up_those_behind_them(operator_db: Database) -> None:
    stream = Stream()
    refused = await commit(operator_db, outbox.SWEEP_AT_ONCE)
    good = await commit(operator_db, 1)
    stream.refuses = {row.id for row in refused}
    await age(operator_db, created="1 minute")
    async with publishing(Publisher(operator_db, stream)):
        await until(lambda: published(operator_db, 1))
    assert good[0].id in stream.came


async def test_a_long_absence_is_not_held_in_memory_and_loses_nothing(operator_db: Database) -> None:
    stream = Stream()
    publisher = Publisher(operator_db, stream)
    rows = await commit(operator_db, outbox.HELD_AT_MOST + 200)
    for at in range(0, len(rows), 100):
        publisher.committed(rows[at : at + 100])
    await publisher.flush()
    assert len(stream.came) == outbox.HELD_AT_MOST
    async with publishing(publisher):
        await until(lambda: all_is_published(operator_db))
    assert set(stream.came) == {row.id for row in rows}


async def test_an_absent_stream_leaves_everything_to_the_sweeper(operator_db: Database) -> None:
    stream = Stream()
    stream.is_away = True
    publisher = Publisher(operator_db, stream)
    publisher.committed(await commit(operator_db, 3))
    async with publishing(publisher):
        await publisher.flush()
        assert not await published(operator_db, 1)
        stream.is_away = False
        await until(lambda: all_is_published(operator_db))


async def has_come(stream: Stream, ids: set[int]) -> bool:
    return ids <= set(stream.came)
