"""The whole system while everything breaks: nothing lost, invented, doubled, out of order, unapproved or altered."""

import os
import random

from contracts.topology import SERVICES
from tests.faults.plan import POINTS, service_of
from tests.faults.world import Outcome, run

SEED = int(os.environ.get("FAULTS_SEED", "0")) or random.SystemRandom().randrange(1, 10_000)
SECONDS = 60
CHATS = 200


def test_nothing_that_breaks_loses_doubles_or_alters_anything() -> None:
    """A round: kill -9 of every pod and server, death at every named point, and one blow of each other kind."""
    outcome = run(chats=CHATS, seconds=SECONDS, seed=SEED)
    print(f"\n{outcome.told()}\n{outcome}")  # noqa: T201 - the numbers of the run are its result
    assert not outcome.findings, f"{outcome}\n{outcome.findings.told()}"
    assert_all_was_tried(outcome)


def assert_all_was_tried(outcome: Outcome) -> None:
    nemesis = outcome.nemesis
    assert {service_of(name) for name in nemesis.kills} >= {*SERVICES, "postgres"}
    assert any(name.startswith("nats-") for name in nemesis.kills)
    assert not nemesis.missed, "these were never passed, so nothing was proven about them"
    assert {name.split(" ")[1] for name in nemesis.crashes} == {*POINTS}
    assert nemesis.struck == nemesis.installation.can, outcome.not_tried
