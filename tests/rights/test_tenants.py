"""A page's connection sees one tenant, also when its query forgets to ask for one."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from uuid import UUID

import asyncpg
import pytest

from contracts.topology import SERVICES
from tests.rights.base import Base

MINE, THEIRS = UUID(int=1), UUID(int=2)
REFUSED = "refused"
SAMPLES = {
    "uuid": "gen_random_uuid()",
    "text": "'x'",
    "bigint": "1",
    "integer": "1",
    "boolean": "true",
    "bytea": "'\\x00'",
    "jsonb": "'{}'",
    "timestamp with time zone": "now()",
    "ARRAY": "'{}'",
}
KNOWN: Mapping[str, Mapping[str, str]] = {
    "approval.obligation": {"kind": "'reply'", "state": "'open'"},
    "approval.version": {
        "origin": "'agent'",
        "commitment": "repeat('0', 64)",
        "salt": "decode(repeat('00', 32), 'hex')",
    },
    "approval.utterance": {"direction": "'customer'"},
}
"""Columns whose checks a general sample does not pass."""
MUST_BE_TRIED = ("approval.person", "approval.conversation", "approval.obligation", "approval.version")


class TenantTable(NamedTuple):
    name: str
    needed: Mapping[str, str]
    """Columns that a row cannot do without → a value in SQL."""


async def tenant_tables(superuser: Any, service: str) -> list[TenantTable]:
    rows = await superuser.fetch(
        """select c.table_name, c.column_name, c.data_type from information_schema.columns c
           join information_schema.tables t using (table_schema, table_name)
           where c.table_schema = $1 and t.table_type = 'BASE TABLE' and c.is_nullable = 'NO'
             and c.column_default is null and c.is_identity = 'NO' and c.is_generated = 'NEVER'""",
        service,
    )
    found: dict[str, dict[str, str]] = {}
    for row in rows:
        found.setdefault(row["table_name"], {})[row["column_name"]] = SAMPLES.get(row["data_type"], "null")
    return [
        TenantTable(f"{service}.{name}", {**needed, **KNOWN.get(f"{service}.{name}", {})})
        for name, needed in sorted(found.items())
        if "tenant" in needed
    ]


def insert(table: TenantTable, tenant: UUID) -> str:
    values = {**table.needed, "tenant": f"'{tenant}'"}
    return f"insert into {table.name} ({', '.join(values)}) values ({', '.join(values.values())})"


@pytest.mark.parametrize("service", SERVICES)
async def test_row_level_security_is_forced_on_every_table_with_a_tenant(base: Base, service: str) -> None:
    async with base.connection() as superuser:
        rows = await superuser.fetch(
            """select c.relname, c.relrowsecurity and c.relforcerowsecurity as is_forced from pg_class c
               join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant' and not a.attisdropped
               where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p')""",
            service,
        )
    assert rows
    assert [row["relname"] for row in rows if not row["is_forced"]] == []


async def test_a_page_sees_and_changes_only_its_tenants_rows(base: Base) -> None:
    tried: list[str] = []
    for service in SERVICES:
        async with base.connection() as superuser, base.connection(f"{service}_web") as page:
            for table in await tenant_tables(superuser, service):
                if await planted(superuser, table):
                    tried.append(table.name)
                    assert await leaks(page, table) == []
    assert set(MUST_BE_TRIED) <= set(tried)
    assert len(tried) > 25


async def planted(superuser: Any, table: TenantTable) -> bool:
    """A row of each tenant, without foreign keys; False where a check wants more than samples."""
    try:
        async with superuser.transaction():
            await superuser.execute("set local session_replication_role = replica")
            await superuser.execute(insert(table, MINE))
            await superuser.execute(insert(table, THEIRS))
    except (asyncpg.IntegrityConstraintViolationError, asyncpg.DataError, asyncpg.SyntaxOrAccessError):
        return False
    return True


async def leaks(page: Any, table: TenantTable) -> list[str]:
    """Statements whose outcome is not the expected one."""
    name = table.name
    expected = {
        f"select from {name} where tenant <> '{MINE}'": "SELECT 0",
        f"delete from {name} where tenant = '{THEIRS}'": "DELETE 0",
        f"update {name} set tenant = tenant where tenant = '{THEIRS}'": "UPDATE 0",
        f"update {name} set tenant = '{THEIRS}'": REFUSED,
        insert(table, THEIRS): REFUSED,
    }
    outcomes = {statement: await outcome(page, statement) for statement in expected}
    outcomes["mine"] = await outcome(page, f"select from {name}")
    outcomes["nobody's"] = await outcome(page, f"select from {name}", "select set_config('app.tenant', '', true)")
    outcomes["unfiltered"] = await outcome(page, f"select from {name}", "set local row_security = off")
    expected |= {"mine": "SELECT 1", "nobody's": "SELECT 0", "unfiltered": REFUSED}
    return [f"{name}, {what}: {done}" for what, done in outcomes.items() if done != expected[what]]


async def outcome(page: Any, statement: str, setting: str = "select 1") -> str:
    """The server's word for what it did, undone afterwards."""
    transaction = page.transaction()
    await transaction.start()
    try:
        await page.execute("select set_config('app.tenant', $1, true)", str(MINE))
        await page.execute(setting)
        return await page.execute(statement)
    except (asyncpg.InsufficientPrivilegeError, asyncpg.RestrictViolationError):  # the second: append-only
        return REFUSED
    except asyncpg.PostgresError as error:
        return repr(error)
    finally:
        await transaction.rollback()
