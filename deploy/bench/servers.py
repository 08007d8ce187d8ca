"""The servers of a bench: the installation's own (all durability as delivered), and a plain NATS for the peers."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import msgspec

from contracts import topology
from deploy.bench import plain_nats, traffic
from deploy.demo.fresh import free_ports
from deploy.keys import read_key
from deploy.local.layout import TENANT, Layout
from deploy.local.nats import Nats, start_nats
from deploy.local.ports import free_port
from deploy.local.postgres import erase_postgres
from deploy.local.stack import Stack
from shared.bus import Bus, Effects, Handlers
from shared.config import BusConfig
from shared.db import Database

POSTGRES_SETTINGS = {"max_connections": "200", "max_wal_size": "8GB", "checkpoint_timeout": "1h"}
"""Every durability setting is PostgreSQL's default; no checkpoint falls into a run and adds its page images to one."""
_PLAIN_NATS = """
server_name: peers
max_payload: 262144
write_deadline: "5s"
jetstream { max_mem: 64M, max_file: 40G, sync_interval: "10s" }
"""
_TABLES = """
create table if not exists operator.bench_effect (
  id bigint generated always as identity primary key, contact uuid not null, name text not null);
grant select, insert on operator.bench_effect to operator_bus;
create schema if not exists peer;
create table if not exists peer.effect (
  id bigint generated always as identity primary key, contact uuid not null, name text not null);
create table if not exists peer.inbox (id uuid primary key);
create table if not exists peer.outbox (
  batch bigint, n int, msg_id uuid not null, subject text not null, cause uuid not null, payload bytea not null,
  created_at timestamptz not null default clock_timestamp(), primary key (batch, n));
create table if not exists peer.mark (writer int primary key, batch bigint not null);
"""
STORED_WITHIN_SECONDS = 60.0
PRELOAD_AT_ONCE = 500


@dataclass
class Servers:
    """One PostgreSQL, the installation's NATS with its accounts, and the peers' NATS without any."""

    stack: Stack
    peers: Nats
    folder: Path

    @property
    def nats(self) -> Nats:
        assert self.stack.nats is not None
        return self.stack.nats

    @property
    def postgres_pid(self) -> int:
        assert self.stack.postgres is not None
        return self.stack.postgres.pid

    @property
    def database_url(self) -> str:
        return self.stack.superuser_url()

    def environment(self, service: str, **more: str) -> dict[str, str]:
        """What a service's process is told, with probes on a free port."""
        found = self.stack.layout.environment(
            service,
            database_url=self.stack.database_url(service, "bus"),
            web_url="",
            nats_url=self.nats.url,
        )
        port = str(free_port())
        own = {"HEALTH_PORT": port, "METRICS_PORT": port, "LOG_LEVEL": "warning", **more}
        return found | {f"CHANCELA_{name}": value for name, value in own.items()}

    def file(self, name: str) -> Path:
        """A new file for something that a worker writes."""
        return self.folder / f"{uuid4().hex[:8]}-{name}"


@contextmanager
def running(
    layout_kind: type[Layout] = Layout,
    *,
    services: Sequence[str] = (),
    overrides: Mapping[str, Mapping[str, str]] | None = None,
) -> Generator[Servers]:
    """Started, with schemas, streams, the bench's own tables and these services; everything is gone at the end."""
    folder = Path(tempfile.mkdtemp(prefix="chancela-bench-"))
    folder.chmod(0o711)
    layout = layout_kind(folder / "home", free_ports(), overrides=overrides or {})
    layout.home.mkdir(mode=0o711)
    settings = dict(POSTGRES_SETTINGS)
    try:
        with Stack(layout, postgres_settings=settings, services=services, with_phone=False) as stack:
            peers = _start_peers(folder)
            try:
                asyncio.run(_create_tables(stack.superuser_url()))
                yield Servers(stack, peers, folder)
            finally:
                peers.stop()
    finally:
        erase_postgres(layout.home / "postgres")
        shutil.rmtree(folder, ignore_errors=True)


def _start_peers(folder: Path) -> Nats:
    config = folder / "peers.conf"
    config.write_text(_PLAIN_NATS, encoding="utf-8")
    options = ["-a", "127.0.0.1", "-p", "-1", "-sd", str(folder / "jetstream")]
    return start_nats(config, log_file=folder / "peers.log", options=options)


async def _create_tables(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_TABLES)
    finally:
        await connection.close()


# ----------------------------------------------------------------------------------------------------- the bus as it is


class Watch:
    """Counts of streams and consumers, asked with the installation's admin key, and of rows in the database."""

    def __init__(self, client: plain_nats.Client, database: Any) -> None:
        self._client = client
        self._database = database

    @classmethod
    @asynccontextmanager
    async def open(cls, servers: Servers) -> AsyncGenerator["Watch"]:
        seed = read_key(servers.stack.layout.keys, "admin.nk")
        client = await plain_nats.connect(servers.nats.url, nkeys_seed_str=seed, inbox_prefix="_INBOX_admin")
        database = await asyncpg.connect(servers.database_url)
        try:
            yield cls(client, database)
        finally:
            await client.close()
            await database.close()

    async def stored(self, stream: str) -> int:
        """Messages in a stream."""
        return (await self._ask(f"STREAM.INFO.{stream}"))["state"]["messages"]

    async def outstanding(self, stream: str, durable: str) -> int:
        """Messages that a consumer has not acknowledged."""
        found = await self._ask(f"CONSUMER.INFO.{stream}.{durable}")
        return found["num_pending"] + found["num_ack_pending"]

    async def _ask(self, what: str) -> dict[str, Any]:
        answer = msgspec.json.decode((await self._client.request(f"$JS.API.{what}", b"{}", timeout=10)).data)
        if "error" in answer:
            raise RuntimeError(f"{what}: {answer['error']['description']}")
        return answer

    async def value(self, sql: str, *args: object) -> Any:
        return await self._database.fetchval(sql, *args)

    async def empty_peer_tables(self) -> None:
        await self._database.execute("truncate peer.effect, peer.inbox, peer.outbox, peer.mark")

    async def wal_position(self) -> int:
        """Bytes of write-ahead log since the beginning."""
        return int(await self.value("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


class Producer:
    """ingest as far as the bus goes: says messages through its own outbox, by the same code as the service."""

    def __init__(self, bus: Bus, watch: Watch) -> None:
        self._bus = bus
        self._watch = watch

    @classmethod
    @asynccontextmanager
    async def open(cls, servers: Servers, watch: Watch) -> AsyncGenerator["Producer"]:
        layout = servers.stack.layout
        url = servers.stack.database_url("ingest", "bus")
        config = BusConfig(
            database_url=url,
            nats_url=servers.nats.url,
            nats_seed=read_key(layout.keys, "ingest.nk"),
            digest_key=read_key(layout.keys, "ingest.digest"),
        )
        database = await Database.connect(url, schema="ingest", name="bench-producer")
        ignored = tuple(message for topic in topology.heard_by("ingest") for message in topic.says)
        bus = Bus("ingest", config, database, Handlers(ignores=ignored))
        running = asyncio.create_task(bus.run())
        try:
            yield cls(bus, watch)
        finally:
            await bus.stop()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await database.close()

    async def preload(self, messages: int, lanes: int) -> None:
        """Say so many, evenly over the lanes, and return when the stream holds them and nothing is under way."""
        wanted = await self._watch.stored("INGEST_CONTACTS") + messages
        keys = traffic.keys(lanes)
        for first in range(0, messages, PRELOAD_AT_ONCE):
            numbers = range(first, min(first + PRELOAD_AT_ONCE, messages))
            said = [traffic.seen(keys[number % lanes]) for number in numbers]
            async with self._bus.unit(tenant=TENANT, cause=uuid4()) as unit:
                await unit.perform(Effects(says=said))
        async with asyncio.timeout(STORED_WITHIN_SECONDS):
            while await self._watch.stored("INGEST_CONTACTS") < wanted:  # noqa: ASYNC110 - the server tells nobody
                await asyncio.sleep(0.05)
        await asyncio.sleep(0.3)  # the producer's own bookkeeping must not run beside what is measured

    async def say(self, contact: Any) -> None:
        """One message, as an HTTP edge says it."""
        async with self._bus.unit(tenant=TENANT, cause=uuid4()) as unit:
            await unit.perform(Effects(says=[traffic.seen(contact)]))


# ------------------------------------------------------------------------------------------------------- the peers' bus

PEER_IN, PEER_OUT = "IN", "OUT"
PEER_DURABLE = "peer"


async def preload_peers(url: str, messages: int, lanes: int) -> None:
    """Fresh streams; IN holds so many of the same messages under the same headers, and nobody has heard them."""
    client = await plain_nats.connect(url)
    try:
        stream = client.jetstream()
        for name in (PEER_IN, PEER_OUT):
            await _drop(stream, name)
            await stream.add_stream(name=name, subjects=[f"{name.lower()}.>"], duplicate_window=300.0)
        await stream.add_consumer(
            PEER_IN, durable_name=PEER_DURABLE, ack_policy="explicit", ack_wait=30.0, max_ack_pending=4096
        )
        for first in range(0, messages, PRELOAD_AT_ONCE):
            numbers = range(first, min(first + PRELOAD_AT_ONCE, messages))
            await asyncio.gather(*(_publish(stream, number, lanes) for number in numbers))
    finally:
        await client.close()


async def _drop(stream: Any, name: str) -> None:
    try:
        await stream.delete_stream(name)
    except plain_nats.NotFound:
        return


async def _publish(stream: Any, number: int, lanes: int) -> None:
    contact = traffic.keys(lanes)[number % lanes]
    await stream.publish(f"in.{contact}", topology.encode(traffic.seen(contact)), headers=headers(number, lanes))


def headers(number: int, lanes: int) -> dict[str, str]:
    """The same names and about the same bytes as the outbox writes."""
    contact = traffic.keys(lanes)[number % lanes]
    return {
        "Nats-Msg-Id": str(uuid4()),
        "Lane": f"ingest.contacts:0:{contact}",
        "Lane-Seq": str(number // lanes),
        "Tenant": str(TENANT),
        "Cause": str(contact),
        "Schema": "ContactSeen",
        "traceparent": "",
    }
