"""HTTP/1.1 as small as it gets, both ends: what makes load must not use the CPU that is being measured.

Bodies have a Content-Length; connections are kept. For loopback and for programs of ours only.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

ANSWER_WITHIN_SECONDS = 30.0
REASONS = {200: "OK", 201: "Created", 404: "Not Found"}


class Answer(NamedTuple):
    status: int
    body: bytes


class Asked(NamedTuple):
    method: str
    path: str
    body: bytes


class ConnectionEnded(Exception):  # noqa: N818 - names what the other end did
    """The other end closed in the middle of an answer."""


class Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used_at: float


@dataclass
class Client:
    """Connections to one address: each is used by one request at a time and kept for a moment."""

    host: str
    port: int
    kept_seconds: float = 2.0
    """uvicorn closes what is idle for 5 s: a request must never meet that end."""
    _idle: list[Connection] = field(default_factory=list[Connection])

    @property
    def connections(self) -> int:
        """Connections that are open and free."""
        return len(self._idle)

    async def ask(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Answer:
        reader, writer = await self._connection()
        own = {"Host": f"{self.host}:{self.port}", "Content-Length": str(len(body)), **(headers or {})}
        lines = "".join(f"{name}: {value}\r\n" for name, value in own.items())
        writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        try:
            async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
                answer = await _answer(reader)
        except BaseException:
            writer.close()  # whose answer is still to come, the next request must not meet
            raise
        self._idle.append(Connection(reader, writer, time.monotonic()))
        return answer

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        while self._idle:
            reader, writer, used_at = self._idle.pop()
            if time.monotonic() - used_at < self.kept_seconds and not reader.at_eof():
                return reader, writer
            writer.close()
        return await asyncio.open_connection(self.host, self.port)

    def close(self) -> None:
        for one in self._idle:
            one.writer.close()


async def _answer(reader: asyncio.StreamReader) -> Answer:
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        return Answer(int(head.split(" ", 2)[1]), await reader.readexactly(_length(head)))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise ConnectionEnded("the service closed the connection instead of answering") from error


def _length(head: str) -> int:
    for line in head.split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0


Handler = Callable[[Asked], Awaitable[Answer]]


async def serve(handler: Handler, port: int) -> asyncio.Server:
    """Listen on the loopback; a handler for each request, connections beside each other."""

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, _ = head.split(" ", 2)
                answer = await handler(Asked(method, path, await reader.readexactly(_length(head))))
                first = f"HTTP/1.1 {answer.status} {REASONS.get(answer.status, 'Answer')}\r\n"
                rest = f"Content-Type: application/json\r\nContent-Length: {len(answer.body)}\r\n\r\n"
                writer.write((first + rest).encode() + answer.body)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    return await asyncio.start_server(connection, "127.0.0.1", port, limit=2**22)
