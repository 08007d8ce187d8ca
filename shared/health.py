"""Probes and scrapes: `/livez` `/readyz` `/startupz` and `/metrics`, a plain ASGI application without a framework.
`/lanes` tells people what stands still.

`/readyz` asks for the database and its schema version, and whether the process has stopped by itself. A lost bus is a
banner and an alert, never unreadiness: webhooks and decisions must still be taken in.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from shared import lanes_page, metrics
from shared.bus.repair import Standing
from shared.db import TRANSIENT

CHECK_SECONDS = 2.0

Check = Callable[[], Awaitable[str]]
"""Returns why not, or an empty string."""
Look = Callable[[], Awaitable[Standing | None]]
"""What stands still; None before the database is there."""


async def _nothing() -> Standing | None:
    return None


class Health:
    """State of one process, as probes see it."""

    def __init__(self, check: Check, look: Look = _nothing) -> None:
        self._check = check
        self._look = look
        self.is_started = False
        self.is_stopping = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a probe (ASGI)."""
        del receive  # probes have no body
        if scope["type"] != "http":
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        status, content_type, body = await self._answer(scope["path"], headers)
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", content_type.encode())]}
        )
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, path: str, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        if path == "/metrics":
            content_type, body = metrics.render()
            return 200, content_type, body
        if path == "/lanes":
            return await self._lanes(headers)
        if path == "/livez":
            return _plain(200, "alive")
        if path == "/startupz":
            return _plain(200, "started") if self.is_started else _plain(503, "starting")
        if path == "/readyz":
            why_not = "stopping" if self.is_stopping else await self._why_not_ready()
            return _plain(503, why_not) if why_not else _plain(200, "ready")
        return _plain(404, "no such probe")

    async def _why_not_ready(self) -> str:
        """Bounded: a silent database must not hold up a probe, nor the news that the process is stopping."""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                return await self._check()
        except TimeoutError:
            return "stopping" if self.is_stopping else "the database does not answer"

    async def _lanes(self, headers: Mapping[str, str]) -> tuple[int, str, bytes]:
        try:
            standing = await self._look()
        except TRANSIENT:
            return _plain(503, "the database does not answer")
        if standing is None:
            return _plain(503, "starting")
        content_type, body = lanes_page.render(
            standing, accept=headers.get("accept", ""), accept_language=headers.get("accept-language", "")
        )
        return 200, content_type, body


def _plain(status: int, text: str) -> tuple[int, str, bytes]:
    return status, "text/plain; charset=utf-8", text.encode()
