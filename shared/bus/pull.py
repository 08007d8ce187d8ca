"""A continuous pull from one durable consumer, on nats-py's public API.

nats-py's `fetch` can orphan a pull and stall for seconds (nats.py#986); here one inbox lives as long as the loop, one
pull is outstanding at a time, and silence past two heartbeats makes a new inbox and a new pull.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import nats.errors
from nats.aio.msg import Msg

from shared import log
from shared.bus.connection import Connection
from shared.bus.inbox import Delivered

_log = log.get(__name__)

BATCH = 256
EXPIRES_SECONDS = 25.0
HEARTBEAT_SECONDS = 4.0
SILENCE_SECONDS = 2.5 * HEARTBEAT_SECONDS
PAUSE_SECONDS = 1.0
"""After a refusal to serve: a missing consumer must not be asked thousands of times a second."""


class Pull:
    """Batches of what is queued, as soon as anything is."""

    def __init__(self, connection: Connection, stream: str, durable: str) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}"
        self._name = f"{stream}/{durable}"
        self._queue: asyncio.Queue[Msg] = asyncio.Queue()
        self._inbox = ""
        self._subscription = None
        self._outstanding = 0
        self._is_ending = False

    async def next_batch(self) -> list[Msg]:
        """Wait for at least one message, then take what is there, 256 at the most; nothing only after `end`."""
        while not (self._is_ending and self._queue.empty()):
            try:
                if self._outstanding <= 0 and not self._is_ending:
                    await self._ask()
                message = await asyncio.wait_for(self._queue.get(), SILENCE_SECONDS)
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
        """Ask for nothing more; what is here already is still given out."""
        self._is_ending = True
        await self._unsubscribe()
        self._wake()

    def forget(self) -> None:
        """The connection was renewed: the server knows nothing of an old pull."""
        self._outstanding = 0
        self._wake()

    def _wake(self) -> None:
        self._queue.put_nowait(Msg(None, subject="", headers={"Status": "100"}))  # pyright: ignore[reportArgumentType] - a heartbeat of our own

    async def _sort(self, first: Msg) -> list[Msg]:
        batch: list[Msg] = []
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
        if status is None:
            return False
        if status == "100":
            return True
        self._outstanding = 0
        if status not in ("404", "408"):
            description = (message.headers or {}).get("Description", "")
            _log.warning("the consumer does not serve", consumer=self._name, status=status, why=description)
            await asyncio.sleep(PAUSE_SECONDS)
        return True

    async def _ask(self) -> None:
        if self._subscription is None:
            self._inbox, self._subscription = await self._connection.subscribe(self._queue)
        request = {
            "batch": BATCH,
            "expires": int(EXPIRES_SECONDS * 1e9),
            "idle_heartbeat": int(HEARTBEAT_SECONDS * 1e9),
        }
        self._outstanding = BATCH
        await self._connection.request(self._subject, msgspec.json.encode(request), self._inbox)

    async def _renew(self) -> None:
        _log.info("a pull went silent; asking anew", consumer=self._name)
        self._outstanding = 0
        await self._unsubscribe()

    async def _unsubscribe(self) -> None:
        """Also while the server is away: a subscription that is only dropped comes back with the connection."""
        old, self._subscription = self._subscription, None
        if old is not None:
            with suppress(nats.errors.Error):
                await old.unsubscribe()


def delivered(messages: Sequence[Msg]) -> list[Delivered]:
    return [
        Delivered(
            subject=message.subject,
            headers=dict(message.headers or {}),
            payload=message.data,
            stream_seq=message.metadata.sequence.stream,
            is_redelivered=message.metadata.num_delivered > 1,
        )
        for message in messages
    ]
