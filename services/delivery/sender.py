"""The only door to a channel: one HTTP request, once, over a connection of its own.

Laws
- Never retried, never redirected, never over a kept-alive connection (a stale one would break after the first byte and
  leave an uncertain send), never through a proxy of the environment.
- The deadline is checked when the connection stands and the first byte is about to be written: a process that was
  stopped and wakes later writes nothing.
- What fails before the first byte was certainly not sent; everything after it is left to the codec's judgement.
"""

import asyncio
import ssl
from collections.abc import Mapping
from typing import Any, Final

import httpx
import msgspec

from contracts.channel import Answer, Broken, ConnectionRefused, HttpRequest, SendAnswer, TimedOut
from shared.clock import monotonic

ANSWER_LIMIT_BYTES: Final = 256 * 1024
_FIRST_BYTE: Final = frozenset({"http11.send_request_headers.started", "http2.send_request_headers.started"})


class TooLate(msgspec.Struct, frozen=True):
    """The deadline had passed before the first byte: nothing was written."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request with its address and credential. `write_before` is a reading of this machine's monotonic clock."""

    base_url: str
    credential: Mapping[str, str]
    request: HttpRequest
    timeout_seconds: float
    write_before: float


class _PastDeadline(Exception):  # noqa: N818 - caught in this file, never seen outside
    pass


class _Watch:
    """Sees the moment before the first byte."""

    def __init__(self, write_before: float) -> None:
        self._write_before = write_before
        self.has_written = False

    async def __call__(self, event: str, _details: Mapping[str, Any]) -> None:
        if event in _FIRST_BYTE and not self.has_written:
            if monotonic() >= self._write_before:
                raise _PastDeadline
            self.has_written = True


class Sender:
    """Makes calls. One certificate context for all of them, a connection for each."""

    def __init__(self) -> None:
        self._trust = ssl.create_default_context()

    async def call(self, call: Call) -> SendAnswer | TooLate:
        """Make exactly one request."""
        watch = _Watch(call.write_before)
        try:
            async with asyncio.timeout(call.timeout_seconds):
                return await self._exchange(call, watch)
        except _PastDeadline:
            return TooLate()
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            if not watch.has_written:
                return ConnectionRefused()
            return TimedOut() if isinstance(error, (httpx.TimeoutException, TimeoutError)) else Broken()

    async def _exchange(self, call: Call, watch: _Watch) -> Answer:
        client = httpx.AsyncClient(
            verify=self._trust,
            follow_redirects=False,
            trust_env=False,
            timeout=call.timeout_seconds,
        )
        headers = {**call.request.headers, **call.credential}
        url = call.base_url.rstrip("/") + call.request.path
        async with (
            client,
            client.stream(
                call.request.method, url, headers=headers, content=call.request.body, extensions={"trace": watch}
            ) as response,
        ):
            body = await _body(response)
            return Answer(status=response.status_code, body=body, retry_after=response.headers.get("Retry-After"))


async def _body(response: httpx.Response) -> bytes:
    """The answer's body, cut at the limit: what is cut cannot be read, and so is uncertain."""
    body = bytearray()
    async for chunk in response.aiter_bytes():
        body += chunk
        if len(body) > ANSWER_LIMIT_BYTES:
            return bytes(body[:ANSWER_LIMIT_BYTES])
    return bytes(body)
