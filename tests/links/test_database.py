"""Links to Postgres that break, and PgBouncer between: bounded waits, and a pool that heals (see test_reports)."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import pytest

from deploy.local.processes import Child, Command
from deploy.local.unprivileged import give_folder, run_as, server_account
from shared import db as db_module
from shared.db import TRANSIENT, Database
from tests.deploy.programs import free_port
from tests.harness import PASSWORD, drop_database, new_database, within
from tests.links.proxy import Proxy
from tests.servers import PostgresServer, short_directory

BOUND_SECONDS = 30.0
"""Far more than the command's and the acquire's timeouts together, as the tests set them; far less than for ever."""


@pytest.fixture
async def dsn(postgres_server: PostgresServer) -> AsyncIterator[str]:
    """Of the operator's bus role on a database of its own."""
    name = await new_database(postgres_server, ["operator"])
    yield postgres_server.dsn(name, "operator_bus", PASSWORD)
    await drop_database(postgres_server, name)


@pytest.fixture
async def proxy(dsn: str) -> AsyncIterator[Proxy]:
    """To Postgres."""
    async with Proxy.to(dsn) as proxy:
        yield proxy


@asynccontextmanager
async def opened(url: str, *, size: int = 4, cache: int = 512) -> AsyncGenerator[Database]:
    db = await Database.connect(url, schema="operator", name="links", max_size=size, statement_cache_size=cache)
    try:
        yield db
    finally:
        await within(db.close(), BOUND_SECONDS)


@pytest.fixture
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(db_module, "COMMAND_SECONDS", 1.0)
    monkeypatch.setattr(db_module, "ACQUIRE_SECONDS", 1.0)


async def ask(db: Database) -> int:
    async with db.transaction() as tx:
        return await tx.value("select 7")


async def fails_soon(db: Database) -> None:
    """With an error that a retry may heal, and by itself: not because this test loses patience."""
    asking = asyncio.create_task(ask(db))
    done, _ = await asyncio.wait({asking}, timeout=BOUND_SECONDS)
    assert done, "it hangs"
    assert isinstance(asking.exception(), TRANSIENT)


async def heals(db: Database) -> None:
    """Within bounds, whatever is left of the broken links."""
    async with asyncio.timeout(BOUND_SECONDS):
        while True:
            with suppress(*TRANSIENT):
                if await ask(db) == 7:
                    return
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("new", [False, True], ids=["these links", "every link"])
async def test_a_silent_database_is_a_transient_error_in_bounded_time_and_the_pool_heals(
    proxy: Proxy, short_patience: None, new: bool
) -> None:
    async with opened(proxy.url) as db:
        assert await ask(db) == 7
        proxy.freeze(new=new)
        await fails_soon(db)
        assert not await within(db.is_alive(), BOUND_SECONDS) or not new
        proxy.cut()
        proxy.thaw()
        await heals(db)


async def test_a_link_cut_in_a_transaction_is_transient_and_the_pool_heals(proxy: Proxy) -> None:
    async with opened(proxy.url) as db:
        async with asyncio.timeout(BOUND_SECONDS):
            await is_cut(db, proxy)
        await heals(db)


async def is_cut(db: Database, proxy: Proxy) -> None:
    with suppress(*TRANSIENT):
        async with db.transaction() as tx:
            assert await tx.value("select 7") == 7
            proxy.cut()
            await tx.value("select 8")
        raise AssertionError("a statement went over a link that was cut")


async def test_a_connection_that_cannot_be_given_back_does_not_unsay_what_was_done(
    proxy: Proxy, short_patience: None
) -> None:
    async with opened(proxy.url, size=1) as db:
        async with db.autocommit() as tx:
            assert await tx.value("select 7") == 7
            proxy.freeze()
        await heals(db)


async def test_work_cancelled_while_its_connection_is_given_back_keeps_no_connection(
    proxy: Proxy, short_patience: None
) -> None:
    """A#431. All connections, so that one that is kept would be missed."""
    async with opened(proxy.url, size=2) as db:
        holding = asyncio.Semaphore(0)

        async def work() -> None:
            async with db.transaction() as tx:
                await tx.value("select 7")
                holding.release()
                await tx.value("select pg_sleep(0.2)")

        workers = [asyncio.create_task(work()) for _ in range(2)]
        for _ in workers:
            await holding.acquire()
        proxy.freeze()
        await asyncio.sleep(0.3)  # now they wait for an answer, soon to be given back
        for worker in workers:
            worker.cancel()
        done, _ = await asyncio.wait(workers, timeout=BOUND_SECONDS)
        assert len(done) == 2
        assert all(worker.cancelled() for worker in workers), "a cancellation became an error that is retried"
        proxy.thaw()
        await asyncio.gather(heals(db), heals(db))


async def test_closing_over_a_silent_link_is_bounded(proxy: Proxy, short_patience: None) -> None:
    db = await Database.connect(proxy.url, schema="operator", name="links")
    assert await ask(db) == 7
    proxy.freeze(new=True)
    await within(db.close(), BOUND_SECONDS)


async def test_a_hundred_workers_on_ten_connections_all_get_one(dsn: str) -> None:
    """A#1247."""
    async with opened(dsn, size=10) as db:

        async def work() -> int:
            async with db.transaction() as tx:
                return await tx.value("select 7 from pg_sleep(0.01)")

        async with asyncio.timeout(60):
            for _ in range(3):
                assert await asyncio.gather(*(work() for _ in range(100))) == [7] * 100


async def test_a_pool_without_a_free_connection_is_a_transient_error(dsn: str, short_patience: None) -> None:
    async with opened(dsn, size=1) as db:
        async with db.transaction() as tx:
            await tx.value("select 7")
            await fails_soon(db)
        assert await ask(db) == 7


async def test_a_session_that_the_server_ends_is_replaced(dsn: str, postgres_server: PostgresServer) -> None:
    """A#519, #283, #189 lost a listener with its session. Nothing of ours lives in a session: there is no listener."""
    async with opened(dsn, size=1) as db, opened(postgres_server.dsn(urlsplit(dsn).path[1:]), size=1) as admin:
        pid = await session_of(db)
        async with admin.autocommit() as tx:
            assert await tx.value("select pg_terminate_backend($1, 5000)", pid)
        await heals(db)
        assert await session_of(db) != pid


async def session_of(db: Database) -> int:
    async with db.autocommit() as tx:
        return await tx.value("select pg_backend_pid()")


def test_no_code_of_ours_listens_or_notifies() -> None:
    found = [
        path
        for path in Path(db_module.__file__).parents[1].glob("s*/**/*.py")
        if any(word in path.read_text() for word in ("add_listener", "pg_notify", '"listen ', '"notify '))
    ]
    assert not found


# ------------------------------------------------------------------------------------------------------------ PgBouncer


@asynccontextmanager
async def pgbouncer(dsn: str) -> AsyncGenerator[str]:
    """A real one in transaction mode before the operator's database; yields the address through it."""
    program = program_of_pgbouncer()
    parts = urlsplit(dsn)
    name, port = parts.path[1:], free_port()
    async with Proxy.to(dsn) as proxy:  # it runs as another account, to which the server's socket is closed
        with short_directory() as folder:
            account = server_account()
            home = folder / "bouncer"
            give_folder(account, home)
            (home / "users").write_text(f'"operator_bus" "{PASSWORD}"\n')
            (home / "ini").write_text(
                f"[databases]\n{name} = host=127.0.0.1 port={proxy.port} dbname={name}\n"
                f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
                f"auth_type = scram-sha-256\nauth_file = {home}/users\npool_mode = transaction\n"
                "default_pool_size = 3\nignore_startup_parameters = search_path, extra_float_digits, "
                "idle_in_transaction_session_timeout, tcp_keepalives_idle, tcp_keepalives_interval, "
                "tcp_keepalives_count\n"
            )
            for file in home.iterdir():
                file.chmod(0o644)
            child = Child("pgbouncer", Command([program, str(home / "ini")], folder / "log", account=account))
            try:
                await listening(child, port)
                yield urlunsplit((parts.scheme, f"operator_bus:{PASSWORD}@127.0.0.1:{port}", parts.path, "", ""))
            finally:
                child.stop(signal.SIGINT)


async def test_everything_runs_through_pgbouncer_in_transaction_mode_without_a_cache_of_statements(dsn: str) -> None:
    """A#945, #1058, #339, #121. More clients than server connections, each statement prepared again and again."""
    async with pgbouncer(dsn) as url, opened(url, size=8, cache=0) as db:

        async def work(number: int) -> int:
            async with db.transaction() as tx:
                await tx.rows("select * from lane_in where lane = any($1)", ["x"])
                return await tx.value("select $1::bigint + 1", number)

        for _ in range(5):
            assert await asyncio.gather(*(work(number) for number in range(40))) == list(range(1, 41))


async def test_with_a_cache_of_statements_a_pgbouncer_before_1_21_breaks(dsn: str) -> None:
    """Why `CHANCELA_STATEMENT_CACHE_SIZE=0` exists."""
    async with pgbouncer(dsn) as url, opened(url, size=8, cache=512) as db:
        if version_of_pgbouncer() >= (1, 21):
            pytest.skip("this pgbouncer knows prepared statements")

        async def work(number: int) -> int:
            async with db.transaction() as tx:
                return await tx.value(f"select $1::bigint + {number % 7}", number)

        answers = await asyncio.gather(*(work(number) for number in range(200)), return_exceptions=True)
        assert any("prepared statement" in str(answer) for answer in answers)


def version_of_pgbouncer() -> tuple[int, int]:
    told = run_as(server_account(), [program_of_pgbouncer(), "--version"]).stdout
    major, minor = re.search(r"(\d+)\.(\d+)", told).groups()  # pyright: ignore[reportOptionalMemberAccess] - it says so
    return int(major), int(minor)


def program_of_pgbouncer() -> str:
    found = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        pytest.skip("pgbouncer is not installed (Debian: apt-get install pgbouncer)")
    return found


async def listening(child: Child, port: int) -> None:
    async with asyncio.timeout(BOUND_SECONDS):
        while True:
            assert child.is_running(), child.log_tail()
            with suppress(OSError):
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                return
            await asyncio.sleep(0.05)
