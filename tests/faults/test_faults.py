"""The whole system while everything breaks: nothing lost, invented, doubled, out of order, unapproved or altered."""

import os
import random

from tests.faults.world import run

SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10_000)
SECONDS = 60
CHATS = 45
KILLS_AT_LEAST = 5


def test_nothing_that_breaks_loses_doubles_or_alters_anything() -> None:
    """A minute of the seed's blows; a whole round of them is `make faults`."""
    outcome = run(chats=CHATS, seconds=SECONDS, seed=SEED, whole_round=False)
    print(f"\n{outcome.told()}\n{outcome}")  # noqa: T201 - the numbers of the run are its result
    assert not outcome.findings, f"{outcome}\n{outcome.findings.told()}"
    assert outcome.nemesis.killed >= KILLS_AT_LEAST
    assert len(outcome.crowd.written) >= CHATS
