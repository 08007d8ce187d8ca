"""A TCP link that breaks on demand: between a service and NATS, or a service and Postgres.

    async with Proxy.to(nats.url) as link: ... link.url ...
    with running(Proxy.to(dsn)) as link: ...                 # for programs without a loop: it runs in a thread

What it can do, to each direction by itself (`there`: to the server, `back`: to the client) or to both:
- `cut()` all connections by a reset; `refuse()` new ones, `accept()` them again;
- `freeze()` the present connections, or with `new=True` those to come as well: they stand, and nothing goes through;
  the sender's buffers fill, as when packets are lost; `thaw()` lets through what was held;
- `Way.bytes_per_second`, `Way.delay` (seconds, asked for each piece: with a seeded random one, connections overtake
  each other; within a connection the order stays);
- `Way.alter` (NATS without TLS only): a message in, the messages that go on out: none loses it, two double it;
- `inject` bytes that the server never said, between two messages.
"""

import asyncio
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit, urlunsplit

from tests.links.frames import Frames

HOST = "127.0.0.1"
PIECE = 64 * 1024
Alter = Callable[[bytes], Sequence[bytes]]


@dataclass
class Way:
    """One direction of all connections."""

    bytes_per_second: float | None = None
    delay: Callable[[], float] | None = None
    alter: Alter | None = None
    passed: int = 0
    """Bytes that went through."""

    async def wait(self, piece: bytes) -> None:
        seconds = self.delay() if self.delay else 0.0
        if self.bytes_per_second:
            seconds += len(piece) / self.bytes_per_second
        if seconds:
            await asyncio.sleep(seconds)


class _Wire:
    """One connection, and its gates: closed ones hold what comes."""

    def __init__(self, proxy: "Proxy", client: asyncio.StreamWriter) -> None:
        self._proxy = proxy
        self._client = client
        self._server: asyncio.StreamWriter | None = None
        self._serving = asyncio.current_task()
        self.gates = {way: asyncio.Event() for way in ("there", "back")}

    async def serve(self, from_client: asyncio.StreamReader) -> None:
        try:
            await asyncio.gather(*(gate.wait() for gate in self.gates.values()))
            from_server, self._server = await self._proxy.dial()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._forward(from_client, self._server, "there", self._proxy.there))
                group.create_task(self._forward(from_server, self._client, "back", self._proxy.back))
        except* OSError:
            pass  # one end is gone: so is the other
        finally:
            for writer in (self._client, self._server):
                if writer is not None:
                    writer.transport.abort()

    def cut(self) -> None:
        if self._serving is not None:
            self._serving.cancel()

    def say(self, words: bytes) -> None:
        self._client.write(words)

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, name: str, way: Way) -> None:
        frames = Frames()
        while some := await source.read(PIECE):
            for piece in self._pieces(frames, some, way):
                await self.gates[name].wait()
                await way.wait(piece)
                target.write(piece)
                await target.drain()
                way.passed += len(piece)
        target.close()

    @staticmethod
    def _pieces(frames: Frames, some: bytes, way: Way) -> Sequence[bytes]:
        if way.alter is None:
            size = max(1, int(way.bytes_per_second / 20)) if way.bytes_per_second else PIECE
            return [some[at : at + size] for at in range(0, len(some), size)]
        return [one for frame in frames.feed(some) for one in way.alter(frame)]


class Proxy:
    """Listens on a free port of the loopback. Set `Way.alter` before anybody connects: it reads whole messages."""

    def __init__(self, host: str | None, port: int, socket: Path | None = None) -> None:
        self.there = Way()
        self.back = Way()
        self.port = 0
        self.accepted = 0
        """Connections so far."""
        self._target = host, port, socket
        self._url = ""
        self._listening: asyncio.Server | None = None
        self._wires: set[_Wire] = set()
        self._frozen: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @classmethod
    def to(cls, url: str) -> Self:
        """To a server by its address, `nats://host:port` or a Postgres DSN (TCP or a socket's folder)."""
        parts = urlsplit(url)
        query = parse_qs(parts.query)
        port = parts.port or int(query.get("port", ["5432"])[0])
        folder = query.get("host", [""])[0]
        socket = Path(folder, f".s.PGSQL.{port}") if folder.startswith("/") else None
        proxy = cls(parts.hostname, port, socket)
        proxy._url = url
        return proxy

    @property
    def url(self) -> str:
        """The server's address, by way of here."""
        return self.through(self._url)

    def through(self, url: str) -> str:
        """Another address of the same server (another user, another database), by way of here."""
        parts = urlsplit(url)
        login, at, _ = parts.netloc.rpartition("@")
        return urlunsplit((parts.scheme, f"{login}{at}{HOST}:{self.port}", parts.path, "", ""))

    async def __aenter__(self) -> Self:
        await self.accept()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.refuse()
        self.cut()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def dial(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port, socket = self._target
        if socket is not None:
            return await asyncio.open_unix_connection(socket)
        return await asyncio.open_connection(host, port)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        wire, task = _Wire(self, writer), asyncio.current_task()
        assert task is not None  # asyncio serves each connection in a task
        self.accepted += 1
        self._tasks.add(task)
        self._wires.add(wire)
        for name, gate in wire.gates.items():
            if name not in self._frozen:
                gate.set()
        try:
            await wire.serve(reader)
        except asyncio.CancelledError:
            pass  # the end of the proxy; the streams' own callback would log it
        finally:
            self._wires.discard(wire)
            self._tasks.discard(task)

    # ----------------------------------------------------------------------------------------------------- what breaks

    @property
    def connections(self) -> int:
        """Those that stand now."""
        return len(self._wires)

    async def accept(self) -> None:
        self._listening = await asyncio.start_server(self._serve, HOST, self.port, limit=PIECE)
        self.port = self._listening.sockets[0].getsockname()[1]

    def refuse(self) -> None:
        if self._listening is not None:
            self._listening.close()
            self._listening = None

    def cut(self) -> None:
        for wire in list(self._wires):
            wire.cut()

    def freeze(self, *ways: str, new: bool = False) -> None:
        """Half-open: both ways unless one is named."""
        chosen = ways or ("there", "back")
        if new:
            self._frozen.update(chosen)
        for wire in self._wires:
            for way in chosen:
                wire.gates[way].clear()

    def thaw(self) -> None:
        self._frozen.clear()
        for wire in self._wires:
            for gate in wire.gates.values():
                gate.set()

    def inject(self, words: bytes) -> None:
        """Say this to every client; right only between two messages, so while nothing is sent."""
        for wire in self._wires:
            wire.say(words)


class Remote:
    """A proxy that runs in a thread of its own, driven from a program without a loop."""

    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def start(self) -> None:
        self._thread.start()
        self.do(self.proxy.accept)

    def stop(self) -> None:
        self.do(self.proxy.__aexit__)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def do(self, call: Callable[[], Any], seconds: float = 10.0) -> Any:
        """Call in the proxy's thread, as `remote.do(remote.proxy.cut)`; returns what it returned."""

        async def run() -> Any:
            answer = call()
            return await answer if asyncio.iscoroutine(answer) else answer

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(seconds)


@contextmanager
def running(proxy: Proxy) -> Generator[Remote]:
    remote = Remote(proxy)
    remote.start()
    try:
        yield remote
    finally:
        remote.stop()
