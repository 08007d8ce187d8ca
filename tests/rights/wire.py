"""The NATS protocol by hand: no client library stands between an attack and the server.

Laws: what is sent is exactly the bytes given; the server answers PING in order, so after `flush` everything sent before
has been judged and everything that it delivered before has been read.
"""

import asyncio
import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import nkeys

FLUSH_SECONDS = 10.0
ANSWER_SECONDS = 10.0
_BUFFER_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True)
class Delivery:
    """A message as it came; `subscription` is the subject that was subscribed to."""

    subject: str
    reply: str
    headers: bytes
    payload: bytes
    subscription: str


class Wire:
    """One authenticated connection, its deliveries and the errors that the server told it."""

    def __init__(self, identity: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.identity = identity
        self.deliveries: list[Delivery] = []
        self.errors: list[str] = []
        self.is_closed = False
        self._reader = reader
        self._writer = writer
        self._subscriptions: dict[str, str] = {}

    @classmethod
    async def open(cls, url: str, identity: str, seed: str) -> "Wire":
        """Connect with an NKEY; the server's refusal shows in `errors` after the first flush."""
        place = urlsplit(url)
        reader, writer = await asyncio.open_connection(place.hostname, place.port, limit=_BUFFER_BYTES)
        nonce = json.loads((await reader.readline()).removeprefix(b"INFO "))["nonce"]
        wire = cls(identity, reader, writer)
        wire.send(b"CONNECT " + json.dumps(_credentials(seed, nonce)).encode() + b"\r\n")
        await wire.flush()
        return wire

    def send(self, raw: bytes) -> None:
        self._writer.write(raw)

    def publish(self, subject: str, payload: bytes = b"", *, reply: str = "", headers: tuple[str, ...] = ()) -> None:
        self.send(publish_line(subject, payload, reply=reply, headers=headers))

    def subscribe(self, subject: str, queue: str = "") -> None:
        number = str(len(self._subscriptions) + 1)
        self._subscriptions[number] = subject
        self.send(f"SUB {subject} {queue} {number}\r\n".encode())

    async def flush(self) -> None:
        """Return once the server has taken everything sent so far, or has closed the connection."""
        if self.is_closed:
            return
        self.send(b"PING\r\n")
        try:
            async with asyncio.timeout(FLUSH_SECONDS):
                while await self._take_line() != b"PONG":
                    pass
        except (ConnectionError, asyncio.IncompleteReadError):
            self.is_closed = True

    async def ask(self, subject: str, payload: bytes = b"", *, headers: tuple[str, ...] = ()) -> Delivery:
        """Publish with a fresh inbox as reply and wait for the first answer."""
        inbox = f"_INBOX_{self.identity}.ask{len(self._subscriptions)}"
        self.subscribe(inbox)
        self.publish(subject, payload, reply=inbox, headers=headers)
        await self.listen_until(lambda: bool(self.heard_on(inbox)))
        return self.heard_on(inbox)[0]

    async def listen_until(self, condition: Callable[[], bool]) -> None:
        """Read until the condition holds; a TimeoutError says that it does not come true."""
        async with asyncio.timeout(ANSWER_SECONDS):
            while not condition():
                await self.flush()

    def heard_on(self, subscription: str) -> list[Delivery]:
        return [one for one in self.deliveries if one.subscription == subscription]

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            self.is_closed = True

    async def _take_line(self) -> bytes:
        words = (await self._reader.readuntil(b"\r\n")).strip().split()
        match words[0]:
            case b"MSG":
                await self._take_delivery(words, has_headers=False)
            case b"HMSG":
                await self._take_delivery(words, has_headers=True)
            case b"-ERR":
                self.errors.append(b" ".join(words[1:]).decode().strip("'"))
            case b"PING":
                self.send(b"PONG\r\n")
            case _:  # PONG ends a flush; INFO needs nothing
                pass
        return words[0]

    async def _take_delivery(self, words: list[bytes], *, has_headers: bool) -> None:
        total = int(words[-1])
        header_bytes = int(words[-2]) if has_headers else 0
        reply = words[3].decode() if len(words) == (6 if has_headers else 5) else ""
        body = (await self._reader.readexactly(total + 2))[:total]
        number = words[2].decode()
        subscription = self._subscriptions.get(number, number)
        self.deliveries.append(
            Delivery(words[1].decode(), reply, body[:header_bytes], body[header_bytes:], subscription)
        )


def publish_line(subject: str, payload: bytes = b"", *, reply: str = "", headers: tuple[str, ...] = ()) -> bytes:
    target = f"{subject} {reply}" if reply else subject
    if not headers:
        return f"PUB {target} {len(payload)}\r\n".encode() + payload + b"\r\n"
    block = ("NATS/1.0\r\n" + "".join(f"{line}\r\n" for line in headers) + "\r\n").encode()
    return f"HPUB {target} {len(block)} {len(block) + len(payload)}\r\n".encode() + block + payload + b"\r\n"


def _credentials(seed: str, nonce: str) -> dict[str, object]:
    pair: Any = nkeys.from_seed(seed.encode())  # pyright: ignore[reportUnknownMemberType] - untyped library
    signature = base64.urlsafe_b64encode(pair.sign(nonce.encode())).decode().rstrip("=")
    return {
        "nkey": pair.public_key.decode(),
        "sig": signature,
        "verbose": False,
        "pedantic": False,
        "headers": True,
        "no_responders": True,
        "protocol": 1,
        "lang": "raw",
        "version": "0",
    }
