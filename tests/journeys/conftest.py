"""One system for all journeys; each test has a customer of its own."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from deploy.demo.events import Observer
from deploy.demo.fresh import fresh_stack
from deploy.local.stack import Stack
from tests.journeys.world import SETTINGS, Chat, World


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    with fresh_stack(overrides=SETTINGS) as running:
        yield running


@pytest.fixture(scope="session")
async def world(stack: Stack) -> AsyncIterator[World]:
    async with httpx.AsyncClient(timeout=30) as client:
        world = World(stack, client, await Observer.open(stack.superuser_url()))
        yield world
        assert await world.unapproved() == [], "whatever happened, only approved texts reached the channel, each once"
        await world.observer.close()


@pytest.fixture
def chat(world: World) -> Chat:
    return world.chat()
