"""`python -m tests.faults.hearer MUTANT`: the operator's side of the bus as a process, one effect a message.

`FAULTS_HANDLES` says how a message is handled: `quick` (the default), `lingering` (a batch takes a moment, so that two
pods meet in it) or `slow` (under a lease; the first one stops its own process by SIGSTOP in the middle of its work).
"""

import asyncio
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contracts import topology
from contracts.messages import ContactSeen
from shared import db, log
from shared.bus import Bus, Effects, Handlers, Heard, Job, Quick, Slow, no_facts
from shared.config import BusConfig, environment, load
from shared.db import Database, Tx, Write
from tests.faults.mutants import become

SERVICE = "operator"
HANDLES = "FAULTS_HANDLES"
STOPS_ONCE = "FAULTS_STOPS_ONCE"
"""A file that says that somebody has stopped already."""
LINGER_SECONDS = 0.3
CALM_SECONDS = 1.5
"""Until nothing else goes on in the process: it is to stop in its work, not in the middle of another transaction."""
IDLE_IN_TRANSACTION_SECONDS = 2
"""Shorter than in production: who stops may stop inside a transaction, and holds its locks for as long."""


def effect(seen: ContactSeen) -> Effects:
    write = Write("insert into effect (lane, value) values ($1, $2)", (str(seen.contact_id), seen.name))
    return Effects(writes=[write])


def decide(heard: Heard[Any], _facts: object) -> Effects:
    return effect(heard.message)


async def linger(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[None]:
    del tx
    await asyncio.sleep(LINGER_SECONDS)
    return [None] * len(heard)


async def prepare(tx: Tx, job: Job) -> ContactSeen:
    del tx
    message = topology.decode(topology.BY_MESSAGE[ContactSeen], job.payload)
    assert isinstance(message, ContactSeen)
    return message


async def work(seen: ContactSeen) -> ContactSeen:
    """The first of all pods to come here stops in the middle of it, until somebody wakes it."""
    if is_first(Path(environment()[STOPS_ONCE])):
        await asyncio.sleep(CALM_SECONDS)
        os.kill(os.getpid(), signal.SIGSTOP)
    return seen


def is_first(mark: Path) -> bool:
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


async def finish(tx: Tx, job: Job, seen: ContactSeen, _result: ContactSeen) -> Effects:
    del tx, job
    return effect(seen)


def handlers(handles: str) -> Handlers:
    """One effect for each contact seen; the rest of what the operator hears is not said here."""
    others = tuple(m for topic in topology.heard_by(SERVICE) for m in topic.says if m is not ContactSeen)
    if handles == "slow":
        return Handlers(slow=(Slow(ContactSeen, prepare, work, finish),), ignores=others)
    load_facts = linger if handles == "lingering" else no_facts
    return Handlers(quick=(Quick(ContactSeen, load_facts, decide),), ignores=others)


async def main(mutant: str) -> None:
    become(mutant)
    db.IDLE_IN_TRANSACTION_SECONDS = IDLE_IN_TRANSACTION_SECONDS
    config = load(BusConfig, environment())
    log.configure(SERVICE, "info")
    database = await Database.connect(config.database_url, schema=SERVICE, name="hearer")
    bus = Bus(SERVICE, config, database, handlers(environment().get(HANDLES, "quick")))
    async with asyncio.TaskGroup() as group:
        group.create_task(bus.run())
        while not bus.is_connected:  # noqa: ASYNC110 - the bus tells nobody when it is
            await asyncio.sleep(0.05)
        print("started", flush=True)  # noqa: T201 - the test may wait for it


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
