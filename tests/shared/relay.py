"""A wire to a Postgres server that can be absent, cut, or silent."""

import asyncio
from contextlib import suppress
from urllib.parse import parse_qs, urlsplit

from tests.deploy.programs import free_port

_MOST = 65536


class Relay:
    """Forwards a loopback port to a server's socket. Silent means: connections stand, and nothing comes through."""

    def __init__(self, dsn: str) -> None:
        query = parse_qs(urlsplit(dsn).query)
        self._socket = f"{query['host'][0]}/.s.PGSQL.{query.get('port', ['5432'])[0]}"
        self.port = free_port()
        self._speaks = asyncio.Event()
        self._speaks.set()
        self._server: asyncio.Server | None = None
        self._wires: set[asyncio.StreamWriter] = set()

    async def listen(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)

    def be_silent(self) -> None:
        self._speaks.clear()

    async def close(self) -> None:
        self._speaks.set()
        if self._server is not None:
            self._server.close()
        for wire in list(self._wires):
            wire.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_unix_connection(self._socket)
        self._wires |= {writer, back}
        with suppress(OSError):
            await asyncio.gather(self._forward(reader, back), self._forward(there, writer))
        self._wires -= {writer, back}

    async def _forward(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        while some := await source.read(_MOST):
            await self._speaks.wait()
            target.write(some)
            await target.drain()
        target.close()
