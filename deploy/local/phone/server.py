"""The phone put together: routes, the courier's task, and a server that lets go of open streams when it stops."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path
from socket import socket

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from deploy.local.phone import control, page, rest
from deploy.local.phone.connection import Connections
from deploy.local.phone.line import Line, Settings
from deploy.local.phone.stamps import now_ms
from deploy.local.phone.store import Store
from deploy.local.phone.waha import http_error


async def problem(_: Request, fault: Exception) -> JSONResponse:
    status, detail = (fault.status_code, fault.detail) if isinstance(fault, HTTPException) else (500, "Internal error")
    return JSONResponse(http_error(status, detail), status)


def build(line: Line) -> Starlette:
    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        courier = asyncio.create_task(line.courier.run())
        try:
            yield
        finally:
            courier.cancel()
            await asyncio.gather(courier, return_exceptions=True)
            line.store.close()

    app = Starlette(
        routes=[*rest.ROUTES, *control.ROUTES, *page.ROUTES],
        exception_handlers={HTTPException: problem},
        lifespan=lifespan,
    )
    app.state.line = line
    return app


class PhoneServer(uvicorn.Server):
    """Tells open streams to end before uvicorn waits for them."""

    def __init__(self, config: uvicorn.Config, line: Line) -> None:
        super().__init__(config)
        self.line = line

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        self.line.is_closing.set()
        self.line.changed()
        await super().shutdown(sockets)


def serve(settings: Settings, host: str, port: int, state: Path | None) -> None:
    line = Line(settings, Store(state, now_ms()))
    config = uvicorn.Config(
        Connections(build(line), line),
        host=host,
        port=port,
        loop="asyncio",  # its transports can be reset, and it starts sooner
        http="h11",
        ws="none",
        log_level="warning",
        timeout_graceful_shutdown=2,
    )
    PhoneServer(config, line).run()
