"""A service as a process: what it waits for, how it stops, and what its exit code says."""

import asyncio
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from deploy.keys import create_keys, read_key
from deploy.local.bus import apply_streams, server_config
from shared.bus.connection import Refused
from shared.bus.continuity import DatabaseRestored
from shared.config import ConfigError
from shared.runtime import _ended, _exit_code  # pyright: ignore[reportPrivateUsage] - parts of a process, without one
from tests.deploy.programs import free_port
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import NatsServer, NatsServerFactory, PostgresServer
from tests.shared.relay import Relay
from tests.shared.world import until

ROOT = Path(__file__).parents[2]
GRACE_SECONDS = 40.0
"""Kubernetes' and compose's patience (terminationGracePeriodSeconds, stop_grace_period)."""


class Process:
    """The small service, its health port and what it wrote."""

    def __init__(self, environ: Mapping[str, str], log: Path) -> None:
        self._address = f"http://127.0.0.1:{environ['CHANCELA_HEALTH_PORT']}"
        self.log = log
        with log.open("wb") as out:
            self.running = subprocess.Popen(
                [sys.executable, "-m", "tests.shared.small_service"],
                env={"PATH": os.defpath, **environ},
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
            )

    async def readiness(self) -> tuple[int, str]:
        return await asyncio.to_thread(self._ask, "/readyz")

    def _ask(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"{self._address}{path}", timeout=15) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as answer:
            with answer:
                return answer.code, answer.read().decode()
        except OSError as error:
            return 0, str(error)

    async def is_ready(self) -> bool:
        assert self.running.poll() is None, self.log.read_text()
        return (await self.readiness())[0] == 200

    async def says(self, words: str) -> bool:
        return words in self.log.read_text()

    async def exit_code(self, seconds: float = GRACE_SECONDS) -> int:
        return await asyncio.to_thread(self.running.wait, seconds)


@contextmanager
def started(environ: Mapping[str, str], log: Path) -> Generator[Process]:
    process = Process(environ, log)
    try:
        yield process
    finally:
        process.running.kill()
        process.running.wait()


@pytest.fixture
async def database(postgres_server: PostgresServer) -> AsyncIterator[str]:
    name = await new_database(postgres_server, ["operator"])
    yield name
    await drop_database(postgres_server, name)


@pytest.fixture
async def nats(nats_server_factory: NatsServerFactory, tmp_path: Path) -> NatsServer:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path))
    await apply_streams(server.url, tmp_path)
    return server


@pytest.fixture
async def relay(postgres_server: PostgresServer) -> AsyncIterator[Relay]:
    relay = Relay(postgres_server.dsn("postgres"))
    yield relay
    await relay.close()


@pytest.fixture
def environ(postgres_server: PostgresServer, database: str, nats: NatsServer, tmp_path: Path) -> dict[str, str]:
    return {
        "CHANCELA_DATABASE_URL": postgres_server.dsn(database, "operator_bus", PASSWORD),
        "CHANCELA_NATS_URL": nats.url,
        "CHANCELA_NATS_SEED": read_key(tmp_path, "operator.nk"),
        "CHANCELA_DIGEST_KEY": "d",
        "CHANCELA_HEALTH_HOST": "127.0.0.1",
        "CHANCELA_HEALTH_PORT": str(free_port()),
        "CHANCELA_METRICS_PORT": str(free_port()),
        "CHANCELA_HTTP_HOST": "127.0.0.1",
        "CHANCELA_HTTP_PORT": str(free_port()),
    }


def through(relay: Relay, environ: Mapping[str, str]) -> dict[str, str]:
    parts = urlsplit(environ["CHANCELA_DATABASE_URL"])
    login = parts.netloc.rpartition("@")[0]
    return {**environ, "CHANCELA_DATABASE_URL": f"postgresql://{login}@127.0.0.1:{relay.port}{parts.path}"}


async def test_a_service_that_is_asked_to_stop_ends_in_time_and_content(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()
        assert await process.says('"message":"stopped"')


async def test_a_service_waits_for_its_database_and_is_not_ready_meanwhile(
    environ: dict[str, str], relay: Relay, tmp_path: Path
) -> None:
    with started(through(relay, environ), tmp_path / "log") as process:
        await until(lambda: process.says("the database does not answer"))
        assert (await process.readiness())[0] == 503
        await relay.listen()
        await until(process.is_ready)
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


async def test_a_service_whose_database_goes_away_in_its_start_starts_again(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with started({**environ, "STARTS_THAT_LOSE_THE_DATABASE": "2"}, tmp_path / "log") as process:
        await until(process.is_ready)
        assert process.log.read_text().count("starting again") == 2
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


async def test_a_service_stops_while_its_database_is_away_from_the_start(
    environ: dict[str, str], relay: Relay, tmp_path: Path
) -> None:
    with started(through(relay, environ), tmp_path / "log") as process:
        await until(lambda: process.says("the database does not answer"))
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


@pytest.mark.parametrize("way", ["gone", "silent"])
async def test_a_service_stops_in_time_whether_its_database_is_gone_or_silent(
    environ: dict[str, str], relay: Relay, tmp_path: Path, way: str
) -> None:
    await relay.listen()
    with started(through(relay, environ), tmp_path / "log") as process:
        await until(process.is_ready)
        if way == "gone":
            await relay.close()
        else:
            relay.be_silent()
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


@pytest.mark.parametrize("way", ["gone", "silent"])
async def test_a_service_stops_in_time_whether_the_bus_is_gone_or_silent(
    environ: dict[str, str], nats: NatsServer, tmp_path: Path, way: str
) -> None:
    assert nats.local is not None
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        if way == "gone":
            nats.local.kill()
        else:
            nats.local.pause()
        process.running.terminate()
        try:
            assert await process.exit_code() == 0, process.log.read_text()
        finally:
            nats.local.resume()


async def test_a_task_that_does_not_end_when_it_is_cancelled_does_not_hold_up_the_stop() -> None:
    """As one that waits for a database that says nothing: only the end of its connection ends it."""
    is_cut = asyncio.Event()

    async def deaf() -> None:
        while not is_cut.is_set():
            with suppress(asyncio.CancelledError):
                await is_cut.wait()

    task = asyncio.create_task(deaf())
    await asyncio.sleep(0)
    async with asyncio.timeout(GRACE_SECONDS):
        await _ended([task])
    assert not task.done()
    is_cut.set()
    await task


async def test_a_lost_bus_does_not_make_a_service_unready(
    environ: dict[str, str], nats: NatsServer, tmp_path: Path
) -> None:
    assert nats.local is not None
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        await until(lambda: process.says("the database knows all that was acknowledged"))
        nats.local.kill()
        await until(lambda: process.says("NATS is away"))
        assert await process.is_ready()
        await asyncio.to_thread(nats.local.restart)
        await until(lambda: process.says("NATS is back"))


async def test_a_service_that_still_works_says_that_it_is_stopping(
    environ: dict[str, str], relay: Relay, tmp_path: Path
) -> None:
    await relay.listen()
    with started(through(relay, environ), tmp_path / "log") as process:
        await until(process.is_ready)
        relay.be_silent()  # holds up the end
        process.running.terminate()

        async def is_stopping() -> bool:
            return await process.readiness() == (503, "stopping")

        await until(is_stopping)
        assert await process.exit_code() == 0, process.log.read_text()


@pytest.mark.parametrize(
    ("variable", "value"), [("CHANCELA_HEALTH_PORT", "many"), ("CHANCELA_NATS_SEED", ""), ("CHANCELA_DIGEST_KEY", "")]
)
async def test_a_wrong_variable_ends_the_start_and_is_named(
    environ: dict[str, str], tmp_path: Path, variable: str, value: str
) -> None:
    with started({**environ, variable: value}, tmp_path / "log") as process:
        assert await process.exit_code() == 2
        assert await process.says(variable)


async def test_a_wrong_password_of_the_database_ends_the_start_and_names_the_variable(
    environ: dict[str, str], tmp_path: Path
) -> None:
    wrong = environ["CHANCELA_DATABASE_URL"].replace(PASSWORD, "wrong")
    with started({**environ, "CHANCELA_DATABASE_URL": wrong}, tmp_path / "log") as process:
        assert await process.exit_code() == 2
        assert await process.says("CHANCELA_DATABASE_URL")


async def test_a_service_that_nats_refuses_ends_and_says_what_to_check(
    environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    foreign = tmp_path_factory.mktemp("foreign")
    create_keys(foreign)
    wrong = {**environ, "CHANCELA_NATS_SEED": read_key(foreign, "operator.nk")}
    with started(wrong, tmp_path / "log") as process:
        assert await process.exit_code() == 3, process.log.read_text()
        assert await process.says("check CHANCELA_NATS_SEED")


async def test_a_port_that_is_taken_ends_the_start_and_is_named(environ: dict[str, str], tmp_path: Path) -> None:
    with started(environ, tmp_path / "first") as first:
        await until(first.is_ready)
        with started({**environ, "CHANCELA_HEALTH_PORT": str(free_port())}, tmp_path / "log") as second:
            assert await second.exit_code() == 2
            assert await second.says("CHANCELA_{HEALTH,METRICS,HTTP}_PORT")


async def test_on_a_restored_database_it_is_not_ready_and_says_what_to_do(
    environ: dict[str, str], postgres_server: PostgresServer, database: str, tmp_path: Path
) -> None:
    owner = await asyncpg.connect(postgres_server.dsn(database))
    await owner.execute("insert into operator.hold (why) values ('a test')")
    with started(environ, tmp_path / "log") as process:

        async def is_held() -> bool:
            return "chancela recover operator" in (await process.readiness())[1]

        await until(is_held)
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()
    with started(environ, tmp_path / "second") as process:
        await until(is_held)
        await owner.execute("update operator.hold set recovered_at = now(), lifted_at = now()")
        await until(process.is_ready)
    await owner.close()


def test_the_reason_that_a_person_can_mend_decides_the_exit_code() -> None:
    refused, wrong, broken = Refused("key"), ConfigError("variable"), ZeroDivisionError()
    nested = BaseExceptionGroup("outer", [BaseExceptionGroup("inner", [refused, broken]), refused])
    assert _exit_code(nested) == 3
    assert _exit_code(BaseExceptionGroup("outer", [nested, wrong])) == 2
    assert _exit_code(BaseExceptionGroup("outer", [broken])) is None
    assert _exit_code(BaseExceptionGroup("outer", [DatabaseRestored("older"), broken])) == 1
