"""One life of a connection to NATS: made in bounded time, watched, let go at once. On nats-py's public API but for one
call, `_abort`.

nats-py can reconnect by itself and is not let (tests/links/test_reports.py and test_half_open.py show each):
- what was unsent when the link died it sends on the next one, after its publisher was told that it failed;
- it closes a socket by waiting until the peer has taken what is unsent: a silent peer holds that up for ever;
- each server that accepts and says nothing costs it a socket an attempt;
- it takes any `-ERR` of the server but "stale connection" as the end for good.
"""

import asyncio
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import nats.errors
from nats.aio.client import Client

from shared import log
from shared.bus.lean import LeanClient
from shared.tls import NATS, why_refused

_log = log.get(__name__)

CONNECT_SECONDS = 10.0
"""One attempt, over all addresses."""
DIAL_SECONDS = 3
PINGS_UNANSWERED = 2
LOOK_SECONDS = 0.25
CLOSE_SECONDS = 1.0
REFUSALS = ("permissions violation", "authorization violation", "authentication")
"""In the server's `-ERR`, in small letters."""
SLOWNESS = "timeout"
"""`Authentication Timeout`: the link or this process was too slow to show its key; it can be shown again."""


class Refused(Exception):  # noqa: N818 - names what the server did
    """The server does not let this identity do what it tried. Retrying cannot help; the process must end and alert."""


class Untrusted(ConnectionError):  # noqa: N818 - names what the other side is
    """TLS does not come about, for a reason that a person has to mend: a certificate, or none on one of the sides."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Where to connect, and as whom."""

    servers: tuple[str, ...]
    seed: str
    service: str
    tls: ssl.SSLContext | None
    ping_seconds: float
    """A link without any answer is given up after (1 + PINGS_UNANSWERED) of these at the latest."""

    def refused(self, error: Exception) -> Refused:
        where = ", ".join(self.servers)
        hint = "check CHANCELA_NATS_SEED and that the accounts file holds its public key"
        return Refused(f"NATS at {where} refuses the identity of {self.service}: {error}; {hint}")


class Link:
    """One client of nats-py, from its connection to its loss; never used again."""

    def __init__(self, terms: Terms, on_refusal: Callable[[Refused], None]) -> None:
        self._terms = terms
        self._on_refusal = on_refusal
        self._is_closed = asyncio.Event()
        self._why = ""
        self._untrusted = ""
        self.client = LeanClient()

    async def open(self) -> None:
        """Connect, once.

        Raises:
            Refused: the server does not know this key.
            Untrusted: see there.
            ConnectionError: nobody there, too slow, or a server that does not want anybody now.
        """
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self._connect()
        except (OSError, nats.errors.Error, TimeoutError) as error:
            await self.release()
            if _is_refusal(error):
                raise self._terms.refused(error) from error
            if self._untrusted or why_refused(error, NATS):
                raise Untrusted(self._untrusted or why_refused(error, NATS)) from error
            raise ConnectionError(self._why or repr(error)) from error
        except BaseException:
            await self.release()
            raise

    async def _connect(self) -> None:
        await self.client.connect(
            list(self._terms.servers),
            name=f"chancela-{self._terms.service}",
            nkeys_seed_str=self._terms.seed,
            inbox_prefix=f"_INBOX_{self._terms.service}",
            error_cb=self._on_error,
            closed_cb=self._on_closed,
            allow_reconnect=False,
            max_reconnect_attempts=1,  # -1 would try for ever inside this one call
            reconnect_time_wait=0,
            connect_timeout=DIAL_SECONDS,
            ping_interval=self._terms.ping_seconds,  # pyright: ignore[reportArgumentType] - seconds; only slept
            max_outstanding_pings=PINGS_UNANSWERED,
            pending_size=0,
            tls=self._terms.tls,
            # else the server's first, plain words decide whether there is TLS at all: whoever stands between can say no
            tls_handshake_first=self._terms.tls is not None,
        )

    async def lost(self) -> str:
        """Wait until the link is no more; returns why.

        nats-py tells so only when the old socket is closed, which a silent peer can hold up: this looks as well.

        Raises:
            Refused: the server ended it because of who we are.
        """
        while self.client.is_connected:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._is_closed.wait()
        error = self.client.last_error
        if error is not None and _is_refusal(error):
            raise self._terms.refused(error)
        return repr(error)

    async def release(self) -> None:
        """Close without waiting for a peer that does not take what is unsent."""
        closing = asyncio.create_task(self.client.close())
        await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
        _abort(self.client)
        await asyncio.wait({closing}, timeout=CLOSE_SECONDS)
        if not closing.done():
            closing.cancel()
        await asyncio.gather(closing, return_exceptions=True)

    async def _on_error(self, error: Exception) -> None:
        if _is_refusal(error):
            if self.client.is_connected:  # else `open` or `lost` tells it
                self._on_refusal(self._terms.refused(error))
        elif isinstance(error, OSError | nats.errors.UnexpectedEOF):
            self._why = repr(error)
            self._untrusted = self._untrusted or why_refused(error, NATS)
        else:
            _log.warning("NATS error", error=repr(error))

    async def _on_closed(self) -> None:
        self._is_closed.set()


def _abort(client: Client) -> None:
    """Below the public API, as nats-py has no such call: drop the socket with what is unsent in it."""
    transport = getattr(client, "_transport", None)
    for name in ("_io_writer", "_bare_io_writer"):  # with TLS the outer and the inner one
        writer: asyncio.StreamWriter | None = getattr(transport, name, None)
        if writer is not None:
            with suppress(AttributeError):  # a TLS link that has ended already, in Python 3.11.2 (Debian 12)
                writer.transport.abort()


def _is_refusal(error: Exception) -> bool:
    words = str(error).lower()
    return isinstance(error, nats.errors.AuthorizationError) or (
        any(mark in words for mark in REFUSALS) and SLOWNESS not in words
    )
