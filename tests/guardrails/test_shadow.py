"""Candidate rules beside the ten: counted and recorded; what they say or fail at changes nothing."""

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

import pytest
from prometheus_client import REGISTRY

from contracts import messages as m
from services.guardrails import candidates, shadow
from services.guardrails.chain import CHAIN, Cleared, run
from services.guardrails.examples import NOON, a_draft, some_facts
from services.guardrails.facts import Draft, Facts, Unknown, known
from services.guardrails.gate import Gate, OnMissing, Outcome, Phase, Span, Verdict, amend, defer, passed, veto
from services.guardrails.gates.internal_vocabulary import INTERNAL_VOCABULARY
from services.guardrails.shadow import Candidate, CandidateError, Direction, beside, disagreement
from tests.guardrails.test_service import bench
from tests.guardrails.world import approved, only, proposed, received
from tests.harness import Bench

__all__ = ["bench"]  # the fixture

Judge = Callable[[Draft, Facts], Verdict]
BODY = "Abrimos das 8h às 18h."
LEAK = "O webhook falhou."


def candidate(judge: Judge, name: str = "candidate", instead_of: str = "") -> Candidate:
    gate = Gate(name=name, judge=judge, on_missing=OnMissing.CLOSED, judges_text=True, clear=(), stop=())
    return Candidate(gate=gate, instead_of=instead_of)


def refuses(draft: Draft, _facts: Facts) -> Verdict:
    return veto("no_hours", "x", spans=(Span(0, 7, draft.body[:7]),))


def passes(_draft: Draft, _facts: Facts) -> Verdict:
    return passed()


def crashes(draft: Draft, _facts: Facts) -> Verdict:
    raise ZeroDivisionError(draft.id)


def says_nothing(_draft: Draft, _facts: Facts) -> Verdict:
    return cast("Verdict", None)


def says_what_cannot_be_written(_draft: Draft, _facts: Facts) -> Verdict:
    return Verdict(outcome=cast("Outcome", "maybe"), facts_used=cast("Any", {object()}))


def rewrites(draft: Draft, _facts: Facts) -> Verdict:
    return amend("better", f"{draft.body} Volte sempre!")


def counted(name: str, direction: Direction) -> float:
    labels = {"gate": name, "direction": direction.value}
    return REGISTRY.get_sample_value("chancela_shadow_disagreements_total", labels) or 0.0


def failed(name: str) -> float:
    labels = {"gate": name, "cause": "gate_failed", "disposition": "shadow"}
    return REGISTRY.get_sample_value("chancela_gate_failures_total", labels) or 0.0


async def both_phases(bench: Bench, body: str) -> list[m.Message]:
    draft, approval = proposed(body), approved(body)
    await bench.hear(received(), draft, approval)
    await bench.run_jobs()
    return await bench.said()


async def recorded(bench: Bench) -> list[list[dict[str, Any]]]:
    return [json.loads(row["shadow"]) for row in await bench.rows("select shadow from run order by at, phase desc")]


async def test_a_candidate_that_disagrees_is_counted_and_recorded_and_stops_nothing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shadow, "found", lambda: (candidate(refuses, "disagrees"),))
    before = counted("disagrees", Direction.STRICTER)
    said = await both_phases(bench, BODY)
    assert only(said, m.DraftCleared).body == BODY
    assert only(said, m.SendCommand).snapshot.body == BODY
    for message in (only(said, m.DraftCleared), only(said, m.DispatchCleared)):
        assert [one.gate for one in message.verdicts] == [gate.name for gate in CHAIN]
    assert counted("disagrees", Direction.STRICTER) == before + 2
    runs = await recorded(bench)
    assert [(one["gate"], one["outcome"], one["code"]) for run_ in runs for one in run_] == [
        ("disagrees", "veto", "no_hours")
    ] * 2
    assert "Abrimos" not in json.dumps(runs)  # its words stand apart, with the others
    assert "Abrimos" in await bench.value("select words -> 'excerpts' ->> 0 from run_text")


@pytest.mark.parametrize("judge", [crashes, says_nothing, says_what_cannot_be_written])
async def test_a_candidate_that_fails_disturbs_nobody(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, judge: Judge
) -> None:
    name = judge.__name__
    monkeypatch.setattr(shadow, "found", lambda: (candidate(judge, name), candidate(refuses, "after_it")))
    before, beside_it = failed(name), counted("after_it", Direction.STRICTER)
    said = await both_phases(bench, BODY)
    only(said, m.DraftCleared)
    only(said, m.SendCommand)
    assert [(one["gate"], one["code"]) for run_ in await recorded(bench) for one in run_] == [
        (name, "gate_failed"),
        ("after_it", "no_hours"),
    ] * 2
    assert failed(name) == before + 2
    assert counted(name, Direction.STRICTER) == 0
    assert counted("after_it", Direction.STRICTER) == beside_it + 2


async def test_a_candidate_cannot_amend(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "found", lambda: (candidate(rewrites),))
    said = await both_phases(bench, BODY)
    assert only(said, m.DraftCleared).body == BODY
    assert only(said, m.SendCommand).snapshot.body == BODY
    assert await bench.value("select count(*) from run_text where words::text like '%Volte sempre%'") == 0


async def test_a_candidate_cannot_clear_what_the_ten_stop(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow, "found", lambda: (candidate(passes, "looser", "internal_vocabulary"),))
    before = counted("looser", Direction.LOOSER)
    said = await both_phases(bench, LEAK)
    assert only(said, m.DraftVetoed).code == "internal_vocabulary_leak"
    assert only(said, m.DispatchRefused).code == "internal_vocabulary_leak"
    assert counted("looser", Direction.LOOSER) == before + 2


# ------------------------------------------------------------------------------------------------------- disagreeing


def later(_draft: Draft, facts: Facts) -> Verdict:
    return defer("later", facts.now + timedelta(hours=1))


def needs_a_fact(_draft: Draft, facts: Facts) -> Verdict:
    known(facts.recent_outbound)
    return passed()


@pytest.mark.parametrize(
    ("judge", "instead_of", "body", "expected"),
    [
        (refuses, "", BODY, Direction.STRICTER),
        (later, "", BODY, Direction.STRICTER),
        (passes, "", BODY, None),
        (rewrites, "", BODY, None),
        (refuses, "", LEAK, None),
        (passes, "", LEAK, None),  # one more gate need not find what others find
        (passes, "internal_vocabulary", LEAK, Direction.LOOSER),
        (INTERNAL_VOCABULARY.judge, "internal_vocabulary", LEAK, None),
        (refuses, "promise", LEAK, Direction.STRICTER),  # whatever another gate says
        (crashes, "", BODY, None),
    ],
)
def test_who_disagrees_and_how(judge: Judge, instead_of: str, body: str, expected: Direction | None) -> None:
    one = candidate(judge, instead_of=instead_of)
    draft, facts = a_draft(body=body), some_facts()
    (verdict,) = beside(draft, facts, lambda _gate, judge: judge(), [one])
    assert disagreement(one, verdict, run(draft, facts, Phase.DISPATCH)) is expected


def test_a_gate_that_was_not_asked_is_compared_with_nobody() -> None:
    one = candidate(refuses, instead_of="pacing")
    draft, facts = a_draft(), some_facts(contact=Unknown("timeout"))
    result = run(draft, facts, Phase.DISPATCH)
    assert next(each for each in result.verdicts if each.gate == "pacing").outcome is Outcome.SKIPPED
    assert disagreement(one, veto("x", "x"), result) is None


def test_a_candidate_does_what_it_declared_when_its_fact_is_missing() -> None:
    facts = some_facts(recent_outbound=Unknown("timeout"))
    for on_missing, outcome in (
        (OnMissing.CLOSED, Outcome.VETO),
        (OnMissing.DEFER, Outcome.DEFER),
        (OnMissing.OPEN, Outcome.PASS),
    ):
        one = candidate(needs_a_fact)
        asks = Candidate(gate=replace(one.gate, on_missing=on_missing))
        (verdict,) = beside(a_draft(), facts, lambda _gate, judge: judge(), [asks])
        assert (verdict.outcome, verdict.warning) == (outcome, "timeout")
    assert isinstance(run(a_draft(), facts, Phase.FILING), Cleared)
    assert facts.now == NOON


# ---------------------------------------------------------------------------------------------------------- one file

FILE = """
from services.guardrails.facts import Draft, Facts
from services.guardrails.gate import Gate, OnMissing, Verdict, passed
from services.guardrails.shadow import Candidate


def judge(draft: Draft, facts: Facts) -> Verdict:
    return passed()


CANDIDATE = Candidate(
    gate=Gate(name="{name}", judge=judge, on_missing=OnMissing.OPEN, judges_text=True, clear=(), stop=()),
    instead_of="{instead_of}",
)
"""


def files(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> Sequence[Candidate]:
    (folder / f"{name}.py").write_text(text)
    monkeypatch.setattr(candidates, "__path__", [str(folder)])
    monkeypatch.delitem(sys.modules, f"{candidates.__name__}.{name}", raising=False)
    shadow.found.cache_clear()
    try:
        return shadow.found()
    finally:
        shadow.found.cache_clear()
        sys.modules.pop(f"{candidates.__name__}.{name}", None)


def test_a_file_is_all_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (one,) = files(tmp_path, monkeypatch, "politeness", FILE.format(name="politeness", instead_of=""))
    assert one.gate.name == "politeness"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("empty", "", "candidates/empty.py has no CANDIDATE"),
        ("a", FILE.format(name="b", instead_of=""), "file and name must agree"),
        ("stop", FILE.format(name="stop", instead_of=""), "named as a gate of the chain"),
        ("c", FILE.format(name="c", instead_of="politeness"), "politeness, which is not in the chain"),
    ],
)
def test_a_file_that_is_no_candidate_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, told: str
) -> None:
    with pytest.raises(CandidateError, match=told):
        files(tmp_path, monkeypatch, name, text)


TELL = """
import sys
from prometheus_client import generate_latest
from services.guardrails import candidates
candidates.__path__.append(sys.argv[1])
import services.guardrails.metrics
print(generate_latest().decode())
"""


def test_its_metrics_are_there_before_it_judged_anything(tmp_path: Path) -> None:
    (tmp_path / "politeness.py").write_text(FILE.format(name="politeness", instead_of=""))
    here = Path(__file__).parents[2]
    words = [sys.executable, "-c", TELL, str(tmp_path)]
    told = subprocess.run(words, check=True, capture_output=True, text=True, cwd=here).stdout
    for line in (
        'chancela_shadow_disagreements_total{direction="stricter",gate="politeness"} 0.0',
        'chancela_shadow_disagreements_total{direction="looser",gate="politeness"} 0.0',
        'chancela_gate_mode{gate="politeness",mode="shadow"} 1.0',
        'chancela_gate_mode{gate="politeness",mode="enforce"} 0.0',
        'chancela_gate_mode{gate="stop",mode="enforce"} 1.0',
        'chancela_gate_evaluations_total{gate="politeness",outcome="veto",phase="filing"} 0.0',
    ):
        assert line in told
