"""One edge of ingest per test."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.harness import BenchFactory
from tests.ingest.edge import Edge


@pytest.fixture
async def edge(bench_of: BenchFactory, tmp_path: Path) -> AsyncIterator[Edge]:
    opened = await Edge.open(bench_of, tmp_path)
    yield opened
    await opened.client.aclose()
