"""Keys of one module, a server with the generated accounts, a database with every schema."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from contracts.topology import SERVICES
from deploy.keys import create_keys
from deploy.local.bus import server_config
from tests.harness import drop_database, new_database
from tests.rights.base import Base
from tests.rights.world import World, open_world
from tests.servers import NatsServerFactory, PostgresServer

NEW_ACKS = "\nfeature_flags { js_ack_fc_v2: true }\n"
"""Makes the server use the second form of acknowledgement subjects."""


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    create_keys(folder)
    return folder


@pytest.fixture(params=["", NEW_ACKS], ids=["old acks", "new acks"])
async def world(
    request: pytest.FixtureRequest, keys: Path, nats_server_factory: NatsServerFactory
) -> AsyncIterator[World]:
    """A server of its own for each test: an attacker leaves its own consumers in disorder."""
    server = nats_server_factory(server_config(keys) + request.param)
    async with open_world(server, keys) as opened:
        yield opened


@pytest.fixture(scope="package")
async def base(postgres_server: PostgresServer) -> AsyncIterator[Base]:
    name = await new_database(postgres_server)
    made = Base(postgres_server, name, {})
    async with made.connection() as superuser:
        rows = await superuser.fetch("select schemaname, tablename from pg_tables where schemaname = any($1)", SERVICES)
    for row in rows:
        made.tables.setdefault(row["schemaname"], []).append(row["tablename"])
    yield made
    await drop_database(postgres_server, name)
