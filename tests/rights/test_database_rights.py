"""What each database role can do, tried on a real PostgreSQL with its own password.

Refused means InsufficientPrivilege from the server: a statement that fails for another reason proves nothing.
"""

from collections.abc import Iterator
from typing import Any

import asyncpg
import pytest

from deploy.local.ports import free_port
from deploy.local.postgres import start_postgres
from tests.harness import PASSWORD
from tests.rights.base import EVERYBODY, ROLES, Base
from tests.servers import short_directory


async def not_refused(connection: Any, statements: Iterator[str]) -> list[str]:
    """The statements that the server did not refuse for want of a right; none has an effect."""
    passed: list[str] = []
    for statement in statements:
        transaction = connection.transaction()
        await transaction.start()
        try:
            await connection.execute(statement)
            passed.append(f"{statement}: done")
        except asyncpg.InsufficientPrivilegeError:
            pass
        except asyncpg.PostgresError as error:
            passed.append(f"{statement}: {error!r}")
        finally:
            await transaction.rollback()
    return passed


# ---------------------------------------------------------------------------------------------------- other schemas


@pytest.mark.parametrize(("service", "kind"), ROLES)
async def test_no_role_touches_another_services_schema(base: Base, service: str, kind: str) -> None:
    tried = [one for schema, tables in base.tables.items() if schema != service for one in foreign(schema, tables)]
    assert len(tried) > 500
    async with base.connection(f"{service}_{kind}") as connection:
        assert await not_refused(connection, iter(tried)) == []


def foreign(schema: str, tables: list[str]) -> Iterator[str]:
    yield f"create table {schema}.evil ()"
    yield f"create view {schema}.evil as select 1"
    yield f"create function {schema}.evil() returns int language sql as 'select 1'"
    yield f"alter schema {schema} rename to evil"
    yield f"drop schema {schema} cascade"
    for table in tables:
        yield f"select * from {schema}.{table} limit 1"
        yield f"select count(*) from {schema}.{table}"
        yield f"insert into {schema}.{table} default values"
        yield f"delete from {schema}.{table} where false"
        yield f"truncate {schema}.{table}"
        yield f"lock table {schema}.{table} in access share mode"
        yield f"copy {schema}.{table} to stdout"
        yield f"alter table {schema}.{table} disable row level security"
        yield f"drop table {schema}.{table}"


@pytest.mark.parametrize("role", EVERYBODY)
async def test_no_role_becomes_another_or_leaves_the_database(base: Base, role: str) -> None:
    async with base.connection(role) as connection:
        assert await not_refused(connection, escapes(role)) == []


def escapes(role: str) -> Iterator[str]:
    for other in (*EVERYBODY, "postgres", "pg_read_all_data", "pg_execute_server_program"):
        if other != role:
            yield f"set role {other}"
            yield f"set session authorization {other}"
            yield f"grant {other} to {role}"
    yield from (f"alter role {role} {power}" for power in ("superuser", "bypassrls", "createrole", "createdb"))
    yield "create role evil"
    yield "create schema evil"
    yield "create table public.evil ()"
    yield "create extension dblink"
    yield "create publication evil for all tables"
    yield "copy (select 1) to program 'true'"
    yield "copy (select 1) to '/dev/null'"
    yield "select pg_read_file('PG_VERSION')"
    yield "select pg_ls_dir('.')"
    yield "select rolpassword from pg_authid"
    yield "select pg_reload_conf()"
    yield "set session_replication_role = replica"


async def test_no_role_has_a_power_over_the_server(base: Base) -> None:
    async with base.connection() as superuser:
        rows = await superuser.fetch(
            """select rolname from pg_roles r where rolname = any($1) and (rolsuper or rolbypassrls or rolcreaterole
               or rolcreatedb or rolreplication or exists (select from pg_auth_members m where m.member = r.oid))""",
            EVERYBODY,
        )
    assert [row["rolname"] for row in rows] == []


# -------------------------------------------------------------------------------------------------------- own schema


@pytest.mark.parametrize(("service", "kind"), [pair for pair in ROLES if pair[1] != "owner"])
async def test_a_running_service_cannot_change_its_own_schema(base: Base, service: str, kind: str) -> None:
    async with base.connection(f"{service}_{kind}") as connection:
        assert await not_refused(connection, changes(service, base.tables[service])) == []


def changes(schema: str, tables: list[str]) -> Iterator[str]:
    yield f"create table {schema}.evil ()"
    yield f"create view {schema}.evil as select 1"
    yield f"create function {schema}.evil() returns int language sql as 'select 1'"
    yield f"drop schema {schema} cascade"
    for table in tables:
        yield f"drop table {schema}.{table} cascade"
        yield f"truncate {schema}.{table} cascade"
        yield f"alter table {schema}.{table} add column evil int"
        yield f"alter table {schema}.{table} disable row level security"
        yield f"alter table {schema}.{table} no force row level security"
        yield f"alter table {schema}.{table} disable trigger user"
        yield f"create policy evil on {schema}.{table} using (true)"
        yield f"create index on {schema}.{table} ((1))"


# ------------------------------------------------------------------------------------------------- sign-in over TCP


async def test_the_superuser_cannot_sign_in_over_tcp() -> None:
    with short_directory() as directory:
        port = free_port()
        server = start_postgres(directory, port=port)
        try:
            for password in (None, "", "postgres", PASSWORD):
                with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
                    await asyncpg.connect(server.dsn("postgres", "postgres", password, over_tcp=True), ssl=False)
        finally:
            server.stop()


async def test_a_role_does_not_sign_in_with_anothers_password(base: Base) -> None:
    async with base.connection() as superuser:
        await superuser.execute("alter role operator_web password 'another'")
        try:
            with pytest.raises(asyncpg.InvalidPasswordError):
                await asyncpg.connect(base.server.dsn(base.name, "operator_web", PASSWORD))
        finally:
            await superuser.execute(f"alter role operator_web password '{PASSWORD}'")
