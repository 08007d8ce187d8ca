"""What the peers' workers share: their arguments, and the event loop that our services use too."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, NamedTuple


class Arguments(NamedTuple):
    nats_url: str
    database_url: str
    messages: int
    tally_file: str


def arguments() -> Arguments:
    nats_url, database_url, messages, tally_file = sys.argv[1:5]
    return Arguments(nats_url, database_url, int(messages), tally_file)


def run(main: Coroutine[Any, Any, None]) -> None:
    import uvloop  # noqa: PLC0415 - as shared.runtime does

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(main)
