"""What a stream holds, one message by its number: of what a service said itself, or what was said to it alone.

For `chancela recover`. Answers to many questions are awaited together; nothing is changed, acknowledged or consumed.
"""

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator, Mapping
from datetime import datetime
from typing import NamedTuple

import msgspec
import nats.errors

from shared import log
from shared.bus.link import Link, Refused, Terms

_log = log.get(__name__)

ASKED_AT_ONCE = 200
LAST = msgspec.json.encode({"last_by_subj": ">"})
ANSWER_SECONDS = 10.0
PING_SECONDS = 10.0
NOT_FOUND = (10037, 10059)
"""Message, stream."""


class ReadingError(Exception):
    """The stream cannot be read; the message says why and what to do."""


class Stored(NamedTuple):
    """One message as the stream holds it."""

    seq: int
    subject: str
    headers: Mapping[str, str]
    payload: bytes
    at: datetime
    """When the stream took it, by the server's clock."""


class _Message(msgspec.Struct):
    seq: int
    subject: str
    time: datetime
    hdrs: str = ""
    data: str = ""


class _Error(msgspec.Struct):
    description: str = ""
    err_code: int = 0


class _Answer(msgspec.Struct):
    message: _Message | None = None
    error: _Error | None = None


_answer = msgspec.json.Decoder(_Answer)


class Reader:
    """Reads with a service's own key."""

    def __init__(self, link: Link, service: str) -> None:
        self._link = link
        self._service = service

    @classmethod
    async def open(cls, url: str, seed: str, service: str, tls: ssl.SSLContext | None = None) -> "Reader":
        """Connect as the service.

        Raises:
            ReadingError: the server is away or does not know the key.
        """
        link = Link(Terms(tuple(url.split(",")), seed, service, tls, PING_SECONDS), _log_refusal)
        try:
            await link.open()
        except (Refused, ConnectionError) as error:
            raise ReadingError(f"cannot read the streams at {url} as {service}: {error}") from error
        return cls(link, service)

    async def close(self) -> None:
        await self._link.release()

    async def messages(self, stream: str, first: int, last: int) -> AsyncIterator[Stored]:
        """Everything that is still there between two places, both included, in the stream's order.

        Raises:
            ReadingError: no answer, or no right.
        """
        for begin in range(first, last + 1, ASKED_AT_ONCE):
            places = range(begin, min(begin + ASKED_AT_ONCE, last + 1))
            for found in await asyncio.gather(*(self._message(stream, place) for place in places)):
                if found is not None:
                    yield found

    async def last(self, stream: str) -> Stored | None:
        """The newest message. Raises as `messages`."""
        return await self._asked(stream, LAST)

    async def first_since(self, stream: str, first: int, last: int, since: datetime) -> int:
        """The place of the first message that the stream took at this time or later; `last` + 1 when there is none."""
        low, high = first, last + 1
        while low < high:
            middle = (low + high) // 2
            found = await self._message(stream, middle)
            if found is not None and found.at >= since:
                high = middle
            else:  # what is not there any more was older
                low = middle + 1
        return low

    async def _message(self, stream: str, seq: int) -> Stored | None:
        return await self._asked(stream, msgspec.json.encode({"seq": seq}))

    async def _asked(self, stream: str, question: bytes) -> Stored | None:
        try:
            reply = await self._link.client.request(subject(stream), question, timeout=ANSWER_SECONDS)
        except (nats.errors.Error, TimeoutError) as error:
            hint = f"does NATS run with this release's accounts.conf, in which {self._service} may read it?"
            raise ReadingError(f"{stream} cannot be read: {error!r}; {hint}") from error
        return stored(stream, reply.data)


def subject(stream: str) -> str:
    """Where one message of a stream is asked for."""
    return f"$JS.API.STREAM.MSG.GET.{stream}"


def stored(stream: str, answer: bytes) -> Stored | None:
    """The message of an answer; None when there is none, or no such stream.

    Raises:
        ReadingError: the server answers with another error.
    """
    told = _answer.decode(answer)
    if told.message is None:
        if told.error is not None and told.error.err_code in NOT_FOUND:
            return None
        raise ReadingError(f"{stream} cannot be read: {told.error and told.error.description}")
    one = told.message
    headers = _headers(base64.b64decode(one.hdrs).decode(errors="replace"))
    return Stored(one.seq, one.subject, headers, base64.b64decode(one.data), one.time)


def _headers(block: str) -> dict[str, str]:
    lines = (line.partition(":") for line in block.split("\r\n")[1:] if line)
    return {name: value.strip() for name, _, value in lines}


def _log_refusal(error: Refused) -> None:
    """The question that was denied ends without an answer."""
    _log.error("denied", why=str(error))
