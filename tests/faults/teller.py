"""`python -m tests.faults.teller MUTANT WHAT NAME`: ingest's side of the bus as a process that says things and may die.

- `sweeps`   says nothing: the pod that takes over what another one leaves
- `says`     so many rounds over the same lanes, as fast as it can, then lives on
- `greets`   once in a few lanes, then lives on
- `talks`    in a few lanes and a longer while, so that a lane's messages come one by one
- `late`     a transaction that stays open while later ones are published, then commits, and dies at once
- `frozen`   stops itself (SIGSTOP) inside an open transaction; woken, it commits, and dies at once
- `awakes`   stops itself before it says something; woken, it says it, and dies at once
- `aborts`   dies inside a transaction that it has not committed
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from uuid import UUID, uuid4, uuid5

from contracts.messages import ContactSeen
from shared import crash, log
from shared.bus import publisher
from shared.bus.connection import Connection
from shared.bus.outbox import Outbox, Said
from shared.bus.publisher import Publisher
from shared.config import BusConfig, environment, load
from shared.db import TRANSIENT, Database, Outcome, Tx
from tests.faults.mutants import become

SERVICE = "ingest"
TENANT = UUID(int=7)
LANES, ROUNDS = 40, 12
SILENT_SECONDS = 2.0
"""Shorter than in production, so that a test need not wait a quarter of a minute for a sweep."""
FEW_LANES = 10
TALK_PAUSE_SECONDS = 0.25
LATE_SECONDS = 2.5
"""Longer than a mark takes to be written."""


class Teller:
    """Says contacts: the lane is the contact, the name is who says it and how many times before."""

    def __init__(self, db: Database, outbox: Outbox, name: str) -> None:
        self._db = db
        self._outbox = outbox
        self._name = name
        self._count = 0

    @asynccontextmanager
    async def saying(self, *lanes: int) -> AsyncGenerator[Tx]:
        """An open transaction that says something in each lane."""
        await self._outbox.ready()
        async with self._db.transaction() as tx:
            self._count += 1
            name = f"{self._name} {self._count}"
            await self._outbox.append(tx, [Said(_seen(lane, name), uuid4(), "0", "") for lane in lanes])
            yield tx

    async def say(self, *lanes: int) -> None:
        async with self.saying(*lanes):
            pass

    async def sweeps(self) -> None:
        """Only the publisher works."""

    async def says(self) -> None:
        for _ in range(ROUNDS):
            await self.say(*range(LANES))

    async def greets(self) -> None:
        await self.say(*range(FEW_LANES))

    async def talks(self) -> None:
        for _ in range(2 * ROUNDS):
            await self.say(*range(FEW_LANES))
            await asyncio.sleep(TALK_PAUSE_SECONDS)

    async def late(self) -> None:
        async with self.saying(LANES) as tx:
            for _ in range(int(LATE_SECONDS / 0.1)):
                await self.say(*range(LANES))
                await asyncio.sleep(0.1)
            tx.when_over(die_if_planned)

    async def frozen(self) -> None:
        await self.say(*range(LANES))
        async with self.saying(LANES) as tx:
            os.kill(os.getpid(), signal.SIGSTOP)
            tx.when_over(die_if_planned)

    async def awakes(self) -> None:
        await self.say(*range(LANES))
        os.kill(os.getpid(), signal.SIGSTOP)
        while True:
            try:
                async with self.saying(LANES) as tx:
                    tx.when_over(die_if_planned)
            except TRANSIENT:  # it finds itself closed, and opens another writer
                continue

    async def aborts(self) -> None:
        await self.say(*range(LANES))
        async with self.saying(*range(LANES)):
            await asyncio.sleep(1.0)
            crash.point("teller.end")


def die_if_planned(outcome: Outcome) -> None:
    """In the very step in which the commit is answered: nothing else of this process runs after it."""
    if outcome is Outcome.COMMITTED:
        crash.point("teller.end")


def _seen(lane: int, name: str) -> ContactSeen:
    contact = uuid5(TENANT, str(lane))
    return ContactSeen(tenant=TENANT, contact_id=contact, channel_id=TENANT, name=name, has_phone=False, is_new=False)


async def main(mutant: str, what: str, name: str) -> None:

    become(mutant)
    publisher.SILENT_SECONDS = SILENT_SECONDS
    config = load(BusConfig, environment())
    log.configure(SERVICE, "info")
    db = await Database.connect(config.database_url, schema=SERVICE, name=name)
    connection = Connection(config.nats_url, config.nats_seed, SERVICE)
    await connection.open()
    outbox = Outbox(db)
    teller = Teller(db, outbox, name)
    acts: dict[str, Callable[[], Coroutine[None, None, None]]] = {
        "sweeps": teller.sweeps,
        "says": teller.says,
        "greets": teller.greets,
        "talks": teller.talks,
        "late": teller.late,
        "frozen": teller.frozen,
        "awakes": teller.awakes,
        "aborts": teller.aborts,
    }
    async with asyncio.TaskGroup() as group:
        group.create_task(Publisher(db, outbox, connection).run())
        await acts[what]()
        print("said all", flush=True)  # noqa: T201 - the test waits for it


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4]))
