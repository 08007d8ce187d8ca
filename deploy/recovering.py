"""`chancela recover`: a service whose database was restored to an older state goes on, without a hole or a double.

In this order, so that it may be killed anywhere and run again, and nothing works on a hole meanwhile:

1. a hold is begun, unless the service has begun it: its processes stand still;
2. its streams are read: what it said, and of delivery what it was told to send;
3. one transaction: positions beyond what the streams hold, ids that are said, claims of sends (shared/bus/past.py,
   services/delivery/recovery.py), each with its row in `repair`;
4. its consumers that acknowledged what the database lost are made anew: all comes again, what is known is swallowed;
5. the hold is recovered from, and the service goes on. delivery sends nothing before a person has lifted it.

Dry, it reads and rolls step 3 back.
"""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from contracts import topology
from contracts.topology import Consumer
from deploy import joining, rebuilding
from shared.bus import asking, continuity, past
from shared.bus.outbox import Outbox
from shared.bus.reading import Reader, Stored
from shared.bus.setup import Setup, SetupError
from shared.db import Database, Tx

OLDER = timedelta(minutes=10)
"""For clocks, and for transactions under way: streams are read from so long before the last batch that was heard."""
NOTICED_SECONDS = continuity.LOOK_SECONDS + asking.ANSWER_SECONDS
"""In which a running process sees a hold that it did not begin."""
SENDER, COMMANDS = "delivery", "SEND"
_info = msgspec.json.Decoder(asking.Consumer)


class RecoverError(Exception):
    """It cannot be done; the message says what to do first."""


class Recovered(msgspec.Struct, frozen=True):
    """What was found, and done unless it was dry."""

    lost: list[str]
    """Topics that were acknowledged, or said, further than the database knows."""
    positions: past.Taken
    sends: rebuilding.Rebuilt
    """Of delivery."""
    consumers: list[str]
    """What was changed in NATS."""
    is_held: bool
    """delivery: sending waits for `--lift`."""


class _Note(NamedTuple):
    """Who does it and why, for `repair`."""

    who: str
    reason: str

    async def write(self, tx: Tx, what: str) -> None:
        await tx.execute(
            "insert into repair (who, what, lane, reason) values ($1, 'recover', $2, $3)", self.who, what, self.reason
        )


async def recover(
    setup: Setup, reader: Reader, db: Database, service: str, *, who: str, reason: str, is_dry: bool
) -> Recovered:
    """See the module.

    Args:
        setup: NATS, as the admin.
        reader: NATS, as the service.
        db: the service's schema, as a superuser.
        service: whose database was restored.
        who: for `repair`, with the reason.
        reason: why.
        is_dry: tell, and change nothing.

    Raises:
        SetupError: NATS refuses.
        ReadingError: the streams cannot be read.
    """
    note = _Note(who, reason)
    lost = await _lost(setup, reader, db, service)
    if not lost and not await _is_open(db):
        return Recovered([], past.NOTHING, rebuilding.NOTHING, [], is_held=await _waits_for_lift(db))
    if not is_dry and await _begins_hold(db, service, lost):
        await asyncio.sleep(NOTICED_SECONDS)
    # of sends everything: a claim may be older than the outbox remembers
    since = None if service == SENDER else await _last_heard(db)
    said = [one for stream in _said_streams(service) for one in await _read(setup, reader, stream, since)]
    told = await _read(setup, reader, COMMANDS, None) if service == SENDER else []
    found = await _take(db, service, said, told, note, is_dry=is_dry)
    heard = [one for one in lost if one.how == "acknowledged"]
    changed = [line for one in heard for line in await _made_anew(setup, db, service, one, note, is_dry=is_dry)]
    if not is_dry:
        await _end(db, service, note)
    return msgspec.structs.replace(found, lost=[str(one) for one in lost], consumers=changed)


async def lift(db: Database, service: str, *, who: str, reason: str) -> datetime | None:
    """Let delivery send again; what was decided before this moment is refused. None when nothing is held.

    Raises:
        RecoverError: it is not recovered yet.
    """
    async with db.transaction() as tx:
        found = await tx.row("select id, recovered_at from hold where lifted_at is null for update")
        if found is None:
            return None
        if found["recovered_at"] is None:
            raise RecoverError(f"it is not recovered yet: run `chancela recover {service}` first")
        await tx.execute("insert into repair (who, what, reason) values ($1, 'lift', $2)", who, reason)
        return await tx.value(
            "update hold set lifted_at = clock_timestamp() where id = $1 returning lifted_at", found["id"]
        )


# ------------------------------------------------------------------------------------------------------------- the hold


async def _lost(setup: Setup, reader: Reader, db: Database, service: str) -> list[continuity.Lost]:
    floors = {one.topic.root: await _state(setup, one) for one in topology.consumers(service)}
    words = [await reader.last(stream) for stream in _said_streams(service)]
    async with db.autocommit() as tx:
        unsaid = [await continuity.unsaid(tx, word) for word in words if word is not None]
        return [*await continuity.lost(tx, floors), *(one for one in unsaid if one is not None)]


async def _state(setup: Setup, one: Consumer) -> asking.Consumer:
    answer = await setup.request(f"$JS.API.CONSUMER.INFO.{one.stream}.{one.durable}", {})
    state = _info.decode(msgspec.json.encode(answer))
    if state.error is not None and not state.is_missing:
        raise SetupError(f"{one.stream}/{one.durable}: {state.error.get('description')}")
    return state


async def _is_open(db: Database) -> bool:
    async with db.autocommit() as tx:
        return await tx.value("select exists (select from hold where recovered_at is null)")


async def _waits_for_lift(db: Database) -> bool:
    async with db.autocommit() as tx:
        return await tx.value("select exists (select from hold where lifted_at is null)")


async def _begins_hold(db: Database, service: str, lost: Sequence[continuity.Lost]) -> bool:
    """Whether processes are running that do not know of a hold yet."""
    async with db.transaction() as tx:
        if await tx.value("select exists (select from hold where recovered_at is null)"):
            return False
        await continuity.hold(tx, "; ".join(map(str, lost)), await tx.now())
        running = (
            "select count(*) from pg_stat_activity where datname = current_database() and starts_with(usename, $1)"
        )
        return bool(await tx.value(running, f"{service}_bus"))


async def _made_anew(
    setup: Setup, db: Database, service: str, lost: continuity.Lost, note: _Note, *, is_dry: bool
) -> list[str]:
    one = Consumer(service, topology.BY_ROOT[lost.topic])
    name = f"consumer {one.stream}/{one.durable}"
    if is_dry:
        return [f"{name}: would be made anew"]
    changed = [*await joining.deleted(setup, one), *await joining.made(setup, one)]
    async with db.transaction() as tx:
        await note.write(tx, name)
    return changed


async def _end(db: Database, service: str, note: _Note) -> None:
    async with db.transaction() as tx:
        ended = await tx.execute(
            """update hold set recovered_at = clock_timestamp(),
                 lifted_at = case when $1 then null else clock_timestamp() end where recovered_at is null""",
            service == SENDER,
        )
        if ended:
            await note.write(tx, "the service goes on")


# ---------------------------------------------------------------------------------------------------------- the streams


def _said_streams(service: str) -> list[str]:
    return list(dict.fromkeys(topic.stream for topic in topology.said_by(service)))


async def _read(setup: Setup, reader: Reader, stream: str, since: datetime | None) -> list[Stored]:
    """What the stream took from a time on; None: all of it."""
    answer = await setup.request(f"$JS.API.STREAM.INFO.{stream}", {})
    if "error" in answer:
        raise SetupError(f"stream {stream}: {answer['error'].get('description')}")
    state: Mapping[str, Any] = answer["state"]
    first, last = max(state["first_seq"], 1), state["last_seq"]  # an empty stream begins at 0, where nothing can be
    if since is not None:
        first = await reader.first_since(stream, first, last, since)
    return [one async for one in reader.messages(stream, first, last)]


async def _last_heard(db: Database) -> datetime | None:
    """From a little before it on, the streams may hold what the outbox has lost; None: from their beginning.

    The outbox itself cannot tell: webhooks are taken in before anybody knows of the restore.
    """
    async with db.autocommit() as tx:
        newest: datetime | None = await tx.value("select at from heard order by id desc limit 1")
    return None if newest is None else newest - OLDER


# ----------------------------------------------------------------------------------------------------- one transaction


class _DryRun(Exception):  # noqa: N818 - undoes, and means no fault
    """Rolls the transaction back."""


async def _take(
    db: Database, service: str, said: Sequence[Stored], told: Sequence[Stored], note: "_Note", *, is_dry: bool
) -> Recovered:
    found = Recovered([], past.NOTHING, rebuilding.NOTHING, [], is_held=service == SENDER)
    outbox = Outbox(db)
    if not is_dry:
        await outbox.ready()
    try:
        async with db.transaction() as tx:
            positions = await past.take(tx, said)
            sends = rebuilding.NOTHING
            if service == SENDER:
                sends = await rebuilding.rebuild(tx, None if is_dry else outbox, said, told)
            found = msgspec.structs.replace(found, positions=positions, sends=sends)
            await note.write(tx, f"{positions.lanes} lanes, {sends.claims} claims")
            _undo_when(is_dry)
    except _DryRun:
        pass
    finally:
        await outbox.close()
    return found


def _undo_when(is_dry: bool) -> None:
    if is_dry:
        raise _DryRun
