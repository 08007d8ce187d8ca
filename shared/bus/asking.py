"""What the accounts allow to ask the server: the state of our own consumers, the last of our own words."""

import asyncio
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
import nats.errors

from contracts import topology
from shared.bus import reading
from shared.bus.connection import Connection

if TYPE_CHECKING:
    from nats.aio.msg import Msg

ANSWER_SECONDS = 2.0
CONSUMER_NOT_FOUND, STREAM_NOT_FOUND = 10014, 10059


class Floor(msgspec.Struct, frozen=True):
    """Everything up to here is acknowledged."""

    stream_seq: int = 0
    """Moves by itself past messages that the stream does not hold any more."""
    consumer_seq: int = 0
    """Counts deliveries, repeated ones included."""


class Consumer(msgspec.Struct, frozen=True):
    """The server's answer to CONSUMER.INFO, as far as it is read here."""

    ts: datetime | None = None
    """The server's clock; None in a refusal."""
    created: datetime | None = None
    num_pending: int = 0
    num_ack_pending: int = 0
    ack_floor: Floor = Floor()
    error: dict[str, Any] | None = None

    @property
    def is_missing(self) -> bool:
        return self.error is not None and self.error.get("err_code") in (CONSUMER_NOT_FOUND, STREAM_NOT_FOUND)


_consumer = msgspec.json.Decoder(Consumer)


async def ask(connection: Connection, one: topology.Consumer) -> Consumer:
    """The state of a consumer.

    Raises:
        TimeoutError: nobody answers.
        nats.errors.Error: the connection is gone, or the server answers with another error than "not found".
    """
    found = _consumer.decode(await _answer(connection, f"$JS.API.CONSUMER.INFO.{one.stream}.{one.durable}", b""))
    if found.error is not None and not found.is_missing:
        raise nats.errors.Error(f"CONSUMER.INFO of {one.topic.root}: {found.error.get('description')}")
    return found


async def last_said(connection: Connection, stream: str) -> reading.Stored | None:
    """The newest message of a stream of our own; None when it is empty or not there.

    Raises:
        TimeoutError: nobody answers.
        nats.errors.Error: the connection is gone, or the server answers with another error.
    """
    answer = await _answer(connection, reading.subject(stream), reading.LAST)
    try:
        return reading.stored(stream, answer)
    except reading.ReadingError as error:
        raise nats.errors.Error(str(error)) from error


async def _answer(connection: Connection, subject: str, question: bytes) -> bytes:
    """On an inbox of its own: a late answer must not pass for the next one's."""
    answers: asyncio.Queue[Msg] = asyncio.Queue()
    inbox, subscription = await connection.subscribe(answers)
    try:
        await connection.request(subject, question, inbox)
        async with asyncio.timeout(ANSWER_SECONDS):
            answer = await answers.get()
    finally:
        with suppress(nats.errors.Error):  # the connection is gone: a cancellation must stay one
            await subscription.unsubscribe()
    if not answer.data:  # 503: JetStream is not there yet
        raise TimeoutError(f"nobody answers {subject}")
    return answer.data
