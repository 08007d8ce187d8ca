"""A migrated database with every service's schema, and connections as each of its roles."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from contracts.topology import SERVICES
from tests.harness import PASSWORD
from tests.servers import PostgresServer

KINDS = ("bus", "web", "owner")
ROLES = [(service, kind) for service in ("operator", *(one for one in SERVICES if one != "operator")) for kind in KINDS]
EVERYBODY = [f"{service}_{kind}" for service, kind in ROLES]


@dataclass
class Base:
    """A migrated database and the tables of each schema."""

    server: PostgresServer
    name: str
    tables: dict[str, list[str]]

    @asynccontextmanager
    async def connection(self, role: str | None = None) -> AsyncGenerator[Any]:
        """As a role with its password; without one, as the superuser."""
        dsn = self.server.dsn(self.name, role, PASSWORD) if role else self.server.dsn(self.name)
        connection = await asyncpg.connect(dsn, statement_cache_size=0)
        try:
            yield connection
        finally:
            await connection.close()
