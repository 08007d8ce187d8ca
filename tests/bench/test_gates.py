"""`chancela bench gates`: its texts, and what it prints."""

import json
import subprocess
import sys

import msgspec
import pytest

from deploy.bench.gates import run as module
from deploy.bench.gates.command import MUST
from deploy.bench.gates.messages import long_texts, messages
from deploy.bench.gates.run import Report, Sizes, run


def test_messages_are_new_in_every_round_and_as_long_and_as_portuguese_as_they_should_be() -> None:
    rounds = [messages(1000, seed) for seed in range(3)]
    texts = [text for one in rounds for _, text in one]
    assert len(set(texts)) == len(texts)
    assert 310 <= sum(map(len, texts)) / len(texts) <= 350
    assert all(0.70 <= sum(language == "pt-BR" for language, _ in one) / len(one) <= 0.80 for one in rounds)
    assert messages(10, 5) == messages(10, 5)


def test_a_long_text_of_every_kind_is_as_long_as_asked() -> None:
    assert {len(text) for text in long_texts(5000).values()} == {5000}


def test_a_run_has_ours_and_every_peer_or_why_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "QUICK", Sizes(rounds=1, messages=30, warm=5, long_rounds=1))
    monkeypatch.setattr(module, "LONG", 1000)
    report = run(quick=True, interpreters=(), say=lambda _: None)
    printed = json.loads(msgspec.json.encode(report))
    assert set(MUST) < set(printed["ours"])
    assert all(printed["ours"][name] > 0 for name in MUST)
    assert all((printed[name] is None) == (name in report.missing) for name in module.PEERS)
    assert printed["machine"]["cores"] >= 1
    assert msgspec.json.decode(msgspec.json.encode(report), type=Report) == report


@pytest.mark.parametrize("arguments", [["--help"], ["gates", "--help"], ["--quick", "--only", "none"]])
def test_the_bus_bench_and_the_gates_bench_are_one_command(arguments: list[str]) -> None:
    program = [sys.executable, "-m", "deploy.cli", "bench", *arguments]
    done = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == (2 if "none" in arguments else 0), done.stderr
