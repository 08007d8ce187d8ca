"""An installation as `deploy/README.md` makes one: handed-out folders, NATS with the deployed files, Postgres over TCP.

A service runs as a process that reads its own folder; two others live in the test and say and hear all the time.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg

from contracts import topology
from contracts.messages import ContactSeen, FactRecorded
from deploy.handout import hand_out
from deploy.keys import read_key
from deploy.local.bus import apply_streams
from deploy.local.database import create_roles
from deploy.local.nats import Nats, start_nats
from deploy.local.ports import PortTakenError, free_port
from deploy.local.postgres import Postgres, start_postgres
from deploy.local.processes import Child, Command
from shared.bus import Bus, Effects, Handlers, Heard, Quick, no_facts
from shared.config import BusConfig
from shared.db import Database, Write
from shared.migrate import migrate
from tests.rights.process import readiness
from tests.servers import short_directory
from tests.shared.world import until

ROOT = Path(__file__).parents[2]
TENANT = UUID(int=7)
DATABASE = "chancela"
SERVICES = ("ingest", "conversador", "operator")
LANES = 5
Heards = Mapping[str, Sequence[str]]
"""Contact → texts, in the order in which they were handled."""


@dataclass
class Installation:
    """Folders and servers; `environment` is what the operator's process is told."""

    home: Path
    postgres: Postgres
    nats: Nats
    processes: list[Child] = field(default_factory=list[Child])

    @property
    def keys(self) -> Path:
        return self.home / "keys"

    @property
    def place(self) -> str:
        return f"127.0.0.1:{self.postgres.port}"

    def held(self, party: str, name: str) -> str:
        return read_key(self.keys / "for" / party, name)

    def hand_out(self) -> None:
        hand_out(self.keys, host=self.place, database=DATABASE)

    async def make_roles(self, *, cut: bool = False) -> None:
        await create_roles(self.postgres.dsn(DATABASE), DATABASE, self.keys, cut=cut)

    async def reload_nats(self) -> None:
        """Bring the handed-out file to the server and have it read again."""
        shutil.copytree(self.keys / "for" / "nats", self.home / "nats-keys", dirs_exist_ok=True)
        before = self._reloads()
        os.kill(self.nats.pid, signal.SIGHUP)
        await until(lambda: self._has_reloaded(before))

    async def _has_reloaded(self, before: int) -> bool:
        return self._reloads() > before

    def _reloads(self) -> int:
        log = self.nats.log_file.read_text()
        assert "Failed to reload" not in log, log
        return log.count("Reloaded server configuration")

    def start_operator(self) -> Child:
        own = self.keys / "for" / "operator"
        number = len(self.processes)
        environ = {
            "PATH": os.defpath,
            "CHANCELA_DATABASE_URL_FILE": str(own / "database_url"),
            "CHANCELA_NATS_SEED_FILE": str(own / "nats_seed"),
            "CHANCELA_DIGEST_KEY_FILE": str(own / "digest_key"),
            "CHANCELA_NATS_URL": self.nats.url,
            "CHANCELA_POLL_SECONDS": "0.1",
            "CHANCELA_HEALTH_HOST": "127.0.0.1",
            "CHANCELA_HEALTH_PORT": str(free_port()),
            "CHANCELA_METRICS_PORT": str(free_port()),
        }
        command = Command(
            [sys.executable, "-m", "tests.rights.echo_service"],
            log_file=self.home / f"operator{number}.log",
            env=environ,
            directory=ROOT,
        )
        child = Child(f"operator{number}", command)
        self.processes.append(child)
        return child

    async def sql(self, statement: str, *args: Any) -> Sequence[Any]:
        """As the superuser."""
        connection = await asyncpg.connect(self.postgres.dsn(DATABASE))
        try:
            return await connection.fetch(statement, *args)
        finally:
            await connection.close()

    async def logins(self) -> set[str]:
        """Logins of the operator's bus role that have a session."""
        rows = await self.sql("select distinct usename from pg_stat_activity where usename like 'operator_bus%'")
        return {row["usename"] for row in rows}


@asynccontextmanager
async def installed(home: Path) -> AsyncGenerator[Installation]:
    with ExitStack() as stack:
        postgres = _start_postgres(stack.enter_context(short_directory()))
        stack.callback(postgres.stop)
        hand_out(home / "keys", host=f"127.0.0.1:{postgres.port}", database=DATABASE)
        nats = _start_nats(home)
        stack.callback(nats.stop)
        made = Installation(home, postgres, nats)
        stack.callback(lambda: [child.kill() for child in made.processes])
        await _provision(made)
        yield made


def _start_postgres(directory: Path) -> Postgres:
    """On a port that another program may take before the server does: then on another one."""
    settings = {"fsync": "off", "max_connections": "100"}
    for _ in range(5):
        with suppress(PortTakenError):
            return start_postgres(directory, port=free_port(), settings=settings)
    raise AssertionError("every port was taken")


def _start_nats(home: Path) -> Nats:
    """With the files that are deployed, untouched."""
    shutil.copytree(ROOT / "deploy" / "nats", home / "nats")
    shutil.copytree(home / "keys" / "for" / "nats", home / "nats-keys")
    os.environ["CHANCELA_NATS_NAME"] = "test"
    options = ["-a", "127.0.0.1", "-p", "-1", "-m", "-1", "-sd", str(home / "jetstream")]
    return start_nats(home / "nats" / "nats.conf", log_file=home / "nats.log", options=options)


async def _provision(made: Installation) -> None:
    admin = await asyncpg.connect(made.postgres.dsn("postgres"))
    await admin.execute(f"create database {DATABASE}")
    await admin.close()
    await made.make_roles()
    for service in SERVICES:
        owner_url = made.held(f"{service}-owner", "database_owner_url")
        await migrate(owner_url, service)
        owner = await asyncpg.connect(owner_url)
        await owner.execute(
            f"""create table {service}.effect (n bigint generated always as identity, lane text, value text,
                                              at timestamptz default clock_timestamp());
                grant select, insert on {service}.effect to {service}_bus"""
        )
        await owner.close()
    outcome = await apply_streams(made.nats.url, made.keys)
    assert outcome.left == []


# ---------------------------------------------------------------------------------------------------------------- load


class Load:
    """ingest says contacts without end; conversador writes down every echo of the operator's process."""

    def __init__(self, made: Installation, said_by: Bus, said_from: Database) -> None:
        self._made = made
        self._bus = said_by
        self._db = said_from
        self._contacts = [uuid4() for _ in range(LANES)]
        self._stop = asyncio.Event()
        self.said: dict[str, list[str]] = defaultdict(list)
        self.count = 0

    async def speak(self) -> None:
        while not self._stop.is_set():
            contact = self._contacts[self.count % LANES]
            self.count += 1
            text = str(self.count)
            async with self._bus.unit(tenant=TENANT, cause=uuid4()) as unit:
                await unit.perform(Effects(says=[_seen(contact, text)]))
            self.said[str(contact)].append(text)
            await asyncio.sleep(0.01)

    async def goes_on(self, messages: int = 50, seconds: float = 60.0) -> None:
        """Until so many more were said, and everything said by then has come back."""
        target = self.count + messages

        async def are_back() -> bool:
            return self.count >= target and await self._echoes() >= target

        await until(are_back, seconds)

    async def _echoes(self) -> int:
        return (await self._made.sql("select count(*) from conversador.effect"))[0][0]

    async def end(self) -> None:
        """Nothing more is said; all of it has come back."""
        self._stop.set()
        await self.goes_on(0)

    async def heard_by(self, service: str) -> Heards:
        found: dict[str, list[str]] = defaultdict(list)
        for row in await self._made.sql(f"select lane, value from {service}.effect order by n"):
            found[row["lane"]].append(row["value"])
        return found

    async def longest_pause_seconds(self) -> float:
        """Between two echoes: how long the rotation held anybody up."""
        rows = await self._made.sql(
            "select coalesce(max(extract(epoch from gap)), 0)::float8 from "
            "(select at - lag(at) over (order by n) as gap from conversador.effect) as gaps"
        )
        return rows[0][0]


def _seen(contact: UUID, text: str) -> ContactSeen:
    return ContactSeen(tenant=TENANT, contact_id=contact, channel_id=contact, name=text, has_phone=False, is_new=False)


def _write_down(heard: Heard[FactRecorded], _facts: None) -> Effects:
    said = heard.message
    return Effects(
        writes=[Write("insert into effect (lane, value) values ($1, $2)", (str(said.contact_id), said.value))]
    )


@asynccontextmanager
async def under_load(made: Installation) -> AsyncGenerator[Load]:
    hears = Quick(FactRecorded, no_facts, _write_down)
    ingest, ingest_db = await _bus(made, "ingest")
    conversador, conversador_db = await _bus(made, "conversador", hears)
    load = Load(made, ingest, ingest_db)
    speaking = asyncio.create_task(load.speak())
    running = [asyncio.create_task(bus.run()) for bus in (ingest, conversador)]
    try:
        yield load
    finally:
        speaking.cancel()
        with suppress(asyncio.CancelledError):
            await speaking
        for bus in (ingest, conversador):
            await bus.stop()
        for task in running:
            task.cancel()
        with suppress(asyncio.CancelledError, BaseExceptionGroup):
            await asyncio.gather(*running)
        await ingest_db.close()
        await conversador_db.close()


async def _bus(made: Installation, service: str, *quick: Quick) -> tuple[Bus, Database]:
    listed = {one.message for one in quick}
    heard = {message for topic in topology.heard_by(service) for message in topic.says}
    config = BusConfig(
        database_url=made.held(service, "database_url"),
        nats_url=made.nats.url,
        nats_seed=made.held(service, "nats_seed"),
        digest_key=made.held(service, "digest_key"),
        poll_seconds=0.1,
    )
    db = await Database.connect(config.database_url, schema=service, name=service)
    return Bus(service, config, db, Handlers(quick=quick, ignores=tuple(heard - listed))), db


async def ready(child: Child) -> None:
    """Until the process takes work."""

    async def takes_work() -> bool:
        assert child.is_running(), child.log_tail(40)
        return (await readiness(child))[0] == 200

    await until(takes_work, 30)


async def exit_code(child: Child) -> int:
    async def has_ended() -> bool:
        return not child.is_running()

    await until(has_ended, 45)
    assert child.exit_code is not None
    return child.exit_code
