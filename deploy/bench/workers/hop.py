"""Our hop as it runs in production: a service's process (`shared.runtime`) with one quick handler.

`python -m deploy.bench.workers.hop TALLY [PROFILE]`: the environment is the operator's. One insert and one message said
for each message heard; ends at SIGTERM, then writes its tally, and what cProfile saw when a second file is named.
"""

import cProfile
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import traffic
from deploy.bench.tally import Tally
from shared.bus import Effects, Handlers, Heard, Quick
from shared.config import BusConfig
from shared.db import Tx, Write
from shared.runtime import Service, main

SERVICE = "operator"
INSERT = "insert into bench_effect (contact, name) values ($1, $2)"


def handlers(tally: Tally) -> Handlers:
    """Everything that the operator hears, of which only one message type is sent in a bench."""

    async def load(_tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[None]:
        tally.note(len(heard))
        return [None] * len(heard)

    others = tuple(m for topic in topology.heard_by(SERVICE) for m in topic.says if m is not ContactSeen)
    return Handlers(quick=(Quick(ContactSeen, load, on_seen),), ignores=others)


def on_seen(heard: Heard[ContactSeen], _facts: None) -> Effects:
    contact = heard.message.contact_id
    return Effects(
        writes=(Write(INSERT, (contact, heard.message.name)),),
        says=(traffic.fact(contact, heard.id),),
    )


def run(tally_file: Path, profile_file: Path | None) -> None:
    tally = Tally()
    service = Service(SERVICE, BusConfig, lambda _config: handlers(tally))
    if profile_file is None:
        main(service)
    else:
        profile = cProfile.Profile()
        profile.runcall(main, service)
        profile.dump_stats(profile_file)
    tally.write(tally_file)


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None)
