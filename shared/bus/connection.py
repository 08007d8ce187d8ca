"""One connection to NATS, on nats-py's public API. With `pull.py` the only importer of nats.

Laws
- Nothing is buffered while disconnected (`pending_size=0`): a publish that its caller saw fail is never sent later.
- Losing the connection is survived for ever; losing the right to be here (a bad key, a denied subject) ends the
  process.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared import log, metrics
from shared.bus.outbox import Row
from shared.clock import monotonic

_log = log.get(__name__)

ACK_SECONDS = 5.0
CLOSE_SECONDS = 3.0
RECONNECT_SECONDS = 0.25
REFUSALS = ("permissions violation", "authorization violation", "authentication")


class Refused(Exception):  # noqa: N818 - names what the server did
    """The server does not let this identity do what it tried. Retrying cannot help; the process must end and alert."""


class PubAck(msgspec.Struct):
    """A stream's answer to a publish: a sequence, or an error."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: dict[str, Any] | None = None


_ack = msgspec.json.Decoder(PubAck)


class Connection:
    """Publishing with awaited stream acknowledgements, and subscriptions to inboxes of our own."""

    def __init__(self, url: str, seed: str, service: str, ca_file: str = "") -> None:
        self._url = url
        self._seed = seed
        self._service = service
        self._tls = ssl.create_default_context(cafile=ca_file) if ca_file else None
        self._client = Client()
        self._waiting: dict[str, asyncio.Future[PubAck]] = {}
        self._reply_prefix = ""
        self._stands_since = monotonic()
        self._counter = 0
        self.fatal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when the process must end."""
        self.on_reconnect: Callable[[], Awaitable[None]] | None = None
        self.lost_at = monotonic()
        """When the connection was last lost, on this machine's monotonic clock; at first, when it was made."""

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected

    def heard_for(self) -> float:
        """Seconds since the connection stands without a break; 0 while it does not."""
        return monotonic() - self._stands_since if self.is_connected else 0.0

    async def open(self) -> None:
        """Connect, trying for ever while the server is away.

        Raises:
            Refused: the server does not know this key.
        """
        while True:
            try:
                await self._connect()
            except (OSError, nats.errors.Error, TimeoutError) as error:
                _log.warning("NATS is away", url=self._url, error=repr(error))
                await asyncio.sleep(1)
            else:
                break
        self._reply_prefix = self._client.new_inbox()
        await self._client.subscribe(  # pyright: ignore[reportUnknownMemberType] - a parameter of it is an untyped Future
            f"{self._reply_prefix}.*", cb=self._acknowledged
        )
        metrics.CONNECTED.set(1)
        self._stands_since = monotonic()

    async def _connect(self) -> None:
        """Connect once. nats-py tries for ever inside its `connect`; a refusal heard meanwhile ends that."""
        self._client = Client()
        connecting = asyncio.create_task(self._open_client())
        await asyncio.wait({connecting, self.fatal}, return_when=asyncio.FIRST_COMPLETED)
        if self.fatal.done():
            connecting.cancel()
            await asyncio.gather(connecting, return_exceptions=True)
            self.fatal.result()
        await connecting

    async def _open_client(self) -> None:
        await self._client.connect(
            self._url,
            name=f"chancela-{self._service}",
            nkeys_seed_str=self._seed,
            inbox_prefix=f"_INBOX_{self._service}",
            error_cb=self._on_error,
            disconnected_cb=self._on_disconnect,
            reconnected_cb=self._on_reconnect,
            closed_cb=self._on_closed,
            allow_reconnect=True,
            max_reconnect_attempts=-1,
            reconnect_time_wait=RECONNECT_SECONDS,  # pyright: ignore[reportArgumentType] - seconds; only slept
            connect_timeout=3,
            ping_interval=20,
            max_outstanding_pings=2,
            pending_size=0,
            tls=self._tls,
        )

    async def publish(self, rows: Sequence[Row]) -> Sequence[int]:
        """Publish rows in order and await the stream's answers together; returns the ids that were acknowledged."""
        futures: list[tuple[int, str, asyncio.Future[PubAck]]] = []
        for row in rows:
            token, future = self._expect()
            try:
                await self._client.publish(
                    row.subject, row.payload, reply=f"{self._reply_prefix}.{token}", headers=dict(row.headers)
                )
            except nats.errors.Error as error:
                del self._waiting[token]
                _log.warning("publishing stopped", error=repr(error), published=len(futures), of=len(rows))
                break
            futures.append((row.id, token, future))
        if futures:
            await asyncio.wait([future for _, _, future in futures], timeout=ACK_SECONDS)
        return [number for number, token, future in futures if self._settled(token, future)]

    def _expect(self) -> tuple[str, asyncio.Future[PubAck]]:
        self._counter += 1
        token = str(self._counter)
        future: asyncio.Future[PubAck] = asyncio.get_running_loop().create_future()
        self._waiting[token] = future
        return token, future

    def _settled(self, token: str, future: asyncio.Future[PubAck]) -> bool:
        self._waiting.pop(token, None)
        if future.cancel() or future.cancelled():
            return False
        ack = future.result()
        if ack.error:
            _log.error("a stream refused a message", error=ack.error)
        return ack.error is None

    async def _acknowledged(self, message: Msg) -> None:
        future = self._waiting.get(message.subject.rsplit(".", 1)[-1])
        if future is None or future.done():
            return
        if not message.data:  # 503: nobody listens, the stream does not exist
            future.set_result(PubAck(error={"description": "no stream answers this subject"}))
            return
        future.set_result(_ack.decode(message.data))

    async def subscribe(self, queue: asyncio.Queue[Msg]) -> tuple[str, Any]:
        """A fresh inbox whose messages go to `queue`; returns its subject and the subscription."""
        inbox = self._client.new_inbox()

        async def put(message: Msg) -> None:
            queue.put_nowait(message)

        subscription = await self._client.subscribe(  # pyright: ignore[reportUnknownMemberType] - as in open
            inbox, cb=put, pending_msgs_limit=-1, pending_bytes_limit=-1
        )
        return inbox, subscription

    async def request(self, subject: str, payload: bytes, reply: str) -> None:
        """Publish a request whose answers go to `reply`."""
        await self._client.publish(subject, payload, reply=reply)

    async def close(self) -> None:
        """Flush and close, bounded."""
        try:
            if self._client.is_connected:
                await asyncio.wait_for(self._client.flush(), 2)
        except (nats.errors.Error, TimeoutError) as error:
            _log.warning("closing without a flush", error=repr(error))
        if not self.fatal.done():
            self.fatal.cancel()
        try:
            await asyncio.wait_for(self._client.close(), CLOSE_SECONDS)
        except TimeoutError:
            _log.warning("NATS does not let go of the connection")

    async def _on_error(self, error: Exception) -> None:
        if _is_refusal(error):
            hint = "check CHANCELA_NATS_SEED and that the accounts file holds its public key"
            self._end(Refused(f"NATS at {self._url} refuses the identity of {self._service}: {error}; {hint}"))
        elif not isinstance(error, (nats.errors.UnexpectedEOF, ConnectionError, OSError)):
            _log.warning("NATS error", error=repr(error))

    async def _on_disconnect(self) -> None:
        metrics.CONNECTED.set(0)
        self.lost_at = monotonic()
        for future in self._waiting.values():
            future.cancel()  # its answer went with the connection

    async def _on_reconnect(self) -> None:
        metrics.CONNECTED.set(1)
        self._stands_since = monotonic()
        _log.info("NATS is back")
        if self.on_reconnect is not None:
            await self.on_reconnect()

    async def _on_closed(self) -> None:
        if self._client.last_error is not None:
            self._end(Refused(f"the connection to NATS was closed for good: {self._client.last_error}"))

    def _end(self, why: Exception) -> None:
        if not self.fatal.done():
            self.fatal.set_exception(why)


def _is_refusal(error: Exception) -> bool:
    return any(mark in str(error).lower() for mark in REFUSALS) or isinstance(error, nats.errors.AuthorizationError)
