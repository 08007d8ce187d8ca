"""Webhooks as WAHA sends them: signed over the raw bytes, retried on every error, forgotten with a restart.

Headers and body are built once, so a retry repeats request id, timestamp and signature. First attempts go out in order;
retries run beside them, so the order of events is not promised, as with WAHA.
"""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deploy.local.phone.waha import VERSION

if TYPE_CHECKING:
    import httpx

ANSWER_TIMEOUT_SECONDS = 10.0
OK, ERRORS = 200, 300


@dataclass(frozen=True)
class RetryPolicy:
    policy: str = "constant"
    delay_seconds: float = 2.0
    attempts: int = 15

    def pause_seconds(self, attempt: int) -> float:
        """The wait after this many failed attempts; without WAHA's jitter, so that a test can count on it."""
        growth = {"constant": 1, "linear": attempt, "exponential": 2**attempt}
        return self.delay_seconds * growth[self.policy]


@dataclass
class Parcel:
    body: bytes
    headers: dict[str, str]
    settled: Callable[[bool], None]
    attempts: int = field(default=0)


def encode(event: dict[str, Any]) -> bytes:
    """As JSON.stringify writes it: no spaces, raw UTF-8, a lone surrogate escaped."""
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")


def headers_for(body: bytes, key: str | None, request_id: str, at_ms: int) -> dict[str, str]:
    headers = {
        "Content-Type": "application/json",
        "User-Agent": f"WAHA/{VERSION}",
        "X-Webhook-Request-Id": request_id,
        "X-Webhook-Timestamp": str(at_ms),
    }
    if key:
        headers["X-Webhook-Hmac"] = hmac.new(key.encode(), body, hashlib.sha512).hexdigest()
        headers["X-Webhook-Hmac-Algorithm"] = "sha512"
    return headers


IDLE_SECONDS = 1.0
RETRIES_AT_ONCE = 20
"""After a long outage thousands wait for their next try: all at once would keep this process from everything else."""


class Courier:
    def __init__(self, url: str | None, retries: RetryPolicy, changed: Callable[[], None]) -> None:
        self.url = url
        self.retries = retries
        self.changed = changed
        self.queue: asyncio.Queue[Parcel] = asyncio.Queue()
        self.tasks: set[asyncio.Task[None]] = set()
        self.retrying = asyncio.Semaphore(RETRIES_AT_ONCE)
        self.pending = 0
        self.failing = 0

    def post(self, parcel: Parcel) -> None:
        if self.url:
            self.pending += 1
            self.queue.put_nowait(parcel)

    async def run(self) -> None:
        first = None
        with suppress(TimeoutError):
            async with asyncio.timeout(IDLE_SECONDS):
                first = await self.queue.get()
        import httpx  # noqa: PLC0415 - half a second, which neither the start nor the first message need wait for

        async with httpx.AsyncClient(timeout=ANSWER_TIMEOUT_SECONDS, trust_env=False) as client:
            try:
                while True:
                    parcel, first = first or await self.queue.get(), None
                    if await self.attempt(client, parcel) is not None:
                        self.start_retries(client, parcel)
            finally:
                for task in self.tasks:
                    task.cancel()

    def start_retries(self, client: "httpx.AsyncClient", parcel: Parcel) -> None:
        self.failing += 1
        self.changed()
        task = asyncio.create_task(self.retry(client, parcel))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)

    async def retry(self, client: "httpx.AsyncClient", parcel: Parcel) -> None:
        pause: float | None = self.retries.pause_seconds(1)
        while pause is not None and parcel.attempts < self.retries.attempts:
            await asyncio.sleep(pause)
            async with self.retrying:
                pause = await self.attempt(client, parcel)
        self.failing -= 1
        if pause is not None:
            self.settle(parcel, was_taken=False)
        self.changed()

    async def attempt(self, client: "httpx.AsyncClient", parcel: Parcel) -> float | None:
        """Try once: None when it was taken, else the seconds to wait before the next try."""
        import httpx  # noqa: PLC0415 - as in `run`

        assert self.url is not None
        parcel.attempts += 1
        pause = self.retries.pause_seconds(parcel.attempts)
        try:
            answer = await client.post(self.url, content=parcel.body, headers=parcel.headers)
        except httpx.HTTPError:
            return pause
        if OK <= answer.status_code < ERRORS:
            self.settle(parcel, was_taken=True)
            return None
        asked = answer.headers.get("Retry-After", "")
        return float(asked) if asked.isdigit() else pause

    def settle(self, parcel: Parcel, *, was_taken: bool) -> None:
        self.pending -= 1
        parcel.settled(was_taken)
