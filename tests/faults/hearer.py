"""`python -m tests.faults.hearer MUTANT`: the operator's side of the bus as a process that can be killed, one effect a
message. `none` is the real inbox; the others are what it would be without one of its laws.
"""
# a mutant takes the inbox apart:
# pyright: reportPrivateUsage=false

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from contracts import topology
from contracts.messages import ContactSeen
from shared import crash, log
from shared.bus import Bus, Effects, Handlers, Heard, Quick, inbox, no_facts
from shared.bus.inbox import Arrived, Delivered, Inbox, Lane
from shared.bus.outbox import Row
from shared.bus.pull import Pull, delivered
from shared.config import BusConfig, environment, load
from shared.db import Database, Write

SERVICE = "operator"


def write_effect(heard: Heard[Any], _facts: None) -> Effects:
    seen = heard.message
    return Effects(
        writes=[Write("insert into effect (lane, value) values ($1, $2)", (str(seen.contact_id), seen.name))]
    )


def handlers() -> Handlers:
    """One effect for each contact seen; the rest of what the operator hears is not said here."""
    others = tuple(m for topic in topology.heard_by(SERVICE) for m in topic.says if m is not ContactSeen)
    return Handlers(quick=(Quick(ContactSeen, no_facts, write_effect),), ignores=others)


class EffectsAfter(Inbox):
    """The positions are committed first; the effects follow in a transaction of their own."""

    async def take(self, batch: Sequence[Delivered]) -> tuple[list[Row], list[str]]:
        good, lanes = await self.prepared(batch)
        async with self._db.transaction() as tx:
            locked = await inbox._lock(tx, lanes)
            run = [one for one in good if one.seq == _advanced(locked, one)]
            await inbox._move(tx, locked)
        crash.point("mutant.between")
        async with self._db.transaction() as tx:
            rows = await self._run(tx, run)
        return rows, []

    async def prepared(self, batch: Sequence[Delivered]) -> tuple[list[Arrived], list[str]]:
        good = [one for one in map(self._arrive, batch) if isinstance(one, Arrived)]
        lanes = sorted({one.lane for one in good})
        async with self._db.autocommit() as tx:
            await tx.execute("insert into lane_in (lane) select unnest($1::text[]) on conflict do nothing", lanes)
        return good, lanes


class EffectsBefore(EffectsAfter):
    """The effects are committed first; the positions follow in a transaction of their own."""

    async def take(self, batch: Sequence[Delivered]) -> tuple[list[Row], list[str]]:
        good, lanes = await self.prepared(batch)
        async with self._db.transaction() as tx:
            locked = await inbox._lock(tx, lanes)
            rows = await self._run(tx, [one for one in good if one.seq == _advanced(locked, one)])
        crash.point("mutant.between")
        async with self._db.transaction() as tx:
            await inbox._move(tx, locked)
        return rows, []


class NoPositions(EffectsAfter):
    """Nobody looks whether a message was heard before."""

    async def take(self, batch: Sequence[Delivered]) -> tuple[list[Row], list[str]]:
        good, lanes = await self.prepared(batch)
        async with self._db.transaction() as tx:
            locked = await inbox._lock(tx, lanes)
            for one in good:
                _advanced(locked, one)
            rows = await self._run(tx, good)
            await inbox._move(tx, locked)
        return rows, []


def _advanced(lanes: Mapping[str, Lane], one: Arrived) -> int:
    """Move the lane past this message; its own position when it is the next one, else -1."""
    lane = lanes[one.lane]
    if one.seq < lane.next_seq:
        return -1
    lane.next_seq = one.seq + 1
    return one.seq


class AckFirst(Bus):
    """The stream is told before Postgres has it."""

    async def _hear(self, stream: str, pull: Pull) -> None:
        while True:
            messages = await pull.next_batch()
            for message in messages:
                await message.ack()
            await self._connection._client.flush()
            lanes = await self._take(delivered(messages))
            for lane in lanes:
                await self._drain(lane)


INBOXES = {"effects_after": EffectsAfter, "effects_before": EffectsBefore, "no_positions": NoPositions}


async def main(mutant: str) -> None:
    config = load(BusConfig, environment())
    log.configure(SERVICE, "warning")
    db = await Database.connect(config.database_url, schema=SERVICE, name="hearer")
    bus = (AckFirst if mutant == "ack_first" else Bus)(SERVICE, config, db, handlers())
    if mutant in INBOXES:
        real = bus._inbox
        bus._inbox = INBOXES[mutant](db, real._handling, real._digest_key, real._parked_after)
    await bus.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
