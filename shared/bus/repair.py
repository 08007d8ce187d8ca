"""What stands still, and what a person may do about it: run it again, move past it, publish it once more, go on.

Laws
- Every change is one transaction with its row in `repair` (who, what, where, why). A dry run is the same transaction,
  rolled back: it tells what would happen, not what somebody thought would.
- Nothing is thrown away: what is skipped goes to the quarantine with its payload.
- Texts of messages are told only when they are asked for (`reveal`); errors are cut to their kind, as they quote.
"""

import hashlib
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, cast
from uuid import UUID

import msgspec
from msgspec import inspect

from contracts import topology
from shared.bus.watch import OUTBOX
from shared.db import Database, Row, Tx

LISTED_AT_MOST = 500
COUNTED_AT_MOST = 100_000

_LANES = """
select l.lane, l.next_seq as seq, l.parked_at is not null as is_parked, coalesce(l.parked_why, i.last_error, '') as why,
  i.lane is null as is_gap, coalesce(i.attempts, 0) as attempts, coalesce(i.headers->>'Schema', '') as message,
  extract(epoch from clock_timestamp() - coalesce(l.parked_at, l.waiting_since))::float8 as seconds,
  (select count(*) from (select from inbox w where w.lane = l.lane limit 1000) as found) as stored
from lane_in l left join inbox i on i.lane = l.lane and i.lane_seq = l.next_seq
where l.has_waiting or l.parked_at is not null
order by l.parked_at is null, coalesce(l.parked_at, l.waiting_since) limit $1
"""
_JOBS = """
select id, kind, key, is_ordered, attempts, lost, coalesce(last_error, '') as why,
  extract(epoch from clock_timestamp() - parked_at)::float8 as seconds,
  (select count(*) from (select from job b where b.kind = j.kind and b.key = j.key and b.is_behind limit 1000) as found)
    as behind
from job j where parked_at is not null order by parked_at limit $1
"""


class Unknown(Exception):  # noqa: N818 - says what was asked for
    """There is no such lane or job, or it does not stand still; the message says what there is."""


class StandingLane(msgspec.Struct, frozen=True):
    """A lane whose next message waits."""

    lane: str
    seq: int
    """The position that does not run."""
    state: str
    """`parked`; `gap`: the message is missing; `waiting`: it is tried again by itself."""
    message: str
    """Its type, empty when it is missing."""
    why: str
    attempts: int
    seconds: float
    """For how long."""
    stored: int
    """Messages that wait, this one included; 1000 means that or more."""


class StandingJob(msgspec.Struct, frozen=True):
    """A parked timer or piece of slow work."""

    job: UUID
    kind: str
    key: str
    why: str
    attempts: int
    lost: int
    """Runs that never ended, as their process did."""
    seconds: float
    behind: int
    """Ordered jobs that wait for it; 1000 means that or more."""


class Standing(msgspec.Struct, frozen=True):
    """Everything of a service that stands still."""

    service: str
    lanes: list[StandingLane]
    jobs: list[StandingJob]
    outbox_rows: int
    """Said, and not yet acknowledged by the stream."""
    outbox_seconds: float
    """Age of the oldest of them."""
    again_rows: int
    is_cut: bool
    """There is more than what is listed."""
    stopped: str = ""
    """Why the process that was asked has stopped, if it has; only itself knows."""


class Stored(msgspec.Struct, frozen=True):
    """One stored message or job."""

    where: str
    seq: int | None
    id: UUID
    type: str
    attempts: int
    why: str
    received_at: datetime
    headers: dict[str, str]
    body: Any
    """Decoded by the contracts; every free text is replaced by its length unless it was asked for."""


class Change(msgspec.Struct, frozen=True):
    """One thing that was done, or would be."""

    what: str
    where: str | None
    seq: int | None
    says: str


# -------------------------------------------------------------------------------------------------------------- reading


async def standing(db: Database, service: str) -> Standing:
    """What waits and what is parked, the parked ones first, at most `LISTED_AT_MOST` of each."""
    async with db.autocommit() as tx:
        lanes = await tx.rows(_LANES, LISTED_AT_MOST + 1)
        jobs = await tx.rows(_JOBS, LISTED_AT_MOST + 1)
        outbox = await tx.row(OUTBOX, COUNTED_AT_MOST)
    assert outbox is not None  # a row of counts
    return Standing(
        service=service,
        lanes=[_lane(row) for row in lanes[:LISTED_AT_MOST]],
        jobs=[_job(row) for row in jobs[:LISTED_AT_MOST]],
        outbox_rows=outbox["rows"],
        outbox_seconds=outbox["age"] or 0.0,
        again_rows=outbox["again"],
        is_cut=max(len(lanes), len(jobs)) > LISTED_AT_MOST,
    )


def _lane(row: Row) -> StandingLane:
    state = "parked" if row["is_parked"] else "gap" if row["is_gap"] else "waiting"
    return StandingLane(
        row["lane"],
        row["seq"],
        state,
        row["message"],
        short(row["why"]),
        row["attempts"],
        row["seconds"] or 0.0,
        row["stored"],
    )


def _job(row: Row) -> StandingJob:
    behind = row["behind"] if row["is_ordered"] else 0
    return StandingJob(
        row["id"], row["kind"], row["key"], short(row["why"]), row["attempts"], row["lost"], row["seconds"], behind
    )


def short(why: str) -> str:
    """The kind of an error: what follows the bracket or the colon may quote a person."""
    return why.split("(", 1)[0].split(":", 1)[0].strip()[:120]


async def show(db: Database, where: str, *, reveal: bool = False) -> Stored:
    """The message that a lane stands at, or a job by its id.

    Raises:
        Unknown: there is no such lane or job, or nothing is stored at the lane's position.
    """
    async with db.autocommit() as tx:
        job_id = _job_id(where)
        return await (_show_lane(tx, where, reveal) if job_id is None else _show_job(tx, job_id, reveal))


async def _show_lane(tx: Tx, lane: str, reveal: bool) -> Stored:
    head = await _head(tx, lane)
    row = await tx.row("select * from inbox where lane = $1 and lane_seq = $2", lane, head["next_seq"])
    if row is None:
        raise Unknown(f"position {head['next_seq']} of {lane} has not arrived: nothing is stored to show")
    headers = msgspec.json.decode(row["headers"], type=dict[str, str])
    why = row["last_error"] or ""
    return Stored(
        where=lane,
        seq=row["lane_seq"],
        id=row["msg_id"],
        type=headers.get("Schema", ""),
        attempts=row["attempts"],
        why=why if reveal else short(why),
        received_at=row["received_at"],
        headers=headers,
        body=_body(row["subject"], row["payload"], reveal),
    )


async def _show_job(tx: Tx, job_id: UUID, reveal: bool) -> Stored:
    row = await tx.row("select * from job where id = $1", job_id)
    if row is None:
        raise Unknown(f"there is no job {job_id}")
    why = row["last_error"] or ""
    heard = row["kind"].startswith("heard:")
    subject = topology.BY_ROOT.get(row["key"].split(":")[0]) if heard else None
    return Stored(
        where=f"job:{job_id}",
        seq=None,
        id=job_id,
        type=row["kind"],
        attempts=row["attempts"],
        why=why if reveal else short(why),
        received_at=row["created_at"],
        headers={"Tenant": str(row["tenant"]), "Cause": str(row["cause"]), "Key": row["key"]},
        body=_body(f"{subject.root}.0.0", row["payload"], reveal) if subject else _untyped(row["payload"], reveal),
    )


def _body(subject: str, payload: bytes, reveal: bool) -> Any:
    topic = topology.topic_of_subject(subject)
    if topic is None:
        return f"no topic of the map has the subject {subject}; {len(payload)} bytes"
    try:
        message = topology.decode(topic, payload)
    except msgspec.DecodeError as error:
        return payload.decode(errors="replace") if reveal else f"cannot be decoded: {error}; {len(payload)} bytes"
    return msgspec.to_builtins(message) if reveal else hidden(message)


def _untyped(payload: bytes, reveal: bool) -> Any:
    """A job's own payload: known to its service alone, so that all its texts are hidden."""
    try:
        body = msgspec.json.decode(payload)
    except msgspec.DecodeError:
        return f"not JSON; {len(payload)} bytes"
    return body if reveal else hidden(body)


def hidden(value: Any, kind: inspect.Type | None = None) -> Any:
    """A value without its free texts. Words of a closed list stay, and so do ids, times and numbers."""
    if isinstance(value, msgspec.Struct):
        fields = inspect.type_info(type(value))
        assert isinstance(fields, inspect.StructType)
        shown = {field.name: hidden(getattr(value, field.name), field.type) for field in fields.fields}
        tag = value.__struct_config__.tag
        return shown if tag is None else {"type": tag, **shown}
    if isinstance(value, dict):
        return {name: hidden(item) for name, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        item_kind = getattr(kind, "item_type", None)
        return [hidden(item, item_kind) for item in cast("Sequence[Any]", value)]
    if isinstance(value, str) and not _is_closed(kind):
        return f"({len(value)} characters)"
    return msgspec.to_builtins(value)


def _is_closed(kind: inspect.Type | None) -> bool:
    if isinstance(kind, inspect.UnionType):
        return all(isinstance(one, inspect.NoneType) or _is_closed(one) for one in kind.types)
    return isinstance(kind, (inspect.LiteralType, inspect.EnumType))


# ------------------------------------------------------------------------------------------------------------- changing


class _DryRun(Exception):  # noqa: N818 - undoes, and means no fault
    """Rolls the transaction back."""


class Repair:
    """A person's changes to one service's lanes and jobs."""

    def __init__(self, db: Database, who: str, *, is_dry: bool) -> None:
        self._db = db
        self._who = who
        self._is_dry = is_dry

    async def unpark(self, where: str, reason: str = "") -> list[Change]:
        """Run a parked lane's message or a parked job again, its attempts counted from zero.

        Raises:
            Unknown: it is not there, or not parked.
        """
        async with self._transaction() as tx:
            return [await self._unpark(tx, where, reason)]

    async def unpark_all(self, reason: str = "") -> list[Change]:
        """As `unpark`, for everything that is parked now."""
        async with self._transaction() as tx:
            lanes = await tx.rows("select lane from lane_in where parked_at is not null order by lane for update")
            jobs = await tx.rows("select id from job where parked_at is not null order by id for update")
            parked = [*(row["lane"] for row in lanes), *(f"job:{row['id']}" for row in jobs)]
            return [await self._unpark(tx, where, reason) for where in parked]

    async def _unpark(self, tx: Tx, where: str, reason: str) -> Change:
        job_id = _job_id(where)
        if job_id is not None:
            await _parked_job(tx, job_id)
            await tx.execute(
                """update job set parked_at = null, attempts = 0, lost = 0, due_at = clock_timestamp()
                   where id = $1""",
                job_id,
            )
            return await self._note(tx, "unpark", f"job:{job_id}", None, reason, "the job runs again")
        head = await _head(tx, where, for_update=True)
        if head["parked_at"] is None:
            raise Unknown(f"{where} is not parked")
        seq = head["next_seq"]
        await tx.execute("update lane_in set parked_at = null, parked_why = null where lane = $1", where)
        await tx.execute(
            "update inbox set attempts = 0, not_before = now() where lane = $1 and lane_seq = $2", where, seq
        )
        return await self._note(tx, "unpark", where, seq, reason, f"position {seq} runs again, and then what waits")

    async def skip(self, where: str, reason: str) -> list[Change]:
        """Move a lane past the message it stands at (or past one that never came), or drop a parked job.

        What is skipped goes to the quarantine. A message skipped as missing counts as heard should it come later.

        Raises:
            Unknown: it is not there, or it does not stand still.
        """
        async with self._transaction() as tx:
            job_id = _job_id(where)
            return [await (self._skip_job(tx, job_id, reason) if job_id else self._skip(tx, where, reason))]

    async def _skip(self, tx: Tx, lane: str, reason: str) -> Change:
        head = await _head(tx, lane, for_update=True)
        seq = head["next_seq"]
        if not head["has_waiting"]:
            raise Unknown(f"nothing waits in {lane}: position {seq} is simply the next to come")
        row = await tx.row("delete from inbox where lane = $1 and lane_seq = $2 returning *", lane, seq)
        if row is not None:
            await self._keep(tx, row["subject"], row["headers"], row["payload"], f"{lane} {seq}", reason)
        await tx.execute(
            """update lane_in l set next_seq = $2, parked_at = null, parked_why = null, has_waiting = more.waits,
                 waiting_since = case when more.waits then now() end
               from (select exists (select from inbox where lane = $1) as waits) as more where l.lane = $1""",
            lane,
            seq + 1,
        )
        what = "is in the quarantine" if row is not None else "never arrived and counts as heard"
        return await self._note(tx, "skip", lane, seq, reason, f"position {seq} {what}; the lane goes on at {seq + 1}")

    async def _skip_job(self, tx: Tx, job_id: UUID, reason: str) -> Change:
        await _parked_job(tx, job_id)
        row = await tx.row("delete from job where id = $1 returning *", job_id)
        assert row is not None  # held by _parked_job
        headers = {"Key": row["key"], "Tenant": str(row["tenant"]), "Cause": str(row["cause"])}
        kept = msgspec.json.encode(headers).decode()
        await self._keep(tx, f"job:{row['kind']}", kept, row["payload"], str(job_id), reason)
        return await self._note(tx, "skip", f"job:{job_id}", None, reason, "the job is in the quarantine")

    async def _keep(  # noqa: PLR0917 - one for each column
        self, tx: Tx, subject: str, headers: str, payload: bytes, place: str, reason: str
    ) -> None:
        digest = hashlib.blake2b(f"skipped {place}".encode(), digest_size=16).digest()
        await tx.execute(
            """insert into quarantine (subject, headers, payload, digest, why) values ($1, $2, $3, $4, $5)
               on conflict (digest) do nothing""",
            subject,
            headers,
            payload,
            digest,
            f"skipped by {self._who}: {reason}"[:500],
        )

    async def replay(self, lane: str, from_seq: int, reason: str = "") -> list[Change]:
        """Publish a lane's messages once more, from a position on; those who heard them swallow them.

        For a service's own messages: a stream was wiped or restored, or a hearer lost its database.

        Raises:
            Unknown: the outbox holds nothing of that lane from that position on.
        """
        async with self._transaction() as tx:
            found = await tx.row(
                """with rows as materialized (
                     select writer, batch, item, lane_seq from outbox where lane = $1 and lane_seq >= $2),
                   again as (
                     insert into outbox_again (writer, batch, item) select writer, batch, item from rows
                     on conflict do nothing)
                   select count(*) as number, min(lane_seq) as first, max(lane_seq) as last from rows""",
                lane,
                from_seq,
            )
            assert found is not None  # a row of counts
            if not found["number"]:
                raise Unknown(
                    f"the outbox holds nothing of {lane} from position {from_seq} on; is it another service's?"
                )
            gone = f"; {from_seq} to {found['first'] - 1} are no longer kept" if found["first"] > from_seq else ""
            says = (
                f"{found['number']} messages, positions {found['first']} to {found['last']}, are published again{gone}"
            )
            return [await self._note(tx, "replay", lane, from_seq, reason, says)]

    async def resume(self, reason: str = "") -> list[Change]:
        """Let processes go on that stopped because too much was parked in a row (shared/bus/breaker.py)."""
        async with self._transaction() as tx:
            says = "processes that stopped for parking too much go on within a second or two"
            return [await self._note(tx, "resume", None, None, reason, says)]

    async def _note(  # noqa: PLR0917 - one for each column
        self, tx: Tx, what: str, where: str | None, seq: int | None, reason: str, says: str
    ) -> Change:
        await tx.execute(
            "insert into repair (who, what, lane, seq, reason) values ($1, $2, $3, $4, $5)",
            self._who,
            what,
            where,
            seq,
            reason,
        )
        return Change(what, where, seq, says)

    @asynccontextmanager
    async def _transaction(self) -> AsyncGenerator[Tx]:
        try:
            async with self._db.transaction() as tx:
                yield tx
                self._undo_when_dry()
        except _DryRun:
            return

    def _undo_when_dry(self) -> None:
        if self._is_dry:
            raise _DryRun


def _job_id(where: str) -> UUID | None:
    """Lanes have two colons and a job's id none: `job:` before it may be left out."""
    try:
        return UUID(where.removeprefix("job:"))
    except ValueError:
        return None


async def _head(tx: Tx, lane: str, *, for_update: bool = False) -> Row:
    lock = " for update" if for_update else ""
    row = await tx.row(f"select next_seq, has_waiting, parked_at from lane_in where lane = $1{lock}", lane)  # noqa: S608 - a constant of ours
    if row is None:
        raise Unknown(f"there is no lane {lane!r} here; a lane is <topic>:<generation>:<key>, a job is an id")
    return row


async def _parked_job(tx: Tx, job_id: UUID) -> None:
    row = await tx.row("select parked_at from job where id = $1 for update", job_id)
    if row is None:
        raise Unknown(f"there is no job {job_id}")
    if row["parked_at"] is None:
        raise Unknown(f"the job {job_id} is not parked")
