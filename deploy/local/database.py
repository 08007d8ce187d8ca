"""Database, roles, passwords and schemas of an installation, for a superuser's connection. Idempotent."""

from pathlib import Path
from typing import Any

import asyncpg

from contracts import generate
from contracts.topology import SERVICES
from deploy.keys import RUNNING_KINDS, accepted_logins, login_in_use, other_login
from shared.migrate import migrate


async def create_database(admin_url: str, name: str) -> None:
    admin = await asyncpg.connect(admin_url)
    try:
        if not await admin.fetchval("select true from pg_database where datname = $1", name):
            await admin.execute(f"create database {name}")
    finally:
        await admin.close()


class StillUsed(Exception):  # noqa: N818 - names what holds the step up
    """Running processes use a login that is to be shut out; the message says which."""


async def create_roles(superuser_url: str, database: str, keys: Path, *, cut: bool = False) -> None:
    """Roles and schemas from the map; logins and passwords from the key folder, and nobody else gets in.

    Args:
        superuser_url: a connection to `database`.
        database: its name.
        keys: the folder of `create_keys`.
        cut: end the sessions of a login that is shut out, instead of refusing while there are any.

    Raises:
        StillUsed: a login that a rotation retires has open sessions; nothing of it was changed.
    """
    connection = await asyncpg.connect(superuser_url)
    try:
        await connection.execute(generate.postgres_roles())
        for service in SERVICES:
            owner = f"{service}_owner"
            await _let_in(connection, owner, login_in_use(keys, owner).password)
            for kind in RUNNING_KINDS:
                await _set_logins(connection, service, f"{service}_{kind}", keys, cut=cut)
        await connection.execute(generate.database_settings(database))
        roles = [f"{service}_{kind}" for service in SERVICES for kind in ("owner", *RUNNING_KINDS)]
        await connection.execute(f"grant connect on database {database} to {', '.join(roles)}")
    finally:
        await connection.close()


async def _set_logins(connection: Any, service: str, role: str, keys: Path, *, cut: bool) -> None:
    """Those of the folder get in, another one does not. The second one has the role's rights by membership."""
    accepted = accepted_logins(keys, role)
    second = other_login(role, role)
    if second in accepted and not await _exists(connection, second):
        await connection.execute(f"create role {second} login in role {role}")
        await connection.execute(f"alter role {second} set search_path = {service}")
    for name, password in accepted.items():
        await _let_in(connection, name, password)
    for name in (role, second):
        if name not in accepted and await _exists(connection, name):
            await _shut_out(connection, name, cut=cut)


async def _let_in(connection: Any, name: str, password: str | None) -> None:
    await connection.execute(f"alter role {name} login")
    if password is not None:
        literal = await connection.fetchval("select quote_literal($1::text)", password)
        await connection.execute(f"alter role {name} password {literal}")


async def _shut_out(connection: Any, name: str, *, cut: bool) -> None:
    users = await connection.fetch(
        "select pid, application_name from pg_stat_activity where usename = $1 order by backend_start", name
    )
    if users and not cut:
        programs = ", ".join(sorted({row["application_name"] or "unnamed" for row in users}))
        raise StillUsed(f"{name} is still used by {len(users)} sessions ({programs}): restart them, or give --cut")
    await connection.execute(f"alter role {name} nologin password null")
    await connection.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = $1", name)


async def _exists(connection: Any, name: str) -> bool:
    return await connection.fetchval("select exists (select from pg_roles where rolname = $1)", name)


async def migrate_all(urls: dict[str, str]) -> dict[str, list[str]]:
    """Bring each service's schema to this release; `urls` are the owners' connections."""
    return {service: await migrate(url, service) for service, url in urls.items()}
