"""The connection to NATS as a process keeps it: one `Link` after the other, publishing, and inboxes of our own.

Laws
- Nothing is buffered while disconnected, and what a lost link had not sent goes with it: a publish that its caller saw
  fail is never sent later by us.
- Losing the connection is survived for ever; losing the right to be here (a bad key, a denied subject) ends the
  process.
"""

import asyncio
import ssl
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
import nats.errors
import nkeys
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from shared import log, metrics
from shared.bus import lean
from shared.bus.lean import LeanClient
from shared.bus.link import Link, Refused, Terms, Untrusted
from shared.bus.outbox import Row
from shared.bus.publisher import Answers
from shared.clock import monotonic
from shared.config import ConfigError

__all__ = ["Connection", "PubAck", "Refused"]

_log = log.get(__name__)

ACK_SECONDS = 5.0
FLUSH_SECONDS = 2.0
PING_SECONDS = 10.0
PAUSES = (0.25, 0.25, 0.5, 1.0, 2.0)
"""Between attempts; the last one again and again."""
ROOM_SECONDS = 0.005
WRITTEN_AT_ONCE = 64
UNSENT_BYTES = 4 * 1024 * 1024
"""A server that takes nothing more must not fill our memory: publishing goes on when it has taken some."""


class PubAck(msgspec.Struct):
    """A stream's answer to a publish: a sequence, or an error."""

    stream: str = ""
    seq: int = 0
    duplicate: bool = False
    error: dict[str, Any] | None = None


_ack = msgspec.json.Decoder(PubAck)


class _Flight:
    """Publishes whose answers are awaited together."""

    def __init__(self, size: int) -> None:
        self.acks: list[PubAck | None] = [None] * size
        self.answered = 0
        self.awaited = size
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def land(self, index: int, ack: PubAck) -> None:
        if self.acks[index] is None:
            self.acks[index] = ack
            self.answered += 1
            if self.answered >= self.awaited:
                self.end()

    def stopped_at(self, sent: int) -> None:
        """No more was published than these."""
        self.awaited = sent
        if self.answered >= sent:
            self.end()

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


class Connection:
    """Publishing with awaited stream acknowledgements, and subscriptions to inboxes of our own."""

    def __init__(
        self,
        url: str,
        seed: str,
        service: str,
        tls: ssl.SSLContext | None = None,
        *,
        ping_seconds: float = PING_SECONDS,
    ) -> None:
        """Args: url: one address or several, separated by commas; ping_seconds: see `Terms`.

        Raises:
            ConfigError: the seed is none.
        """
        servers = tuple(one.strip() for one in url.split(",") if one.strip())
        self._terms = Terms(servers, _checked(seed), service, tls, ping_seconds)
        self._link = Link(self._terms, self._end)
        self._is_lean = False
        self._keeping: asyncio.Task[None] | None = None
        self._waiting: dict[str, tuple[_Flight, int]] = {}
        self._reply_prefix = ""
        self._stands_since = monotonic()
        self._counter = 0
        self.fatal: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when the process must end."""
        self.on_reconnect: Callable[[], Awaitable[None]] | None = None
        self.lost_at = monotonic()
        """When the connection was last lost, on this machine's monotonic clock; at first, when it was made."""

    @property
    def _client(self) -> LeanClient:
        return self._link.client

    @property
    def is_connected(self) -> bool:
        return self._client.is_connected

    def heard_for(self) -> float:
        """Seconds since the connection stands without a break; 0 while it does not."""
        return monotonic() - self._stands_since if self.is_connected else 0.0

    async def open(self) -> None:
        """Connect, trying for ever while the server is away; from then on a lost link is replaced, until `close`.

        Raises:
            Refused: the server does not know this key.
            ConfigError: TLS with this server does not come about; the message names the setting.
        """
        self._is_lean = await lean.is_possible()
        await self._connect()
        self._keeping = asyncio.create_task(self._keep(), name="NATS")

    async def _connect(self) -> None:
        attempt = 0
        while not await self._connects():
            await asyncio.sleep(PAUSES[min(attempt, len(PAUSES) - 1)])
            attempt += 1
        metrics.CONNECTED.set(1)
        self._stands_since = monotonic()

    async def _connects(self) -> bool:
        link = Link(self._terms, self._end)
        try:
            await link.open()
            self._reply_prefix = link.client.new_inbox()
            await self._listen(link.client, f"{self._reply_prefix}.*", self._acknowledged)
        except Untrusted as error:
            await link.release()
            if self._keeping is None:
                raise ConfigError(str(error)) from error  # at the start; later the bus may be away, the rest goes on
            _log.error("NATS is there, but TLS does not come about", error=str(error))
            return False
        except (ConnectionError, nats.errors.Error) as error:
            _log.warning("NATS is away", servers=self._terms.servers, error=str(error))
            await link.release()
            return False
        self._link = link
        return True

    async def _keep(self) -> None:
        """Replace each link that is lost. What cannot be mended by a new one ends the process."""
        try:
            while True:
                why = await self._link.lost()
                self._count_loss()
                _log.warning("the connection to NATS is lost", why=why)
                await self._link.release()
                if monotonic() - self._stands_since < PAUSES[-1]:
                    await asyncio.sleep(PAUSES[-1])  # a server that lets us in and throws us out
                await self._connect()
                metrics.RECONNECTS.inc()
                _log.info("NATS is back")
                if self.on_reconnect is not None:
                    await self.on_reconnect()
        except Exception as error:  # noqa: BLE001 - whatever it is: without a keeper the process would be deaf
            self._count_loss()
            self._end(error)

    def _count_loss(self) -> None:
        metrics.CONNECTED.set(0)
        self.lost_at = monotonic()
        for flight, _ in list(self._waiting.values()):
            flight.end()  # its answers went with the connection

    async def publish(self, rows: Sequence[Row]) -> Answers:
        """Publish rows in order and await the streams' answers together."""
        flight, sent = _Flight(len(rows)), 0
        tokens = [str(self._counter + 1 + index) for index in range(len(rows))]
        self._counter += len(rows)
        self._waiting.update((token, (flight, index)) for index, token in enumerate(tokens))
        addressed = [(row, f"{self._reply_prefix}.{token}") for row, token in zip(rows, tokens, strict=True)]
        try:
            for at in range(0, len(rows), WRITTEN_AT_ONCE):
                page = addressed[at : at + WRITTEN_AT_ONCE]
                await self._write(page)
                sent += len(page)
        except nats.errors.Error as error:
            _log.warning("publishing stopped", error=repr(error), published=sent, of=len(rows))
        try:
            flight.stopped_at(sent)
            async with asyncio.timeout(ACK_SECONDS):  # wait_for of 3.11 loses a cancellation that meets the answer
                await flight.over
        except TimeoutError:
            _log.warning("not every message was answered in time", answered=flight.answered, of=sent)
        finally:
            for token in tokens:
                self._waiting.pop(token, None)
        taken = [row for row, ack in zip(rows, flight.acks, strict=True) if ack is not None and ack.error is None]
        refused = [row for row, ack in zip(rows, flight.acks, strict=True) if ack is not None and ack.error is not None]
        if refused:
            error = next(ack.error for ack in flight.acks if ack is not None and ack.error is not None)
            _log.error("a stream refused messages", refused=len(refused), of=len(rows), error=error)
        return Answers(taken, refused)

    async def _write(self, rows: Sequence[tuple[Row, str]]) -> None:
        client = self._client
        if client.pending_data_size > UNSENT_BYTES:
            await _has_room(client)
        if self._is_lean:
            await lean.write(client, [lean.publish_frame(row, reply) for row, reply in rows])
            return
        for row, reply in rows:
            await client.publish(row.subject, row.payload, reply=reply, headers=dict(row.headers))

    def _acknowledged(self, message: Msg) -> None:
        waiting = self._waiting.get(message.subject.rsplit(".", 1)[-1])
        if waiting is None:
            return
        flight, index = waiting
        if message.data:
            flight.land(index, _ack.decode(message.data))
        else:  # 503: nobody listens, the stream does not exist
            flight.land(index, PubAck(error={"description": "no stream answers this subject"}))

    async def subscribe(self, queue: asyncio.Queue[Msg]) -> tuple[str, Any]:
        """A fresh inbox whose messages go to `queue`; returns its subject and the subscription."""
        inbox = self._client.new_inbox()
        return inbox, await self._listen(self._client, inbox, queue.put_nowait)

    async def _listen(self, client: LeanClient, subject: str, take: lean.Take) -> Subscription:
        async def taken(message: Msg) -> None:
            take(message)

        subscription = await client.subscribe(  # pyright: ignore[reportUnknownMemberType] - a parameter of it is an untyped Future
            subject, cb=taken, pending_msgs_limit=-1, pending_bytes_limit=-1
        )
        if self._is_lean:
            lean.go_direct(client, subscription, take)
        return subscription

    async def request(self, subject: str, payload: bytes, reply: str) -> None:
        """Publish a request whose answers go to `reply`."""
        await self._client.publish(subject, payload, reply=reply)

    async def acknowledge(self, messages: Sequence[Msg]) -> None:
        """Tell the streams that these are handled; by the link of now, whichever brought them."""
        client = self._client
        if self._is_lean:
            await lean.write(client, [lean.ack_frame(message.reply) for message in messages])
            return
        for message in messages:
            await client.publish(message.reply)

    async def close(self) -> None:
        """Flush and close, bounded, whoever is away or silent."""
        if self._keeping is not None:
            self._keeping.cancel()
        if not self.fatal.done():
            self.fatal.cancel()
        try:
            if self._client.is_connected:
                async with asyncio.timeout(FLUSH_SECONDS):
                    await self._client.flush()
        except (nats.errors.Error, TimeoutError) as error:
            _log.warning("closing without a flush", error=repr(error))
        finally:
            await self._link.release()
            self._count_loss()

    @property
    def is_refused(self) -> bool:
        """Whether the process is about to end because of it."""
        return self.fatal.done() and not self.fatal.cancelled() and self.fatal.exception() is not None

    def _end(self, why: Exception) -> None:
        if not self.fatal.done():
            _log.error("the bus is lost for good, this process ends", why=str(why))
            self.fatal.set_exception(why)


async def _has_room(client: Client) -> None:
    """Wait until the link has taken some of what is unsent.

    Raises:
        nats.errors.Error: it has not, or it is lost.
    """
    deadline = monotonic() + ACK_SECONDS
    while client.pending_data_size > UNSENT_BYTES // 2:
        if not client.is_connected:
            raise nats.errors.ConnectionClosedError
        if monotonic() > deadline:
            raise nats.errors.TimeoutError
        await asyncio.sleep(ROOM_SECONDS)


def _checked(seed: str) -> str:
    try:
        nkeys.from_seed(bytearray(seed.strip().encode())).wipe()  # pyright: ignore[reportUnknownMemberType] - untyped
    except nkeys.NkeysError as error:
        raise ConfigError("CHANCELA_NATS_SEED is no NKEY seed (`SU…`, as `chancela keys` makes them)") from error
    return seed
