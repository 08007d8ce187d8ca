"""PostgreSQL as production runs it: one that takes writes, and a second at another address that confirms every commit.

Laws
- A commit is answered only when both have it on disk, so that a failover loses nothing that anybody was told.
- A failover is only made while the standby is the confirming one: without it, a commit may be on one disk alone.
- After a failover the old primary's data is thrown away and copied anew: what it wrote last may exist nowhere else.
"""

import asyncio
import os
import secrets
import shutil
import signal
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

import asyncpg

from deploy.local.cluster import steady_ports
from deploy.local.ports import LOOPBACK, wait_until
from deploy.local.postgres import Postgres, erase_postgres, servers_of, start_postgres
from deploy.local.unprivileged import give_folder, run_as, server_account

STANDBY_ROLE = "standby"
CONFIRMS_WITHIN_SECONDS = 30.0
ENDS_WITHIN_SECONDS = 10.0
SETTINGS = {"wal_keep_size": "128MB", "max_wal_size": "256MB", "wal_retrieve_retry_interval": "200ms"}


class Pair:
    """Two servers in folders of their own; `primary` is the one that takes writes now."""

    def __init__(self, home: Path, settings: Mapping[str, str]) -> None:
        ports = steady_ports(2)
        self._settings = {**SETTINGS, **settings}
        self._ports = {home / "postgres-a": next(ports), home / "postgres-b": next(ports)}
        self._password = secrets.token_urlsafe(16)
        first, second = self._ports
        self.primary = self._start(first)
        asyncio.run(self._let_standby_in())
        self.standby: Postgres | None = None
        self._spare = second

    @property
    def ports(self) -> Sequence[int]:
        return [*self._ports.values()]

    def dsn(self, database: str, user: str, password: str, ports: Sequence[int] = ()) -> str:
        """Both addresses, as a service is given them: whichever takes writes. `ports`: those of proxies instead."""
        places = ",".join(f"{LOOPBACK}:{port}" for port in ports or self.ports)
        return f"postgresql://{user}:{quote(password, safe='')}@{places}/{database}?target_session_attrs=read-write"

    def follow(self) -> None:
        """Copy the primary to the other folder, and let every commit wait for the copy from now on."""
        directory = self._spare
        erase_postgres(directory)
        self._copy_to(directory)
        self.standby = self._start(directory)
        asyncio.run(self._confirm(by="*"))

    def fail_over(self) -> None:
        """Kill the primary; the standby takes its place. `follow` makes a new standby.

        Raises:
            RuntimeError: there is no standby.
            TimeoutError: it does not confirm.
        """
        standby = self.standby
        if standby is None:
            raise RuntimeError("a failover needs a standby: call follow() before")
        asyncio.run(self._wait_confirmed())
        self.primary.kill()
        lost, self.primary, self.standby = self.primary, standby, None
        self._spare = next(folder for folder in self._ports if folder.absolute() == lost.home.absolute())
        asyncio.run(self._promote())

    def stop_at_once(self) -> None:
        """`immediate`: every session is cut where it is, and the next start recovers from the log."""
        os.kill(self.primary.pid, signal.SIGQUIT)
        wait_until(lambda: not self.primary.is_running(), ENDS_WITHIN_SECONDS, "PostgreSQL stops at once")

    @contextmanager
    def standby_frozen(self) -> Generator[None]:
        """Meanwhile no commit is answered."""
        assert self.standby is not None
        pids = servers_of(self.standby.home / "data")
        _signal(pids, signal.SIGSTOP)
        try:
            yield
        finally:
            _signal(pids, signal.SIGCONT)

    def revive(self) -> None:
        """Start whichever of the two has ended."""
        for server in filter(None, (self.primary, self.standby)):
            if not server.is_running():
                server.restart()

    def stop(self) -> None:
        """The primary first: it waits for a standby that is gone."""
        asyncio.run(self._stop_waiting())
        self.primary.stop()
        if self.standby is not None:
            self.standby.stop()

    def erase(self) -> None:
        """Remove both, once they are stopped."""
        for directory in self._ports:
            erase_postgres(directory)

    @property
    def logs(self) -> Sequence[Path]:
        return [server.log_file for server in (self.primary, self.standby) if server is not None]

    def _start(self, directory: Path) -> Postgres:
        server = start_postgres(directory, port=self._ports[directory], settings=self._settings)
        rules = server.home / "data" / "pg_hba.conf"
        rule = f"host replication {STANDBY_ROLE} {LOOPBACK}/32 scram-sha-256\n"
        with rules.open("a") as file:
            file.write(rule)
        asyncio.run(_execute(server, "select pg_reload_conf()"))
        return server

    async def _let_standby_in(self) -> None:
        await _execute(self.primary, f"create role {STANDBY_ROLE} login replication password '{self._password}'")

    def _copy_to(self, directory: Path) -> None:
        account = server_account()
        directory.mkdir(mode=0o711)
        data = directory / "data"
        give_folder(account, data)
        source = f"host={LOOPBACK} port={self.primary.port} user={STANDBY_ROLE} password={self._password}"
        program = self.primary.binaries.program("pg_basebackup")
        copied = run_as(account, [program, "-d", source, "-D", str(data), "-R", "-X", "stream", "-c", "fast"])
        if copied.returncode:
            shutil.rmtree(directory)
            raise RuntimeError(f"the primary could not be copied: {copied.stderr.strip()}")

    async def _confirm(self, by: str) -> None:
        await _execute(self.primary, f"alter system set synchronous_standby_names = '{by}'", "select pg_reload_conf()")
        await self._wait_confirmed()

    async def _wait_confirmed(self) -> None:
        for _ in range(int(CONFIRMS_WITHIN_SECONDS / 0.1)):
            if await self._is_confirmed():
                return
            await asyncio.sleep(0.1)
        raise TimeoutError("the standby does not confirm")

    async def _is_confirmed(self) -> bool:
        connection = await asyncpg.connect(self.primary.dsn("postgres"))
        try:
            return bool(await connection.fetchval("select count(*) from pg_stat_replication where sync_state = 'sync'"))
        finally:
            await connection.close()

    async def _promote(self) -> None:
        await _execute(self.primary, "select pg_promote()", "alter system reset synchronous_standby_names")

    async def _stop_waiting(self) -> None:
        if self.primary.is_running():
            await _execute(self.primary, "alter system reset synchronous_standby_names", "select pg_reload_conf()")


def _signal(pids: Iterable[int], which: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, which)


async def _execute(server: Postgres, *statements: str) -> None:
    connection = await asyncpg.connect(server.dsn("postgres"), timeout=10)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
