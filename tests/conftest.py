"""Session-wide servers; the machinery is in tests/servers.py."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from shared.bus import Handlers
from tests.harness import Bench, BenchFactory, drop_database
from tests.servers import NatsServerFactory, PostgresServer, nats_servers, running_postgres, source_of

TESTS = Path(__file__).parent
LONGEST = (
    "faults/test_faults.py",
    "journeys",
    "faults/test_mutants.py",
    "browser/test_approval_page.py",
    "shared/test_runtime.py",
    "rights/test_rotation.py",
    "links/test_endings.py",
    "browser/test_first_light.py",
    "links/test_pulling.py",
    "bench/test_command.py",
    "links/test_cluster.py",
    "rights/test_attacks.py",
)
TOGETHER = "journeys"
"""These share a running system, which takes long to start: one worker has them all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--servers",
        choices=("embedded", "testcontainers", "environment"),
        help="where PostgreSQL and NATS come from (default: DATABASE_URL and NATS_URL where set, else embedded)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files first: what ends last is then short, and every worker has something to do until then."""
    ranks = {name: rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: ranks.get(_unit(item.path.relative_to(TESTS).as_posix()), len(ranks)))


def _unit(file: str) -> str:
    """What one worker does in one go: a file, or the files that share a system."""
    return TOGETHER if file.startswith(f"{TOGETHER}/") else file


class Units(LoadFileScheduling):
    """`--dist loadfile`, with units."""

    def _split_scope(self, nodeid: str) -> str:
        return _unit(super()._split_scope(nodeid).removeprefix("tests/"))


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    return Units(config, log)


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
