"""`python -m tests.faults --minutes N --seed S`: runs on fresh systems, each with the next seed, until the end.

The last line counts everything that went wrong, the kills and the seed; the exit code is 0 only when nothing did and
every blow of a round fell.
"""

import argparse
import random
import sys
import time

from tests.faults.checker import Findings
from tests.faults.world import run

SECONDS_EACH = 240.0
CHATS_A_SECOND = 1.5


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=10)
    length.add_argument("--seconds", type=float)
    parser.add_argument("--chats", type=float, default=CHATS_A_SECOND, help="customers a second")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 10_000))
    given = parser.parse_args()
    seconds = given.seconds or 60 * given.minutes
    until, seed, found, kills, is_proven = time.monotonic() + seconds, given.seed, Findings(), 0, True
    while seed == given.seed or time.monotonic() < until:
        each = max(30.0, min(SECONDS_EACH, until - time.monotonic()))
        outcome = run(chats=int(each * given.chats), seconds=each, seed=seed)
        found, kills, seed = found + outcome.findings, kills + outcome.nemesis.killed, seed + 1
        is_proven = is_proven and not outcome.unproven
        told = [outcome.findings.told(), outcome.told(), *outcome.unproven, str(outcome), ""]
        print("\n".join(told), flush=True)  # noqa: T201 - the program's output
    print(f"{found} · kills {kills} · {seed - given.seed} runs · seed {given.seed}")  # noqa: T201 - as above
    return 1 if found or not is_proven else 0


if __name__ == "__main__":
    sys.exit(main())
