"""A shorter way through nats-py for what there is much of: messages to our own inboxes, publishes, acknowledgements.

nats-py checks and parses each header of each message in Python; that is a third of a hop's work (`chancela bench`).
Here a batch of publishes is one write, and a message to an inbox of ours goes straight to its taker. Everything else
(connection, pings, errors, flow) stays nats-py's.

This is below its public API, so it is used only with the release that it was written for, and only when a look at that
release's own code says that bytes and arguments are still the same; otherwise the public API does the same more slowly.
"""

# ruff: noqa: SLF001
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import nats.aio.client
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from shared import log

_log = log.get(__name__)

VERSION = "2.16."
_ARRIVAL = ["self", "sid", "subject", "reply", "data", "headers"]

_SPACES = {ord("\r"): " ", ord("\n"): " "}

Take = Callable[[Msg], None]


class Published(Protocol):
    """What is published: an outbox row."""

    @property
    def subject(self) -> str: ...
    @property
    def headers(self) -> Mapping[str, str]: ...
    @property
    def payload(self) -> bytes: ...


class LeanClient(Client):
    """nats-py's client; messages of a subscription in `direct` do not pass through its queues."""

    def __init__(self) -> None:
        super().__init__()
        self.direct: dict[int, Take] = {}

    async def _process_msg(self, sid: int, subject: bytes, reply: bytes, data: bytes, headers: bytes | None) -> None:
        take = self.direct.get(sid)
        if take is None:
            await super()._process_msg(sid, subject, reply, data, headers)  # pyright: ignore[reportArgumentType] - None is what its parser passes, too
            return
        try:
            take(Msg(self, subject.decode(), reply.decode(), data, headers_of(headers) if headers else None))
        except Exception as error:  # noqa: BLE001 - it would end the loop that reads, and leave us deaf
            _log.error("a message was dropped; it will come again", error=repr(error))


def go_direct(client: LeanClient, subscription: Subscription, take: Take) -> None:
    """Let what comes for a subscription pass nats-py's queue."""
    client.direct = {sid: taker for sid, taker in client.direct.items() if sid in client._subs}  # pyright: ignore[reportPrivateUsage]
    client.direct[subscription._id] = take  # pyright: ignore[reportPrivateUsage] - see the module


def headers_of(block: bytes) -> dict[str, str]:
    """`NATS/1.0[ status[ description]]` and its lines; the status as nats-py shows it, under `Status`."""
    first, *lines = block.decode(errors="replace").split("\r\n")
    found = {name.strip(): value.strip() for name, colon, value in (line.partition(":") for line in lines) if colon}
    _, _, status = first.partition(" ")
    if status:
        found["Status"], _, description = status.strip().partition(" ")
        if description:
            found["Description"] = description
    return found


def publish_frame(row: Published, reply: str) -> bytes:
    """As nats-py writes it: a line's end in a header becomes spaces.

    Raises:
        nats.errors.BadSubjectError: it would end its line, or be two words of it.
    """
    if not row.subject.isprintable() or " " in row.subject:
        raise nats.errors.BadSubjectError
    lines = "".join(f"{name}: {value}\r\n" for name, value in row.headers.items())
    if lines.count("\n") != len(row.headers) or lines.count("\r") != len(row.headers):
        lines = "".join(f"{name}: {value.translate(_SPACES)}\r\n" for name, value in row.headers.items())
    head = f"NATS/1.0\r\n{lines}\r\n".encode()
    size = len(head)
    return b"HPUB %b %b %d %d\r\n%b%b\r\n" % (
        row.subject.encode(), reply.encode(), size, size + len(row.payload), head, row.payload,
    )  # fmt: skip


def ack_frame(reply: str) -> bytes:
    return f"PUB {reply}  0\r\n\r\n".encode()


async def write(client: Client, frames: Sequence[bytes]) -> None:
    """Hand frames to the link in one go.

    Raises:
        nats.errors.ConnectionClosedError: it is lost.
    """
    if not client.is_connected:
        raise nats.errors.ConnectionClosedError
    await client._send_command(b"".join(frames))  # pyright: ignore[reportPrivateUsage] - see the module
    await client._flush_pending()  # pyright: ignore[reportPrivateUsage]


class _Sample:
    subject = "ingest.contacts.3.7d0e"
    headers: Mapping[str, str] = {"Nats-Msg-Id": "a", "Lane": "ingest.contacts:0:7d0e", "traceparent": ""}
    payload = b'{"type":"ContactSeen"}'


async def is_possible() -> bool:
    """Whether this nats-py is the one that the module knows: its version, what it writes, how it hands over."""
    try:
        known = nats.aio.client.__version__.startswith(VERSION) and await _writes_the_same() and _hands_over_the_same()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is another nats-py
        _log.warning("nats-py is not the one that the short way was written for", error=repr(error))
        return False
    if not known:
        _log.warning("nats-py is not the one that the short way was written for", version=nats.aio.client.__version__)
    return known


async def _writes_the_same() -> bool:
    client, written = Client(), list[bytes]()

    async def keep(command: bytes, priority: bool = False) -> None:
        del priority
        written.append(command)

    private: Any = client
    private._send_command = keep
    await private._send_publish(_Sample.subject, "r.1", _Sample.payload, len(_Sample.payload), dict(_Sample.headers))
    await private._send_publish("$JS.ACK.x", "", b"", 0, None)
    return written == [publish_frame(_Sample(), "r.1"), ack_frame("$JS.ACK.x")]


def _hands_over_the_same() -> bool:
    numbered = "self._id =" in inspect.getsource(Subscription)
    return numbered and list(inspect.signature(Client._process_msg).parameters) == _ARRIVAL  # pyright: ignore[reportPrivateUsage]
