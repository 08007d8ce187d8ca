"""Messages heard, exactly once and in order per lane.

Laws
- The truth is in Postgres: a position moves, effects are written and messages are said in one transaction, then the
  stream is acknowledged. A redelivery finds the position moved and is swallowed.
- `lane_seq < next_seq` means heard before. The same position with another id or another body is a producer's fault:
  quarantined and counted, never swallowed, never run.
- What cannot run at once (a gap before it, something waiting, a redelivery, a batch that failed) is stored with its
  payload and drained one at a time. Attempts are counted before the handler runs, so a handler that kills its process
  is counted too; after enough of them only that lane is parked.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from contracts import topology
from contracts.messages import Message, Redacted
from shared import crash, log, metrics
from shared.bus import outbox
from shared.bus.effects import Heard, Reject, Retry
from shared.bus.handling import Handling
from shared.db import TRANSIENT, Database, Tx

_log = log.get(__name__)
_json = msgspec.json.Encoder()
_headers = msgspec.json.Decoder(dict[str, str])

BACKOFF_SECONDS = (0.2, 1, 5, 15, 60, 120, 300)
GAP_ALARM_SECONDS = 30
DRAINED_AT_ONCE = 100
"""Of one lane; then the others have their turn."""
LAST_POSITION = 2**63 - 1


class Delivered(NamedTuple):
    """What the stream handed over."""

    subject: str
    headers: Mapping[str, str]
    payload: bytes
    stream_seq: int
    is_redelivered: bool


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


class Inbox:
    """Takes batches of one service, and drains what had to wait."""

    def __init__(self, db: Database, handling: Handling, digest_key: bytes, parked_after: int) -> None:
        self._db = db
        self._handling = handling
        self._digest_key = digest_key
        self._parked_after = parked_after

    async def take(self, batch: Sequence[Delivered]) -> tuple[list[outbox.Row], list[str]]:
        """Make a batch true. Returns the committed outbox rows and the lanes that now wait.

        Raises:
            TRANSIENT errors: nothing was committed; the caller keeps the batch and tries again.
        """
        return await self._accept(batch, may_run=True)

    async def store(self, batch: Sequence[Delivered]) -> tuple[list[outbox.Row], list[str]]:
        """As `take`, but nothing runs yet: everything waits to be drained."""
        return await self._accept(batch, may_run=False)

    async def _accept(self, batch: Sequence[Delivered], *, may_run: bool) -> tuple[list[outbox.Row], list[str]]:
        arrived = [self._arrive(one) for one in batch]
        bad = [one for one in arrived if isinstance(one, tuple)]
        good = [one for one in arrived if isinstance(one, Arrived)]
        if bad:
            await self._quarantine(bad)
        if not good:
            return [], []
        lanes = sorted({one.lane for one in good})
        async with self._db.autocommit() as tx:
            await tx.execute("insert into lane_in (lane) select unnest($1::text[]) on conflict do nothing", lanes)
        try:
            return await self._take(good, lanes, may_run=may_run)
        except TRANSIENT:
            raise
        except Exception as error:  # noqa: BLE001 - any fault of any handler: only its own lane may stand still
            _log.warning("a batch failed; its messages are stored and run one by one", error=repr(error))
            return await self._take(good, lanes, may_run=False)

    async def _take(
        self, good: Sequence[Arrived], lanes: list[str], *, may_run: bool
    ) -> tuple[list[outbox.Row], list[str]]:
        async with self._db.transaction() as tx:
            locked = await _lock(tx, lanes)
            run, wait, old = _sort_out(good, locked, may_run=may_run)
            if wait or old:
                wait = await self._without_conflicts(tx, run, wait, old)
            rows = await self._run(tx, run)
            await _store(tx, run, wait)
            await _move(tx, locked)
            crash.point("inbox.before_commit")
        _count(run, wait, old)
        return rows, sorted({one.lane for one in wait})

    async def _run(self, tx: Tx, run: Sequence[Arrived]) -> list[outbox.Row]:
        now = await tx.now()
        said: list[outbox.Said] = []
        for one in (one for one in run if one.message is None):
            await _put_aside(tx, one.delivered, "the body is not a message of this topic")
        for group in _rounds(run):
            said += await self._handling.heard(tx, [_heard(one, now) for one in group])
        return await outbox.append(tx, said)

    # ------------------------------------------------------------------------------------------------ waiting lanes

    async def waiting(self) -> list[str]:
        """Lanes whose next message is stored and due; also renews the gauges."""
        async with self._db.autocommit() as tx:
            rows = await tx.rows(
                """select l.lane from lane_in l join inbox i on i.lane = l.lane and i.lane_seq = l.next_seq
                   where l.has_waiting and l.parked_at is null and i.state = 'ready' and i.not_before <= now()
                   order by i.received_at limit 200"""
            )
            gauges = await tx.row(
                """select count(*) as waiting, count(*) filter (where parked_at is not null) as parked,
                     count(*) filter (where parked_at is null and waiting_since < now() - make_interval(secs => $1)
                       and not exists (select 1 from inbox i where i.lane = l.lane and i.lane_seq = l.next_seq)) as gaps
                   from lane_in l where has_waiting""",
                GAP_ALARM_SECONDS,
            )
        if gauges:
            metrics.WAITING.set(gauges["waiting"])
            metrics.PARKED.labels("lane").set(gauges["parked"])
            metrics.GAPS.set(gauges["gaps"])
        return [row["lane"] for row in rows]

    async def drain(self, lane: str) -> list[outbox.Row]:
        """Run a lane's stored messages until one has to wait, a hundred at the most; returns the rows to publish."""
        rows: list[outbox.Row] = []
        for _ in range(DRAINED_AT_ONCE):
            seq = await self._begin(lane)
            if seq is None:
                break
            try:
                rows += await self._run_stored(lane, seq)
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
        return rows

    async def _begin(self, lane: str) -> int | None:
        """Count the attempt before it runs, in a transaction of its own."""
        async with self._db.autocommit() as tx:
            return await tx.value(
                """update inbox i set attempts = attempts + 1 from lane_in l
                   where l.lane = $1 and l.parked_at is null and i.lane = l.lane and i.lane_seq = l.next_seq
                     and i.state = 'ready' and i.not_before <= now() returning i.lane_seq""",
                lane,
            )

    async def _run_stored(self, lane: str, seq: int) -> list[outbox.Row]:
        async with self._db.transaction() as tx:
            locked = await _lock(tx, [lane])
            if locked[lane].next_seq != seq:
                return []  # another pod was faster
            row = await tx.row("select * from inbox where lane = $1 and lane_seq = $2", lane, seq)
            if row is None or row["state"] != "ready":
                return []
            one = self._arrive(Delivered(row["subject"], _headers.decode(row["headers"]), row["payload"], 0, False))
            if not isinstance(one, Arrived):
                raise Reject(one[1])
            rows = await self._run(tx, [one])
            await tx.execute(
                "update inbox set state = 'done', payload = null, last_error = null where lane = $1 and lane_seq = $2",
                lane,
                seq,
            )
            await tx.execute(
                """update lane_in l set next_seq = $2 + 1, has_waiting = more.waits,
                     waiting_since = case when more.waits then now() end
                   from (select exists (select 1 from inbox
                           where lane = $1 and lane_seq > $2 and state = 'ready') as waits) as more
                   where l.lane = $1""",
                lane,
                seq,
            )
            crash.point("inbox.drain_before_commit")
        metrics.HEARD.labels(one.topic.root, "drained").inc()
        return rows

    async def _fail(self, lane: str, seq: int, why: str) -> None:
        async with self._db.autocommit() as tx:
            attempts: int | None = await tx.value(
                "select attempts from inbox where lane = $1 and lane_seq = $2 and state = 'ready'", lane, seq
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
                     attempts = attempts - $5 where lane = $1 and lane_seq = $2 and state = 'ready'""",
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

    # ------------------------------------------------------------------------------------------------------ arrival

    def _arrive(self, one: Delivered) -> Arrived | tuple[Delivered, str]:
        topic = topology.topic_of_subject(one.subject)
        if topic is None:
            return one, "the subject is not on the map"
        try:
            lane, seq, msg_id = _lane_of(one, topic), _seq_of(one), UUID(one.headers["Nats-Msg-Id"])
        except (KeyError, ValueError) as error:
            return one, f"lane headers are missing or malformed: {error!r}"
        digest = hashlib.blake2b(one.payload, key=self._digest_key[:64], digest_size=16).digest()
        try:
            message: Message | None = topology.decode(topic, one.payload)
        except (msgspec.DecodeError, msgspec.ValidationError):
            message = None
        return Arrived(one, lane, seq, msg_id, digest, topic, message)

    async def _quarantine(self, bad: Iterable[tuple[Delivered, str]]) -> None:
        async with self._db.autocommit() as tx:
            for one, why in bad:
                await _put_aside(tx, one, why)

    async def _without_conflicts(
        self, tx: Tx, run: Sequence[Arrived], wait: Sequence[Arrived], old: Sequence[Arrived]
    ) -> list[Arrived]:
        """Drop what is stored already; put aside what claims a taken position with another id or body."""
        known = await tx.rows(
            """select i.lane, i.lane_seq, i.msg_id, i.digest from inbox i
               join unnest($1::text[], $2::bigint[]) as n(lane, seq) on i.lane = n.lane and i.lane_seq = n.seq""",
            [one.lane for one in (*wait, *old)],
            [one.seq for one in (*wait, *old)],
        )
        holders = {(row["lane"], row["lane_seq"]): (row["msg_id"], row["digest"]) for row in known}
        holders |= {(one.lane, one.seq): (one.id, one.digest) for one in run}
        fresh: list[Arrived] = []
        for one in wait:
            if (one.lane, one.seq) not in holders:
                holders[one.lane, one.seq] = (one.id, one.digest)
                fresh.append(one)
        for one in (*wait, *old):
            held = holders.get((one.lane, one.seq))
            if held is not None and not _is_same(one, *held):
                await _put_aside(tx, one.delivered, f"lane {one.lane} position {one.seq} is held by {held[0]}")
        return fresh


def _is_same(one: Arrived, msg_id: UUID, digest: bytes) -> bool:
    """A body that was erased at its source since we heard it is still the same message."""
    return one.id == msg_id and (one.digest == digest or isinstance(one.message, Redacted))


def _lane_of(one: Delivered, topic: topology.Topic) -> str:
    """The lane that a message names, if it is one of its own subject: nobody may move another lane's position."""
    lane = one.headers["Lane"]
    root, generation, key = lane.split(":")
    if root != topic.root or not generation.isdecimal() or key != one.subject.rsplit(".", 1)[-1]:
        raise ValueError(f"lane {lane!r} is not of this subject")
    return lane


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


def _heard(one: Arrived, now: Any) -> Heard[Message]:
    message = one.message
    assert message is not None
    return Heard(message, one.id, message.tenant, one.id, one.delivered.headers.get("traceparent", ""), now)


async def _lock(tx: Tx, lanes: list[str]) -> dict[str, Lane]:
    rows = await tx.rows(
        "select lane, next_seq, has_waiting, parked_at from lane_in where lane = any($1) order by lane for update",
        lanes,
    )
    return {row["lane"]: Lane(row["next_seq"], row["has_waiting"], row["parked_at"] is not None) for row in rows}


async def _move(tx: Tx, lanes: Mapping[str, Lane]) -> None:
    await tx.execute(
        """update lane_in l set next_seq = n.next_seq, has_waiting = n.has_waiting,
             waiting_since = case when n.has_waiting then coalesce(l.waiting_since, now()) end
           from unnest($1::text[], $2::bigint[], $3::boolean[]) as n(lane, next_seq, has_waiting)
           where l.lane = n.lane""",
        list(lanes),
        [lane.next_seq for lane in lanes.values()],
        [lane.has_waiting for lane in lanes.values()],
    )


async def _store(tx: Tx, run: Sequence[Arrived], wait: Sequence[Arrived]) -> None:
    rows = [(one, False) for one in run] + [(one, True) for one in wait]
    if not rows:
        return
    await tx.execute(
        """insert into inbox (lane, lane_seq, msg_id, digest, subject, headers, payload, state)
           select * from unnest($1::text[], $2::bigint[], $3::uuid[], $4::bytea[], $5::text[], $6::jsonb[],
                                $7::bytea[], $8::text[])""",
        [one.lane for one, _ in rows],
        [one.seq for one, _ in rows],
        [one.id for one, _ in rows],
        [one.digest for one, _ in rows],
        [one.delivered.subject for one, _ in rows],
        [_stored_headers(one.delivered) if waits else "{}" for one, waits in rows],
        [one.delivered.payload if waits else None for one, waits in rows],
        ["ready" if waits else "done" for _, waits in rows],
    )


async def _put_aside(tx: Tx, one: Delivered, why: str) -> None:
    _log.error("a message is quarantined", subject=one.subject, stream_seq=one.stream_seq, why=why)
    metrics.HEARD.labels("any", "quarantined").inc()
    await tx.execute(
        "insert into quarantine (subject, stream_seq, headers, payload, why) values ($1, $2, $3, $4, $5)",
        storable(one.subject),
        one.stream_seq,
        _stored_headers(one),
        one.payload,
        storable(why[:500]),
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
