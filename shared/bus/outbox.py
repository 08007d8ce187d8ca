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
"""With `sync_interval` 10 s a power loss can take acknowledged messages: after a reconnect a minute goes again."""


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

    def committed(self, rows: Sequence[Row]) -> None:
        """Hand over rows whose transaction has committed."""
        if rows:
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
            await self.flush()
            if monotonic() - swept_at >= SWEEP_AFTER_SECONDS:
                await self._sweep()
                swept_at = monotonic()

    async def flush(self) -> None:
        """Publish what is at hand."""
        rows, self._fresh = self._fresh, []
        await self._send(rows)

    async def resend_recent(self) -> None:
        """Mark the last minute as unpublished: the hearers swallow what they already have."""
        async with self._db.autocommit() as tx:
            await tx.execute(
                """update outbox set published_at = null
                   where published_at > clock_timestamp() - make_interval(secs => $1)""",
                RESEND_SECONDS,
            )

    async def _send(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        try:
            acknowledged = await self._transport.publish(rows)
            crash.point("outbox.published_before_mark")
            if acknowledged:
                async with self._db.autocommit() as tx:
                    await tx.execute(
                        "update outbox set published_at = clock_timestamp() where id = any($1)", list(acknowledged)
                    )
        except TRANSIENT as error:
            _log.warning("publishing is waiting", error=repr(error), rows=len(rows))
        finally:
            self._in_flight.difference_update(row.id for row in rows)

    async def _sweep(self) -> None:
        try:
            async with self._db.autocommit() as tx:
                found = await tx.rows(
                    """select id, msg_id, subject, headers, payload from outbox
                       where published_at is null and created_at < clock_timestamp() - make_interval(secs => $1)
                       order by id limit $2""",
                    SWEEP_AFTER_SECONDS,
                    SWEEP_AT_ONCE,
                )
                oldest = await tx.value(
                    """select coalesce(extract(epoch from clock_timestamp() - min(created_at)), 0)::float8
                       from outbox where published_at is null"""
                )
        except TRANSIENT as error:
            _log.warning("the outbox cannot be read", error=repr(error))
            return
        metrics.OUTBOX_AGE.set(oldest)
        await self._send(list(_rows(found, self._in_flight)))


def _rows(found: Iterable[DbRow], in_flight: set[int]) -> Iterable[Row]:
    for row in found:
        if row["id"] not in in_flight:
            yield Row(row["id"], row["msg_id"], row["subject"], _headers.decode(str(row["headers"])), row["payload"])
