"""NATS as a laptop and the tests run it: one node, the generated accounts, the keys of one folder."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from contracts import generate
from deploy.keys import public_nkeys, read_key
from shared.bus.setup import Setup

SERVER = """
server_name: local
max_payload: 262144
max_control_line: 4096
write_deadline: "5s"
ping_interval: "20s"
ping_max: 2
jetstream {{ max_mem: 64M, max_file: 32G, sync_interval: "{sync_interval}", strict: true }}
"""


def server_config(keys: Path, *, sync_interval: str = "10s") -> str:
    """Text of a nats-server configuration file; address and store folder come by flags."""
    named = "\n".join(f"{name}: {value}" for name, value in public_nkeys(keys).items())
    return f"{named}\n{SERVER.format(sync_interval=sync_interval)}\n{generate.nats_accounts()}"


def wanted_streams() -> Mapping[str, object]:
    return msgspec.json.decode(generate.streams())


async def apply_streams(url: str, keys: Path, *, ack_wait_seconds: float | None = None) -> list[str]:
    """Run the setup job; returns what it changed."""
    setup = await Setup.open(url, read_key(keys, "admin.nk"), wanted_streams(), ack_wait_seconds=ack_wait_seconds)
    try:
        return await setup.apply()
    finally:
        await setup.close()
