"""What a count says about the rate behind it."""

from math import comb, sqrt
from typing import Final

_Z: Final = 1.959963984540054
"""Of the normal distribution, two-sided 95 %."""


def wilson(hits: int, turns: int) -> tuple[float, float]:
    """The 95 % interval of Wilson (1927): 0 of n does not mean a rate of 0. `turns` is at least 1."""
    rate, spread = hits / turns, _Z * _Z / turns
    middle = (rate + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * sqrt(rate * (1 - rate) / turns + spread / turns / 4)
    return max(0.0, middle - half), min(1.0, middle + half)


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p of McNemar (1947): that the pairs which differ would fall so unevenly by chance alone."""
    differing = only_first + only_second
    tail = sum(comb(differing, count) for count in range(min(only_first, only_second) + 1))
    return min(1.0, 2 * tail / 2**differing)
