"""What differs between a database and the one that this release makes: logins, owners, grants, policies, tables.

The yardstick is no list that could grow old: the same server gets a database of its own for a moment, the migrations
run there, and both are read as facts. The database that is looked at is only read.

Logins and passwords are repaired by `python -m deploy.roles`. A right or a policy that differs is for a person, who
first asks since when, and what was seen or changed meanwhile.
"""

import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import asyncpg

from contracts.topology import SERVICES
from deploy.keys import RUNNING_KINDS, other_login
from shared.migrate import migrate

ROLES = tuple(f"{service}_{kind}" for service in SERVICES for kind in ("owner", *RUNNING_KINDS))
SECONDS = {other_login(role, role): role for role in ROLES if not role.endswith("_owner")}
"""Second logins that a rotation makes → the role whose rights they have."""
RUN_ROLES = "run `python -m deploy.roles`"

_LOGINS = """
select r.rolname as name, r.rolcanlogin as may_log_in, r.rolvaliduntil < now() as is_expired,
  array_remove(array[case when r.rolsuper then 'superuser' end, case when r.rolbypassrls then 'bypassrls' end,
    case when r.rolcreaterole then 'createrole' end, case when r.rolcreatedb then 'createdb' end,
    case when r.rolreplication then 'replication' end], null) as powers,
  coalesce(a.rolpassword like 'SCRAM-SHA-256$%', false) as has_password,
  array(select g.rolname::text from pg_auth_members m join pg_roles g on g.oid = m.roleid where m.member = r.oid)
    as member_of
from pg_roles r join pg_authid a on a.oid = r.oid where r.rolname = any($1) order by 1
"""
_DATABASE = """
select acl.privilege_type as privilege,
  case acl.grantee when 0 then 'everybody' else acl.grantee::regrole::text end as grantee
from pg_database d, aclexplode(coalesce(d.datacl, acldefault('d', d.datdba))) acl
where d.datname = current_database() and acl.grantee <> d.datdba order by 1, 2
"""
_FACTS = """
with own as (select oid, nspname::text as s, nspowner, nspacl from pg_namespace where nspname = any($1)),
thing as (
  select c.*, own.s || '.' || c.relname as n from pg_class c join own on own.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f') and not c.relispartition
)
select format('schema %s belongs to %s', s, nspowner::regrole) from own
union all select format('%s may %s on schema %s', g.who, privilege_type, s)
  from own, aclexplode(nspacl) a, lateral (select case a.grantee when 0 then 'everybody'
    else a.grantee::regrole::text end as who) g
union all select format('%s belongs to %s', n, relowner::regrole) from thing
union all select format('%s may %s on %s', g.who, privilege_type, n)
  from thing, aclexplode(relacl) a, lateral (select case a.grantee when 0 then 'everybody'
    else a.grantee::regrole::text end as who) g
union all select format('%s may %s on %s (%s)', g.who, a.privilege_type, n, t.attname)
  from thing join pg_attribute t on t.attrelid = thing.oid, aclexplode(t.attacl) a,
    lateral (select case a.grantee when 0 then 'everybody' else a.grantee::regrole::text end as who) g
union all select format('row-level security is forced on %s', n) from thing where relrowsecurity and relforcerowsecurity
union all select format('row-level security on %s: policy %s, %s %s to %s using %s check %s', n, policyname, permissive,
  cmd, roles, qual, with_check) from pg_policies p join thing on n = p.schemaname || '.' || p.tablename
union all select format('%s has the column %s %s%s %s', n, attname, format_type(atttypid, atttypmod),
  case when attnotnull then ' not null' else '' end, pg_get_expr(adbin, adrelid))
  from thing join pg_attribute t on t.attrelid = thing.oid left join pg_attrdef d on d.adrelid = thing.oid
    and d.adnum = t.attnum where t.attnum > 0 and not t.attisdropped and relkind <> 'S'
union all select format('%s has the rule %s: %s', n, conname, pg_get_constraintdef(o.oid))
  from thing join pg_constraint o on o.conrelid = thing.oid
union all select format('%s has the index %s', n, pg_get_indexdef(indexrelid))
  from thing join pg_index i on i.indrelid = thing.oid where indisvalid
union all select format('%s has the trigger %s, enabled %s', n, pg_get_triggerdef(t.oid), tgenabled)
  from thing join pg_trigger t on t.tgrelid = thing.oid where not tgisinternal
union all select format('function %s.%s(%s) belongs to %s, %s, text %s', s, proname,
  pg_get_function_identity_arguments(p.oid), proowner::regrole,
  case when prosecdef then 'runs with its owner''s rights' else 'runs with its caller''s rights' end, md5(prosrc))
  from pg_proc p join own on own.oid = p.pronamespace
"""


async def database_drift(superuser_url: str) -> list[str]:
    """A line for each difference; empty when there is none.

    Args:
        superuser_url: a superuser's connection to the database of the six services.
    """
    connection = await asyncpg.connect(superuser_url, timeout=10, server_settings={"search_path": ""})
    try:
        lines = list(_logins(await connection.fetch(_LOGINS, [*ROLES, *SECONDS])))
        if lines:
            return lines  # the yardstick needs the roles
        lines += _database(await connection.fetch(_DATABASE))
        is_so = await _facts(connection)
        should_be = await _facts_of_this_release(connection, superuser_url)
    finally:
        await connection.close()
    return [
        *lines,
        *(f"missing: {one}" for one in sorted(should_be - is_so)),
        *(f"not ours: {one}" for one in sorted(is_so - should_be)),
    ]


async def _facts(connection: Any) -> set[str]:
    return {row[0].rstrip() for row in await connection.fetch(_FACTS, list(SERVICES))}


async def _facts_of_this_release(connection: Any, superuser_url: str) -> set[str]:
    name = f"chancela_yardstick_{secrets.token_hex(4)}"
    await connection.execute(f"create database {name}")
    try:
        return await _facts_of_fresh(_in_database(superuser_url, name))
    finally:
        await connection.execute(f"drop database {name} with (force)")


async def _facts_of_fresh(url: str) -> set[str]:
    fresh = await asyncpg.connect(url, timeout=10, server_settings={"search_path": ""})
    try:
        for service in SERVICES:
            await fresh.execute(f"create schema {service} authorization {service}_owner")
            await migrate(_as_role(url, f"{service}_owner"), service)
        return await _facts(fresh)
    finally:
        await fresh.close()


def _in_database(url: str, name: str) -> str:
    """By hand: urlunsplit drops the empty host of a socket's address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}/{quote(name)}" + (f"?{parts.query}" if parts.query else "")


def _as_role(url: str, role: str) -> str:
    """A superuser's connection that acts as another role from its start; unknown words of a query are settings."""
    parts = urlsplit(url)
    query = urlencode([*parse_qsl(parts.query), ("role", role)], safe="/")
    return f"{parts.scheme}://{parts.netloc}{parts.path}?{query}"


# ------------------------------------------------------------------------------------------------- of the whole server


def _logins(rows: list[Any]) -> Iterator[str]:
    known = {row["name"]: row for row in rows}
    enters = {SECONDS.get(name, name) for name, row in known.items() if row["may_log_in"] and row["has_password"]}
    for role in ROLES:
        if role not in known:
            yield f"role {role} is missing: {RUN_ROLES}"
        elif role not in enters:
            yield f"role {role} has no login that can enter: {RUN_ROLES}"
    for name, row in known.items():
        yield from _powers(name, row)
        if row["may_log_in"]:
            yield from _password(name, row)


def _powers(name: str, row: Any) -> Iterator[str]:
    for power in row["powers"]:
        yield f"role {name} has the power {power}: `alter role {name} no{power}`"
    for other in row["member_of"]:
        if other != SECONDS.get(name):
            yield f"role {name} is a member of {other}: `revoke {other} from {name}`"
    if name in SECONDS and SECONDS[name] not in row["member_of"]:
        yield f"role {name} is no member of {SECONDS[name]}: `grant {SECONDS[name]} to {name}`"


def _password(name: str, row: Any) -> Iterator[str]:
    if row["is_expired"]:
        yield f"role {name} has a password that has expired: `alter role {name} valid until 'infinity'`"
    if not row["has_password"]:
        yield f"role {name} may log in without a SCRAM password: {RUN_ROLES}"


def _database(rows: list[Any]) -> Iterator[str]:
    connects = {row["grantee"] for row in rows if row["privilege"] == "CONNECT"}
    for role in ROLES:
        if role not in connects:
            yield f"role {role} may not connect to this database: {RUN_ROLES}"
    for row in rows:
        if row["grantee"] == "everybody":
            yield f"everybody may {row['privilege']} on this database: {RUN_ROLES}"
        elif row["grantee"] in ROLES and row["privilege"] != "CONNECT":
            yield f"role {row['grantee']} may {row['privilege']} on this database: revoke it"
