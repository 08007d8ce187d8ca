"""Schema of a service: `schema.sql` for a new database, numbered migrations for one that exists.

Laws
- One migrator at a time (advisory lock); `lock_timeout` 4 s, so that a migration never queues behind traffic.
- `NNNN_pre_*.sql` run before the new code, `NNNN_post_*.sql` after the old code is gone.
- An applied migration's text is fixed: another hash stops the run.
- Every table with a `tenant` column gets forced row-level security here, so that it cannot be forgotten.
"""

import hashlib
import re
from importlib.resources import files
from typing import TYPE_CHECKING, NamedTuple

import asyncpg

from shared.config import ConfigError

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

BASELINE = "schema.sql"
_NAME = re.compile(r"\d{4}_(pre|post)_\w+\.sql")

_RIGHTS = """
do $$
declare t record;
begin
  execute format('grant usage on schema %I to %I, %I', '{s}', '{s}_bus', '{s}_web');
  execute format('grant select, insert, update, delete on all tables in schema %I to %I, %I',
    '{s}', '{s}_bus', '{s}_web');
  -- pages write to the bus and never read from it: other tenants' messages pass there
  execute format('revoke all on inbox, heard, quarantine, lane_in, migration, repair, hold from %I', '{s}_web');
  execute format('revoke all on outbox, outbox_again, outbox_writer from %I', '{s}_web');
  execute format('grant insert on outbox to %I', '{s}_web');
  execute format('revoke insert, update, delete on said_before from %I', '{s}_web');
  -- a process may begin a hold; only a person lifts it (`chancela recover`)
  execute format('revoke update, delete on hold from %I', '{s}_bus');
  execute format('grant update (recovered_at, why) on hold to %I', '{s}_bus');
  -- a writer's row is held while its transaction lasts, which needs the right to update some column of it
  execute format('grant select (writer, closed_at), update (seen_at) on outbox_writer to %I', '{s}_web');
  execute format('grant usage on all sequences in schema %I to %I, %I', '{s}', '{s}_bus', '{s}_web');
  for t in select c.table_name from information_schema.columns c join information_schema.tables b
      on b.table_schema = c.table_schema and b.table_name = c.table_name and b.table_type = 'BASE TABLE'
      where c.table_schema = '{s}' and c.column_name = 'tenant'
  loop
    execute format('alter table {s}.%I enable row level security', t.table_name);
    execute format('alter table {s}.%I force row level security', t.table_name);
    execute format('drop policy if exists bus_sees_all on {s}.%I', t.table_name);
    execute format('drop policy if exists web_sees_its_tenant on {s}.%I', t.table_name);
    execute format('create policy bus_sees_all on {s}.%I to {s}_bus, {s}_owner using (true) with check (true)',
      t.table_name);
    execute format('create policy web_sees_its_tenant on {s}.%I to {s}_web
      using (tenant = nullif(current_setting(''app.tenant'', true), '''')::uuid)
      with check (tenant = nullif(current_setting(''app.tenant'', true), '''')::uuid)', t.table_name);
  end loop;
end $$;
"""


class MigrationError(Exception):
    """The schema cannot be brought to this release; the message says which file and why."""


class Step(NamedTuple):
    """A file of SQL with the hash of its text."""

    name: str
    sql: str
    sha256: str


def steps(service: str) -> tuple[Step, list[Step]]:
    """The baseline and the migrations of a service, in order."""
    root = files(f"services.{service}")
    bus = files("shared.bus").joinpath("tables.sql").read_text(encoding="utf-8")
    pages = files("shared.web").joinpath("tables.sql").read_text(encoding="utf-8") if _has_pages(root) else ""
    own = root.joinpath(BASELINE).read_text(encoding="utf-8")
    baseline = _step(BASELINE, f"{bus}\n{pages}{own}")
    folder = root.joinpath("migrations")
    found: list[Traversable] = [f for f in folder.iterdir() if f.name.endswith(".sql")] if folder.is_dir() else []
    for file in found:
        if _NAME.fullmatch(file.name) is None:
            raise MigrationError(f"{service}/migrations/{file.name}: call it NNNN_pre_what.sql or NNNN_post_what.sql")
    return baseline, [_step(f.name, f.read_text(encoding="utf-8")) for f in sorted(found, key=lambda f: f.name)]


def _has_pages(root: "Traversable") -> bool:
    return root.joinpath("web").is_dir()


def _step(name: str, sql: str) -> Step:
    return Step(name, sql, hashlib.sha256(sql.encode()).hexdigest())


async def migrate(url: str, service: str, *, phase: str = "all") -> list[str]:
    """Bring a service's schema to this release; returns the names of what ran.

    Args:
        url: a connection of the role `<service>_owner`.
        service: whose schema.
        phase: `pre`, `post` or `all`.

    Raises:
        MigrationError: an applied file was changed, or a statement failed.
    """
    connection = await asyncpg.connect(url, command_timeout=600)
    try:
        await connection.execute("select pg_advisory_lock(hashtext($1))", f"chancela:{service}")
        await connection.execute(f"set search_path to {service}; set lock_timeout = '4s'")
        return await _bring(connection, service, phase)
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{service}: {error}") from error
    finally:
        await connection.close(timeout=5)


async def _bring(connection: "asyncpg.Connection[asyncpg.Record]", service: str, phase: str) -> list[str]:
    await connection.execute(
        """create table if not exists migration
             (name text primary key, sha256 text not null, at timestamptz not null default now())"""
    )
    applied = {row["name"]: row["sha256"] for row in await connection.fetch("select name, sha256 from migration")}
    baseline, migrations = steps(service)
    if BASELINE not in applied:
        await _apply(connection, service, baseline, also=migrations)
        return [baseline.name]
    if not migrations and applied[BASELINE] != baseline.sha256:
        raise MigrationError(
            f"{service}: this schema was made before the first release and cannot be brought to it; start anew"
            " (on a laptop: chancela dev --fresh)"
        )
    done: list[str] = []
    for step in migrations:
        if applied.get(step.name, step.sha256) != step.sha256:
            raise MigrationError(f"{service}/migrations/{step.name} was changed after it ran; write a new migration")
        wanted = phase == "all" or f"_{phase}_" in step.name
        if step.name not in applied and wanted:
            await _apply(connection, service, step, also=[])
            done.append(step.name)
    return done


async def _apply(
    connection: "asyncpg.Connection[asyncpg.Record]", service: str, step: Step, *, also: list[Step]
) -> None:
    async with connection.transaction():
        await _execute(connection, service, step)
        await connection.execute(_RIGHTS.replace("{s}", service))
        await connection.executemany(
            "insert into migration (name, sha256) values ($1, $2)", [(one.name, one.sha256) for one in (step, *also)]
        )


async def _execute(connection: "asyncpg.Connection[asyncpg.Record]", service: str, step: Step) -> None:
    try:
        await connection.execute(step.sql)
    except asyncpg.PostgresError as error:
        raise MigrationError(f"{service}/{step.name}: {error}") from error


async def why_not_current(url: str, service: str) -> str:
    """Empty when the schema is this release's; else what is missing. Newer migrations than ours are fine."""
    try:
        connection = await asyncpg.connect(url, timeout=5, server_settings={"search_path": service})
    except asyncpg.InvalidCatalogNameError as error:
        return f"{error}; the setup job makes it"
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.ClientConfigurationError) as error:
        raise ConfigError(f"CHANCELA_DATABASE_URL: {error}") from error
    except ConnectionError as error:
        if "rejected SSL upgrade" in str(error):
            raise ConfigError("CHANCELA_DATABASE_URL asks for TLS (sslmode), and the server has none") from error
        raise
    try:
        applied = {row["name"] for row in await connection.fetch("select name from migration")}
    except asyncpg.PostgresError as error:
        return f"schema {service} is not there yet ({error}); run: chancela migrate {service}"
    finally:
        await connection.close(timeout=5)
    baseline, migrations = steps(service)
    missing = [step.name for step in (baseline, *migrations) if step.name not in applied and "_post_" not in step.name]
    return f"schema {service} lacks {', '.join(missing)}; run: chancela migrate {service}" if missing else ""
