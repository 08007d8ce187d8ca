"""Messages said: rows with a lane and a contiguous position, written in the handler's transaction, published after it.

Laws
- A row exists if and only if its transaction committed; its id is derived from cause and step: a re-run says the same.
- The process that committed publishes at once, in order; whatever stays unpublished for half a second is swept by id.
- Publishing twice is harmless: the server drops it inside its window, the hearers' lane positions for ever.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple, Protocol
from uuid import UUID

import msgspec

from contracts import topology
from contracts.messages import Message
from shared import crash, log, metrics
from shared.clock import monotonic
from shared.db import TRANSIENT, Database, Tx
from shared.db import Row as DbRow
from shared.ids import derived_id

_log = log.get(__name__)
_json = msgspec.json.Encoder()
_headers = msgspec.json.Decoder(dict[str, str])

SWEEP_AFTER_SECONDS = 0.5
SWEEP_AT_ONCE = 500
RESEND_SECONDS = 60
"""With `sync_interval` 10 s a power loss can take acknowledged messages: what was acknowledged in the minute before the
connection was lost goes again, however long the server was away; at start too, as the loss may have been ours."""
_RESEND_SINCE = """
select least(max(published_at), clock_timestamp() - make_interval(secs => $1)) - make_interval(secs => $2) from outbox
"""
_ACKNOWLEDGED = """
select id, msg_id, subject, headers, payload from outbox where published_at >= $1 and id > $2 order by id limit $3
"""
_LEFT_BEHIND = """
select id, msg_id, subject, headers, payload from outbox
where published_at is null and created_at < clock_timestamp() - make_interval(secs => $1) and id > $2
order by id limit $3
"""
HELD_AT_MOST = 5000
"""Rows in memory on their way out; while the server is away the rest is left to the sweeper."""


class Said(NamedTuple):
    """A message with its cause, before it has a position."""

    message: Message
    cause: UUID
    step: str
    traceparent: str


class Row(NamedTuple):
    """A committed outbox row on its way out."""

    id: int
    msg_id: UUID
    subject: str
    headers: Mapping[str, str]
    payload: bytes


class Transport(Protocol):
    """What the publisher needs of the bus connection."""

    async def publish(self, rows: Sequence[Row]) -> Sequence[int]:
        """Publish in order; returns the row ids that the stream acknowledged."""
        ...


async def append(tx: Tx, said: Sequence[Said]) -> list[Row]:
    """Give each message its lane position and write it, inside the caller's transaction."""
    if not said:
        return []
    lanes = [topology.lane(topology.BY_MESSAGE[type(s.message)], topology.key_of(s.message)) for s in said]
    positions = await _advance(tx, Counter(lanes))
    drafts = [_draft(one, lane, _next(positions, lane)) for one, lane in zip(said, lanes, strict=True)]
    ids = await tx.rows(
        """insert into outbox (msg_id, subject, lane, lane_seq, headers, payload)
           select * from unnest($1::uuid[], $2::text[], $3::text[], $4::bigint[], $5::jsonb[], $6::bytea[])
           returning id, msg_id""",
        [row[0] for row in drafts],
        [row[1] for row in drafts],
        [row[2] for row in drafts],
        [row[3] for row in drafts],
        [_json.encode(row[4]).decode() for row in drafts],
        [row[5] for row in drafts],
    )
    numbers = {row["msg_id"]: row["id"] for row in ids}
    return [Row(numbers[d[0]], d[0], d[1], d[4], d[5]) for d in drafts]


async def _advance(tx: Tx, counts: Counter[str]) -> dict[str, int]:
    """First free position of each lane, taken under the lanes' row locks (sorted, so that pods do not deadlock)."""
    lanes = sorted(counts)
    await tx.execute(
        "insert into lane_out (lane) select unnest($1::text[]) on conflict do nothing",
        lanes,
    )
    await tx.rows("select 1 from lane_out where lane = any($1) order by lane for update", lanes)
    rows = await tx.rows(
        """update lane_out o set next_seq = o.next_seq + n.count
           from unnest($1::text[], $2::bigint[]) as n(lane, count) where o.lane = n.lane
           returning o.lane, o.next_seq - n.count as first""",
        lanes,
        [counts[lane] for lane in lanes],
    )
    return {row["lane"]: row["first"] for row in rows}


def _next(positions: dict[str, int], lane: str) -> int:
    seq = positions[lane]
    positions[lane] = seq + 1
    return seq


def _draft(said: Said, lane: str, seq: int) -> tuple[UUID, str, str, int, dict[str, str], bytes]:
    topic = topology.BY_MESSAGE[type(said.message)]
    msg_id = derived_id(said.cause, said.step)
    headers = {
        "Nats-Msg-Id": str(msg_id),
        "Lane": lane,
        "Lane-Seq": str(seq),
        "Tenant": str(said.message.tenant),
        "Cause": str(said.cause),
        "Schema": type(said.message).__name__,
        "traceparent": said.traceparent,
    }
    subject = topology.subject(topic, topology.key_of(said.message))
    return msg_id, subject, lane, seq, headers, topology.encode(said.message)


class Publisher:
    """Publishes committed rows in order and sweeps what was left behind."""

    def __init__(self, db: Database, transport: Transport) -> None:
        self._db = db
        self._transport = transport
        self._fresh: list[Row] = []
        self._wake = asyncio.Event()
        self._in_flight: set[int] = set()
        self._sending = asyncio.Lock()
        self._swept_to = 0
        self._lost_at: float | None = monotonic()

    def committed(self, rows: Sequence[Row]) -> None:
        """Hand over rows whose transaction has committed."""
        if rows and len(self._fresh) < HELD_AT_MOST:
            self._fresh.extend(rows)
            self._in_flight.update(row.id for row in rows)
            self._wake.set()

    async def run(self) -> None:
        """Publish for ever; ends only by cancellation."""
        swept_at = monotonic()
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), SWEEP_AFTER_SECONDS)
            self._wake.clear()
            await self._resend()
            await self.flush()
            if monotonic() - swept_at >= SWEEP_AFTER_SECONDS:
                while await self._sweep():
                    continue
                swept_at = monotonic()

    async def flush(self) -> None:
        """Publish what is at hand."""
        rows, self._fresh = self._fresh, []
        await self._send(rows)

    def resend_before(self, lost_at: float) -> None:
        """The connection is back that was lost at this monotonic time."""
        self._lost_at = lost_at if self._lost_at is None else min(lost_at, self._lost_at)
        self._swept_to = 0
        self._wake.set()

    async def _resend(self) -> None:
        """Send the minute before the loss again. Its rows stay as they are: it is never more than that minute."""
        lost_at, after = self._lost_at, 0
        if lost_at is None:
            return
        try:
            async with self._db.autocommit() as tx:
                since = await tx.value(_RESEND_SINCE, monotonic() - lost_at, RESEND_SECONDS)
            while rows := await self._acknowledged(since, after):
                if not await self._send_again(rows):
                    return
                after = rows[-1].id
                await self.flush()
        except TRANSIENT as error:
            _log.warning("the last minute cannot be sent again yet", error=repr(error))
            return
        if self._lost_at == lost_at:
            self._lost_at = None

    async def _acknowledged(self, since: datetime, after: int) -> list[Row]:
        async with self._db.autocommit() as tx:
            return list(_rows(await tx.rows(_ACKNOWLEDGED, since, after, SWEEP_AT_ONCE), self._in_flight))

    async def _send_again(self, rows: Sequence[Row]) -> bool:
        """What is not acknowledged this time counts as unpublished; False when nobody is there."""
        async with self._sending:
            acknowledged = set(await self._transport.publish(rows))
        refused = [row.id for row in rows if row.id not in acknowledged]
        if acknowledged and refused:
            async with self._db.autocommit() as tx:
                await tx.execute("update outbox set published_at = null where id = any($1)", refused)
        return bool(acknowledged)

    async def _send(self, rows: Sequence[Row]) -> bool:
        """Publish and mark; true when the stream took all of them."""
        if not rows:
            return True
        try:
            async with self._sending:
                acknowledged = await self._transport.publish(rows)
            crash.point("outbox.published_before_mark")
            if acknowledged:
                async with self._db.autocommit() as tx:
                    await tx.execute(
                        "update outbox set published_at = clock_timestamp() where id = any($1)", list(acknowledged)
                    )
        except TRANSIENT as error:
            _log.warning("publishing is waiting", error=repr(error), rows=len(rows))
            return False
        finally:
            self._in_flight.difference_update(row.id for row in rows)
        return len(acknowledged) == len(rows)

    async def _sweep(self) -> bool:
        """Send a page of what was left behind; true when there is more and the stream took all of this.

        Refused rows must not hold up those behind them: the next page begins after this one, after the last at the
        first again.
        """
        try:
            async with self._db.autocommit() as tx:
                found = await tx.rows(_LEFT_BEHIND, SWEEP_AFTER_SECONDS, self._swept_to, SWEEP_AT_ONCE)
                oldest = await tx.value(
                    """select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8
                       from outbox where published_at is null"""
                )
        except TRANSIENT as error:
            _log.warning("the outbox cannot be read", error=repr(error))
            return False
        metrics.OUTBOX_AGE.set(oldest)
        is_full = len(found) == SWEEP_AT_ONCE
        self._swept_to = found[-1]["id"] if is_full else 0
        return await self._send(list(_rows(found, self._in_flight))) and is_full


def _rows(found: Iterable[DbRow], in_flight: set[int]) -> Iterable[Row]:
    for row in found:
        if row["id"] not in in_flight:
            yield Row(row["id"], row["msg_id"], row["subject"], _headers.decode(str(row["headers"])), row["payload"])
