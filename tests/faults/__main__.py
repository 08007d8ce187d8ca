"""`python -m tests.faults --minutes N`: runs on fresh systems, each with the next seed, until the time is over."""

import argparse
import random
import sys
import time

from tests.faults.world import each_point_once, everything_once, run


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 10_000))
    given = parser.parse_args()
    until, seed, failed = time.monotonic() + 60 * given.minutes, given.seed, 0
    while time.monotonic() < until:
        by_points = (seed - given.seed) % 3 == 2
        trouble, chats = (each_point_once, 120) if by_points else (everything_once, 300)
        outcome = run(chats=chats, seconds=75, seed=seed, trouble=trouble)
        failed += bool(outcome.findings)
        print(f"{outcome.findings.told()}\n{outcome}", flush=True)  # noqa: T201 - the program's output
        seed += 1
    print(f"{seed - given.seed} runs, {failed} with findings")  # noqa: T201 - as above
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
