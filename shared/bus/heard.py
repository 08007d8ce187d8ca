"""What ran on the fast path, kept small: enough to tell a redelivery from a second message on the same position.

A batch is one row: for each message forty bytes (lane, position, id, body, and the lane's entry before). A lane's row
in `lane_in` points to its last entry, so any position is found by walking back; only what comes again is looked up.
A producer whose database was restored gives positions out a second time: that must be seen, never swallowed.
"""

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from shared.db import Tx

_ENTRY = struct.Struct("<8sQ8s8sQ")
MOVE = """
with entry as (
  insert into heard (entries, topic, stream_seq, consumer_seq) select $5::bytea, $6::text, $7::bigint, $8::bigint
  where $5 <> ''::bytea or $7 > 0 returning id)
update lane_in l set next_seq = n.next_seq, has_waiting = n.has_waiting,
  waiting_since = case when n.has_waiting then coalesce(l.waiting_since, now()) end, moved_on = current_date,
  last_entry = case when n.ran then (select id from entry) else l.last_entry end
from unnest($1::text[], $2::bigint[], $3::boolean[], $4::boolean[]) as n(lane, next_seq, has_waiting, ran)
where l.lane = n.lane
"""
"""The lanes' positions, what ran, and how far the batch came, in one statement."""
REACH = "insert into heard (entries, topic, stream_seq, consumer_seq) values ('', $1, $2, $3)"
"""Of a batch that moves no lane."""
STEPS_AT_MOST = 1000
"""Rows read on the way back; what lies further back counts as unknown."""


class Entry(NamedTuple):
    """One message that ran."""

    lane: str
    seq: int
    msg_id: UUID
    digest: bytes
    before: int
    """The lane's entry before this one, 0 for none."""


class Reached(NamedTuple):
    """How far a batch came, before it is acknowledged."""

    topic: str
    stream_seq: int
    """Its newest place in the stream."""
    consumer_seq: int
    """Its newest place among the deliveries of its consumer, repeated ones included."""


NOWHERE = Reached("", 0, 0)
"""Of what does not come from the stream now."""


class Held(NamedTuple):
    """What stands at a position."""

    msg_id: bytes
    digest: bytes


def pack(entries: Iterable[Entry]) -> bytes:
    return b"".join(
        _ENTRY.pack(lane_mark(one.lane), one.seq, id_mark(one.msg_id), one.digest[:8], one.before) for one in entries
    )


def unpack(entries: bytes) -> Iterable[tuple[bytes, int, bytes, bytes, int]]:
    """(lane's mark, position, id's mark, start of the body's digest, entry before) of each message of a batch."""
    return _ENTRY.iter_unpack(entries)


@lru_cache(maxsize=200_000)
def lane_mark(lane: str) -> bytes:
    return _short(lane.encode())


def id_mark(msg_id: UUID) -> bytes:
    return _short(msg_id.bytes)


def _short(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=8).digest()


async def find(tx: Tx, wanted: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], Held]:
    """What stands at these (lane, position); the value is the lane's last entry. Unknown ones are left out."""
    found: dict[tuple[str, int], Held] = {}
    marks = {lane: lane_mark(lane) for lane, _ in wanted}
    places = {(marks[lane], seq): (lane, seq) for lane, seq in wanted}
    at = {marks[lane]: entry for (lane, _), entry in wanted.items() if entry}
    open_: dict[bytes, set[int]] = {}
    for lane, seq in wanted:
        open_.setdefault(marks[lane], set()).add(seq)
    for _ in range(STEPS_AT_MOST):
        rows = await _read(tx, sorted(set(at.values())))
        at = _step_back(rows, at, open_, places, found)
        if not at:
            break
    return found


async def _read(tx: Tx, ids: Sequence[int]) -> dict[int, bytes]:
    if not ids:
        return {}
    return {row["id"]: row["entries"] for row in await tx.rows("select id, entries from heard where id = any($1)", ids)}


def _step_back(
    rows: Mapping[int, bytes],
    at: Mapping[bytes, int],
    wanted: Mapping[bytes, set[int]],
    places: Mapping[tuple[bytes, int], tuple[str, int]],
    found: dict[tuple[str, int], Held],
) -> dict[bytes, int]:
    """Take from each row what is wanted of its lanes; returns where to look next."""
    following: dict[bytes, int] = {}
    for number, entries in rows.items():
        for mark, seq, msg_id, digest, before in unpack(entries):
            if at.get(mark) != number:
                continue
            if seq in wanted[mark]:
                wanted[mark].discard(seq)
                found[places[mark, seq]] = Held(msg_id, digest)
            following[mark] = before
    return {mark: before for mark, before in following.items() if before and wanted[mark]}
