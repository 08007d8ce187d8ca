"""Handed-out secrets against real servers: what each party holds opens its own door, and no other."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

from contracts.topology import SERVICES
from deploy.handout import hand_out
from deploy.local.bus import wanted_streams
from deploy.local.database import create_roles
from deploy.local.nats import start_nats
from shared.bus.connection import Connection
from shared.bus.setup import Setup
from tests.harness import within
from tests.servers import PostgresServer, running_postgres

NATS_FOLDER = Path(__file__).resolve().parents[2] / "deploy" / "nats"


@pytest.fixture
def server() -> Iterator[PostgresServer]:
    """A server of its own: handing out changes the passwords of roles, which belong to the whole server."""
    with running_postgres("embedded") as started:
        yield started


@pytest.fixture
async def database(server: PostgresServer) -> str:
    name = f"handout_{uuid4().hex[:8]}"
    admin = await asyncpg.connect(server.admin_url)
    await admin.execute(f"create database {name}")
    await admin.close()
    return name


def held(keys: Path, party: str, name: str) -> str:
    return (keys / "for" / party / name).read_text(encoding="utf-8")


def test_a_second_hand_out_changes_no_secret_and_nobody_else_may_read_one(tmp_path: Path) -> None:
    hand_out(tmp_path, host="db", database="chancela")
    first = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    hand_out(tmp_path, host="db", database="chancela")
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == first
    assert {oct(path.stat().st_mode & 0o777) for path in first} == {"0o600"}


def test_no_two_services_hold_the_same_secret(tmp_path: Path) -> None:
    hand_out(tmp_path, host="db", database="chancela")
    seen: dict[str, str] = {}
    for service in SERVICES:
        for file in (tmp_path / "for" / service).iterdir():
            assert seen.setdefault(file.read_text(), service) == service, file.name


async def test_each_service_enters_the_database_as_itself(
    server: PostgresServer, database: str, tmp_path: Path
) -> None:
    hand_out(tmp_path, host="unused", database=database)
    await create_roles(server.dsn(database), database, tmp_path)
    for service in SERVICES:
        url = held(tmp_path, service, "database_url")
        user, _, password = url.removeprefix("postgresql://").partition("@")[0].partition(":")
        visitor = await asyncpg.connect(server.dsn(database, user, password))
        assert await visitor.fetchval("select current_user") == f"{service}_bus"
        await visitor.close()


async def test_the_server_configuration_knows_every_handed_out_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_out(tmp_path / "keys", host="db", database="chancela")
    shutil.copytree(NATS_FOLDER, tmp_path / "nats")
    shutil.copytree(tmp_path / "keys" / "for" / "nats", tmp_path / "nats-keys")
    monkeypatch.setenv("CHANCELA_NATS_NAME", "test")
    server = start_nats(
        tmp_path / "nats" / "nats.conf",
        log_file=tmp_path / "nats.log",
        options=["-a", "127.0.0.1", "-p", "-1", "-m", "-1", "-sd", str(tmp_path / "jetstream")],
    )
    try:
        setup = await Setup.open(server.url, held(tmp_path / "keys", "bus-admin", "nats_admin_seed"), wanted_streams())
        assert (await setup.apply()).left == []
        assert await setup.drift() == []
        await setup.close()
        for service in SERVICES:
            connection = Connection(server.url, held(tmp_path / "keys", service, "nats_seed"), service)
            await within(connection.open(), 10)
            await connection.close()
    finally:
        server.stop()
