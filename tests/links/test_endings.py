"""How a process ends when its link is broken or refused: in bounded time, with a code and words (see test_reports)."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deploy.keys import create_keys, public_nkeys, read_key
from deploy.local.nats import Nats
from tests.harness import PASSWORD, drop_database, new_database
from tests.links.proxy import Proxy
from tests.links.world import Links
from tests.servers import PostgresServer
from tests.shared.test_runtime import free_port, started
from tests.shared.world import until


@pytest.fixture
async def environ(
    postgres_server: PostgresServer, links: Links, proxy: Proxy, tmp_path: Path
) -> AsyncIterator[dict[str, str]]:
    """Of the small service, which reaches NATS by way of the proxy."""
    database = await new_database(postgres_server, ["operator"])
    yield {
        "CHANCELA_DATABASE_URL": postgres_server.dsn(database, "operator_bus", PASSWORD),
        "CHANCELA_NATS_URL": proxy.url,
        "CHANCELA_NATS_SEED": read_key(tmp_path, "operator.nk"),
        "CHANCELA_NATS_PING_SECONDS": "0.5",
        "CHANCELA_DIGEST_KEY": "d",
        "CHANCELA_HEALTH_HOST": "127.0.0.1",
        "CHANCELA_HEALTH_PORT": str(free_port()),
        "CHANCELA_METRICS_PORT": str(free_port()),
        "CHANCELA_HTTP_HOST": "127.0.0.1",
        "CHANCELA_HTTP_PORT": str(free_port()),
    }
    await drop_database(postgres_server, database)


def revoke(server: Nats, key: str, other: str) -> None:
    config = server.log_file.with_name("nats.conf")
    config.write_text(config.read_text().replace(key, other))
    os.kill(server.pid, signal.SIGHUP)


async def test_a_key_that_is_revoked_ends_the_process_with_code_3_and_without_readiness(
    links: Links, environ: dict[str, str], tmp_path_factory: pytest.TempPathFactory, tmp_path: Path
) -> None:
    foreign = tmp_path_factory.mktemp("foreign")
    create_keys(foreign)
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        name = "CHANCELA_NKEY_OPERATOR"
        revoke(links.local, public_nkeys(links.keys)[name], public_nkeys(foreign)[name])
        assert await process.exit_code() == 3, process.log.read_text()
        assert (await process.readiness())[0] == 0
        assert await process.says("check CHANCELA_NATS_SEED")


async def test_a_seed_that_is_none_ends_the_start_with_code_2_and_is_named(
    environ: dict[str, str], tmp_path: Path
) -> None:
    with started({**environ, "CHANCELA_NATS_SEED": "SUnonsense"}, tmp_path / "log") as process:
        assert await process.exit_code() == 2, process.log.read_text()
        assert await process.says("CHANCELA_NATS_SEED")


async def test_an_error_of_the_server_that_is_no_refusal_does_not_end_the_process(
    environ: dict[str, str], proxy: Proxy, tmp_path: Path
) -> None:
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        await until(lambda: stands(proxy))
        proxy.inject(b"-ERR 'Maximum Connections Exceeded'\r\n")
        await until(lambda: process.says("maximum connections exceeded"))
        await until(lambda: process.says("NATS is back"))
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


@pytest.mark.parametrize("way", ["refused", "silent", "silent for new ones too"])
async def test_a_stop_while_the_link_is_being_made_anew_ends_content(
    environ: dict[str, str], proxy: Proxy, tmp_path: Path, way: str
) -> None:
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        await until(lambda: stands(proxy))
        if way == "refused":
            proxy.refuse()
            proxy.cut()
        else:
            proxy.freeze(new=way != "silent")
        await until(lambda: process.says("the connection to NATS is lost"))
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


async def stands(proxy: Proxy) -> bool:
    return proxy.connections == 1 and proxy.back.passed > 1000


async def test_two_asks_to_stop_are_one(environ: dict[str, str], proxy: Proxy, tmp_path: Path) -> None:
    with started(environ, tmp_path / "log") as process:
        await until(process.is_ready)
        await until(lambda: stands(proxy))
        proxy.freeze()  # so that the first takes a while
        process.running.terminate()
        await asyncio.sleep(0.3)
        process.running.terminate()
        assert await process.exit_code() == 0, process.log.read_text()


async def test_a_process_that_leaves_still_serves_while_it_says_that_it_is_not_ready(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """Else a pod refuses what a load balancer still sends it."""
    with started({**environ, "CHANCELA_HTTP_LEAVE_SECONDS": "3"}, tmp_path / "log") as process:
        await until(process.is_ready)
        process.running.terminate()

        async def is_stopping() -> bool:
            return await process.readiness() == (503, "stopping")

        await until(is_stopping)
        _, writer = await asyncio.open_connection("127.0.0.1", int(environ["CHANCELA_HTTP_PORT"]))
        writer.close()
        assert await process.exit_code() == 0, process.log.read_text()
