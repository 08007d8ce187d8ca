"""The real servers under the tests: embedded (started here), testcontainers, or those of the environment.

Every server is started by a context manager, so that a failing test leaves nothing running; kill -9 of pytest leaves
nothing running either (see deploy/local/leash.py). Each pytest-xdist worker has servers of its own.
"""

import os
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlsplit

import pytest

from deploy.local.nats import Nats, start_nats
from deploy.local.postgres import Postgres, start_postgres

Source = Literal["embedded", "testcontainers", "environment"]
NatsServerFactory = Callable[[str], "NatsServer"]

_FAST_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
}
MEMORY = Path("/dev/shm")
NEEDED_BYTES = 4 * 1024**3
_POSTGRES_IMAGE = "CHANCELA_TEST_POSTGRES_IMAGE"
_NATS_IMAGE = "CHANCELA_TEST_NATS_IMAGE"
_NATS_PORT = 4222


@dataclass(frozen=True)
class PostgresServer:
    """`local` is the server's process where we started it ourselves (fault tests need it)."""

    admin_url: str
    local: Postgres | None = None

    def dsn(self, database: str, user: str | None = None, password: str | None = None) -> str:
        """Another database of this server; without a user, as its superuser."""
        parts = urlsplit(self.admin_url)
        login, _, place = parts.netloc.rpartition("@")
        if user is not None:
            login = quote(user, safe="") + (f":{quote(password, safe='')}" if password is not None else "")
        # by hand: urlunsplit drops the empty host of a socket's address
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{login}@{place}/{quote(database, safe='')}{query}"


@dataclass(frozen=True)
class NatsServer:
    """`local` as in PostgresServer."""

    url: str
    local: Nats | None = None


def source_of(option: Source | None, variable: str) -> Source:
    """What the option says; without it, the environment's server where it names one, else an embedded one."""
    if option == "environment" and variable not in os.environ:
        raise pytest.UsageError(f"--servers=environment needs {variable}")
    return option or ("environment" if variable in os.environ else "embedded")


@contextmanager
def short_directory() -> Generator[Path]:
    """Short, as sockets live in it, and open to the account that PostgreSQL runs as under root.

    In memory where there is enough: to copy a database, as most tests do, takes a twentieth of the time there.
    """
    directory = Path(tempfile.mkdtemp(prefix="chancela-tests-", dir=MEMORY if _has_memory() else "/tmp"))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


def _has_memory() -> bool:
    return MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > NEEDED_BYTES


@contextmanager
def running_postgres(source: Source) -> Generator[PostgresServer]:
    match source:
        case "environment":
            yield PostgresServer(os.environ["DATABASE_URL"])
        case "testcontainers":
            yield from _postgres_container()
        case "embedded":
            yield from _embedded_postgres()


@contextmanager
def nats_servers(source: Source) -> Generator[NatsServerFactory]:
    """A factory: configuration text in, running server out. The environment's server must already be configured so."""
    with ExitStack() as running:

        def start(config: str) -> NatsServer:
            match source:
                case "environment":
                    return NatsServer(os.environ["NATS_URL"])
                case "testcontainers":
                    return running.enter_context(_nats_container(config))
                case "embedded":
                    return running.enter_context(_embedded_nats(config))

        yield start


def _embedded_postgres() -> Generator[PostgresServer]:
    with short_directory() as directory:
        server = start_postgres(directory, settings=_FAST_SETTINGS)
        try:
            yield PostgresServer(server.dsn("postgres"), server)
        finally:
            server.stop()


@contextmanager
def _embedded_nats(config: str) -> Generator[NatsServer]:
    with short_directory() as directory:
        file = directory / "nats.conf"
        file.write_text(config)
        options = ["-a", "127.0.0.1", "-p", "-1", "-sd", str(directory / "jetstream")]
        server = start_nats(file, log_file=directory / "nats.log", options=options)
        try:
            yield NatsServer(server.url, server)
        finally:
            server.kill()  # nobody reads its store again


def _image(variable: str) -> str:
    try:
        return os.environ[variable]
    except KeyError:
        raise pytest.UsageError(f"--servers=testcontainers needs {variable}, the name of the image to run") from None


def _postgres_container() -> Generator[PostgresServer]:
    from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415 -- looks for a Docker engine when imported

    with PostgresContainer(_image(_POSTGRES_IMAGE), driver=None) as container:
        yield PostgresServer(container.get_connection_url())


@contextmanager
def _nats_container(config: str) -> Generator[NatsServer]:
    from testcontainers.core.container import DockerContainer  # noqa: PLC0415 -- as above
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy  # noqa: PLC0415 -- as above

    with short_directory() as directory:
        (directory / "nats.conf").write_text(config)
        container = (
            DockerContainer(_image(_NATS_IMAGE))
            .with_volume_mapping(str(directory), "/config", "ro")
            .with_command("-c /config/nats.conf")
            .with_exposed_ports(_NATS_PORT)
            .waiting_for(LogMessageWaitStrategy("Server is ready"))
        )
        with container:
            port = container.get_exposed_port(_NATS_PORT)
            yield NatsServer(f"nats://{container.get_container_host_ip()}:{port}")
