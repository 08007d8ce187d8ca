"""`chancela bench` as people and machines call it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from deploy.bench import command
from deploy.bench.run import Report

RATIOS = {
    "hop_vs_fetch",
    "hop_vs_naive",
    "hop_vs_faststream",
    "hop_latency",
    "approve_to_channel",
    "webhook_to_channel",
    "pipeline_per_second",
    "wal_per_payload",
}


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "deploy.cli", "bench", *arguments]
    return subprocess.run(program, capture_output=True, text=True, check=False, timeout=240)


def test_json_has_exactly_the_ratios_and_what_they_are_made_of(tmp_path: Path) -> None:
    kept = tmp_path / "results" / "kept.json"
    done = bench("--quick", "--json", "--only", "commit,publish", "--save", str(kept))
    assert done.returncode == 0, done.stderr
    printed = json.loads(done.stdout)
    assert set(printed["ratios"]) == RATIOS
    assert set(printed) >= {"ratios", "rounds", "medians", "versions", "machine", "targets"}
    assert set(printed["medians"]) == {"commit", "publish"}
    assert printed["versions"]["nats-py"]
    assert printed["versions"]["postgres"].startswith("18")
    assert printed["machine"]["cores"] >= 1
    assert json.loads(kept.read_text()) == printed


def test_an_unknown_bench_is_named_with_those_that_there_are() -> None:
    done = bench("--only", "fetch,hopp")
    assert done.returncode == 2
    assert "hopp" in done.stderr
    assert "without_lanes" in done.stderr


@pytest.mark.parametrize(("failed", "code"), [({}, 0), ({"hop": "RuntimeError: why"}, 1)])
def test_a_missed_target_is_told_and_a_bench_that_could_not_run_is_an_error(
    monkeypatch: pytest.MonkeyPatch, failed: dict[str, str], code: int
) -> None:
    target = {"what": "our hop", "at": "least", "must": 0.45, "goal": 0.65, "is_met": False}
    medians = {"hop": {"per_second": 1.0}}
    report = Report(
        ratios={"hop_vs_fetch": 0.1}, more_ratios={}, targets={"hop_vs_fetch": target}, medians=medians,
        rounds={"hop": [{"per_second": 1.0}]}, failed=failed, not_installed=["faststream"], versions={}, machine={},
        is_quick=True, seconds=1.0,
    )  # fmt: skip

    def measured(**_options: object) -> Report:
        return report

    monkeypatch.setattr(command, "run", measured)
    console = Console(record=True, width=140, force_terminal=True)
    found = command.main(quick=True, json=False, only=(), stored=None, profile=False, save=None, console=console)
    printed = console.export_text()
    assert found == code
    assert "NO" in printed
    assert "faststream: not installed" in printed
    assert all(why in printed for why in failed.values())
