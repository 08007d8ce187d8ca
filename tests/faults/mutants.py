"""The bus without one of its laws, each by its name: what `hearer` and `teller` become when they are told so.

A mutant replaces one function, method or statement of the real bus, so that everything else stays as it runs.
"""
# a mutant takes the bus apart:
# pyright: reportPrivateUsage=false

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from shared import crash
from shared.bus import Bus, inbox, jobs, outbox, publisher
from shared.bus.effects import Job
from shared.bus.inbox import Arrived, Inbox, Lane
from shared.bus.outbox import Batch, Outbox, Said, Writer
from shared.bus.pull import Pull, delivered
from shared.db import Tx

# ---------------------------------------------------------------------------------------------------------- hearing


def effects_after() -> None:
    """The positions are committed first; the effects follow in a transaction of their own."""
    usual_run, usual_take = Inbox._run, Inbox._take
    left: defaultdict[asyncio.Task[Any] | None, list[Any]] = defaultdict(list[Any])

    async def run(self: Inbox, tx: Tx, *what: Any) -> None:
        del self, tx
        left[asyncio.current_task()].append(what)

    async def take(self: Inbox, *batch: Any, **how: Any) -> list[str]:
        lanes = await usual_take(self, *batch, **how)
        crash.point("mutant.between")
        async with self._db.transaction() as tx:
            for what in left.pop(asyncio.current_task(), []):
                await usual_run(self, tx, *what)
        return lanes

    Inbox._run = run  # pyright: ignore[reportAttributeAccessIssue] - takes whatever the real one takes
    Inbox._take = take


def effects_before() -> None:
    """The effects are committed first; the positions follow in a transaction of their own."""
    usual = Inbox._run

    async def run(self: Inbox, tx: Tx, *what: Any) -> None:
        del tx
        async with self._db.transaction() as own:
            await usual(self, own, *what)
        crash.point("mutant.between")

    Inbox._run = run  # pyright: ignore[reportAttributeAccessIssue] - takes whatever the real one takes


def ack_first() -> None:
    """The stream is told before Postgres has it."""

    async def hear(self: Bus, pull: Pull) -> None:
        while messages := await self._next_batch(pull):
            await self._connection.acknowledge(messages)
            await self._connection._client.flush()
            if await self._take(delivered(messages)):
                self._lanes_wait.set()

    Bus._hear = hear


def no_positions() -> None:
    """Nobody looks whether a message was heard before."""

    def sort_out(good: Sequence[Arrived], lanes: Mapping[str, Lane], *, may_run: bool) -> tuple[Any, ...]:
        del may_run
        for one in good:
            lanes[one.lane].next_seq = max(lanes[one.lane].next_seq, one.seq + 1)
        return list(good), [], []

    inbox._sort_out = sort_out


def gaps_run_over() -> None:
    """What comes behind a gap runs at once."""

    def sort_out(good: Sequence[Arrived], lanes: Mapping[str, Lane], *, may_run: bool) -> tuple[Any, ...]:
        del may_run
        run: list[Arrived] = []
        for one in good:
            if one.seq >= lanes[one.lane].next_seq:
                lanes[one.lane].next_seq = one.seq + 1
                run.append(one)
        return run, [], []

    inbox._sort_out = sort_out


def no_lane_lock() -> None:
    """Two pods read the same position and both move on from it; they take a moment, so that they surely meet."""
    sql = _replaced(inbox._LOCK, "for update", "")
    inbox._LOCK = _replaced(sql, "clock_timestamp() as now", "clock_timestamp() as now, pg_sleep(0.01)")


def zombie_finishes() -> None:
    """A finish is taken from whoever brings it, whatever became of its lease."""

    async def end(tx: Tx, job: Job) -> None:
        await tx.execute("delete from job where id = $1", job.id)

    jobs._end = end


# ----------------------------------------------------------------------------------------------------------- saying


def positions_without_lock() -> None:
    """A position is read, and a moment later written: two pods give out the same one."""
    read = "(select next_seq from lane_out l where (l.topic, l.key) = (said.topic, said.key)) as first, pg_sleep(0.01)"
    sql = _replaced(
        outbox._SAY, "select topic, key, count(*) from said", f"select topic, key, count(*), {read} from said"
    )
    sql = _replaced(sql, ", count from counts", ", coalesce(first, 0) + count from counts")
    outbox._SAY = _replaced(sql, "else o.next_seq end + excluded.next_seq", "else excluded.next_seq end")
    sql = _replaced(outbox._ADVANCE, "(select * from unnest", f"(select said.*, {read} from unnest")
    sql = _replaced(sql, "else o.next_seq end + n.count", "else n.first end + n.count")
    outbox._ADVANCE = _replaced(sql, "o.next_seq - n.count as first", "n.first")


def mark_is_the_highest() -> None:
    """The mark is the highest acknowledged batch instead of the lowest outstanding − 1."""
    highest: dict[int, int] = {}
    usual = Writer.acknowledged

    def acknowledged(self: Writer, batch: Batch, rows: int) -> None:
        usual(self, batch, rows)
        highest[self.number] = max(highest.get(self.number, 0), batch.number)

    def mark(self: Writer) -> int:
        return highest.get(self.number, 0)

    Writer.acknowledged = acknowledged
    setattr(Writer, "mark", property(mark))  # noqa: B010 - said so that pyright lets a property be replaced


def closes_without_waiting() -> None:
    """A silent writer is closed and swept while a transaction of it is still open."""
    publisher._HOLD = _replaced(publisher._HOLD, "for update", "")


def closed_writer_goes_on() -> None:
    """Who was taken for dead writes on under its old number, behind the sweep."""
    outbox._ADVANCE = _replaced(outbox._ADVANCE, "and closed_at is null", "")
    outbox._SAY = _replaced(outbox._SAY, "and closed_at is null", "")


def published_early() -> None:
    """Rows leave before their transaction has committed."""
    usual = Outbox.append

    async def append(self: Outbox, tx: Tx, said: Sequence[Said]) -> None:
        await usual(self, tx, said)
        assert self.writer is not None
        assert self.on_commit is not None
        self.on_commit(self.writer, self.writer._order[-1])

    Outbox.append = append


def _replaced(text: str, part: str, by: str) -> str:
    """A mutant that changes nothing would pass for a judge that sees nothing."""
    if part not in text:
        raise LookupError(f"this mutant needs {part!r} in: {text}")
    return text.replace(part, by)


MUTANTS: Mapping[str, Callable[[], None]] = {
    one.__name__: one
    for one in (
        effects_after, effects_before, ack_first, no_positions, gaps_run_over, no_lane_lock, zombie_finishes,
        positions_without_lock, mark_is_the_highest, closes_without_waiting, closed_writer_goes_on, published_early,
    )
}  # fmt: skip
REAL = "none"


def become(name: str) -> None:
    """Take a law away, in this process and for good; `none` takes none."""
    if name != REAL:
        MUTANTS[name]()
