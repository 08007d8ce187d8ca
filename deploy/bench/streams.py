"""Streams large enough for a growth bench: the installation's own limit is 2 GiB each, of 36 GiB together."""

from collections.abc import Mapping
from typing import Any

from deploy.bench.servers import Servers
from deploy.keys import read_key
from deploy.local.bus import wanted_streams
from shared.bus.setup import EVERYTHING, Setup

GIB = 2**30
MESSAGE_BYTES = 1000
"""Payload, headers, subject and what the store keeps beside them, rounded up."""
GROWING = ("INGEST_CONTACTS", "OPERATOR_FACTS")


async def allow_growth(servers: Servers, messages: int) -> None:
    """Give the two streams of our hop room for so many messages, at the cost of the others."""
    if messages * MESSAGE_BYTES < 3 * GIB:
        return
    wanted: Mapping[str, Any] = wanted_streams()
    streams = [
        {**one, "max_bytes": messages * MESSAGE_BYTES if one["name"] in GROWING else GIB} for one in wanted["streams"]
    ]
    seed = read_key(servers.stack.layout.keys, "admin.nk")
    setup = await Setup.open(servers.nats.url, seed, {**wanted, "streams": streams})
    try:
        await setup.apply(EVERYTHING)
    finally:
        await setup.close()
