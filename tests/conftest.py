"""Session-wide servers; the machinery is in tests/servers.py."""

from collections.abc import AsyncIterator, Iterator

import pytest

from shared.bus import Handlers
from tests.harness import Bench, BenchFactory, drop_database
from tests.servers import NatsServerFactory, PostgresServer, nats_servers, running_postgres, source_of


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        choices=("embedded", "testcontainers", "environment"),
        help="where PostgreSQL and NATS come from (default: DATABASE_URL and NATS_URL where set, else embedded)",
    )


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    with running_postgres(source_of(pytestconfig.getoption("servers"), "DATABASE_URL")) as server:
        yield server


@pytest.fixture(scope="session")
def nats_server_factory(pytestconfig: pytest.Config) -> Iterator[NatsServerFactory]:
    with nats_servers(source_of(pytestconfig.getoption("servers"), "NATS_URL")) as factory:
        yield factory


@pytest.fixture
async def bench_of(postgres_server: PostgresServer) -> AsyncIterator[BenchFactory]:
    """A factory: service name and handlers in, a `Bench` on a database of its own out."""
    opened: list[tuple[Bench, str]] = []

    async def open_bench(service: str, handlers: Handlers) -> Bench:
        bench, name = await Bench.open(postgres_server, service, handlers)
        opened.append((bench, name))
        return bench

    yield open_bench
    for bench, name in opened:
        await bench.close()
        await drop_database(postgres_server, name)
