"""NATS as a laptop and the tests run it: one node, the generated accounts, the keys of one folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from contracts import generate
from deploy.keys import nats_users, read_key
from shared.bus.setup import EVERYTHING, Outcome, Setup

SERVER = """
server_name: local
max_payload: 262144
max_control_line: 4096
write_deadline: "5s"
ping_interval: "20s"
ping_max: 2
jetstream {{ max_mem: 64M, max_file: 40G, sync_interval: "{sync_interval}", strict: true }}
"""


def server_config(keys: Path, *, sync_interval: str = "10s") -> str:
    """Text of a nats-server configuration file; address and store folder come by flags."""
    return f"{nats_users(keys)}\n{SERVER.format(sync_interval=sync_interval)}\n{generate.nats_accounts()}"


def wanted_streams() -> Mapping[str, object]:
    return msgspec.json.decode(generate.streams())


async def apply_streams(
    url: str, keys: Path, *, ack_wait_seconds: float | None = None, wanted: Mapping[str, Any] | None = None
) -> Outcome:
    """Run the setup job, as for a new release on this machine: whatever differs is made as the map says."""
    wanted = wanted or wanted_streams()
    setup = await Setup.open(url, read_key(keys, "admin.nk"), wanted, ack_wait_seconds=ack_wait_seconds)
    try:
        return await setup.apply(EVERYTHING)
    finally:
        await setup.close()
