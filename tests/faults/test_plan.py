"""What a seed says: always the same, everything once, and nothing that this machine cannot do."""

from itertools import islice

import pytest

from contracts.topology import SERVICES
from tests.faults.plan import KINDS, OUTAGES, POINTS, Blow, cast_of, plan, service_of

SEEDS = (1, 7, 4711)


def first_round(seed: int) -> list[Blow]:
    return list(islice(plan(seed, can=KINDS), 36))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_says_the_same_every_time(seed: int) -> None:
    assert first_round(seed) == first_round(seed)
    assert cast_of(seed) == cast_of(seed)


def test_another_seed_says_something_else() -> None:
    assert len({tuple(first_round(seed)) for seed in SEEDS}) == len(SEEDS)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_round_begins_with_every_kind_every_point_and_the_death_of_every_service(seed: int) -> None:
    blows = first_round(seed)
    assert {blow.kind for blow in blows} == KINDS
    died = [blow.target.split(" ") for blow in blows if blow.kind == "crash"]
    assert {service_of(pod) for pod, _ in died} == {*SERVICES}
    assert {point for _, point in died} == {*POINTS}
    assert all(pod in POINTS[point] for pod, point in died)


@pytest.mark.parametrize("seed", SEEDS)
def test_somebody_is_asked_to_stop_in_every_outage(seed: int) -> None:
    for blow in first_round(seed):
        assert bool(blow.stops) == (blow.kind in OUTAGES)


def test_what_the_machine_cannot_do_is_left_out() -> None:
    blows = list(islice(plan(1, can=KINDS - {"jump", "fill_postgres"}), 200))
    assert {blow.kind for blow in blows} == KINDS - {"jump", "fill_postgres"}
