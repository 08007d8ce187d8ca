"""The proxy does what its docstring says: else tests over it prove nothing."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

from tests.harness import within
from tests.links.frames import Frames
from tests.links.proxy import Proxy, running
from tests.links.world import until

SOON_SECONDS = 0.3
Connect = Callable[[], Awaitable["Client"]]


@pytest.fixture
async def proxy() -> AsyncIterator[Proxy]:
    """Before a server that says everything back."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while some := await reader.read(65536):
                writer.write(some)
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with Proxy.to(f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}") as proxy:
        yield proxy
    server.close()


class Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, some: bytes) -> None:
        self._writer.write(some)

    async def hears(self, some: bytes) -> bool:
        try:
            return await within(self._reader.readexactly(len(some)), SOON_SECONDS) == some
        except TimeoutError:
            return False

    async def is_cut(self) -> bool:
        try:
            return await within(self._reader.read(1), SOON_SECONDS) == b""
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._writer.transport.abort()


@pytest.fixture
async def connect(proxy: Proxy) -> AsyncIterator[Connect]:
    clients: list[Client] = []

    async def connect() -> Client:
        clients.append(Client(*await asyncio.open_connection("127.0.0.1", proxy.port)))
        return clients[-1]

    yield connect
    for client in clients:
        client.close()


async def test_what_is_frozen_is_held_and_comes_when_it_is_thawed(proxy: Proxy, connect: Connect) -> None:
    client = await connect()
    client.send(b"a")
    assert await client.hears(b"a")
    proxy.freeze("back")
    client.send(b"b")
    assert not await client.hears(b"b")
    another = await connect()
    another.send(b"c")
    assert await another.hears(b"c")
    proxy.thaw()
    assert await client.hears(b"b")


async def test_a_link_frozen_for_new_ones_accepts_and_says_nothing(proxy: Proxy, connect: Connect) -> None:
    proxy.freeze(new=True)
    client = await connect()
    client.send(b"a")
    assert not await client.hears(b"a")
    proxy.cut()
    assert await client.is_cut()


async def test_what_is_cut_is_reset_and_what_is_refused_does_not_connect(proxy: Proxy, connect: Connect) -> None:
    client = await connect()
    await until(lambda: proxy.connections == 1)
    proxy.refuse()
    proxy.cut()
    assert await client.is_cut()
    with pytest.raises(OSError, match="Connect call failed"):
        await connect()
    await proxy.accept()
    client = await connect()
    client.send(b"a")
    assert await client.hears(b"a")


async def test_a_slow_link_takes_its_time_and_loses_nothing(proxy: Proxy, connect: Connect) -> None:
    proxy.there.bytes_per_second = 20_000
    client, began = await connect(), time.monotonic()
    client.send(b"x" * 10_000)
    await until(lambda: proxy.back.passed >= 10_000)
    assert time.monotonic() - began >= 0.4


async def test_messages_are_lost_doubled_and_put_between(proxy: Proxy, connect: Connect) -> None:
    def alter(frame: bytes) -> list[bytes]:
        return {b"P": [frame, frame], b"S": []}.get(frame[:1], [frame])

    proxy.there.alter = alter
    client = await connect()
    client.send(b"PUB a 4\r\nP\r\nS\r\nSUB a 1\r\nUNSUB 1\r\n")
    assert await client.hears(b"PUB a 4\r\nP\r\nS\r\n" * 2 + b"UNSUB 1\r\n")
    proxy.inject(b"+OK\r\n")
    assert await client.hears(b"+OK\r\n")


def test_frames_are_found_however_the_bytes_are_cut() -> None:
    frames = [b"PING\r\n", b"PUB a.b 0\r\n\r\n", b"HPUB a r 12 15\r\nNATS/1.0\r\n\r\nxyz\r\n", b"PONG\r\n"]
    for size in range(1, 12):
        found, text = Frames(), b"".join(frames)
        assert [one for at in range(0, len(text), size) for one in found.feed(text[at : at + size])] == frames


def test_a_program_without_a_loop_drives_one_too() -> None:
    with running(Proxy.to("nats://127.0.0.1:1")) as remote:
        assert remote.proxy.port
        remote.do(lambda: remote.proxy.freeze(new=True))
        remote.do(remote.proxy.cut)
