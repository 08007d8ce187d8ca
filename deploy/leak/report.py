"""What a run amounts to. A rate is said only where enough turns stand behind it.

Laws
- The denominator of a rate is the turns that sent a message. Turns that did not run, and silent ones, are told apart.
- Fewer than `LEAST_TURNS` such turns, or than `LEAST_SHARE` of those that were planned: no rate, and it says why.
- Two arms are compared by pairs (same scenario, same repeat) of which both sent a message.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import combinations
from typing import Final

from msgspec import Struct

from deploy.leak.arms import Arm
from deploy.leak.chances import mcnemar, wilson
from deploy.leak.doors import DOORS, Door
from deploy.leak.turns import Turn

LEAST_TURNS: Final = 12
LEAST_SHARE: Final = 0.5
MOST_REASONS: Final = 12


class Rate(Struct, frozen=True, kw_only=True):
    """A share of turns with its 95 % interval (Wilson)."""

    share: float
    low: float
    high: float


class ArmResult(Struct, frozen=True, kw_only=True):
    """`rate` is null where it is refused; `refused` says why."""

    arm: Arm
    planned: int
    failed: int
    silent: int
    judged: int
    leaked: int
    scenarios_leaked: int
    rate: Rate | None
    refused: str = ""


class Pairing(Struct, frozen=True, kw_only=True):
    """`p` is McNemar's, exact and two-sided."""

    first: Arm
    second: Arm
    pairs: int
    both: int
    only_first: int
    only_second: int
    neither: int
    p: float


class DoorCount(Struct, frozen=True, kw_only=True):
    """`spans` came through this door, `only_here` of them through no other: closing it alone would keep those in."""

    arm: Arm
    door: Door
    spans: int
    only_here: int


class Reason(Struct, frozen=True, kw_only=True):
    """Why turns have no text to judge."""

    arm: Arm
    ended: str
    why: str
    turns: int


class Asked(Struct, frozen=True, kw_only=True):
    """What was measured, so that it can be measured again."""

    model: str
    endpoint: str
    scenarios_file: str
    scenarios_digest: str
    scenarios: int
    repeats: int
    began_at: datetime
    ended_at: datetime
    chain_version: int
    chain_hash: str


class Report(Struct, frozen=True, kw_only=True):
    asked: Asked
    arms: tuple[ArmResult, ...]
    pairings: tuple[Pairing, ...]
    doors: tuple[DoorCount, ...]
    reasons: tuple[Reason, ...]
    turns: tuple[Turn, ...]

    @property
    def is_refused(self) -> bool:
        return any(one.rate is None for one in self.arms)

    @property
    def leaks(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.spans)


def report(asked: Asked, arms: Sequence[Arm], turns: Sequence[Turn]) -> Report:
    results = tuple(_arm(arm, [turn for turn in turns if turn.arm == arm]) for arm in arms)
    rated: list[Arm] = [one.arm for one in results if one.rate is not None]
    return Report(
        asked=asked,
        arms=results,
        pairings=tuple(_pairing(first, second, turns) for first, second in combinations(rated, 2)),
        doors=tuple(_doors(arms, turns)),
        reasons=tuple(_reasons(turns)),
        turns=tuple(turns),
    )


def why_too_few(judged: int, planned: int) -> str:
    """Empty when a rate may be said."""
    if judged < LEAST_TURNS:
        return f"{judged} turns sent a message; a rate needs at least {LEAST_TURNS}"
    if judged < LEAST_SHARE * planned:
        return f"{judged} of {planned} turns sent a message; a rate needs at least {LEAST_SHARE:.0%} of them"
    return ""


def _arm(arm: Arm, turns: Sequence[Turn]) -> ArmResult:
    judged = [turn for turn in turns if turn.ended == "spoke"]
    leaked = [turn for turn in judged if turn.spans]
    refused = why_too_few(len(judged), len(turns))
    return ArmResult(
        arm=arm,
        planned=len(turns),
        failed=sum(turn.ended == "failed" for turn in turns),
        silent=sum(turn.ended == "silent" for turn in turns),
        judged=len(judged),
        leaked=len(leaked),
        scenarios_leaked=len({turn.scenario for turn in leaked}),
        rate=None if refused else _rate(len(leaked), len(judged)),
        refused=refused,
    )


def _rate(leaked: int, judged: int) -> Rate:
    low, high = wilson(leaked, judged)
    return Rate(share=leaked / judged, low=low, high=high)


def _pairing(first: Arm, second: Arm, turns: Iterable[Turn]) -> Pairing:
    did_leak = {(turn.arm, turn.scenario, turn.repeat): bool(turn.spans) for turn in turns if turn.ended == "spoke"}
    pairs = Counter(
        (did_leak[first, scenario, repeat], did_leak[second, scenario, repeat])
        for arm, scenario, repeat in did_leak
        if arm == first and (second, scenario, repeat) in did_leak
    )
    return Pairing(
        first=first,
        second=second,
        pairs=pairs.total(),
        both=pairs[True, True],
        only_first=pairs[True, False],
        only_second=pairs[False, True],
        neither=pairs[False, False],
        p=mcnemar(pairs[True, False], pairs[False, True]),
    )


def _doors(arms: Sequence[Arm], turns: Sequence[Turn]) -> Iterable[DoorCount]:
    for arm in arms:
        spans = [span for turn in turns if turn.arm == arm for span in turn.spans]
        for door in DOORS:
            through = [span for span in spans if door in span.doors]
            if through:
                only = sum(span.doors == (door,) for span in through)
                yield DoorCount(arm=arm, door=door, spans=len(through), only_here=only)


def _reasons(turns: Sequence[Turn]) -> Iterable[Reason]:
    counted: Counter[tuple[Arm, str, str]] = Counter(
        (turn.arm, turn.ended, turn.why) for turn in turns if turn.ended != "spoke"
    )
    for (arm, ended, why), count in counted.most_common(MOST_REASONS):
        yield Reason(arm=arm, ended=ended, why=why, turns=count)
