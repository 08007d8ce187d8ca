"""A pull while three servers change who leads (see test_reports): the next pull comes at once, nothing is lost."""

import asyncio
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from deploy.keys import create_keys, read_key
from deploy.local.bus import server_config, wanted_streams
from deploy.local.nats import Nats, start_nats
from deploy.local.ports import free_port
from shared.bus import pull as pull_module
from shared.bus.connection import Connection
from shared.bus.setup import EVERYTHING, Setup, SetupError
from tests.links.world import Links, hear, pulling, rows, say, until_true
from tests.servers import NatsServer, short_directory

NODES = 3


@contextmanager
def cluster(keys: Path) -> Generator[list[Nats]]:
    """Three servers that hold every stream together."""
    routes = [free_port() for _ in range(NODES)]
    nodes: list[Nats] = []
    with short_directory() as folder:
        for number, port in enumerate(routes):
            others = ", ".join(f'"nats://127.0.0.1:{route}"' for route in routes)
            config = server_config(keys).replace("server_name: local", f"server_name: n{number}")
            file = folder / f"n{number}.conf"
            file.write_text(f"{config}\ncluster {{ name: links, listen: 127.0.0.1:{port}, routes: [ {others} ] }}\n")
            options = ["-a", "127.0.0.1", "-p", "-1", "-sd", str(folder / f"n{number}")]
            nodes.append(start_nats(file, log_file=folder / f"n{number}.log", options=options))
        try:
            yield nodes
        finally:
            for node in nodes:
                node.kill()


@pytest.fixture
async def nodes(tmp_path: Path) -> AsyncIterator[list[Nats]]:
    create_keys(tmp_path)
    with cluster(tmp_path) as nodes:
        await until_true(lambda: has_streams(nodes, tmp_path))
        yield nodes


def urls(nodes: list[Nats]) -> str:
    return ",".join(node.url for node in nodes)


async def has_streams(nodes: list[Nats], keys: Path) -> bool:
    """False while the servers have not found each other."""
    seed = read_key(keys, "admin.nk")
    try:
        setup = await Setup.open(urls(nodes), seed, wanted_streams(), ack_wait_seconds=1.5, replicas=NODES)
        try:
            return not (await setup.apply(EVERYTHING)).left
        finally:
            await setup.close()
    except SetupError:
        return False


async def leader(nodes: list[Nats], keys: Path) -> Nats:
    """Of the operator's consumer."""
    answer = await Links(NatsServer(urls(nodes)), keys).ask("CONSUMER.INFO.INGEST_CONTACTS.operator")
    return nodes[int(answer["cluster"]["leader"][1:])]


async def test_a_leader_that_dies_and_one_that_is_restarted_cost_no_message(
    nodes: list[Nats], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_module, "SILENCE_SECONDS", 3.0)
    ingest = Connection(urls(nodes), read_key(tmp_path, "ingest.nk"), "ingest", ping_seconds=1)
    operator = Connection(urls(nodes), read_key(tmp_path, "operator.nk"), "operator", ping_seconds=1)
    await asyncio.gather(ingest.open(), operator.open())
    pull = pulling(operator)
    for round_ in range(2):
        some = rows(40, size=10 + round_)
        hearing = asyncio.create_task(hear(operator, pull, 40))
        await say(ingest, some[:20])
        node = await leader(nodes, tmp_path)
        await asyncio.to_thread(node.kill if round_ == 0 else node.stop)
        await say(ingest, some[20:])
        assert set(await hearing) == {row.payload for row in some}
        await asyncio.to_thread(node.restart)
        await until_true(lambda: has_streams(nodes, tmp_path))
    await asyncio.gather(ingest.close(), operator.close())
