"""The interval and the test, against published values and against counting every outcome."""

from itertools import product

import pytest

from deploy.leak.chances import mcnemar, wilson


@pytest.mark.parametrize(
    ("hits", "turns", "low", "high"),
    [
        # Newcombe (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0000, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_the_interval_is_wilsons(hits: int, turns: int, low: float, high: float) -> None:
    assert wilson(hits, turns) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


def test_nothing_of_n_and_all_of_n_mirror_each_other() -> None:
    for turns in (1, 12, 18, 1000):
        low, high = wilson(0, turns)
        assert low == pytest.approx(0)
        assert wilson(turns, turns) == (pytest.approx(1 - high), pytest.approx(1))


@pytest.mark.parametrize("differing", range(9))
def test_p_counts_the_outcomes_that_are_at_least_as_uneven(differing: int) -> None:
    outcomes = [sum(one) for one in product((0, 1), repeat=differing)]
    for first in range(differing + 1):
        uneven = abs(2 * first - differing)
        as_uneven = sum(abs(2 * count - differing) >= uneven for count in outcomes)
        assert mcnemar(first, differing - first) == pytest.approx(as_uneven / len(outcomes))


def test_p_of_many_pairs_is_a_number() -> None:
    assert mcnemar(0, 5000) == 0
    assert mcnemar(2500, 2500) == 1
