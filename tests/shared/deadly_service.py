"""`python -m tests.shared.deadly_service FILE`: an operator whose handlers end the process at once for what is deadly.

Each run of a deadly handler leaves a line in FILE first, so that a test can count them.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from contracts.messages import ContactSeen
from shared import config, log
from shared.bus import Bus, Effects, Handlers, Heard, Job, Quick, Slow, no_facts
from shared.config import BusConfig
from shared.db import Database, Tx, Write
from tests.shared.world import hearing, write_effect

DEADLY = "deadly"
LONG = "long"
WORK = "work"
EXIT_CODE = 7


def die(what: str) -> None:
    """As a segmentation fault or the kernel's out-of-memory killer would: nothing is flushed, closed or told."""
    with Path(sys.argv[1]).open("a", encoding="utf-8") as file:
        file.write(f"{what}\n")
    os._exit(EXIT_CODE)


def on_contact_seen(heard: Heard[Any], facts: None) -> Effects:
    if heard.message.name == DEADLY:
        die("quick")
    return write_effect(heard, facts)


async def prepare(_tx: Tx, job: Job) -> str:
    return job.key


async def work(key: str) -> str:
    """Whatever runs beside a deadly one has begun when that ends the process."""
    if key == DEADLY:
        await asyncio.sleep(0.3)
        die("slow")
    if key.startswith(LONG):
        await asyncio.sleep(0.6)
    return key


async def finish(_tx: Tx, job: Job, _prepared: str, result: str) -> Effects:
    return Effects(writes=[Write("insert into effect (lane, value) values ($1, $2)", (job.key, result))])


def handlers() -> Handlers:
    return hearing("operator", Quick(ContactSeen, no_facts, on_contact_seen), slow=(Slow(WORK, prepare, work, finish),))


async def main() -> None:
    settings = config.load(BusConfig, config.environment())
    log.configure("operator", settings.log_level)
    db = await Database.connect(settings.database_url, schema="operator", name="deadly")
    await Bus("operator", settings, db, handlers()).run()


if __name__ == "__main__":
    asyncio.run(main())
