"""A service without the right to be here, or to say what it says, ends at once and says why."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from contracts import topology
from deploy.keys import create_keys, public_nkeys, read_key
from deploy.local.nats import Nats
from shared.bus.connection import Connection, Refused
from shared.bus.outbox import Row
from tests.harness import within
from tests.rights.world import World

SECONDS = 10.0
pytestmark = pytest.mark.parametrize("world", [""], ids=["old acks"], indirect=True)


@asynccontextmanager
async def connected(world: World, service: str, *, as_service: str = "") -> AsyncGenerator[Connection]:
    """A service's connection, with the key of `service` and the name of `as_service`."""
    seed = read_key(world.keys, f"{service}.nk")
    connection = Connection(world.server.url, seed, as_service or service)
    await within(connection.open(), SECONDS)
    try:
        yield connection
    finally:
        await connection.close()


def reload_with(server: Nats, old: str, new: str) -> None:
    """Exchange a key in the running server's configuration."""
    config = server.log_file.with_name("nats.conf")
    config.write_text(config.read_text().replace(old, new))
    os.kill(server.pid, signal.SIGHUP)


async def test_a_key_that_the_server_does_not_know_is_refused_and_named(world: World, tmp_path: Path) -> None:
    create_keys(tmp_path)
    connection = Connection(world.server.url, read_key(tmp_path, "operator.nk"), "operator")
    try:
        with pytest.raises(Refused, match=r"operator.*(?i:authorization)"):
            await within(connection.open(), SECONDS)
    finally:
        await connection.close()


async def test_a_denied_publish_ends_the_process(world: World) -> None:
    subject = topology.subject(topology.BY_ROOT["send.cmd"], uuid4())
    async with connected(world, "operator") as connection:
        assert (await connection.publish([Row((0, 0, 1), uuid4(), subject, {}, b"x")])).taken == []
        with pytest.raises(Refused, match=r"(?i)refuses the identity of operator: .*publish to .*send\.cmd"):
            await within(asyncio.shield(connection.fatal), SECONDS)


async def test_another_services_key_under_an_own_name_ends_the_process(world: World) -> None:
    """The inbox that it subscribes to is not that key's."""
    async with connected(world, "operator", as_service="guardrails") as connection:
        with pytest.raises(Refused, match=r"(?i)refuses the identity of guardrails: .*subscription to"):
            await within(asyncio.shield(connection.fatal), SECONDS)


async def test_an_allowed_publish_is_acknowledged_and_ends_nothing(world: World) -> None:
    subject = topology.subject(topology.BY_ROOT["operator.cases"], uuid4())
    async with connected(world, "operator") as connection:
        assert [
            row.place for row in (await connection.publish([Row((0, 0, 7), uuid4(), subject, {}, b"x")])).taken
        ] == [(0, 0, 7)]
        assert not connection.fatal.done()


async def test_a_key_revoked_while_the_service_runs_ends_the_process(world: World, tmp_path: Path) -> None:
    local = world.server.local
    if local is None:
        pytest.skip("needs a server whose configuration this test may change")
    create_keys(tmp_path)
    async with connected(world, "operator") as connection:
        old, new = (public_nkeys(folder)["CHANCELA_NKEY_OPERATOR"] for folder in (world.keys, tmp_path))
        reload_with(local, old, new)
        with pytest.raises(Refused, match=r"operator.*(?i:authorization|authentication)"):
            await within(asyncio.shield(connection.fatal), SECONDS)
