"""Our hop at ten messages a second beside what it cannot do without: one commit and one publish, measured in between.

`hop_ms`: from the call that publishes a message to ingest's stream until the message that our hop says about it has
reached the next hearer's connection. `commit_and_publish_ms`: the median of one insert in a transaction of its own plus
the median of one publish with its stream's acknowledgement, over the same connections, at the same rate.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from statistics import median
from typing import Any
from uuid import UUID, uuid4, uuid5

import asyncpg
import msgspec

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import plain_nats, traffic
from deploy.bench.servers import Servers
from deploy.bench.worker import serving, until_idle
from deploy.keys import read_key
from deploy.local.layout import TENANT

HEARER = "guardrails"
STREAM = "OPERATOR_FACTS"
DURABLE = HEARER
EVERY_SECONDS = 0.1
LOST_AFTER_SECONDS = 20.0
WARM_UP = 10
QUIET_SECONDS = 1.0
PULL = msgspec.json.encode({"batch": 1000, "expires": 100_000_000_000})
TOPIC = topology.BY_MESSAGE[ContactSeen]


@dataclass
class Ear:
    """The next hearer: asks for messages ahead, acknowledges, and notes when each arrived."""

    client: plain_nats.Client
    arrived: dict[UUID, asyncio.Future[float]] = field(default_factory=dict[UUID, "asyncio.Future[float]"])

    async def open(self) -> None:
        await self._hear_what_is_old()
        inbox = self.client.new_inbox()
        await self.client.subscribe(inbox, cb=self._hear)
        await self.client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{STREAM}.{DURABLE}", PULL, reply=inbox)

    async def _hear_what_is_old(self) -> None:
        """What other benches said, and nobody heard."""
        pull = await self.client.jetstream().pull_subscribe_bind(DURABLE, STREAM)
        with suppress(TimeoutError):
            while batch := await pull.fetch(256, timeout=QUIET_SECONDS):
                for message in batch:
                    await message.ack()
        await pull.unsubscribe()

    async def _hear(self, message: plain_nats.Message) -> None:
        at = time.monotonic()
        if not message.data:
            return
        waiting = self.arrived.pop(UUID(message.headers["Cause"]), None)
        if waiting is not None and not waiting.done():
            waiting.set_result(at)
        await message.ack()

    def expect(self, cause: UUID) -> "asyncio.Future[float]":
        self.arrived[cause] = asyncio.get_running_loop().create_future()
        return self.arrived[cause]


@dataclass
class Mouth:
    """ingest's connection: says messages on lanes of this bench's own, with the headers that the outbox writes."""

    client: plain_nats.Client
    run: UUID
    said: int = 0

    async def say(self) -> UUID:
        """One message, on a lane that nobody used before; returns its id."""
        contact, message_id = uuid5(self.run, str(self.said)), uuid4()
        self.said += 1
        headers = {
            "Nats-Msg-Id": str(message_id),
            "Lane": topology.lane(TOPIC, contact),
            "Lane-Seq": "0",
            "Tenant": str(TENANT),
            "Cause": str(message_id),
            "Schema": ContactSeen.__name__,
            "traceparent": "",
        }
        payload = topology.encode(traffic.seen(contact))
        await self.client.publish(topology.subject(TOPIC, contact), payload, headers=headers)
        return message_id


@asynccontextmanager
async def connected(servers: Servers, identity: str) -> AsyncGenerator[plain_nats.Client]:
    seed = read_key(servers.stack.layout.keys, f"{identity}.nk")
    client = await plain_nats.connect(servers.nats.url, nkeys_seed_str=seed, inbox_prefix=f"_INBOX_{identity}")
    try:
        yield client
    finally:
        await client.close()


async def measure(servers: Servers, messages: int) -> dict[str, float]:
    """One block of messages; the medians of its parts."""
    async with (
        connected(servers, "ingest") as saying,
        connected(servers, HEARER) as hearing,
        commits(servers) as commit,
        publishes(servers) as publish,
        serving(servers, servers.file("tally.json")) as child,
    ):
        await until_idle(child)
        ear, mouth = Ear(hearing), Mouth(saying, uuid4())
        await ear.open()
        commit_times: list[float] = []
        publish_times: list[float] = []
        hops: list[float] = []
        for number in range(WARM_UP + messages):
            began = time.monotonic()
            took = await timed(commit), await timed(publish), await _hop(ear, mouth)
            if number >= WARM_UP:
                for total, one in zip((commit_times, publish_times, hops), took, strict=True):
                    total.append(one)
            await asyncio.sleep(max(0.0, began + EVERY_SECONDS - time.monotonic()))
    return {
        "hop_ms": median(hops) * 1000,
        "hop_p95_ms": sorted(hops)[int(len(hops) * 0.95)] * 1000,
        "commit_ms": median(commit_times) * 1000,
        "publish_ms": median(publish_times) * 1000,
        "commit_and_publish_ms": (median(commit_times) + median(publish_times)) * 1000,
    }


async def _hop(ear: Ear, mouth: Mouth) -> float:
    began = time.monotonic()
    waiting = ear.expect(await mouth.say())
    async with asyncio.timeout(LOST_AFTER_SECONDS):
        return await waiting - began


async def timed(act: Callable[[], Awaitable[Any]]) -> float:
    began = time.monotonic()
    await act()
    return time.monotonic() - began


@asynccontextmanager
async def commits(servers: Servers) -> AsyncGenerator[Callable[[], Awaitable[Any]]]:
    """One insert of a payload's size in a transaction of its own."""
    connection = await asyncpg.connect(servers.database_url, server_settings={"search_path": "peer"})
    insert = await connection.prepare("insert into effect (contact, name) values ($1, $2)")
    contact = traffic.keys(1)[0]
    try:
        yield lambda: insert.fetch(contact, "n" * traffic.PAYLOAD_BYTES)
    finally:
        await connection.close()


@asynccontextmanager
async def publishes(servers: Servers) -> AsyncGenerator[Callable[[], Awaitable[Any]]]:
    """One publish of a payload's size into a stream of the plain NATS, with its acknowledgement."""
    client = await plain_nats.connect(servers.peers.url)
    stream = client.jetstream()
    await stream.add_stream(name="LATENCY", subjects=["latency"], duplicate_window=300.0)
    payload = b"n" * traffic.PAYLOAD_BYTES
    try:
        yield lambda: stream.publish("latency", payload, headers={"Nats-Msg-Id": str(uuid4())})
    finally:
        await stream.delete_stream("LATENCY")
        await client.close()
