from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.delivery.waha_double import WahaDouble, running_waha
from tests.delivery.world import World, new_world
from tests.harness import BenchFactory


@pytest.fixture
async def waha() -> AsyncIterator[WahaDouble]:
    async with running_waha() as double:
        yield double


@pytest.fixture
async def world(bench_of: BenchFactory, tmp_path: Path, waha: WahaDouble) -> World:
    return await new_world(bench_of, tmp_path, waha)


@pytest.fixture
async def reserving(bench_of: BenchFactory, tmp_path: Path, waha: WahaDouble) -> World:
    """A world whose channel reserves message ids."""
    waha.reserved_id = "3EB0RESERVED0000000001"
    return await new_world(bench_of, tmp_path, waha, waha_preassign_ids=True)
