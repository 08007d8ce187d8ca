"""What businesses of ten trades say all day. Of two hands, one of which never saw the rules."""

from pathlib import Path

import pytest

from services.guardrails.gates.case_promise import promised_cases
from services.guardrails.leaks import detect_leaks
from services.guardrails.promises import detect_promises
from services.guardrails.rules import CATALOGUE

LINES = Path(__file__).parent / "lines"


def lines_of(name: str) -> list[str]:
    return [each for each in (LINES / name).read_text("utf-8").splitlines() if each and not each.startswith("#")]


def stopped_by(line: str) -> list[str]:
    return [
        *(f"leak {each.category}: {each.excerpt}" for each in detect_leaks(line, operations=CATALOGUE)),
        *(f"promise {each.kind}: {each.excerpt}" for each in detect_promises(line)),
        *(f"case {each.category}: {each.excerpt}" for each in promised_cases(line)),
    ]


@pytest.mark.parametrize("name", ["benign.txt", "benign_of_others.txt"])
def test_at_most_one_benign_line_in_forty_is_stopped_by_any_detector(name: str) -> None:
    lines = lines_of(name)
    stopped = {line: found for line in lines if (found := stopped_by(line))}
    assert len(lines) >= 200
    assert len(stopped) <= len(lines) / 40, stopped
