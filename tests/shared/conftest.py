"""A world of its own for each test: server, streams, keys, database."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deploy.keys import create_keys
from deploy.local.bus import apply_streams, server_config
from shared.db import Database
from tests.harness import drop_database, new_database
from tests.servers import NatsServerFactory, PostgresServer
from tests.shared.world import World, open_schema


@pytest.fixture
async def world(
    postgres_server: PostgresServer, nats_server_factory: NatsServerFactory, tmp_path: Path
) -> AsyncIterator[World]:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path))
    await apply_streams(server.url, tmp_path, ack_wait_seconds=1.5)
    database = await new_database(postgres_server, [])
    yield World(postgres_server, server, tmp_path, database)
    await drop_database(postgres_server, database)


@pytest.fixture
async def operator_db(postgres_server: PostgresServer) -> AsyncIterator[Database]:
    """The operator's bus tables alone, without a bus."""
    name = await new_database(postgres_server, [])
    db = await open_schema(postgres_server, name, "operator")
    yield db
    await db.close()
    await drop_database(postgres_server, name)
