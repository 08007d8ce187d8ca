"""Faults below HTTP: cut a connection without an answer, as a dying server or a lost network does."""

import asyncio
import contextlib
import socket
import struct
from typing import Any

from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from deploy.local.phone.line import Line

TRANSPORT = "chancela.transport"


class Connections:
    """Keeps uvicorn's transport within reach of the endpoints, and refuses a send before it is read."""

    def __init__(self, app: ASGIApp, line: Line) -> None:
        self.app = app
        self.line = line

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            # uvicorn gives no official way to its transport: its `send` is a method of the object that holds it
            scope[TRANSPORT] = getattr(getattr(send, "__self__", None), "transport", None)
            faults = self.line.faults
            if scope["path"] == "/api/sendText" and faults and faults[0].mode == "refuse_connection":
                faults.popleft()
                cut_transport(scope[TRANSPORT])
                return
        await self.app(scope, receive, send)


def cut(request: Request) -> None:
    cut_transport(request.scope[TRANSPORT])


def cut_transport(transport: Any) -> None:
    """Reset, not close: nothing that was written may still arrive."""
    assert isinstance(transport, asyncio.Transport)
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
