"""Links on which nothing comes back: noticed, replaced, and nothing of them left (see test_reports)."""

import asyncio
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

import msgspec
import pytest
from nats.aio.client import Client

from deploy.keys import read_key
from shared.bus import connection as connection_module
from shared.bus import link as link_module
from shared.bus.connection import Connection, Refused
from shared.config import BusConfig
from tests.harness import within
from tests.links.proxy import Proxy
from tests.links.world import Links, hear, pulling, rows, say, until

PING_SECONDS = 0.2


def test_a_silent_link_is_given_up_within_45_seconds_unless_told_otherwise() -> None:
    defaults = {field.name: field.default for field in msgspec.structs.fields(BusConfig)}
    assert defaults["nats_ping_seconds"] * (link_module.PINGS_UNANSWERED + 1) < 45
    assert defaults["nats_ping_seconds"] == connection_module.PING_SECONDS


async def test_a_silent_link_is_noticed_and_replaced(links: Links, proxy: Proxy) -> None:
    async with (
        links.connected("ingest") as ingest,
        links.connected("operator", proxy, ping_seconds=PING_SECONDS) as operator,
    ):
        pull = pulling(operator)
        hearing = asyncio.create_task(hear(operator, pull, 2))
        await say(ingest, rows(1, size=1))
        await until(lambda: not pull._queue.qsize())  # pyright: ignore[reportPrivateUsage] - that it began
        proxy.freeze()
        await until(lambda: proxy.accepted == 2 and operator.is_connected)
        await say(ingest, rows(1, size=2))
        assert set(await hearing) == {b"0", b"0 "}


async def test_a_silent_link_full_of_what_it_did_not_take_is_replaced_too(
    links: Links, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Closing it in good order would wait until the server takes the rest."""
    monkeypatch.setattr(connection_module, "ACK_SECONDS", 0.3)
    async with links.connected("ingest", proxy, ping_seconds=PING_SECONDS) as ingest:
        old = socket_of(ingest)
        proxy.freeze()
        while ingest.is_connected:
            await ingest.publish(rows(60, size=200 * 1024))
        await until(lambda: proxy.accepted == 2 and ingest.is_connected)
        await say(ingest, rows(1))
        assert await links.stored() == 1
        assert old.fileno() == -1, "its socket is still open, with what is unsent in it"


def socket_of(connection: Connection) -> socket:
    client: Any = connection._client  # pyright: ignore[reportPrivateUsage] - nobody gives it out
    return client._transport._io_writer.get_extra_info("socket")


async def test_a_server_that_accepts_and_says_nothing_costs_no_sockets(
    links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "CONNECT_SECONDS", 0.2)
    monkeypatch.setattr(connection_module, "PAUSES", (0.01,))
    attempts: list[float] = []
    original = link_module.Link.open

    async def count(link: link_module.Link) -> None:
        attempts.append(0)
        await original(link)

    monkeypatch.setattr(link_module.Link, "open", count)
    async with links.connected("ingest", ping_seconds=PING_SECONDS) as ingest:
        links.local.pause()
        try:
            await until(lambda: len(attempts) > 2)
            before = open_files()
            await until(lambda: len(attempts) > 12)
            assert open_files() <= before + 2
        finally:
            links.local.resume()
        monkeypatch.setattr(link_module, "CONNECT_SECONDS", 10.0)
        await until(lambda: ingest.is_connected)
        await say(ingest, rows(1))


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@pytest.mark.parametrize(
    "words",
    [
        "Slow Consumer",
        "Maximum Connections Exceeded",
        "Maximum Payload Violation",
        "Unknown Protocol Operation",
        "Authentication Timeout",
        "Stale Connection",
        "Server Shutdown",
    ],
)
async def test_an_error_of_the_server_that_is_no_refusal_costs_a_link_and_not_the_process(
    links: Links, proxy: Proxy, words: str
) -> None:
    async with links.connected("ingest", proxy) as ingest:
        proxy.inject(f"-ERR '{words}'\r\n".encode())
        await until(lambda: proxy.accepted == 2 and ingest.is_connected)
        await say(ingest, rows(1))
        assert not ingest.fatal.done()


@pytest.mark.parametrize(
    "words",
    [
        "Authorization Violation",
        "User Authentication Revoked",
        "User Authentication Expired",
        "Account Authentication Expired",
        'Permissions Violation for Publish to "send.cmd.1.x"',
    ],
)
async def test_a_refusal_by_the_server_ends_the_process_with_its_words(links: Links, proxy: Proxy, words: str) -> None:
    async with links.connected("ingest", proxy) as ingest:
        proxy.inject(f"-ERR '{words}'\r\n".encode())
        with pytest.raises(Refused, match=r"(?i)ingest.*(authorization|authentication|permissions violation).*check"):
            await within(asyncio.shield(ingest.fatal), 20)


async def test_a_close_that_is_cancelled_while_it_flushes_ends_and_leaves_no_socket(links: Links, proxy: Proxy) -> None:
    """P#806, #841, #853."""
    async with links.connected("ingest", proxy) as ingest:
        proxy.freeze()
        before = {task for task in asyncio.all_tasks() if not task.done()}
        closing = asyncio.create_task(ingest.close())
        await asyncio.sleep(0.1)
        closing.cancel()
        done, _ = await asyncio.wait({closing}, timeout=20)
        assert done
        assert not ingest.is_connected
        await until(lambda: not {task for task in asyncio.all_tasks() if not task.done()} - before - {closing})


async def test_a_close_over_a_silent_link_full_of_unsent_ends(links: Links, proxy: Proxy) -> None:
    async with links.connected("ingest", proxy) as ingest:
        proxy.freeze()
        publishing = asyncio.create_task(ingest.publish(rows(60, size=200 * 1024)))
        await asyncio.sleep(0.2)
        await within(ingest.close(), 20)
        assert not (await publishing).taken


async def test_nats_py_left_to_itself_does_not_come_back_from_a_silent_link(links: Links, proxy: Proxy) -> None:
    """Why `Link` does not let it reconnect. When this fails, nats-py has changed: look whether it may."""
    client = Client()
    seed = read_key(links.keys, "ingest.nk")
    await client.connect(
        proxy.url, nkeys_seed_str=seed, inbox_prefix="_INBOX_ingest", pending_size=0,
        ping_interval=1, max_outstanding_pings=2, max_reconnect_attempts=-1, reconnect_time_wait=0,
    )  # fmt: skip
    try:
        proxy.freeze()
        for row in rows(60, size=200 * 1024):
            await client.publish(row.subject, row.payload)
        await until(lambda: client.is_reconnecting)
        await asyncio.sleep(2)
        assert (client.is_connected, proxy.accepted) == (False, 1)
    finally:
        proxy.cut()
        with suppress(OSError):
            await within(client.close(), 20)


async def test_a_seed_that_is_none_is_named_before_anything_is_tried(links: Links, tmp_path: Path) -> None:
    with pytest.raises(connection_module.ConfigError, match="CHANCELA_NATS_SEED"):
        Connection(links.server.url, "SUgarbage", "operator")
