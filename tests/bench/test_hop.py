"""What is measured is what is said: our hop and its neighbours do all of their work, once for each message."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import msgspec
import pytest

from contracts import topology
from deploy.bench import latency, plain_nats, traffic
from deploy.bench.rates import Rates
from deploy.bench.servers import PEER_DURABLE, PEER_IN, PEER_OUT, Producer, Servers, Watch, running
from deploy.bench.sizes import Load

LOAD = Load(600, 100)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    with running() as started:
        yield started


@pytest.fixture
async def rates(servers: Servers) -> AsyncIterator[Rates]:
    async with Watch.open(servers) as watch, Producer.open(servers, watch) as producer:
        yield Rates(servers, watch, producer)


async def peer_info(servers: Servers, what: str) -> dict[str, Any]:
    client = await plain_nats.connect(servers.peers.url)
    answer = await client.request(f"$JS.API.{what}", b"")
    await client.close()
    return msgspec.json.decode(answer.data)


def test_a_payload_has_the_size_that_the_targets_speak_of() -> None:
    contact = traffic.keys(1)[0]
    assert len(topology.encode(traffic.seen(contact))) == traffic.PAYLOAD_BYTES
    assert len(topology.encode(traffic.fact(contact, contact))) == traffic.PAYLOAD_BYTES


async def test_our_hop_writes_and_says_once_for_each_message(rates: Rates) -> None:
    values = await rates.hop(LOAD, lanes=100)
    lanes = await rates.watch.value("select count(distinct contact) from operator.bench_effect")
    assert await rates.watch.value("select count(*) from operator.bench_effect") == LOAD.messages
    assert lanes == 100
    assert await rates.watch.stored("OPERATOR_FACTS") == LOAD.messages
    assert await rates.watch.outstanding("INGEST_CONTACTS", "operator") == 0
    assert values["per_second"] > 0
    assert values["wal_bytes"] > traffic.PAYLOAD_BYTES, "less than what it says cannot have been committed"


@pytest.mark.parametrize("worker", ["without_lanes", "naive"])
async def test_a_neighbour_writes_and_says_once_for_each_message(rates: Rates, worker: str) -> None:
    values = await rates.peer(worker, LOAD)
    assert await rates.watch.value("select count(*) from peer.effect") == LOAD.messages
    assert await rates.watch.value("select count(*) from peer.outbox") == LOAD.messages
    assert (await peer_info(rates.servers, f"STREAM.INFO.{PEER_OUT}"))["state"]["messages"] == LOAD.messages
    assert values["per_second"] > 0


async def test_fetch_and_ack_leaves_nothing_unacknowledged(rates: Rates) -> None:
    await rates.peer("fetch", LOAD)
    found = await peer_info(rates.servers, f"CONSUMER.INFO.{PEER_IN}.{PEER_DURABLE}")
    assert (found["num_pending"], found["num_ack_pending"]) == (0, 0)


async def test_a_worker_that_breaks_is_told_with_the_end_of_its_log(rates: Rates) -> None:
    with pytest.raises(RuntimeError, match=r"ended with code 1:[\s\S]*No module named"):
        await rates.peer("no_such_worker", LOAD)


async def test_latency_is_measured_on_messages_that_arrived(servers: Servers) -> None:
    values = await latency.measure(servers, 5)
    assert values["hop_ms"] > 0
    assert values["commit_and_publish_ms"] == pytest.approx(values["commit_ms"] + values["publish_ms"])
