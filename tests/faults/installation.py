"""The whole system on one machine as production would run it: three nats-servers, two PostgreSQL, pods that are twins.

What it has beside `deploy.local.stack`: a cluster with replicated streams, a standby that confirms every commit, a
second pod of two services, one pod whose clock can jump and one whose links can be cut.
"""

import asyncio
import os
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from contracts.topology import SERVICES
from deploy.keys import login_in_use, read_key
from deploy.local import database
from deploy.local.bus import server_config, wanted_streams
from deploy.local.cluster import Cluster, start_cluster
from deploy.local.layout import DATABASE, Layout
from deploy.local.processes import Command
from deploy.local.stack import Stack
from shared.bus.setup import EVERYTHING, Setup
from tests.faults.disks import Disks
from tests.faults.links import Links
from tests.faults.pair import Pair
from tests.faults.plan import KINDS, Kind, cast_of, service_of
from tests.faults.streams import USER, Streams

LIBFAKETIME = (
    Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1"),
    Path("/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1"),
)
NEEDS_MORE: frozenset[Kind] = frozenset({"jump", "fill_node", "fill_postgres"})
"""Kinds that not every machine allows."""


def libfaketime() -> Path | None:
    """Debian's package `faketime`; without it no clock jumps."""
    return next((path for path in LIBFAKETIME if path.exists()), None)


class Installation(Stack):
    """Servers and pods of one run."""

    def __init__(
        self, layout: Layout, seed: int, *, ack_wait_seconds: float, postgres_settings: Mapping[str, str], disks: Disks
    ) -> None:
        super().__init__(layout, ack_wait_seconds=ack_wait_seconds)
        self.cast = cast_of(seed)
        self._seed = seed
        self.disks = disks
        self._settings = postgres_settings
        self._nemesis_password = secrets.token_urlsafe(16)
        self._cluster: Cluster | None = None
        self._pair: Pair | None = None
        self._links: Links | None = None

    @property
    def can(self) -> frozenset[Kind]:
        """The blows that this machine allows."""
        jumps: frozenset[Kind] = frozenset({"jump"}) if libfaketime() else frozenset()
        return KINDS - NEEDS_MORE | jumps | self.disks.can

    @property
    def why_not(self) -> Sequence[str]:
        """What this run cannot try, and what it would need."""
        clocks = [] if libfaketime() else ["no clock jumps: install the package `faketime`"]
        return [*clocks, *self.disks.why_not]

    @property
    def cluster(self) -> Cluster:
        assert self._cluster is not None
        return self._cluster

    @property
    def pair(self) -> Pair:
        assert self._pair is not None
        return self._pair

    @property
    def links(self) -> Links:
        assert self._links is not None
        return self._links

    @property
    def streams(self) -> Streams:
        return Streams(self.cluster.urls, self._nemesis_password)

    @property
    def clock_file(self) -> Path:
        """By how much the jumper's clock is wrong."""
        return self.layout.home / "clock"

    def _start_servers(self) -> None:
        home = self.layout.home
        self._pair = Pair(self.disks.postgres or home, self._settings)
        config = server_config(self.layout.keys).replace("server_name: local\n", "")
        # the only user inside the account of the streams: moving a leader is nobody's right in production
        user = f'BUS {{\n    users: [ {{ user: {USER}, password: "{self._nemesis_password}" }} ]'
        config = config.replace("BUS {", user, 1)
        self._cluster = start_cluster(home, config, logs=self.logs, stores=self.disks.stores)
        self._links = Links(self._cluster.urls, self._pair.ports, self._seed)
        asyncio.run(self._provision())
        self._pair.follow()

    async def _provision(self) -> None:
        keys = self.layout.keys
        superuser = self.pair.primary.dsn
        await database.create_database(superuser("postgres"), DATABASE)
        await database.create_roles(superuser(DATABASE), DATABASE, keys)
        await database.migrate_all({service: self.database_url(service, "owner") for service in SERVICES})
        setup = await Setup.open(
            self.cluster.urls[0],
            read_key(keys, "admin.nk"),
            wanted_streams(),
            ack_wait_seconds=self._ack_wait_seconds,
            replicas=len(self.cluster.nodes),
        )
        try:
            await setup.apply(EVERYTHING)
        finally:
            await setup.close()

    def database_url(self, service: str, kind: str, ports: Sequence[int] = ()) -> str:
        """Both servers' addresses; the one that takes writes is taken."""
        login = login_in_use(self.layout.keys, f"{service}_{kind}")
        return self.pair.dsn(DATABASE, login.name, login.password, ports)

    def superuser_url(self) -> str:
        return self.pair.primary.dsn(DATABASE)

    def _start_service(self, service: str) -> None:
        for pod in self.cast.pods:
            if service_of(pod) == service:
                self.processes.start(pod, self._command(pod))

    def _command(self, pod: str) -> Command:
        service = service_of(pod)
        links = self.links if pod == self.cast.linked else None
        ports = links.postgres_ports if links else ()
        environment = self.layout.environment(
            service,
            database_url=self.database_url(service, "bus", ports),
            web_url=self.database_url(service, "web", ports),
            nats_url=",".join(links.nats_urls if links else self.cluster.urls),
        )
        if pod != service:
            environment |= {"CHANCELA_HEALTH_PORT": "0", "CHANCELA_METRICS_PORT": "0"}  # any: nobody probes a twin
        arguments = [sys.executable, "-m", f"services.{service}"]
        command = Command(arguments, log_file=self.logs / f"{pod}.log", env=environment)
        return self._with_loose_clock(command) if pod == self.cast.jumper else command

    def _with_loose_clock(self, command: Command) -> Command:
        library = libfaketime()
        if library is None:
            return command
        self.clock_file.write_text("+0\n")
        loose = {
            "LD_PRELOAD": str(library),
            "FAKETIME_TIMESTAMP_FILE": str(self.clock_file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
        }
        return replace(command, env={**(command.env or os.environ), **loose})

    def stop(self) -> None:
        """Pods first, then the servers."""
        super().stop()
        if self._links is not None:
            self._links.close()
        if self._cluster is not None:
            self._cluster.stop()
        if self._pair is not None:
            self._pair.stop()
            self._pair.erase()
