"""Probes and scrapes: `/livez` `/readyz` `/startupz` and `/metrics`, a plain ASGI application without a framework.

`/readyz` asks for the database and its schema version. A lost bus is a banner and an alert, never unreadiness: webhooks
and decisions must still be taken in.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from shared import metrics

Check = Callable[[], Awaitable[str]]
"""Returns why not, or an empty string."""


class Health:
    """State of one process, as probes see it."""

    def __init__(self, check: Check) -> None:
        self._check = check
        self.is_started = False
        self.is_stopping = False

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a probe (ASGI)."""
        del receive  # probes have no body
        if scope["type"] != "http":
            return
        status, content_type, body = await self._answer(scope["path"])
        await send(
            {"type": "http.response.start", "status": status, "headers": [(b"content-type", content_type.encode())]}
        )
        await send({"type": "http.response.body", "body": body})

    async def _answer(self, path: str) -> tuple[int, str, bytes]:
        if path == "/metrics":
            content_type, body = metrics.render()
            return 200, content_type, body
        if path == "/livez":
            return _plain(200, "alive")
        if path == "/startupz":
            return _plain(200, "started") if self.is_started else _plain(503, "starting")
        if path == "/readyz":
            why_not = "stopping" if self.is_stopping else await self._check()
            return _plain(503, why_not) if why_not else _plain(200, "ready")
        return _plain(404, "no such probe")


def _plain(status: int, text: str) -> tuple[int, str, bytes]:
    return status, "text/plain; charset=utf-8", text.encode()
