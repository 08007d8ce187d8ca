"""Probes: alive is not ready, ready is not for ever, and scrapes always answer."""

from typing import Any

import httpx
import pytest

from shared.health import Health


def health(why_not: str = "") -> Health:
    async def check() -> str:
        return why_not

    return Health(check)


async def ask(health: Health, path: str) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(health), base_url="http://pod") as client:
        return await client.get(path)


async def test_a_process_is_alive_before_it_is_started_or_ready() -> None:
    process = health("the database does not answer")
    assert (await ask(process, "/livez")).status_code == 200
    assert (await ask(process, "/startupz")).status_code == 503
    assert (await ask(process, "/readyz")).status_code == 503


async def test_readiness_says_why_not() -> None:
    assert (await ask(health("schema operator lacks 0002"), "/readyz")).text == "schema operator lacks 0002"


async def test_a_started_process_with_its_database_is_ready() -> None:
    process = health()
    process.is_started = True
    assert (await ask(process, "/startupz")).status_code == 200
    assert (await ask(process, "/readyz")).status_code == 200


async def test_a_process_that_stops_is_alive_and_not_ready() -> None:
    process = health()
    process.is_stopping = True
    assert (await ask(process, "/livez")).status_code == 200
    assert (await ask(process, "/readyz")).text == "stopping"


async def test_a_scrape_finds_the_metrics_of_the_bus() -> None:
    answer = await ask(health("away"), "/metrics")
    assert answer.status_code == 200
    assert "chancela_bus_outbox_age_seconds" in answer.text


@pytest.mark.parametrize("path", ["/", "/readyz/", "/metrics/x"])
async def test_another_path_is_not_found(path: str) -> None:
    assert (await ask(health(), path)).status_code == 404


async def test_what_is_not_http_is_left_alone() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    await health()({"type": "websocket", "path": "/livez"}, None, send)
    assert sent == []
