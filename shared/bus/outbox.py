"""Messages said: rows with a lane and a contiguous position, written in the transaction of what they tell.

Laws
- A row exists if and only if its transaction committed; its id is derived from cause and step: a re-run says the same.
- Rows are only added. A row's place is (writer, batch, item): a writer is one process's run, a batch one transaction.
  Everything of a writer up to its mark is acknowledged, and the mark is the lowest outstanding batch − 1, never the
  highest acknowledged: a late acknowledgement would lose the batches below it.
- Every transaction that says something holds its writer's row FOR KEY SHARE. Whoever closes a writer takes that row FOR
  UPDATE and so waits for what is still open: a closed writer's rows are all there, and no more will come.
- A writer whose commit is in doubt, or that holds too much, is retired: its rows are swept from Postgres.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from contracts import topology
from contracts.messages import Message
from shared import log
from shared.clock import monotonic
from shared.db import Database, Outcome, Tx
from shared.db import Row as DbRow
from shared.ids import derived_id

_log = log.get(__name__)

HELD_AT_MOST = 5000
"""Rows in memory on their way out; a writer that holds more, while its stream is away, is retired."""

_OPEN = """
insert into outbox_writer default values returning writer, exists (select from said_before) as has_lost_past
"""
_SAID_BEFORE = "select msg_id, schema from said_before where msg_id = any($1)"
_CLOSE = "update outbox_writer set closed_at = clock_timestamp() where writer = $1 and closed_at is null"
_GENERATION = f"(current_date - date '1970-01-01') / {topology.GENERATION_DAYS}"
"""As `topology.generation`, on the database's clock."""
_IS_IDLE = f"o.used_on < current_date - {topology.GENERATION_DAYS}"
_MOVED_GENERATION = f"case when {_IS_IDLE} then {_GENERATION} else o.generation end"
_MOVED_SEQ = f"case when {_IS_IDLE} then 0 else o.next_seq end"
_ADVANCE = f"""
with open as materialized (
  select writer from outbox_writer where writer = $4 and closed_at is null for key share)
update lane_out o set
  generation = {_MOVED_GENERATION}, next_seq = {_MOVED_SEQ} + n.count, used_on = current_date
from (select * from unnest($1::text[], $2::uuid[], $3::bigint[]) as said(topic, key, count) order by topic, key) as n,
  open
where o.topic = n.topic and o.key = n.key
returning o.topic, o.key, o.generation, o.next_seq - n.count as first, clock_timestamp() as now
"""  # noqa: S608 - constants of ours
"""The rows are taken in the lanes' order, so that pods do not deadlock; should a plan ever take them otherwise, the
loser is tried again."""
_NEW_LANES = f"""
insert into lane_out (topic, key, generation) select topic, key, {_GENERATION}
from unnest($1::text[], $2::uuid[]) as new(topic, key) order by topic, key on conflict do nothing
"""  # noqa: S608 - a constant of ours
_SAY = f"""
with open as materialized (
  select writer from outbox_writer where writer = $1 and closed_at is null for key share),
said as materialized (
  select * from unnest($3::text[], $4::uuid[], $5::uuid[], $6::uuid[], $7::text[], $8::bytea[])
    with ordinality as one(topic, key, msg_id, cause, traceparent, payload, number)),
counts as materialized (select topic, key, count(*) from said group by topic, key),
moved as (
  insert into lane_out as o (topic, key, generation, next_seq)
  select topic, key, {_GENERATION}, count from counts, open order by topic, key
  on conflict (topic, key) do update set
    generation = {_MOVED_GENERATION}, next_seq = {_MOVED_SEQ} + excluded.next_seq, used_on = current_date
  returning topic, key, generation, next_seq),
stored as (
  insert into outbox (writer, batch, item, msg_id, lane, lane_seq, cause, traceparent, created_at, payload)
  select $1, $2, number - 1, msg_id, topic || ':' || generation || ':' || key,
    next_seq - count + row_number() over (partition by topic, key order by number) - 1,
    cause, traceparent, statement_timestamp(), payload
  from said join moved using (topic, key) join counts using (topic, key))
select topic, key, generation, next_seq - count as first from moved join counts using (topic, key)
"""  # noqa: S608 - constants of ours
"""New lanes and old ones, positions and rows in one round trip: what most transactions say is a message or two."""
FEW = 8
"""Beyond it two statements more cost less than rows that are not copied."""
_COLUMNS = ("writer", "batch", "item", "msg_id", "lane", "lane_seq", "cause", "traceparent", "created_at", "payload")
"""All of them: COPY would insert row by row if it had to evaluate `clock_timestamp()` for each."""
_ROOTS = {message: topic.root for message, topic in topology.BY_MESSAGE.items()}


Stem = tuple[str, UUID]
"""Topic's root and key: a lane without its generation."""


class WriterClosedError(ConnectionError):
    """This process was taken for dead, or was in doubt. The transaction is tried again, with a new writer."""


class Said(NamedTuple):
    """A message with its cause, before it has a position."""

    message: Message
    cause: UUID
    step: str
    traceparent: str


class Row(NamedTuple):
    """A committed outbox row on its way out."""

    place: tuple[int, int, int]
    """(writer, batch, item)"""
    msg_id: UUID
    subject: str
    headers: Mapping[str, str]
    payload: bytes


class _Envelope(msgspec.Struct):
    """What every payload says of itself."""

    type: str
    tenant: UUID


_envelope = msgspec.json.Decoder(_Envelope)


class Batch:
    """The rows of one transaction, until the stream has all of them."""

    __slots__ = ("is_committed", "is_sending", "missing", "number", "rows", "since")

    def __init__(self, number: int) -> None:
        self.number = number
        self.since = monotonic()
        self.rows: list[Row] = []
        self.is_committed = False
        self.is_sending = False
        self.missing = 0
        """Rows that the stream has not acknowledged."""


class Writer:
    """One process's places in the outbox: what is outstanding, and so how far the mark may go."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.is_retired = False
        self.has_lost_past = False
        """Whether `said_before` holds anything: asked once, as it is filled only while the service stands still."""
        self.held = 0
        self._last = 0
        self._order: deque[Batch] = deque()

    def reserve(self) -> Batch:
        """A place for a transaction's rows; the mark stays below it until it is settled or given back."""
        self._last += 1
        batch = Batch(self._last)
        batch.missing = 1  # its transaction
        self._order.append(batch)
        return batch

    def committed(self, batch: Batch) -> None:
        batch.is_committed = True
        batch.missing = len(batch.rows)
        self.held += batch.missing

    def give_back(self, batch: Batch) -> None:
        """Its transaction left nothing."""
        batch.missing = 0

    def acknowledged(self, batch: Batch, rows: int) -> None:
        batch.missing -= rows
        self.held -= rows

    @property
    def mark(self) -> int:
        """The lowest outstanding batch − 1."""
        order = self._order
        while order and order[0].missing <= 0:
            order.popleft()
        return order[0].number - 1 if order else self._last

    def unsent(self) -> list[Batch]:
        """Committed batches that are not on their way, in their order."""
        return [one for one in self._order if one.is_committed and one.missing > 0 and not one.is_sending]

    def oldest_seconds(self) -> float:
        """Age of the oldest outstanding batch, 0 when there is none."""
        return monotonic() - self._order[0].since if self.mark < self._last else 0.0


class Outbox:
    """Gives messages their lane positions and writes them; hands over what has committed."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._writer: Writer | None = None
        self._opening = asyncio.Lock()
        self._known: set[Stem] = set()
        self._known_since = monotonic()
        self.retired: list[Writer] = []
        """Of this process, to be closed and swept."""
        self.on_commit: Callable[[Writer, Batch], None] | None = None

    @property
    def writer(self) -> Writer | None:
        return self._writer

    async def append(self, tx: Tx, said: Sequence[Said]) -> None:
        """Write what is said inside the caller's transaction. Published once that has committed, not before.

        `ready` comes first, before the transaction: opening a writer inside would want a second connection of a pool
        whose others may all wait for the same.

        Raises:
            WriterClosedError: tried again by the caller, as every lost connection.
        """
        if not said:
            return
        writer = self._writer
        if writer is None:
            raise WriterClosedError("no writer of the outbox is open")
        ready = [_ready(one) for one in said]
        if writer.has_lost_past and not (ready := await _not_said_before(tx, ready)):
            return
        batch = writer.reserve()
        tx.when_over(lambda outcome: self._over(writer, batch, outcome))
        if len(ready) <= FEW:
            for item, (one, lane, seq) in enumerate(_placed(ready, await self._say(tx, writer, batch, ready))):
                batch.rows.append(_row((writer.number, batch.number, item), one, lane, seq))
            return
        firsts, now = await self._advance(tx, writer, Counter(one.stem for one in ready))
        records: list[tuple[Any, ...]] = []
        for item, (one, lane, seq) in enumerate(_placed(ready, firsts)):
            batch.rows.append(_row((writer.number, batch.number, item), one, lane, seq))
            records.append(
                (writer.number, batch.number, item, one.msg_id, lane, seq, one.cause, one.traceparent, now, one.payload)
            )
        await tx.copy("outbox", _COLUMNS, records)

    async def ready(self) -> None:
        """Open a writer unless one is open."""
        if self._writer is not None:
            return
        async with self._opening:
            if self._writer is None:
                async with self._db.autocommit() as tx:
                    row = await tx.row(_OPEN)
                assert row is not None  # an insert of one row
                self._writer = Writer(row["writer"])
                self._writer.has_lost_past = row["has_lost_past"]

    async def _say(self, tx: Tx, writer: Writer, batch: Batch, ready: Sequence["_Ready"]) -> "_Firsts":
        """Write all in one statement; returns as `_advance`."""
        stored = [(*one.stem, one.msg_id, one.cause, one.traceparent, one.payload) for one in ready]
        rows = await tx.rows(_SAY, writer.number, batch.number, *zip(*stored, strict=True))
        if not rows:
            self.retire(writer)
            raise WriterClosedError(f"writer {writer.number} of the outbox was closed")
        return {(row["topic"], row["key"]): (row["generation"], row["first"]) for row in rows}

    async def _advance(self, tx: Tx, writer: Writer, counts: Counter[Stem]) -> tuple["_Firsts", datetime]:
        """Generation and first free position of each lane, taken under the lanes' row locks and the writer's; the
        database's clock.
        """
        stems = sorted(counts)
        if monotonic() - self._known_since > KNOWN_SECONDS:
            self._known.clear()
            self._known_since = monotonic()
        new = [stem for stem in stems if stem not in self._known]
        if new:
            await tx.execute(_NEW_LANES, *_columns_of(new))
            tx.when_over(lambda outcome: self._know(new, outcome))
        rows = await tx.rows(_ADVANCE, *_columns_of(stems), [counts[stem] for stem in stems], writer.number)
        if len(rows) != len(stems):
            self._known.difference_update(stems)
            self.retire(writer)
            raise WriterClosedError(f"writer {writer.number} of the outbox was closed, or a lane removed as idle")
        places = {(row["topic"], row["key"]): (row["generation"], row["first"]) for row in rows}
        return places, rows[0]["now"]

    def _know(self, lanes: Sequence[Stem], outcome: Outcome) -> None:
        if outcome is Outcome.COMMITTED:
            if len(self._known) > KNOWN_AT_MOST:
                self._known.clear()
            self._known.update(lanes)

    def _over(self, writer: Writer, batch: Batch, outcome: Outcome) -> None:
        match outcome:
            case Outcome.COMMITTED:
                writer.committed(batch)
                if self.on_commit is not None:
                    self.on_commit(writer, batch)
                if writer.held > HELD_AT_MOST:
                    self.retire(writer)
            case Outcome.ROLLED_BACK:
                writer.give_back(batch)
            case Outcome.IN_DOUBT:
                self.retire(writer)

    async def close(self) -> None:
        """Close this process's writer: the service's next sweep publishes what it wrote. For those who only write."""
        if self._writer is not None:
            async with self._db.autocommit() as tx:
                await tx.execute(_CLOSE, self._writer.number)
            self.retire(self._writer)

    def let_writer_go(self) -> None:
        """The database may be another: one in which this process's writer is unknown, or somebody else's."""
        if self._writer is not None:
            self.retire(self._writer)

    def retire(self, writer: Writer) -> None:
        """Write no more as this one; what it left is swept from Postgres."""
        if writer.is_retired:
            return
        writer.is_retired = True
        self.retired.append(writer)
        if self._writer is writer:
            self._writer = None


KNOWN_AT_MOST = 200_000
"""Lanes that are known to have a row; forgetting costs one statement."""
KNOWN_SECONDS = 24 * 3600.0
"""What is known was used since: its row is too young to go as an idle lane's."""


def _columns_of(stems: Sequence[Stem]) -> tuple[list[str], list[UUID]]:
    return [topic for topic, _ in stems], [key for _, key in stems]


class _Ready(NamedTuple):
    """A message as it will stand in its row, but for its position."""

    stem: Stem
    msg_id: UUID
    tenant: UUID
    cause: UUID
    schema: str
    traceparent: str
    payload: bytes


def _ready(said: Said) -> _Ready:
    message = said.message
    kind = type(message)
    return _Ready(
        (_ROOTS[kind], topology.key_of(message)),
        derived_id(said.cause, said.step),
        message.tenant,
        said.cause,
        kind.__name__,
        said.traceparent,
        topology.encode(message),
    )


async def _not_said_before(tx: Tx, ready: Sequence[_Ready]) -> list[_Ready]:
    """Without what hearers have from a past that this database has lost. Another message under an id of then, as a
    handler may decide otherwise now, gets an id of its own.
    """
    rows = await tx.rows(_SAID_BEFORE, [one.msg_id for one in ready])
    before: dict[UUID, str] = {row["msg_id"]: row["schema"] for row in rows}
    again = [one for one in ready if before.get(one.msg_id) == one.schema]
    if again:
        _log.info("said before the database was restored", messages=len(again))
    return [
        one._replace(msg_id=derived_id(one.msg_id, "after a restore")) if one.msg_id in before else one
        for one in ready
        if one not in again
    ]


_Firsts = dict[Stem, tuple[int, int]]
"""Generation and first position that were given out of each lane."""


def _placed(ready: Sequence[_Ready], firsts: _Firsts) -> Iterator[tuple[_Ready, str, int]]:
    """Each with its lane and its position in it."""
    for one in ready:
        generation, seq = firsts[one.stem]
        firsts[one.stem] = generation, seq + 1
        yield one, _lane(*one.stem, generation), seq


def _row(place: tuple[int, int, int], one: _Ready, lane: str, seq: int) -> Row:
    head = headers(one.msg_id, lane, seq, one.tenant, one.cause, one.schema, one.traceparent)
    return Row(place, one.msg_id, subject_of(lane), head, one.payload)


@lru_cache(maxsize=KNOWN_AT_MOST)
def _lane(root: str, key: UUID, generation: int) -> str:
    return topology.lane(topology.BY_ROOT[root], key, generation)


@lru_cache(maxsize=KNOWN_AT_MOST)
def subject_of(lane: str) -> str:
    """The subject follows from the lane: topic, partition of the key, key."""
    root, _, key = lane.split(":")
    return f"{root}.{topology.partition(UUID(key))}.{key}"


def headers(  # noqa: PLR0917 - one for each header
    msg_id: UUID, lane: str, seq: int, tenant: UUID, cause: UUID, schema: str, traceparent: str
) -> dict[str, str]:
    return {
        "Nats-Msg-Id": str(msg_id),
        "Lane": lane,
        "Lane-Seq": str(seq),
        "Tenant": _text(tenant),
        "Cause": str(cause),
        "Schema": schema,
        "traceparent": traceparent,
    }


_text = lru_cache(maxsize=10_000)(str)


STORED = "writer, batch, item, msg_id, lane, lane_seq, cause, traceparent, payload"
"""Columns that `row_of` needs."""


def row_of(stored: DbRow) -> Row:
    """A row as it stands in Postgres, made ready to be published."""
    payload: bytes = stored["payload"]
    said = _envelope.decode(payload)
    lane, msg_id = stored["lane"], stored["msg_id"]
    head = headers(msg_id, lane, stored["lane_seq"], said.tenant, stored["cause"], said.type, stored["traceparent"])
    return Row((stored["writer"], stored["batch"], stored["item"]), msg_id, subject_of(lane), head, payload)
