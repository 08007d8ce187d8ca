"""A conversador on a real database, asking a model over real HTTP."""

from collections.abc import AsyncIterator

import pytest

from deploy.local.model.server import app as local_model
from tests.conversador.model_servers import ScriptedModel, serving
from tests.conversador.people import Conversador, OpenConversador, configured
from tests.harness import BenchFactory


@pytest.fixture
async def scripted() -> AsyncIterator[tuple[ScriptedModel, str]]:
    model = ScriptedModel()
    async with serving(model.app) as url:
        yield model, url


@pytest.fixture
async def local_url() -> AsyncIterator[str]:
    async with serving(local_model) as url:
        yield url


@pytest.fixture
async def conversador_of(bench_of: BenchFactory) -> AsyncIterator[OpenConversador]:
    """A factory: the URL of a model and settings in, a conversador out."""
    opened: list[Conversador] = []

    async def open_one(url: str, **settings: object) -> Conversador:
        one = await Conversador.open(bench_of, configured(url, **settings))
        opened.append(one)
        return one

    yield open_one
    for one in opened:
        await one.model.close()
