"""Messages heard, exactly once and in order per lane.

Laws
- The truth is in Postgres: a position moves, effects are written and messages are said in one transaction, then the
  stream is acknowledged. A redelivery finds the position moved and is swallowed.
- `lane_seq < next_seq` means heard before. The same position with another id or another body is a producer's fault:
  quarantined and counted, never swallowed, never run (`heard.py` remembers what ran).
- What cannot run at once (a gap before it, something waiting, a redelivery, a batch that failed) is stored with its
  payload and drained one at a time. Attempts are counted before the handler runs, so a handler that kills its process
  is counted too; after enough of them only that lane is parked.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

import msgspec

from contracts import topology
from contracts.messages import Message, Redacted
from shared import crash, log, metrics
from shared.bus import heard
from shared.bus.breaker import Breaker
from shared.bus.effects import Heard, Reject, Retry
from shared.bus.handling import Handling
from shared.bus.outbox import Outbox, Said
from shared.db import TRANSIENT, Database, Outcome, Tx

_log = log.get(__name__)
_json = msgspec.json.Encoder()
_headers = msgspec.json.Decoder(dict[str, str])

BACKOFF_SECONDS = (0.2, 1, 5, 15, 60, 120, 300)
SUSPECT_ATTEMPTS = 2
DRAINED_AT_ONCE = 100
"""Of one lane; then the others have their turn."""
LAST_POSITION = 2**63 - 1
KNOWN_AT_MOST = 200_000
"""Lanes that are known to have a row; forgetting costs one statement."""

_LOCK = """
select lane, next_seq, has_waiting, parked_at, last_entry, clock_timestamp() as now
from lane_in where lane = any($1) order by lane for update
"""
_NEW = """
insert into lane_in (lane) select lane from unnest($1::text[]) as lane, set_config('synchronous_commit', 'off', true)
on conflict do nothing
"""
"""Without a flush of its own: the transaction that uses the rows flushes what came before it."""
_NEW_ALONE = "insert into lane_in (lane) select unnest($1::text[]) on conflict do nothing"


class Delivered(NamedTuple):
    """What the stream handed over."""

    subject: str
    headers: Mapping[str, str]
    payload: bytes
    stream_seq: int
    is_redelivered: bool
    consumer_seq: int = 0
    """Which delivery of its consumer this is, from 1."""


@dataclass(frozen=True, slots=True)
class Arrived:
    """A delivered message whose lane headers are in order; `message` is None when its body cannot be decoded."""

    delivered: Delivered
    lane: str
    seq: int
    id: UUID
    digest: bytes
    topic: topology.Topic
    message: Message | None


@dataclass(slots=True)
class Lane:
    """A locked lane row."""

    next_seq: int
    has_waiting: bool
    is_parked: bool
    last_entry: int


class Inbox:
    """Takes batches of one service, and drains what had to wait."""

    def __init__(  # noqa: PLR0917 - each is one thing
        self,
        db: Database,
        handling: Handling,
        outbox: Outbox,
        digest_key: bytes,
        parked_after: int,
        breaker: Breaker | None = None,
    ) -> None:
        self._db = db
        self._handling = handling
        self._outbox = outbox
        self._digest_key = digest_key[:64]
        self._parked_after = parked_after
        self._breaker = breaker or Breaker(db)
        self._known: set[str] = set()

    async def take(self, batch: Sequence[Delivered]) -> list[str]:
        """Make a batch true. Returns the lanes that now wait.

        Raises:
            TRANSIENT errors: nothing was committed; the caller keeps the batch and tries again.
        """
        return await self._accept(batch, may_run=True)

    async def store(self, batch: Sequence[Delivered]) -> list[str]:
        """As `take`, but nothing runs yet: everything waits to be drained."""
        return await self._accept(batch, may_run=False)

    async def _accept(self, batch: Sequence[Delivered], *, may_run: bool) -> list[str]:
        arrived = [self._arrive(one) for one in batch]
        bad = [one for one in arrived if isinstance(one, tuple)]
        good = [one for one in arrived if isinstance(one, Arrived)]
        if bad:
            await self._quarantine(bad)
        reached = _reached(batch)
        if not good:
            await self._reach(reached)
            return []
        lanes = sorted({one.lane for one in good})
        if len(lanes) > 1:
            await self._make(lanes)
        try:
            return await self._take(good, lanes, reached, may_run=may_run)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001 - any fault of any handler: only its own lane may stand still
            _log.warning("a batch failed; its messages are stored and run one by one", error=repr(error))
            return await self._take(good, lanes, reached, may_run=False)

    async def _make(self, lanes: Sequence[str]) -> None:
        """Rows of new lanes, in a transaction of their own: made after locking others they would break the order.

        A batch of one lane locks no others, and makes its row itself.
        """
        new = [lane for lane in lanes if lane not in self._known]
        if not new:
            return
        async with self._db.autocommit() as tx:
            await tx.execute(_NEW, new)
        self._know(new, Outcome.COMMITTED)

    def _know(self, lanes: Sequence[str], outcome: Outcome) -> None:
        if outcome is Outcome.COMMITTED:
            if len(self._known) > KNOWN_AT_MOST:
                self._known.clear()
            self._known.update(lanes)

    async def _take(
        self, good: Sequence[Arrived], lanes: list[str], reached: heard.Reached, *, may_run: bool
    ) -> list[str]:
        await self._outbox.ready()
        async with self._db.transaction() as tx:
            if len(lanes) == 1 and lanes[0] not in self._known:
                await tx.execute(_NEW_ALONE, lanes)
                tx.when_over(lambda outcome: self._know(lanes, outcome))
            locked, now = await self._lock(tx, lanes)
            run, wait, old = _sort_out(good, locked, may_run=may_run)
            if wait or old:
                wait = await self._without_conflicts(tx, locked, run, wait, old)
            await self._run(tx, run, now)
            await _store(tx, wait)
            await _move(tx, locked, run, reached)
            crash.point("inbox.before_commit")
        _count(run, wait, old)
        for kind in {_kind(one) for one in run}:
            self._breaker.ran(kind)
        return sorted({one.lane for one in wait})

    async def _lock(self, tx: Tx, lanes: list[str]) -> tuple[dict[str, Lane], datetime]:
        """The lanes' rows, held until the end, and the database's clock."""
        rows = await tx.rows(_LOCK, lanes)
        if len(rows) != len(lanes):
            self._known.difference_update(lanes)
            raise ConnectionError("a lane was removed as idle while its next message came; tried again")
        locked = {
            row["lane"]: Lane(row["next_seq"], row["has_waiting"], row["parked_at"] is not None, row["last_entry"])
            for row in rows
        }
        return locked, rows[-1]["now"]

    async def _run(self, tx: Tx, run: Sequence[Arrived], now: datetime) -> None:
        said: list[Said] = []
        for one in (one for one in run if one.message is None):
            await self._put_aside(tx, one.delivered, "body", "the body is not a message of this topic")
        for group in _rounds(run):
            said += await self._handling.heard(tx, [_heard(one, now) for one in group])
        await self._outbox.append(tx, said)

    # ------------------------------------------------------------------------------------------------ waiting lanes

    async def waiting(self) -> tuple[list[str], list[str]]:
        """Lanes whose next message is stored and due; apart from them those whose next was begun twice without an end.

        Such a one may have ended the process, and with it what ran beside it: it runs alone.
        """
        async with self._db.autocommit() as tx:
            rows = await tx.rows(
                """select l.lane, i.attempts from lane_in l join inbox i on i.lane = l.lane and i.lane_seq = l.next_seq
                   where l.has_waiting and l.parked_at is null and i.not_before <= now()
                   order by i.received_at limit 200"""
            )
        suspects = [row["lane"] for row in rows if row["attempts"] >= SUSPECT_ATTEMPTS]
        return [row["lane"] for row in rows if row["attempts"] < SUSPECT_ATTEMPTS], suspects

    async def drain(self, lane: str) -> None:
        """Run a lane's stored messages until one has to wait, a hundred at the most."""
        for _ in range(DRAINED_AT_ONCE):
            seq = await self._begin(lane)
            if seq is None:
                break
            try:
                await self._run_stored(lane, seq)
            except Retry as retry:
                await self._put_off(lane, seq, retry.after_seconds, str(retry), counts=False)
                break
            except Reject as rejection:
                await self._park(lane, seq, str(rejection))
                break
            except TRANSIENT as error:
                await self._put_off(lane, seq, BACKOFF_SECONDS[0], repr(error), counts=False)
                break
            except Exception as error:  # noqa: BLE001 - a bug of one handler must not stop the others
                _log.exception("a handler failed", lane=lane, seq=seq)
                await self._fail(lane, seq, repr(error))
                break

    async def _begin(self, lane: str) -> int | None:
        """Count the attempt before it runs, in a transaction of its own: a handler may end the process.

        Should it, the message waits a little before it is tried again, and is parked after enough of them.
        """
        async with self._db.autocommit() as tx:
            row = await tx.row(
                """update inbox i set attempts = attempts + 1,
                     not_before = now() + make_interval(secs => ($3::float8[])[least(i.attempts + 1, cardinality($3))])
                   from lane_in l
                   where l.lane = $1 and l.parked_at is null and i.lane = l.lane and i.lane_seq = l.next_seq
                     and i.not_before <= now() and i.attempts < $2 returning i.lane_seq""",
                lane,
                self._parked_after,
                BACKOFF_SECONDS,
            )
            if row is not None:
                return row["lane_seq"]
            ended = await tx.row(
                """select i.lane_seq, i.last_error
                   from inbox i join lane_in l on i.lane = l.lane and i.lane_seq = l.next_seq
                   where l.lane = $1 and l.parked_at is null and i.not_before <= now() and i.attempts >= $2""",
                lane,
                self._parked_after,
            )
        if ended is not None:
            why = ended["last_error"] or f"its handler ended the process {self._parked_after} times"
            await self._park(lane, ended["lane_seq"], why)
        return None

    async def _run_stored(self, lane: str, seq: int) -> None:
        await self._outbox.ready()
        async with self._db.transaction() as tx:
            locked, now = await self._lock(tx, [lane])
            if locked[lane].next_seq != seq:
                return  # another pod was faster
            row = await tx.row("select * from inbox where lane = $1 and lane_seq = $2", lane, seq)
            if row is None:
                return
            one = self._arrive(Delivered(row["subject"], _headers.decode(row["headers"]), row["payload"], 0, False))
            if not isinstance(one, Arrived):
                raise Reject(one[2])
            await self._run(tx, [one], now)
            await tx.execute("delete from inbox where lane = $1 and lane_seq = $2", lane, seq)
            locked[lane].next_seq = seq + 1
            locked[lane].has_waiting = await tx.value("select exists (select 1 from inbox where lane = $1)", lane)
            await _move(tx, locked, [one], heard.NOWHERE)
            crash.point("inbox.drain_before_commit")
        metrics.HEARD.labels(one.topic.root, "drained").inc()
        self._breaker.ran(_kind(one))

    async def _fail(self, lane: str, seq: int, why: str) -> None:
        async with self._db.autocommit() as tx:
            attempts: int | None = await tx.value(
                "select attempts from inbox where lane = $1 and lane_seq = $2", lane, seq
            )
        if attempts is None:
            return  # another pod was luckier
        if attempts >= self._parked_after:
            await self._park(lane, seq, why)
        else:
            seconds = BACKOFF_SECONDS[min(attempts, len(BACKOFF_SECONDS)) - 1]
            await self._put_off(lane, seq, seconds, why, counts=True)

    async def _put_off(self, lane: str, seq: int, seconds: float, why: str, *, counts: bool) -> None:
        async with self._db.autocommit() as tx:
            await tx.execute(
                """update inbox set not_before = now() + make_interval(secs => $3), last_error = $4,
                     attempts = attempts - $5 where lane = $1 and lane_seq = $2""",
                lane,
                seq,
                seconds,
                storable(why[:500]),
                0 if counts else 1,
            )

    async def _park(self, lane: str, seq: int, why: str) -> None:
        _log.error("a lane is parked", lane=lane, seq=seq, why=why)
        async with self._db.autocommit() as tx:
            await tx.execute(
                "update lane_in set parked_at = now(), parked_why = $3 where lane = $1 and next_seq = $2",
                lane,
                seq,
                storable(why[:500]),
            )
            payload = await tx.value("select payload from inbox where lane = $1 and lane_seq = $2", lane, seq)
        self._breaker.parked(_kind_of(lane, payload))

    # ------------------------------------------------------------------------------------------------------ arrival

    def _arrive(self, one: Delivered) -> Arrived | tuple[Delivered, str, str]:
        if topology.topic_of_subject(one.subject) is None:
            return one, "subject", "the subject is not on the map"
        try:
            lane, seq, msg_id = one.headers["Lane"], _seq_of(one), UUID(one.headers["Nats-Msg-Id"])
            topic = _topic_of(one.subject, lane)
        except (KeyError, ValueError) as error:
            return one, "headers", f"lane headers are missing or malformed: {error!r}"
        digest = hashlib.blake2b(one.payload, key=self._digest_key, digest_size=16).digest()
        try:
            message: Message | None = topology.decode(topic, one.payload)
        except (msgspec.DecodeError, msgspec.ValidationError):
            message = None
        return Arrived(one, lane, seq, msg_id, digest, topic, message)

    async def _quarantine(self, bad: Iterable[tuple[Delivered, str, str]]) -> None:
        async with self._db.autocommit() as tx:
            for one, reason, why in bad:
                await self._put_aside(tx, one, reason, why)

    async def _reach(self, reached: heard.Reached) -> None:
        """Of a batch in which nothing is a message: it is acknowledged like the others."""
        async with self._db.autocommit() as tx:
            await tx.execute(heard.REACH, *reached)

    async def _without_conflicts(
        self,
        tx: Tx,
        lanes: Mapping[str, Lane],
        run: Sequence[Arrived],
        wait: Sequence[Arrived],
        old: Sequence[Arrived],
    ) -> list[Arrived]:
        """Drop what is stored already; put aside what claims a taken position with another id or body."""
        holders = await _stored(tx, wait) | await _ran(tx, lanes, run, old)
        holders |= {(one.lane, one.seq): _held(one) for one in run}
        fresh: list[Arrived] = []
        for one in wait:
            if (one.lane, one.seq) not in holders:
                holders[one.lane, one.seq] = _held(one)
                fresh.append(one)
        for one in (*wait, *old):
            held = holders.get((one.lane, one.seq))
            if held is not None and not _is_same(one, held):
                why = f"lane {one.lane} position {one.seq} is held by another message; was a database restored?"
                await self._put_aside(tx, one.delivered, "conflict", why)
        return fresh

    async def _put_aside(self, tx: Tx, one: Delivered, reason: str, why: str) -> None:
        headers = _stored_headers(one)
        seen = hashlib.blake2b(digest_size=16, key=self._digest_key)
        for part in (one.subject.encode(errors="replace"), headers.encode(), one.payload):
            seen.update(len(part).to_bytes(8, "little") + part)
        kept = await tx.execute(
            """insert into quarantine (subject, stream_seq, headers, payload, digest, why)
               values ($1, $2, $3, $4, $5, $6) on conflict (digest) do nothing""",
            storable(one.subject),
            one.stream_seq,
            headers,
            one.payload,
            seen.digest(),
            storable(why[:500]),
        )
        if kept:
            _log.error("a message is quarantined", subject=one.subject, stream_seq=one.stream_seq, why=why)
            metrics.QUARANTINED.labels(reason).inc()


def _kind(one: Arrived) -> str:
    """What the breaker counts by: the type of message, or the topic of one that cannot be decoded."""
    return type(one.message).__name__ if one.message is not None else one.topic.root


def _kind_of(lane: str, payload: bytes | None) -> str:
    root = lane.split(":", 1)[0]
    try:
        return type(topology.decode(topology.BY_ROOT[root], payload or b"")).__name__
    except (KeyError, msgspec.DecodeError, msgspec.ValidationError):
        return root


def _reached(batch: Sequence[Delivered]) -> heard.Reached:
    """A batch is of one consumer, and so of one topic."""
    topic = ".".join(batch[-1].subject.split(".")[:2])
    return heard.Reached(topic, max(one.stream_seq for one in batch), max(one.consumer_seq for one in batch))


def _held(one: Arrived) -> heard.Held:
    return heard.Held(heard.id_mark(one.id), one.digest[:8])


async def _stored(tx: Tx, wait: Sequence[Arrived]) -> dict[tuple[str, int], heard.Held]:
    """What stands in the inbox at the positions of these."""
    rows = await tx.rows(
        """select i.lane, i.lane_seq, i.msg_id, i.digest from inbox i
           join unnest($1::text[], $2::bigint[]) as n(lane, seq) on i.lane = n.lane and i.lane_seq = n.seq""",
        [one.lane for one in wait],
        [one.seq for one in wait],
    )
    return {(r["lane"], r["lane_seq"]): heard.Held(heard.id_mark(r["msg_id"]), r["digest"][:8]) for r in rows}


async def _ran(
    tx: Tx, lanes: Mapping[str, Lane], run: Sequence[Arrived], old: Sequence[Arrived]
) -> dict[tuple[str, int], heard.Held]:
    """What ran earlier at the positions of these; what runs now is known without asking."""
    now = {(one.lane, one.seq) for one in run}
    wanted = {(one.lane, one.seq): lanes[one.lane].last_entry for one in old if (one.lane, one.seq) not in now}
    return await heard.find(tx, wanted) if wanted else {}


def _is_same(one: Arrived, held: heard.Held) -> bool:
    """A body that was erased at its source since we heard it is still the same message."""
    mine = _held(one)
    return mine.msg_id == held.msg_id and (mine.digest == held.digest or isinstance(one.message, Redacted))


@lru_cache(maxsize=KNOWN_AT_MOST)
def _topic_of(subject: str, lane: str) -> topology.Topic:
    """The topic of a lane that is one of its own subject: nobody may move another lane's position."""
    topic = topology.topic_of_subject(subject)
    root, generation, key = lane.split(":")
    if topic is None or root != topic.root or not generation.isdecimal() or key != subject.rsplit(".", 1)[-1]:
        raise ValueError(f"lane {lane!r} is not of this subject")
    return topic


def _seq_of(one: Delivered) -> int:
    seq = int(one.headers["Lane-Seq"])
    if not 0 <= seq <= LAST_POSITION:
        raise ValueError(f"position {seq} cannot be")
    return seq


def _sort_out(
    good: Sequence[Arrived], lanes: Mapping[str, Lane], *, may_run: bool
) -> tuple[list[Arrived], list[Arrived], list[Arrived]]:
    """Which messages run now, which wait, which were heard before. Moves the lanes' positions in memory."""
    run: list[Arrived] = []
    wait: list[Arrived] = []
    old: list[Arrived] = []
    for one in good:
        lane = lanes[one.lane]
        if one.seq < lane.next_seq:
            old.append(one)
        elif _may_run(one, lane) and may_run:
            lane.next_seq += 1
            run.append(one)
        else:
            lane.has_waiting = True
            wait.append(one)
    return run, wait, old


def _may_run(one: Arrived, lane: Lane) -> bool:
    clear = not lane.has_waiting and not lane.is_parked
    return clear and one.seq == lane.next_seq and not one.delivered.is_redelivered


def _rounds(run: Sequence[Arrived]) -> Iterable[list[Arrived]]:
    """The first message of each lane, then the second of each, …: a lane's second sees what its first wrote."""
    depth: Counter[str] = Counter()
    rounds: dict[int, list[Arrived]] = defaultdict(list)
    for one in run:
        if one.message is not None and not isinstance(one.message, Redacted):
            rounds[depth[one.lane]].append(one)
            depth[one.lane] += 1
    return (rounds[number] for number in sorted(rounds))


def _heard(one: Arrived, now: datetime) -> Heard[Message]:
    message = one.message
    assert message is not None
    return Heard(message, one.id, message.tenant, one.id, one.delivered.headers.get("traceparent", ""), now)


async def _move(tx: Tx, lanes: Mapping[str, Lane], run: Sequence[Arrived], reached: heard.Reached) -> None:
    """Write the lanes' positions, what ran, and how far this came."""
    ran = {one.lane for one in run}
    entries = [heard.Entry(one.lane, one.seq, one.id, one.digest, lanes[one.lane].last_entry) for one in run]
    await tx.execute(
        heard.MOVE,
        list(lanes),
        [lane.next_seq for lane in lanes.values()],
        [lane.has_waiting for lane in lanes.values()],
        [name in ran for name in lanes],
        heard.pack(entries),
        *reached,
    )


async def _store(tx: Tx, wait: Sequence[Arrived]) -> None:
    if not wait:
        return
    await tx.execute(
        """insert into inbox (lane, lane_seq, msg_id, digest, subject, headers, payload)
           select * from unnest($1::text[], $2::bigint[], $3::uuid[], $4::bytea[], $5::text[], $6::jsonb[],
                                $7::bytea[])""",
        [one.lane for one in wait],
        [one.seq for one in wait],
        [one.id for one in wait],
        [one.digest for one in wait],
        [one.delivered.subject for one in wait],
        [_stored_headers(one.delivered) for one in wait],
        [one.delivered.payload for one in wait],
    )


def _stored_headers(one: Delivered) -> str:
    return _json.encode({storable(name): storable(value) for name, value in one.headers.items()}).decode()


def storable(text: str) -> str:
    """What Postgres can keep of a text from elsewhere: no NUL, no half of a surrogate pair."""
    return text.encode(errors="replace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")


def _count(run: Sequence[Arrived], wait: Sequence[Arrived], old: Sequence[Arrived]) -> None:
    for result, group in (("run", run), ("stored", wait), ("duplicate", old)):
        for root, number in Counter(one.topic.root for one in group).items():
            metrics.HEARD.labels(root, result).inc(number)
