"""A server of its own for each test, and a proxy before it."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from deploy.keys import create_keys
from deploy.local.bus import server_config
from tests.links.proxy import Proxy
from tests.links.world import Links
from tests.servers import NatsServerFactory


@pytest.fixture
async def links(nats_server_factory: NatsServerFactory, tmp_path: Path) -> Links:
    create_keys(tmp_path)
    links = Links(nats_server_factory(server_config(tmp_path)), tmp_path)
    await links.apply()
    return links


@pytest.fixture
async def proxy(links: Links) -> AsyncIterator[Proxy]:
    """To NATS."""
    async with Proxy.to(links.server.url) as proxy:
        yield proxy
