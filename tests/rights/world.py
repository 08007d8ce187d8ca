"""A configured server, one raw connection per identity, and what can be seen of it from outside."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from contracts import topology
from contracts.topology import SERVICES, STREAMS, TOPICS, Topic
from deploy.keys import read_key
from deploy.local.bus import apply_streams
from tests.rights.wire import Delivery, Wire
from tests.servers import NatsServer

IDENTITIES = ("operator", *(one for one in SERVICES if one != "operator"), "admin", "auditor")
CONSUMERS = tuple((one.stream, one.durable) for one in topology.consumers())
ACK_WAIT_SECONDS = 3600.0
"""So that time alone redelivers nothing while a test runs."""
MARKER_KEY = UUID(int=1)
TRAP = "attack"
"""Last token of the inbox subjects that attacks aim at."""


def secret_of(topic: Topic) -> bytes:
    return f"<secret of {topic.root}>".encode()


def hearer_of(durable: str) -> str:
    return durable.partition("-")[0]


def owners_of(stream: str) -> set[str]:
    return {topic.said_by for topic in TOPICS if topic.stream == stream}


@dataclass(frozen=True)
class State:
    """What the auditor reads: streams and consumers, without what time alone changes."""

    streams: Mapping[str, Mapping[str, Any]]
    consumers: Mapping[tuple[str, str], Mapping[str, Any]]
    names: Mapping[str, tuple[str, ...]]


@dataclass
class World:
    server: NatsServer
    keys: Path
    wires: dict[str, Wire]
    held: dict[tuple[str, str], list[str]] = field(default_factory=dict[tuple[str, str], list[str]])
    """Acknowledgement subjects of what each rightful consumer has pulled and not acknowledged."""

    async def connect(self, identity: str) -> Wire:
        """One more connection of an identity, with its own credentials."""
        return await Wire.open(self.server.url, identity, read_key(self.keys, f"{identity}.nk"))

    async def fill(self, messages_per_topic: int = 12, held_per_consumer: int = 3) -> None:
        """Something in every stream to steal, something pulled by every consumer to acknowledge."""
        for topic in TOPICS:
            for _ in range(messages_per_topic):
                await self.say(topic, uuid4())
        for stream, durable in CONSUMERS:
            self.held[stream, durable] = [(await self.pull(stream, durable)).reply for _ in range(held_per_consumer)]
            assert all(self.held[stream, durable])

    async def say(self, topic: Topic, key: UUID, message_id: str = "") -> int:
        """The rightful owner publishes; returns the sequence in the stream."""
        headers = (f"Nats-Msg-Id: {message_id}",) if message_id else ()
        answer = await self.wires[topic.said_by].ask(topology.subject(topic, key), secret_of(topic), headers=headers)
        acknowledged = json.loads(answer.payload)
        assert acknowledged["stream"] == topic.stream
        assert not acknowledged.get("duplicate")
        return acknowledged["seq"]

    async def pull(self, stream: str, durable: str) -> Delivery:
        """The rightful consumer takes one message; its reply subject acknowledges it."""
        subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"
        return await self.wires[hearer_of(durable)].ask(subject, b'{"batch":1,"no_wait":true}')

    async def state(self) -> State:
        auditor = self.wires["auditor"]
        streams: dict[str, Mapping[str, Any]] = {}
        consumers: dict[tuple[str, str], Mapping[str, Any]] = {}
        for stream in STREAMS:
            streams[stream] = _stream_state(await self._read(auditor, f"$JS.API.STREAM.INFO.{stream}"))
        for pair in CONSUMERS:
            consumers[pair] = _consumer_state(await self._read(auditor, "$JS.API.CONSUMER.INFO." + ".".join(pair)))
        names = {
            one: tuple(sorted((await self._read(auditor, f"$JS.API.CONSUMER.NAMES.{one}"))["consumers"]))
            for one in STREAMS
        }
        all_streams = await self._read(auditor, "$JS.API.STREAM.NAMES")
        return State(streams, consumers, {**names, "": tuple(sorted(all_streams["streams"]))})

    async def _read(self, auditor: Wire, subject: str) -> Any:
        answer = json.loads((await auditor.ask(subject)).payload)
        assert "error" not in answer, answer
        return answer


@asynccontextmanager
async def open_world(server: NatsServer, keys: Path) -> AsyncGenerator[World]:
    await apply_streams(server.url, keys, ack_wait_seconds=ACK_WAIT_SECONDS)
    world = World(server, keys, {})
    for identity in IDENTITIES:
        world.wires[identity] = await world.connect(identity)
        world.wires[identity].subscribe(f"_INBOX_{identity}.{TRAP}")
    try:
        yield world
    finally:
        for wire in world.wires.values():
            await wire.close()


def _stream_state(info: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = ("messages", "bytes", "first_seq", "last_seq", "num_deleted")
    state = {name: info["state"].get(name, 0) for name in kept}
    return {**state, "config": info["config"], "created": info["created"]}


def _consumer_state(info: Mapping[str, Any]) -> Mapping[str, Any]:
    kept = ("num_ack_pending", "num_redelivered", "num_waiting", "config", "created")
    floor = {"ack_floor": info["ack_floor"]["stream_seq"], "ack_floor_own": info["ack_floor"]["consumer_seq"]}
    return {name: info[name] for name in kept} | floor | {"delivered": info["delivered"]["consumer_seq"]}
