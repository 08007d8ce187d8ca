"""The whole system on one machine: real servers, six services, a model and a phone. Used by `dev`, `demo` and tests."""

import asyncio
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from contracts.topology import SERVICES
from deploy.keys import create_keys, login_in_use
from deploy.local import database
from deploy.local.bus import apply_streams, server_config
from deploy.local.layout import DATABASE, Layout
from deploy.local.nats import Nats, start_nats
from deploy.local.ports import require_free_port, wait_until
from deploy.local.postgres import Postgres, start_postgres
from deploy.local.processes import Command, Processes

READY_SECONDS = 60.0
Say = Callable[[str], None]


def _quiet(_line: str) -> None:
    """Nobody is told."""


class Stack:
    """Servers and processes of one `Layout`. A context manager: leaving it stops everything, last started first."""

    def __init__(
        self,
        layout: Layout,
        *,
        postgres_settings: dict[str, str] | None = None,
        ack_wait_seconds: float | None = None,
        say: Say = _quiet,
        services: Sequence[str] = SERVICES,
        with_phone: bool = True,
    ) -> None:
        self.layout = layout
        self._postgres_settings = postgres_settings or {}
        self._ack_wait_seconds = ack_wait_seconds
        self._say = say
        self._services = services
        self._with_phone = with_phone
        self.processes = Processes()
        self.postgres: Postgres | None = None
        self.nats: Nats | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def logs(self) -> Path:
        return self.layout.home / "logs"

    def start(self) -> None:
        """Servers, schemas, streams, processes; returns when every service is ready."""
        for what, port in self.layout.ports.named().items():
            require_free_port(port, what)
        create_keys(self.layout.keys)
        self.layout.write_files()
        self._start_servers()
        self._say("services")
        if self._with_phone:
            self._start_helpers()
        for service in self._services:
            self._start_service(service)
        self.wait_ready()

    def _start_servers(self) -> None:
        home = self.layout.home
        self._say("PostgreSQL")
        self.postgres = start_postgres(home / "postgres", settings=self._postgres_settings)
        self._say("NATS")
        config = home / "nats.conf"
        config.write_text(server_config(self.layout.keys), encoding="utf-8")
        config.chmod(0o600)
        options = ["-a", "127.0.0.1", "-p", "-1", "-sd", str(home / "jetstream")]
        self.nats = start_nats(config, log_file=self.logs / "nats.log", options=options)
        self._say("schemas and streams")
        asyncio.run(self._provision())

    async def _provision(self) -> None:
        assert self.postgres is not None
        assert self.nats is not None
        await database.create_database(self.postgres.dsn("postgres"), DATABASE)
        await database.create_roles(self.postgres.dsn(DATABASE), DATABASE, self.layout.keys)
        await database.migrate_all({service: self.database_url(service, "owner") for service in SERVICES})
        await apply_streams(self.nats.url, self.layout.keys, ack_wait_seconds=self._ack_wait_seconds)

    def database_url(self, service: str, kind: str) -> str:
        """Connection of one of a service's three roles."""
        assert self.postgres is not None
        return self.postgres.dsn(DATABASE, *login_in_use(self.layout.keys, f"{service}_{kind}"))

    def superuser_url(self) -> str:
        assert self.postgres is not None
        return self.postgres.dsn(DATABASE)

    def _start_helpers(self) -> None:
        python = sys.executable
        model = [python, "-m", "deploy.local.model", "--port", str(self.layout.ports.model)]
        self.processes.start("model", Command(model, log_file=self.logs / "model.log"))
        phone = [python, "-m", "deploy.local.phone", *self.layout.phone_arguments()]
        self.processes.start("phone", Command(phone, log_file=self.logs / "phone.log"))

    def _start_service(self, service: str) -> None:
        assert self.nats is not None
        environment = self.layout.environment(
            service,
            database_url=self.database_url(service, "bus"),
            web_url=self.database_url(service, "web"),
            nats_url=self.nats.url,
        )
        arguments = [sys.executable, "-m", f"services.{service}"]
        self.processes.start(service, Command(arguments, log_file=self.logs / f"{service}.log", env=environment))

    def wait_ready(self, seconds: float = READY_SECONDS) -> None:
        """Until every service takes work and the phone's page answers.

        Raises:
            RuntimeError: a process ended instead; the message holds its last lines.
        """
        for service in self._services:
            self._wait(service, f"http://127.0.0.1:{self.layout.ports.health[service]}/startupz", seconds)
        if self._with_phone:
            self._wait("model", f"http://127.0.0.1:{self.layout.ports.model}/v1/models", seconds)
            self._wait("phone", f"http://127.0.0.1:{self.layout.ports.phone}/", seconds)

    def _wait(self, name: str, url: str, seconds: float) -> None:
        def is_up() -> bool:
            child = self.processes[name]
            if not child.is_running():
                raise RuntimeError(f"{name} ended with code {child.exit_code}:\n{child.log_tail()}")
            return _answers(url)

        wait_until(is_up, seconds, f"{name} is ready")

    def stop(self) -> None:
        """Services first, then the servers; nothing is left running."""
        self.processes.stop_all()
        if self.nats is not None:
            self.nats.stop()
        if self.postgres is not None:
            self.postgres.stop()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own loopback address
            return answer.status < 400
    except (urllib.error.URLError, OSError):
        return False
