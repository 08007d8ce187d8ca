import pytest

from tests.approval.office import Office, open_office
from tests.harness import BenchFactory


@pytest.fixture
async def office(bench_of: BenchFactory) -> Office:
    return await open_office(bench_of)
