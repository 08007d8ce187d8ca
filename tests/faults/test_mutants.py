"""The safety and its absence: a hearer of a real stream is killed at a point of its work again and again.

The real inbox keeps every effect, once. Take away one of its laws, and the same judges say lost or twice.
"""

import asyncio
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from uuid import UUID, uuid4

import asyncpg
import pytest

from contracts.messages import ContactSeen
from deploy.keys import create_keys, read_key
from deploy.local.bus import apply_streams, server_config
from deploy.local.processes import Child, Command
from shared import crash
from shared.bus import outbox
from shared.bus.connection import Connection
from shared.db import Database
from tests.faults.checker import Findings, by_lane, compare
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import NatsServer, NatsServerFactory, PostgresServer

TENANT = UUID(int=7)
LANES, EACH, DEATHS = 40, 12, 3
ACK_WAIT_SECONDS = 1.0
PASSES_WITHIN_SECONDS = 8.0
QUIET_LOOKS = 12
"""So many looks without news, a quarter of a second each: several times the wait for an acknowledgement."""


@dataclass
class Wire:
    """A real stream with something to hear, and the operator's schema."""

    postgres: PostgresServer
    nats: NatsServer
    keys: Path
    database: str
    said: dict[str, list[str]]

    def url(self, role: str) -> str:
        return self.postgres.dsn(self.database, role, PASSWORD)

    def hearer(self, mutant: str, plan: str) -> Child:
        environment = {
            "CHANCELA_DATABASE_URL": self.url("operator_bus"),
            "CHANCELA_NATS_URL": self.nats.url,
            "CHANCELA_NATS_SEED": read_key(self.keys, "operator.nk"),
            "CHANCELA_DIGEST_KEY": "d",
            "CHANCELA_POLL_SECONDS": "0.1",
            crash.VARIABLE: plan,
        }
        arguments = [sys.executable, "-m", "tests.faults.hearer", mutant]
        root = Path(__file__).resolve().parents[2]
        log_file = self.keys / "hearer.log"
        return Child("hearer", Command(arguments, log_file=log_file, env=environment, directory=root))

    async def effects(self) -> dict[str, list[str]]:
        connection = await asyncpg.connect(self.url("operator_owner"))
        try:
            rows = await connection.fetch("select lane, value from operator.effect order by n")
        finally:
            await connection.close()
        return {lane: [str(line) for line in lines] for lane, lines in by_lane(map(tuple, rows)).items()}


@pytest.fixture
async def wire(
    postgres_server: PostgresServer, nats_server_factory: NatsServerFactory, tmp_path: Path
) -> AsyncIterator[Wire]:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path))
    await apply_streams(server.url, tmp_path, ack_wait_seconds=ACK_WAIT_SECONDS)
    database = await new_database(postgres_server, [])
    wire = Wire(postgres_server, server, tmp_path, database, {})
    for service in ("ingest", "operator"):
        await prepare(wire, service)
    await say(wire)
    yield wire
    await drop_database(postgres_server, database)


async def prepare(wire: Wire, service: str) -> None:
    owner = await asyncpg.connect(wire.url(f"{service}_owner"))
    try:
        await owner.execute(files("shared.bus").joinpath("tables.sql").read_text())
        await owner.execute("create table effect (n bigint generated always as identity, lane text, value text)")
        await owner.execute(f"grant usage on schema {service} to {service}_bus")
        await owner.execute(f"grant all on all tables in schema {service} to {service}_bus")
        await owner.execute(f"grant all on all sequences in schema {service} to {service}_bus")
    finally:
        await owner.close()


async def say(wire: Wire) -> None:
    """Put everything on the stream by the real outbox and publisher, before anybody hears."""
    db = await Database.connect(wire.url("ingest_bus"), schema="ingest", name="sayer")
    connection = Connection(wire.nats.url, read_key(wire.keys, "ingest.nk"), "ingest")
    await connection.open()
    publisher = outbox.Publisher(db, connection)
    lanes = [uuid4() for _ in range(LANES)]
    for number in range(EACH):
        seen = [_seen(lane, str(number)) for lane in lanes]
        async with db.transaction() as tx:
            rows = await outbox.append(tx, [outbox.Said(one, uuid4(), "0", "") for one in seen])
        publisher.committed(rows)
        await publisher.flush()
    wire.said |= {str(lane): [str(number) for number in range(EACH)] for lane in lanes}
    await connection.close()
    await db.close()


def _seen(contact: UUID, name: str) -> ContactSeen:
    return ContactSeen(tenant=TENANT, contact_id=contact, channel_id=uuid4(), name=name, has_phone=False, is_new=False)


async def judged(wire: Wire, mutant: str, *points: str) -> Findings:
    """Let the hearer die at each point several times, then live until nothing changes any more; compare."""
    for point in points:
        died = [await dies(wire.hearer(mutant, point)) for _ in range(DEATHS)]
        assert any(died), f"{point} was never passed"
    living = wire.hearer(mutant, "")
    try:
        await settle(wire)
        assert living.is_running(), living.log_tail()
    finally:
        living.kill()
    return compare(wire.said, await wire.effects())


async def dies(child: Child) -> bool:
    """Whether it passed its point; else there is nothing left to hear at which it could die."""
    for _ in range(int(PASSES_WITHIN_SECONDS / 0.05)):
        if not child.is_running():
            assert child.exit_code == -9, child.log_tail()
            return True
        await asyncio.sleep(0.05)
    child.kill()
    return False


async def settle(wire: Wire) -> None:
    quiet, known = 0, -1
    while quiet < QUIET_LOOKS:
        count = sum(map(len, (await wire.effects()).values()))
        quiet, known = (quiet + 1 if count == known else 0), count
        await asyncio.sleep(0.25)


@pytest.mark.parametrize(
    "points",
    [
        ("inbox.after_commit_before_ack", "inbox.acked_before_drain"),
        ("inbox.before_commit", "inbox.drain_before_commit"),  # only what came again is stored, and drained
    ],
)
async def test_the_real_inbox_keeps_every_effect_once(wire: Wire, points: tuple[str, ...]) -> None:
    found = await judged(wire, "none", *points)
    assert not found, found.told()


@pytest.mark.parametrize(
    ("mutant", "point", "kind"),
    [
        ("effects_after", "mutant.between", "lost"),
        ("effects_before", "mutant.between", "twice"),
        ("no_positions", "inbox.after_commit_before_ack", "twice"),
        ("ack_first", "inbox.before_commit", "lost"),
    ],
)
async def test_an_inbox_without_one_of_its_laws_is_found_out(wire: Wire, mutant: str, point: str, kind: str) -> None:
    found = await judged(wire, mutant, point)
    assert found.counts()[kind] > 0, f"{mutant} went unnoticed: {found}"
