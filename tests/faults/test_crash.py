"""The named points themselves: read from one variable, deaf without it, and all of them tried by these tests."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from shared import crash
from shared.config import ConfigError
from tests.faults.plan import POINTS

ROOT = Path(__file__).resolve().parents[2]
TRIED_AT_THE_INBOX = {"inbox.drain_before_commit"}
"""By test_mutants, where a redelivery can be brought about."""
PASSES = "from shared import crash\nfor number in range(5):\n    print(number, flush=True)\n    crash.point('here')\n"


def passes_with(plan: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PASSES],
        env={crash.VARIABLE: plan},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("plan", "printed"), [("here", 1), ("here@3", 3), ("elsewhere, here@2", 2), ("here:1.0", 1)])
def test_a_planned_point_ends_the_process_by_kill_9(plan: str, printed: int) -> None:
    ended = passes_with(plan)
    assert (ended.returncode, len(ended.stdout.split())) == (-9, printed)


@pytest.mark.parametrize("plan", ["", "elsewhere", "here@6", "here:0.0"])
def test_no_other_point_ends_it(plan: str) -> None:
    ended = passes_with(plan)
    assert (ended.returncode, len(ended.stdout.split())) == (0, 5)


def test_a_plan_that_cannot_be_read_stops_the_start() -> None:
    with pytest.raises(ConfigError, match="here@0"):
        crash.plans("here@0")


def test_every_named_point_is_tried() -> None:
    sources = [file for folder in ("shared", "services") for file in (ROOT / folder).rglob("*.py")]
    named = {name for file in sources for name in re.findall(r'crash\.point\("([^"]+)"\)', file.read_text())}
    assert named == POINTS.keys() | TRIED_AT_THE_INBOX
