"""The whole system under kill -9: nothing lost, invented, doubled, out of order, unapproved or altered."""

import os
import random

from contracts.topology import SERVICES
from tests.faults.nemesis import SERVERS
from tests.faults.world import Outcome, each_point_once, everything_once, run

SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10_000)


def test_kills_of_every_part_lose_and_double_nothing() -> None:
    outcome = run(chats=300, seconds=70, seed=SEED, trouble=everything_once)
    assert {*outcome.nemesis.kills} == {*SERVICES, *SERVERS}
    assert_holds(outcome)


def test_a_death_at_any_named_point_loses_and_doubles_nothing() -> None:
    outcome = run(chats=90, seconds=60, seed=SEED, trouble=each_point_once)
    assert not outcome.nemesis.missed, "these were never passed, so nothing was proven about them"
    assert_holds(outcome)


def assert_holds(outcome: Outcome) -> None:
    print(f"\n{outcome}")  # noqa: T201 - the numbers of the run are its result
    assert not outcome.findings, f"{outcome}\n{outcome.findings.told()}"
