"""A WAHA over a real socket: answers as scripted, or is silent, or breaks; records every request that reached it."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal


@dataclass(frozen=True)
class Reply:
    status: int
    body: str = ""
    headers: tuple[tuple[str, str], ...] = ()


Silent = Literal["silent"]
Reset = Literal["reset"]
Behaviour = Reply | Silent | Reset


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def taken(stanza: str = "3EB0AA11BB22CC33DD44EE", chat: str = "5511900001234@c.us") -> Reply:
    return Reply(201, json.dumps({"id": f"true_{chat}_{stanza}", "ack": 0}))


@dataclass
class WahaDouble:
    """`script` is used up in order for sends; then each send is taken under a new id."""

    url: str = ""
    script: list[Behaviour] = field(default_factory=list[Behaviour])
    reserved_id: str | None = None
    lookup: Behaviour = field(default_factory=lambda: Reply(404))
    requests: list[Request] = field(default_factory=list[Request])
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def sends(self) -> list[Request]:
        return [one for one in self.requests if one.path == "/api/sendText"]

    def _behaviour(self, request: Request) -> Behaviour:
        if request.path.endswith("/new-message-id"):
            return Reply(404) if self.reserved_id is None else Reply(200, json.dumps({"id": self.reserved_id}))
        if "/messages/" in request.path:
            return self.lookup
        if self.script:
            return self.script.pop(0)
        return taken(f"3EB0{len(self.sends):018d}")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read(reader)
        except asyncio.IncompleteReadError:
            writer.close()  # it connected and wrote nothing
            return
        self.requests.append(request)
        behaviour = self._behaviour(request)
        self.arrived.set()
        if behaviour == "silent":
            with contextlib.suppress(ConnectionError):
                await reader.read()
        elif behaviour == "reset":
            writer.transport.abort()
        else:
            assert isinstance(behaviour, Reply)
            await _write(writer, behaviour)
        with contextlib.suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    method, path, _ = first.split(" ")
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


async def _write(writer: asyncio.StreamWriter, reply: Reply) -> None:
    body = reply.body.encode()
    extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    head = f"HTTP/1.1 {reply.status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n{extra}\r\n"
    writer.write(head.encode() + body)
    await writer.drain()


@asynccontextmanager
async def running_waha() -> AsyncGenerator[WahaDouble]:
    double = WahaDouble()
    server = await asyncio.start_server(double.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()[:2]
    double.url = f"http://{host}:{port}"
    try:
        yield double
    finally:
        server.close()


def refused_url() -> str:
    """An address at which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{one.getsockname()[1]}"
