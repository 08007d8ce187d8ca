"""Session-wide servers; the machinery is in tests/servers.py."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from shared.bus import Handlers
from tests.harness import Bench, BenchFactory, drop_database
from tests.servers import NatsServerFactory, PostgresServer, nats_servers, running_postgres, source_of

TESTS = Path(__file__).parent
LONGEST = (
    "faults/test_faults.py",
    "browser/test_approval_page.py",
    "faults/test_mutants.py",
    "journeys/test_conversations.py",
    "browser/test_first_light.py",
    "rights/test_rotation.py",
    "shared/test_runtime.py",
    "bench/test_command.py",
    "links/test_cluster.py",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        choices=("embedded", "testcontainers", "environment"),
        help="where PostgreSQL and NATS come from (default: DATABASE_URL and NATS_URL where set, else embedded)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: what ends last is then short, and every worker has something to do until then."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(item.path.relative_to(TESTS).as_posix(), len(ranks)))


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[PostgresServer]:
    with running_postgres(source_of(pytestconfig.getoption("servers"), "DATABASE_URL")) as server:
        yield server


@pytest.fixture
def nats_server_factory(pytestconfig: pytest.Config) -> Iterator[NatsServerFactory]:
    """What it starts ends with the test: a server for each test adds up."""
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
