"""A database that goes back to an older state, as a restored backup or a stale standby does."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import asyncpg

from deploy.keys import read_key
from deploy.local.bus import wanted_streams
from deploy.recovering import Recovered, lift, recover
from shared.bus.reading import Reader
from shared.bus.setup import Setup
from shared.db import Database
from tests.servers import PostgresServer
from tests.shared.world import World

ACK_WAIT_SECONDS = 1.5


async def copied(postgres: PostgresServer, database: str) -> str:
    """A copy of how it is now; whoever is connected is thrown out."""
    name = f"t_{uuid4().hex[:12]}"
    async with _admin(postgres) as admin:
        await _empty(admin, database)
        await admin.execute(f"create database {name} template {database} strategy file_copy")
        await _empty(admin, database, let_in=True)
    return name


async def put_back(postgres: PostgresServer, database: str, copy: str) -> None:
    """The database is its copy from now on, and whoever worked with it is cut off."""
    async with _admin(postgres) as admin:
        await _empty(admin, database)
        await admin.execute(f"drop database {database} with (force)")
        await admin.execute(f"alter database {copy} rename to {database}")


async def _empty(admin: Any, database: str, *, let_in: bool = False) -> None:
    await admin.execute(f"alter database {database} allow_connections {'true' if let_in else 'false'}")
    await admin.execute("select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1", database)


@asynccontextmanager
async def _admin(postgres: PostgresServer) -> AsyncGenerator[Any]:
    connection = await asyncpg.connect(postgres.dsn("postgres"))
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def superuser(world: World, service: str) -> AsyncGenerator[Database]:
    db = await Database.connect(world.postgres.dsn(world.database), schema=service, name="recover", max_size=2)
    try:
        yield db
    finally:
        await db.close()


async def recovered(world: World, service: str, *, is_dry: bool = False) -> Recovered:
    """As `chancela recover SERVICE` does."""
    admin = read_key(world.keys, "admin.nk")
    setup = await Setup.open(world.nats.url, admin, wanted_streams(), ack_wait_seconds=ACK_WAIT_SECONDS)
    reader = await Reader.open(world.nats.url, read_key(world.keys, f"{service}.nk"), service)
    try:
        async with superuser(world, service) as db:
            return await recover(setup, reader, db, service, who="ana", reason="a backup", is_dry=is_dry)
    finally:
        await reader.close()
        await setup.close()


async def lifted(world: World, service: str) -> Any:
    """As `chancela recover SERVICE --lift` does."""
    async with superuser(world, service) as db:
        return await lift(db, service, who="ana", reason="looked at the chats")


async def consumer(world: World, stream: str, durable: str) -> Any:
    """What the server knows of a consumer."""
    setup = await Setup.open(world.nats.url, read_key(world.keys, "admin.nk"), wanted_streams())
    try:
        return await setup.request(f"$JS.API.CONSUMER.INFO.{stream}.{durable}", {})
    finally:
        await setup.close()
