"""A real nats-server with the generated accounts; our own connections to it, by way of a proxy or not; the admin."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
from nats.aio.client import Client

from contracts import topology
from deploy.keys import read_key
from deploy.local.bus import apply_streams
from deploy.local.nats import Nats
from shared.bus.connection import Connection
from shared.bus.outbox import Row
from shared.bus.pull import Pull
from tests.harness import within
from tests.links.proxy import Proxy
from tests.servers import NatsServer

ACK_WAIT_SECONDS = 1.5
PATIENCE_SECONDS = 40.0
"""For what should take a moment; the machine may be busy."""
CONTACTS = topology.BY_ROOT["ingest.contacts"]


@dataclass
class Links:
    """The server of one test; its address may be several, separated by commas."""

    server: NatsServer
    keys: Path

    @property
    def local(self) -> Nats:
        """The server's process; these tests need one of their own."""
        assert self.server.local is not None, "run with --servers=embedded: this test stops its server"
        return self.server.local

    async def apply(self) -> None:
        await apply_streams(self.server.url, self.keys, ack_wait_seconds=ACK_WAIT_SECONDS)

    @asynccontextmanager
    async def connected(
        self, service: str, via: Proxy | None = None, *, ping_seconds: float = 10.0
    ) -> AsyncGenerator[Connection]:
        """As that service, until the block ends."""
        url = via.url if via is not None else self.server.url
        connection = Connection(url, read_key(self.keys, f"{service}.nk"), service, ping_seconds=ping_seconds)
        await within(connection.open(), PATIENCE_SECONDS)
        try:
            yield connection
        finally:
            await connection.close()

    async def ask(self, subject: str, body: Any = None) -> dict[str, Any]:
        """The JetStream API's answer to the admin."""
        client = Client()
        seed = read_key(self.keys, "admin.nk")
        await client.connect(self.server.url.split(","), nkeys_seed_str=seed, inbox_prefix="_INBOX_admin")
        try:
            payload = b"" if body is None else msgspec.json.encode(body)
            answer = await client.request(f"$JS.API.{subject}", payload, timeout=10)
        finally:
            await client.close()
        return msgspec.json.decode(answer.data)

    async def stored(self, stream: str = "INGEST_CONTACTS") -> int:
        """Messages in a stream."""
        return (await self.ask(f"STREAM.INFO.{stream}"))["state"]["messages"]

    async def unacknowledged(self) -> int:
        """Messages given to the operator that the server still waits to hear of."""
        return (await self.ask("CONSUMER.INFO.INGEST_CONTACTS.operator"))["num_ack_pending"]


def rows(number: int = 1, *, size: int = 10) -> list[Row]:
    """What ingest may say, each with another id; the payload begins with its number."""
    ids = [uuid4() for _ in range(number)]
    return [
        Row(
            (1, index, 0), id, topology.subject(CONTACTS, id), {"Nats-Msg-Id": str(id)}, f"{index}".encode().ljust(size)
        )
        for index, id in enumerate(ids)
    ]


async def say(connection: Connection, some: Sequence[Row]) -> None:
    """Publish until the stream has all of them, as a publisher does."""
    left = list(some)
    async with asyncio.timeout(PATIENCE_SECONDS):
        while left:
            taken = {row.msg_id for row in (await connection.publish(left)).taken}
            left = [row for row in left if row.msg_id not in taken]
            if left:
                await asyncio.sleep(0.05)


def pulling(connection: Connection) -> Pull:
    """The operator's pull of what ingest says; it hears when the connection is renewed, as in a `Bus`."""
    pull = Pull(connection, topology.Consumer("operator", CONTACTS))

    async def forget() -> None:
        pull.forget()

    connection.on_reconnect = forget
    return pull


async def hear(connection: Connection, pull: Pull, number: int) -> list[bytes]:
    """Pull and acknowledge until so many different messages came; their payloads, repeated ones too."""
    heard: list[bytes] = []
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(set(heard)) < number:
            batch = await pull.next_batch()
            heard += [message.data for message in batch]
            await connection.acknowledge(batch)
    return heard


async def until_true(condition: Callable[[], Awaitable[bool]], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not await condition():
        assert asyncio.get_running_loop().time() < deadline, "the condition did not come true"
        await asyncio.sleep(0.1)


async def until(condition: Callable[[], Any], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = asyncio.get_running_loop().time() + seconds
    while not condition():
        assert asyncio.get_running_loop().time() < deadline, "the condition did not come true"
        await asyncio.sleep(0.01)


class Watched:
    """Counts the messages that pass a proxy, by words that they contain."""

    def __init__(self, *words: bytes) -> None:
        self.counts = dict.fromkeys(words, 0)

    def __call__(self, frame: bytes) -> Sequence[bytes]:
        for word in self.counts:
            self.counts[word] += word in frame
        return (frame,)

    def __getitem__(self, word: bytes) -> int:
        return self.counts[word]
