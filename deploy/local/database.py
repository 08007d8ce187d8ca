"""Database, roles, passwords and schemas of an installation, for a superuser's connection. Idempotent."""

from pathlib import Path

import asyncpg

from contracts import generate
from contracts.topology import SERVICES
from deploy.keys import read_key
from shared.migrate import migrate


async def create_database(admin_url: str, name: str) -> None:
    admin = await asyncpg.connect(admin_url)
    try:
        if not await admin.fetchval("select true from pg_database where datname = $1", name):
            await admin.execute(f"create database {name}")
    finally:
        await admin.close()


async def create_roles(superuser_url: str, database: str, keys: Path) -> None:
    """Roles and schemas from the map; passwords from the key folder."""
    connection = await asyncpg.connect(superuser_url)
    try:
        await connection.execute(generate.postgres_roles())
        roles = [f"{service}_{kind}" for service in SERVICES for kind in ("owner", "bus", "web")]
        for role in roles:
            password = read_key(keys, f"{role}.password")
            literal = await connection.fetchval("select quote_literal($1::text)", password)
            await connection.execute(f"alter role {role} password {literal}")
        await connection.execute(generate.database_settings(database))
        await connection.execute(f"grant connect on database {database} to {', '.join(roles)}")
    finally:
        await connection.close()


async def migrate_all(urls: dict[str, str]) -> dict[str, list[str]]:
    """Bring each service's schema to this release; `urls` are the owners' connections."""
    return {service: await migrate(url, service) for service, url in urls.items()}
