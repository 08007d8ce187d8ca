"""A continuous pull from one durable consumer, on nats-py's public API.

nats-py's `fetch` can orphan a pull and stall for seconds (nats.py#986); here one inbox lives as long as the link, the
next pull is sent while the last is being worked on, and silence past two heartbeats makes a new pull. It goes to the
same inbox: a message that was only late is not lost until its redelivery.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
import nats.errors
from nats.aio.msg import Msg

from contracts.topology import Consumer
from shared import log, metrics
from shared.bus.connection import Connection
from shared.bus.inbox import Delivered
from shared.clock import monotonic

_log = log.get(__name__)

BATCH = 256
ASK_AT = BATCH // 2
"""Asking again while the last answer is still being worked on: what comes next is then here."""
EXPIRES_SECONDS = 25.0
HEARTBEAT_SECONDS = 4.0
SILENCE_SECONDS = 2.5 * HEARTBEAT_SECONDS
QUIET_SECONDS = 0.1
QUIET_WITHIN_SECONDS = 2.0
DRAIN_SECONDS = 1.0
PAUSE_SECONDS = 1.0
"""After a refusal to serve: a missing consumer must not be asked thousands of times a second."""
BATCH_BYTES = 4 * 1024 * 1024
"""Of one pull: a batch of the largest messages of each of a service's topics, together, stays under what the server
holds for one client (64 MiB), or it would end the connection as a slow consumer's."""
EXPIRED = ("404", "408")
FULL = ("Message Size Exceeds MaxBytes", "Batch Completed")
"""The end of a pull that has a size limit: ask for the next."""
MOVED = ("Leadership Change", "Server Shutdown")
MOVED_SECONDS = 0.2
"""The consumer will be served by another server in a moment."""
NOT_BROUGHT = "Nats-Pending-Messages"
GONE = ("503", "409 Consumer Deleted")
"""Nobody serves the consumer: only the setup job can make it again."""


class Pull:
    """Batches of what is queued, as soon as anything is."""

    def __init__(self, connection: Connection, consumer: Consumer) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{consumer.stream}.{consumer.durable}"
        self._name = f"{consumer.stream}/{consumer.durable}"
        self.topic = consumer.topic.root
        self._queue: asyncio.Queue[Msg] = asyncio.Queue()
        self._inbox = ""
        self._subscription = None
        self._outstanding = 0
        self._came_at = 0.0
        self._pause_seconds = 0.0
        self._asks_no_more = False
        self._is_ending = False
        self.is_gone = False
        """Nobody serves this consumer."""

    async def next_batch(self) -> list[Msg]:
        """Wait for at least one message, then take what is there, 256 at the most; nothing only after `end`."""
        while not (self._is_ending and self._queue.empty()):
            try:
                if self._outstanding <= ASK_AT and not self._asks_no_more:
                    await self._pause()
                    await self._ask()
                async with asyncio.timeout(SILENCE_SECONDS):
                    message = await self._queue.get()
            except TimeoutError:
                await self._renew()
                continue
            except (nats.errors.Error, OSError) as error:
                _log.warning("cannot pull", consumer=self._name, error=repr(error))
                self._outstanding = 0
                await asyncio.sleep(PAUSE_SECONDS)
                continue
            batch = await self._sort(message)
            if batch:
                return batch
        return []

    async def end(self) -> None:
        """Ask for nothing more; what is here, or on its way while the server learns of it, is still given out.

        A pull cannot be taken back, and what the server sends while it learns that nobody listens any more comes to
        another pod only after the wait for its acknowledgement. So the end waits for a moment in which nothing comes:
        the pulls are used up, as they are at once under load, or it is quiet.
        """
        self._asks_no_more = True
        until = monotonic() + QUIET_WITHIN_SECONDS
        while monotonic() < until and not self._is_quiet():  # noqa: ASYNC110 - silence tells nobody
            await asyncio.sleep(QUIET_SECONDS / 4)
        await self._unsubscribe()
        self._is_ending = True
        self._wake()

    def _is_quiet(self) -> bool:
        if not self._queue.empty():
            return False
        return self._outstanding <= 0 or monotonic() - self._came_at > QUIET_SECONDS

    def forget(self) -> None:
        """The connection was renewed: the server knows nothing of an old pull, nor of the old inbox."""
        self._outstanding = 0
        self._subscription = None
        self._wake()

    def _wake(self) -> None:
        self._queue.put_nowait(Msg(None, subject="", headers={"Status": "100"}))  # pyright: ignore[reportArgumentType] - a heartbeat of our own

    async def _sort(self, first: Msg) -> list[Msg]:
        batch: list[Msg] = []
        self._came_at = monotonic()
        message: Msg | None = first
        while message is not None:
            if await self._is_status(message):
                message = self._queue.get_nowait() if not self._queue.empty() else None
                continue
            batch.append(message)
            self._outstanding -= 1
            full = len(batch) >= BATCH or self._queue.empty()
            message = None if full else self._queue.get_nowait()
        return batch

    async def _is_status(self, message: Msg) -> bool:
        status = (message.headers or {}).get("Status")
        if status is None or status == "100":
            if message.subject:  # not a heartbeat of our own
                self._tell_gone("")
            return status is not None
        self._end_of_pull(message.headers or {})
        why = " ".join((status, (message.headers or {}).get("Description", ""))).strip()
        if status in EXPIRED or why.endswith(FULL):
            return True
        if why.endswith(MOVED):
            _log.info("the consumer moves to another server", consumer=self._name, why=why)
            self._pause_seconds = MOVED_SECONDS
            return True
        if why.startswith(GONE):
            self._tell_gone(why)
        else:
            _log.warning("the consumer does not serve", consumer=self._name, why=why)
        self._pause_seconds = PAUSE_SECONDS
        return True

    def _end_of_pull(self, headers: Mapping[str, str]) -> None:
        """Of one pull of perhaps two; it says how many messages it will not bring any more."""
        try:
            self._outstanding -= int(headers[NOT_BROUGHT])
        except (KeyError, ValueError):
            self._outstanding = 0

    async def _pause(self) -> None:
        """After a refusal; what came before it is given out first."""
        seconds, self._pause_seconds = self._pause_seconds, 0.0
        if seconds and self._queue.empty():
            await asyncio.sleep(seconds)

    def _tell_gone(self, why: str) -> None:
        """Raise the alarm once, and take it back once. `why` is empty when the consumer serves."""
        if bool(why) == self.is_gone:
            return
        self.is_gone = bool(why)
        metrics.CONSUMER_MISSING.labels(self.topic).set(self.is_gone)
        if why:
            _log.error("ConsumerGone: run `chancela bus apply`", consumer=self._name, why=why)
        else:
            _log.info("the consumer is back", consumer=self._name)

    async def _ask(self) -> None:
        if self._subscription is None:
            self._inbox, self._subscription = await self._connection.subscribe(self._queue)
        request = {
            "batch": BATCH,
            "max_bytes": BATCH_BYTES,
            "expires": int(EXPIRES_SECONDS * 1e9),
            "idle_heartbeat": int(HEARTBEAT_SECONDS * 1e9),
        }
        self._outstanding = max(self._outstanding, 0) + BATCH
        await self._connection.request(self._subject, msgspec.json.encode(request), self._inbox)

    async def _renew(self) -> None:
        _log.info("a pull went silent; asking anew", consumer=self._name)
        metrics.SILENT_PULLS.labels(self.topic).inc()
        self._outstanding = 0

    async def _unsubscribe(self) -> None:
        """Also while the server is away: a subscription that is only dropped comes back with the connection."""
        old, self._subscription = self._subscription, None
        if old is not None:
            with suppress(nats.errors.Error, TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    await old.drain()


def delivered(messages: Sequence[Msg]) -> list[Delivered]:
    return [_delivered(message) for message in messages]


def _delivered(message: Msg) -> Delivered:
    """The reply subject tells place and count, without the times that `metadata` would also make of it.

    `$JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>`; newer servers put domain and
    account before the stream.
    """
    tokens = message.reply.split(".")
    at = 4 if len(tokens) == OLD_ACK_TOKENS else 6
    delivered, stream_seq, consumer_seq = tokens[at : at + 3]
    headers = message.headers or {}
    return Delivered(message.subject, headers, message.data, int(stream_seq), delivered != "1", int(consumer_seq))


OLD_ACK_TOKENS = 9
