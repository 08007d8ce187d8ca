"""Is the database the one that was acknowledged from? One restored to an older state is not: then all stands still.

Laws
- A message is acknowledged when its batch has committed, and each batch leaves how far it came (`heard`). A consumer
  whose floor is beyond that says that commits are gone. So does a stream of our own whose last message has a place
  that the database has not given out. NATS is read first, then the database: what commits in between only moves the
  database on.
- A floor moves by itself in two ways: in the stream past messages that it holds no more, and in deliveries when an
  earlier delivery's acknowledgement settles a later one. Only one that is ahead in both tells of a loss.
- Before the first look nothing is pulled, run or published, nor after a connection to another life of the database, or
  to NATS, was made. Every ten seconds it is looked at again, for databases that are exchanged unseen.
- Found while the process works, it ends: what it holds in memory is of the lost past. Found at the start, it waits for
  `chancela recover`. The hold is a row, so that it binds every pod (contracts/decisions/0013-a-restored-database.md).
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from typing import Literal, NamedTuple
from uuid import UUID

import nats.errors

from contracts import topology
from shared import log, metrics
from shared.bus.asking import Consumer
from shared.bus.reading import Stored
from shared.db import TRANSIENT, Database, Row, Tx

_log = log.get(__name__)

LOOK_SECONDS = 10.0
HELD_SECONDS = 1.0
"""Between two looks while it is held, or while nobody answers."""
PUBLISHED_WITHIN = timedelta(minutes=1)
"""Of its commit: what is said into a place after that is younger than this."""
CLOCKS = timedelta(seconds=2)
"""Between Postgres and NATS."""
LATEST = 5_000
"""Batches of a topic that are searched for the newest delivery: more than a consumer can have outstanding."""

_NEWEST = "select coalesce(max(stream_seq), 0) from heard where topic = $1 and topic <> ''"
_DELIVERED = """
select coalesce(max(consumer_seq), 0) from (
  select consumer_seq, at from heard where topic = $1 and topic <> '' order by stream_seq desc limit $3) as latest
where at >= $2
"""
_NEXT = "select generation, next_seq from lane_out where topic = $1 and key = $2"
_TAKEN = """
select exists (select from outbox where created_at >= $4 and lane = $1 and lane_seq = $2 and msg_id <> $3)
"""
"""Something else was said into that place, before anybody could know."""
_HOLD = """
insert into hold (why) values ($1) on conflict ((true)) where lifted_at is null do update
set recovered_at = null, why = excluded.why where hold.recovered_at < $2
"""
"""A second loss before the first was lifted; unless it was recovered from after this look began."""
_OPEN_HOLD = "select since, why, recovered_at from hold where lifted_at is null"


class DatabaseRestored(Exception):  # noqa: N818 - names what happened
    """The database went back to an older state while this process worked with it."""


class Held(ConnectionError):  # noqa: N818 - as above
    """Nothing can be said now: the database was restored and waits for `chancela recover`."""


class Lost(NamedTuple):
    """What NATS has of a topic, and the database does not know."""

    topic: str
    reached: int
    """The consumer's floor, a place in the stream; of what was said, a place in its lane."""
    known: int
    """The newest that the database knows of."""
    how: Literal["acknowledged", "said"] = "acknowledged"

    def __str__(self) -> str:
        return f"{self.topic} {self.how} to {self.reached}, known to {self.known}"


async def lost(tx: Tx, floors: Mapping[str, Consumer]) -> list[Lost]:
    """The topics in which the database is behind what was acknowledged.

    Args:
        tx: of the service's schema; begun after the floors were read.
        floors: the state of the service's consumer of each topic.
    """
    found = [await _lost(tx, topic, state) for topic, state in floors.items()]
    return [one for one in found if one is not None]


async def _lost(tx: Tx, topic: str, state: Consumer) -> Lost | None:
    floor = state.ack_floor
    if not floor.consumer_seq or state.created is None:
        return None
    known: int = await tx.value(_NEWEST, topic)
    if floor.stream_seq <= known:
        return None
    if floor.consumer_seq <= await tx.value(_DELIVERED, topic, state.created - CLOCKS, LATEST):
        return None
    return Lost(topic, floor.stream_seq, known)


async def unsaid(tx: Tx, last: Stored) -> Lost | None:
    """Whether the database does not know that it said the last message of a stream of the service's own."""
    try:
        topic, generation, key = last.headers["Lane"].split(":")
        said = int(generation), int(last.headers["Lane-Seq"])
        row = await tx.row(_NEXT, topic, UUID(key))
        msg_id = UUID(last.headers["Nats-Msg-Id"])
    except (KeyError, ValueError):
        return None  # not of our making; hearers put it aside
    if row is None or (row["generation"], row["next_seq"]) <= said:
        return Lost(
            topic, said[1], row["next_seq"] - 1 if row is not None and row["generation"] == said[0] else -1, "said"
        )
    is_taken: bool = await tx.value(_TAKEN, last.headers["Lane"], said[1], msg_id, last.at - PUBLISHED_WITHIN)
    return Lost(topic, said[1], said[1] - 1, "said") if is_taken else None


async def hold(tx: Tx, why: str, looked_at: datetime) -> None:
    """Begin a hold, unless one is open that is not recovered from."""
    await tx.execute(_HOLD, why, looked_at)


class Continuity:
    """One process's look at it, and the gate that work waits at."""

    def __init__(
        self,
        service: str,
        db: Database,
        ask: Callable[[topology.Consumer], Awaitable[Consumer]],
        last_said: Callable[[str], Awaitable[Stored | None]],
        on_another_life: Callable[[], None] = lambda: None,
    ) -> None:
        """`on_another_life` lets go of what this process holds of a database that may be gone."""
        self._service = service
        self._db = db
        self._ask = ask
        self._last_said = last_said
        self._let_go = on_another_life
        self._consumers = tuple(topology.consumers(service))
        self._streams = dict.fromkeys(topic.stream for topic in topology.said_by(service))
        self._may_work = asyncio.Event()
        self._is_doubted = asyncio.Event()
        self._is_doubted.set()
        self._has_worked = False
        self._why = ""
        db.on_another_life = self._another_life
        metrics.HELD.labels("recovered").set(0)
        metrics.HELD.labels("lifted").set(0)

    @property
    def is_held(self) -> bool:
        return bool(self._why)

    @property
    def is_open(self) -> bool:
        """Whether work goes on."""
        return self._may_work.is_set()

    def why_not_ready(self) -> str:
        """Empty unless held: before the first look, webhooks and decisions are taken in as ever."""
        return self._why

    def refuse_when_held(self) -> None:
        """Raises Held: while held, what is said would take places that are taken."""
        if self._why:
            raise Held(self._why)

    async def gate(self) -> None:
        """Returns at once while the database is known to be the one; else when it is."""
        await self._may_work.wait()

    @asynccontextmanager
    async def when_sound(self) -> AsyncGenerator[None]:
        """For what is taken from outside: waits before it, and again when there was a doubt meanwhile."""
        await self.gate()
        yield
        await self.gate()

    def doubt(self) -> None:
        """Look before anything goes on."""
        self._may_work.clear()
        self._is_doubted.set()

    def _another_life(self) -> None:
        self.doubt()
        self._let_go()

    async def run(self) -> None:
        """Look for ever.

        Raises:
            DatabaseRestored: it was found while work was going on.
        """
        while True:
            self._is_doubted.clear()
            try:
                await self._look_again()
            except (*TRANSIENT, nats.errors.Error) as error:
                _log.warning("whether the database lost anything is not known yet", error=repr(error))
            if not self._may_work.is_set():
                await asyncio.sleep(HELD_SECONDS)
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._is_doubted.wait()

    async def _look_again(self) -> None:
        if self.is_held:
            async with self._db.autocommit() as tx:
                found = await tx.row(_OPEN_HOLD)
            if found is not None and found["recovered_at"] is None:
                return
            _log.warning("recovered: looking once more, then going on")
        self._show(await self.look())
        if self._has_worked and self.is_held:
            raise DatabaseRestored(self._why)
        if not self.is_held and not self._is_doubted.is_set():
            if not self.is_open:
                _log.info("the database knows all that was acknowledged")
            self._has_worked = True
            self._may_work.set()

    async def look(self) -> Row | None:
        """Compare, and begin a hold when something is lost; returns the open hold.

        Raises:
            TimeoutError: a consumer's state cannot be had.
        """
        async with self._db.autocommit() as tx:
            began = await tx.now()
        states = await asyncio.gather(*(self._ask(one) for one in self._consumers))
        floors = {one.topic.root: state for one, state in zip(self._consumers, states, strict=True)}
        # only before work goes on: a message may be large, and every ten seconds adds up
        words = [] if self.is_open else await asyncio.gather(*(self._last_said(one) for one in self._streams))
        async with self._db.autocommit() as tx:
            gone = await lost(tx, floors)
            gone += [one for word in words if word is not None and (one := await unsaid(tx, word)) is not None]
            if gone:
                await hold(tx, "; ".join(map(str, gone)), began)
            return await tx.row(_OPEN_HOLD)

    def _show(self, found: Row | None) -> None:
        metrics.HELD.labels("lifted").set(found is not None)
        if found is None or found["recovered_at"] is not None:
            metrics.HELD.labels("recovered").set(0)
            self._why = ""
            return
        metrics.HELD.labels("recovered").set(1)
        self._may_work.clear()
        if not self.is_held:
            self._why = (
                f"the database was restored to an older state: run `chancela recover {self._service}`"
                " (runbook database-restored.md)"
            )
            self._let_go()
            _log.error(self._why, lost=found["why"], since=found["since"].isoformat())
