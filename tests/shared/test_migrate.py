"""Migrations of a service that exists only here, on a real database."""

import asyncio
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import services
from contracts import topology
from shared.config import ConfigError
from shared.migrate import MigrationError, migrate, why_not_current
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import PostgresServer

SCHEMA = "create table note (id bigint primary key, tenant uuid not null, body text not null);"


class Toy:
    """A service called toy: its folder, its database."""

    def __init__(self, folder: Path, server: PostgresServer, database: str) -> None:
        self._folder = folder
        self._server = server
        self._database = database

    def write(self, name: str, sql: str) -> None:
        file = self._folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(sql)

    def url(self, kind: str = "owner", password: str = PASSWORD) -> str:
        return self._server.dsn(self._database, f"toy_{kind}", password)

    async def migrate(self, phase: str = "all") -> list[str]:
        return await migrate(self.url(), "toy", phase=phase)

    async def why_not(self) -> str:
        return await why_not_current(self.url("bus"), "toy")

    async def values(self, sql: str, *args: Any) -> list[Any]:
        connection = await asyncpg.connect(self.url(), server_settings={"search_path": "toy"})
        try:
            return [row[0] for row in await connection.fetch(sql, *args)]
        finally:
            await connection.close()


@pytest.fixture
async def toy(postgres_server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Toy]:
    database = await new_database(postgres_server, [])
    admin = await asyncpg.connect(postgres_server.dsn(database))
    for kind in ("owner", "bus", "web"):
        await admin.execute(f"create role toy_{kind} login password '{PASSWORD}'")
    await admin.execute("create schema toy authorization toy_owner")
    await admin.close()
    sys.modules.pop("services.toy", None)  # the one of the test before
    monkeypatch.setattr(services, "__path__", [*services.__path__, str(tmp_path)])
    made = Toy(tmp_path / "toy", postgres_server, database)
    made.write("__init__.py", "")
    made.write("schema.sql", SCHEMA)
    yield made
    await drop_database(postgres_server, database)
    admin = await asyncpg.connect(postgres_server.dsn("postgres"))
    await admin.execute("drop role toy_owner, toy_bus, toy_web")
    await admin.close()


async def test_a_new_database_gets_the_schema_and_counts_its_migrations_as_run(toy: Toy) -> None:
    toy.write("migrations/0001_pre_more.sql", "alter table note add column more text")
    assert await toy.migrate() == ["schema.sql"]
    assert await toy.migrate() == []
    assert await toy.why_not() == ""


async def test_each_phase_runs_its_own_migrations_once_and_in_order(toy: Toy) -> None:
    await toy.migrate()
    toy.write("migrations/0002_pre_b.sql", "alter table note add column b text")
    toy.write("migrations/0001_pre_a.sql", "alter table note add column a text")
    toy.write("migrations/0003_post_c.sql", "alter table note drop column body")
    assert await toy.migrate("pre") == ["0001_pre_a.sql", "0002_pre_b.sql"]
    assert await toy.migrate("pre") == []
    assert await toy.migrate("post") == ["0003_post_c.sql"]
    assert await toy.migrate() == []


async def test_a_release_waits_for_its_pre_migrations_and_not_for_its_post_ones(toy: Toy) -> None:
    assert "run: chancela migrate toy" in await toy.why_not()
    await toy.migrate()
    assert await toy.why_not() == ""
    toy.write("migrations/0001_post_a.sql", "select 1")
    assert await toy.why_not() == ""
    toy.write("migrations/0002_pre_b.sql", "select 1")
    assert "0002_pre_b.sql" in await toy.why_not()


async def test_a_migration_changed_after_it_ran_is_refused(toy: Toy) -> None:
    toy.write("migrations/0001_pre_a.sql", "alter table note add column a text")
    await toy.migrate()
    toy.write("migrations/0001_pre_a.sql", "alter table note add column a integer")
    with pytest.raises(MigrationError, match=r"0001_pre_a\.sql was changed"):
        await toy.migrate()


async def test_a_migration_without_a_phase_in_its_name_is_refused(toy: Toy) -> None:
    await toy.migrate()
    toy.write("migrations/0001_more.sql", "select 1")
    with pytest.raises(MigrationError, match=r"0001_more\.sql"):
        await toy.migrate("pre")


async def test_a_migration_that_fails_is_named_and_leaves_nothing(toy: Toy) -> None:
    await toy.migrate()
    toy.write("migrations/0001_pre_a.sql", "create table half (id int); select no_such_thing")
    with pytest.raises(MigrationError, match=r"toy/0001_pre_a.sql: .*no_such_thing"):
        await toy.migrate()
    assert await toy.values("select to_regclass('toy.half')") == [None]
    assert "0001_pre_a.sql" in await toy.why_not()


async def test_two_migrators_at_once_do_the_work_once(toy: Toy) -> None:
    done = await asyncio.gather(toy.migrate(), toy.migrate(), toy.migrate())
    assert sorted(done) == [[], [], ["schema.sql"]]


async def test_a_table_that_a_migration_adds_hides_other_tenants(toy: Toy) -> None:
    await toy.migrate()
    toy.write("migrations/0001_pre_a.sql", "create table later (tenant uuid not null)")
    await toy.migrate()
    assert await unprotected(toy) == []


@pytest.mark.parametrize("service", topology.SERVICES)
async def test_every_table_with_a_tenant_forces_row_level_security(
    postgres_server: PostgresServer, service: str
) -> None:
    name = await new_database(postgres_server, [service])
    connection = await asyncpg.connect(postgres_server.dsn(name))
    try:
        found = await connection.fetch(_UNPROTECTED, service)
        assert [row["relname"] for row in found] == []
    finally:
        await connection.close()
        await drop_database(postgres_server, name)


async def test_a_migration_does_not_queue_behind_traffic(toy: Toy) -> None:
    await toy.migrate()
    toy.write("migrations/0001_pre_a.sql", "alter table note add column a text")
    reader = await asyncpg.connect(toy.url("bus"), server_settings={"search_path": "toy"})
    try:
        async with reader.transaction():
            await reader.fetch("select * from note")
            with pytest.raises(MigrationError, match="lock timeout"):
                await toy.migrate()
    finally:
        await reader.close()
    assert await toy.migrate() == ["0001_pre_a.sql"]


async def test_a_wrong_password_names_the_variable(toy: Toy) -> None:
    with pytest.raises(ConfigError, match="CHANCELA_DATABASE_URL"):
        await why_not_current(toy.url("bus", "wrong"), "toy")


async def test_a_database_that_is_not_there_yet_is_waited_for(toy: Toy) -> None:
    assert "does not exist" in await why_not_current(f"{toy.url('bus')}".replace("/t_", "/none_"), "toy")


_UNPROTECTED = """
select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant'
where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and not (c.relrowsecurity and c.relforcerowsecurity)
"""


async def unprotected(toy: Toy) -> list[Any]:
    return await toy.values(_UNPROTECTED, "toy")


async def test_a_schema_of_before_the_first_release_is_named_and_left_alone(toy: Toy) -> None:
    await toy.migrate()
    toy.write("schema.sql", SCHEMA + " create table other (id bigint)")
    with pytest.raises(MigrationError, match="chancela dev --fresh"):
        await toy.migrate()
    assert await toy.values("select count(*) from note") == [0]
