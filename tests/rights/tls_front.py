"""TLS in front of a PostgreSQL whose build has none (the wheel's): as PgBouncer or a cloud's proxy ends it.

The client's side is the real protocol: SSLRequest, `S`, a handshake, then everything encrypted. A thread of its own.
"""

import asyncio
import ssl
import struct
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

from deploy.local.ports import free_port

_SSL_REQUEST = struct.pack("!ii", 8, 80877103)
_MOST = 65536


class _Front:
    def __init__(self, socket_path: str, context: ssl.SSLContext) -> None:
        self._socket_path = socket_path
        self._context = context
        self.plain = 0
        """Connections that did not ask for TLS."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, ssl.SSLError, asyncio.IncompleteReadError):
            if await reader.readexactly(8) != _SSL_REQUEST:
                self.plain += 1
                return
            writer.write(b"S")
            await writer.start_tls(self._context)
            there, back = await asyncio.open_unix_connection(self._socket_path)
            await asyncio.gather(_forward(reader, back), _forward(there, writer))
        writer.close()


async def _forward(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with suppress(OSError, ssl.SSLError):
        while some := await source.read(_MOST):
            target.write(some)
            await target.drain()
    target.close()


@contextmanager
def tls_front(socket_path: str, context: ssl.SSLContext) -> Generator[int]:
    """Gives the port, on all of 127.0.0.0/8."""
    port, ready = free_port(), threading.Event()
    loop = asyncio.new_event_loop()

    async def listen() -> None:
        server = await asyncio.start_server(_Front(socket_path, context).serve, "0.0.0.0", port)
        ready.set()
        async with server:
            await stopped.wait()

    stopped = asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(listen()))
    thread.start()
    try:
        assert ready.wait(10)
        yield port
    finally:
        loop.call_soon_threadsafe(stopped.set)
        thread.join(10)
        loop.close()
