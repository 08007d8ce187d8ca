"""A real stream between two services' sides of the bus, which run as processes that can be killed and stopped."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path

import asyncpg
import msgspec

from contracts.messages import ContactSeen
from deploy.keys import create_keys, read_key
from deploy.local.bus import apply_streams, server_config
from deploy.local.processes import Child, Command
from shared import crash
from tests.faults import hearer
from tests.faults.checker import Findings, by_lane, compare
from tests.faults.mutants import REAL
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import NatsServer, NatsServerFactory, PostgresServer

ROOT = Path(__file__).resolve().parents[2]
ACK_WAIT_SECONDS = 1.0
LEASE_SECONDS = 1.0
PATIENCE_SECONDS = 30.0
"""With the real bus, which always gets there; a busy machine takes its time."""
STANDSTILL_SECONDS = 6.0
"""With a mutant: several times the wait for an acknowledgement, a lease or a sweep."""
AFTERWARDS_SECONDS = 2.0
"""When all is heard: time for what comes a second time."""
PASSES_WITHIN_SECONDS = 60.0
LOOK_SECONDS = 0.1
FOR_GOOD = ("invented", "twice", "out_of_order")
"""What is found once stays; only what is lost may still come."""

_message = msgspec.json.Decoder(ContactSeen)


@dataclass
class Wire:
    """Servers, keys and a database of one test; what runs on them ends with it."""

    postgres: PostgresServer
    nats: NatsServer
    folder: Path
    database: str
    _children: list[Child] = field(default_factory=list[Child])

    def hearer(self, mutant: str, *, dies_at: str = "", handles: str = "quick") -> Child:
        return self._start(
            "operator",
            ["tests.faults.hearer", mutant],
            {crash.VARIABLE: dies_at, hearer.HANDLES: handles, hearer.STOPS_ONCE: str(self.folder / "stopped")},
        )

    def teller(self, mutant: str, what: str, *, dies_at: str = "") -> Child:
        name = f"teller-{len(self._children)}"
        return self._start("ingest", ["tests.faults.teller", mutant, what, name], {crash.VARIABLE: dies_at})

    def _start(self, service: str, module: list[str], own: Mapping[str, str]) -> Child:
        environment = {
            "CHANCELA_DATABASE_URL": self._url(f"{service}_bus"),
            "CHANCELA_NATS_URL": self.nats.url,
            "CHANCELA_NATS_SEED": read_key(self.folder, f"{service}.nk"),
            "CHANCELA_DIGEST_KEY": "d",
            "CHANCELA_POLL_SECONDS": "0.1",
            "CHANCELA_LEASE_SECONDS": str(LEASE_SECONDS),
            **own,
        }
        log_file = self.folder / f"{service}-{len(self._children)}.log"
        command = Command([sys.executable, "-m", *module], log_file=log_file, env=environment, directory=ROOT)
        child = Child(module[0], command)
        self._children.append(child)
        return child

    def _url(self, role: str) -> str:
        return self.postgres.dsn(self.database, role, PASSWORD)

    async def prepare(self) -> None:
        for service in ("ingest", "operator"):
            owner = await asyncpg.connect(self._url(f"{service}_owner"))
            try:
                await owner.execute(files("shared.bus").joinpath("tables.sql").read_text())
                await owner.execute(
                    "create table effect (n bigint generated always as identity, lane text, value text)"
                )
                await owner.execute(f"grant usage on schema {service} to {service}_bus")
                await owner.execute(f"grant all on all tables in schema {service} to {service}_bus")
                await owner.execute(f"grant all on all sequences in schema {service} to {service}_bus")
            finally:
                await owner.close()

    async def said(self) -> dict[str, list[str]]:
        """What was committed, by lane, in the order of its positions."""
        rows = await self._read("select payload from ingest.outbox order by lane, lane_seq, created_at", "ingest")
        seen = [_message.decode(row["payload"]) for row in rows]
        return {lane: [str(one) for one in names] for lane, names in by_lane(map(_lane_and_name, seen)).items()}

    async def effects(self) -> dict[str, list[str]]:
        """What came of it, in the order in which it came."""
        rows = await self._read("select lane, value from operator.effect order by n", "operator")
        return {lane: [str(one) for one in values] for lane, values in by_lane(map(tuple, rows)).items()}

    async def _read(self, sql: str, service: str) -> list[asyncpg.Record]:
        connection = await asyncpg.connect(self._url(f"{service}_owner"))
        try:
            return await connection.fetch(sql)
        finally:
            await connection.close()

    async def judged(self, mutant: str) -> Findings:
        """Compare when all is heard, or when nothing moves any more, or as soon as it is wrong for good."""
        standstill = PATIENCE_SECONDS if mutant == REAL else STANDSTILL_SECONDS
        clock = asyncio.get_running_loop().time
        known, moved_at = -1, clock()
        while True:
            effects = await self.effects()
            found = compare(await self.said(), effects)
            if any(found.counts()[kind] for kind in FOR_GOOD):
                return found
            count = sum(map(len, effects.values()))
            if count != known:
                known, moved_at = count, clock()
            patience = standstill if found.lost else AFTERWARDS_SECONDS
            if clock() > moved_at + patience:
                return found
            await asyncio.sleep(0.2)

    def stop(self) -> None:
        for child in self._children:
            child.kill()


@asynccontextmanager
async def wire_of(postgres: PostgresServer, nats: NatsServerFactory, folder: Path) -> AsyncGenerator[Wire]:
    create_keys(folder)
    server = nats(server_config(folder))
    await apply_streams(server.url, folder, ack_wait_seconds=ACK_WAIT_SECONDS)
    wire = Wire(postgres, server, folder, await new_database(postgres, []))
    await wire.prepare()
    try:
        yield wire
    finally:
        wire.stop()
        await drop_database(postgres, wire.database)


async def started(child: Child) -> Child:
    """When it has written its first line."""
    await _until(child, lambda: bool(child.log_tail(1)), "says that it started")
    return child


async def said_all(child: Child) -> Child:
    await _until(child, lambda: "said all" in child.log_tail(100), "has said all")
    return child


async def dead(child: Child) -> None:
    """When it died at its point."""
    await _until(None, lambda: not child.is_running(), f"{child.name} dies")
    assert child.exit_code == -signal.SIGKILL, child.log_tail()


async def stopped(child: Child) -> None:
    """When it has stopped itself."""
    stat = Path(f"/proc/{child.pid}/stat")
    await _until(child, lambda: stat.read_text().rpartition(") ")[2].startswith("T"), "stops itself")


async def _until(child: Child | None, is_so: Callable[[], bool], what: str) -> None:
    try:
        async with asyncio.timeout(PASSES_WITHIN_SECONDS):
            while not is_so():
                assert child is None or child.is_running(), child.log_tail()
                await asyncio.sleep(LOOK_SECONDS)
    except TimeoutError:
        raise AssertionError(f"nobody {what} within {PASSES_WITHIN_SECONDS:.0f} s") from None


def _lane_and_name(seen: ContactSeen) -> tuple[str, str]:
    return str(seen.contact_id), seen.name
