"""The servers of the test session themselves."""

import asyncpg
import pytest

from tests.servers import PostgresServer, source_of


async def test_another_database_is_reached_as_its_own_role(postgres_server: PostgresServer) -> None:
    owner = await asyncpg.connect(postgres_server.admin_url)
    try:
        await owner.execute("CREATE ROLE librarian LOGIN PASSWORD 'p@ss/word'")
        await owner.execute('CREATE DATABASE "the library"')
        visitor = await asyncpg.connect(postgres_server.dsn("the library", "librarian", "p@ss/word"))
        where = await visitor.fetchrow("SELECT current_database(), current_user")
        await visitor.close()
    finally:
        await owner.execute('DROP DATABASE IF EXISTS "the library"')
        await owner.execute("DROP ROLE IF EXISTS librarian")
        await owner.close()
    assert where is not None
    assert tuple(where) == ("the library", "librarian")


def test_an_address_with_host_and_query_keeps_both_for_another_database() -> None:
    server = PostgresServer("postgresql://root:pw@db.example:5433/main?sslmode=require")
    assert server.dsn("other") == "postgresql://root:pw@db.example:5433/other?sslmode=require"
    assert server.dsn("other", "a", "b/c") == "postgresql://a:b%2Fc@db.example:5433/other?sslmode=require"


def test_a_server_named_by_the_environment_wins_over_an_embedded_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert source_of(None, "DATABASE_URL") == "embedded"
    monkeypatch.setenv("DATABASE_URL", "postgresql://elsewhere/main")
    assert source_of(None, "DATABASE_URL") == "environment"
    assert source_of("embedded", "DATABASE_URL") == "embedded"


def test_asking_for_the_environment_without_naming_a_server_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with pytest.raises(pytest.UsageError, match="DATABASE_URL"):
        source_of("environment", "DATABASE_URL")
