"""Every gate of the chain against its own examples, and every hint against the gates that judge text."""

import msgspec
import pytest

from services.guardrails.chain import CHAIN, judge
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Facts, Language, Unknown
from services.guardrails.gate import Example, Gate, OnMissing, Outcome

CLEAR = [pytest.param(gate, each, id=f"{gate.name}: {each.why}") for gate in CHAIN for each in gate.clear]
STOP = [pytest.param(gate, each, id=f"{gate.name}: {each.why}") for gate in CHAIN for each in gate.stop]
TEXT_GATES = [gate for gate in CHAIN if gate.judges_text]
HINTS = sorted(
    {hint for gate in CHAIN for each in gate.stop for hint in [judge(gate, each.draft, each.facts).instruction] if hint}
)


@pytest.mark.parametrize(("gate", "example"), CLEAR)
def test_a_gate_lets_its_clear_examples_pass(gate: Gate, example: Example) -> None:
    verdict = judge(gate, example.draft, example.facts)
    assert verdict.outcome in (Outcome.PASS, Outcome.NOT_APPLICABLE), verdict


@pytest.mark.parametrize(("gate", "example"), STOP)
def test_a_gate_stops_its_stop_examples_with_the_code_that_they_name(gate: Gate, example: Example) -> None:
    verdict = judge(gate, example.draft, example.facts)
    assert verdict.code == example.code
    assert verdict.outcome in (Outcome.VETO, Outcome.DEFER, Outcome.AMENDED), verdict


@pytest.mark.parametrize("gate", CHAIN, ids=lambda gate: gate.name)
def test_a_gate_has_examples_of_both_kinds(gate: Gate) -> None:
    assert gate.clear
    assert gate.stop


@pytest.mark.parametrize(("gate", "example"), STOP)
def test_evidence_quotes_the_draft(gate: Gate, example: Example) -> None:
    for span in judge(gate, example.draft, example.facts).spans:
        assert example.draft.body[span.start : span.end] == span.excerpt


@pytest.mark.parametrize(("gate", "example"), STOP)
@pytest.mark.parametrize("language", list(Language))
def test_a_hint_passes_the_gates_that_judge_text(gate: Gate, example: Example, language: Language) -> None:
    draft = msgspec.structs.replace(example.draft, language=language)
    hint = judge(gate, draft, example.facts).instruction
    if hint is None:
        return
    said = a_draft(body=hint, language=language)
    verdicts = [judge(each, said, some_facts()) for each in TEXT_GATES]
    assert [each for each in verdicts if each.outcome is Outcome.VETO] == []


def test_no_hint_names_a_gate_or_a_code() -> None:
    names = {gate.name for gate in CHAIN} | {each.code for gate in CHAIN for each in gate.stop if each.code}
    assert HINTS
    assert [(hint, name) for hint in HINTS for name in names if "_" in name and name in hint] == []


FACT_FIELDS = [name for name in Facts.__struct_fields__ if name not in ("now", "people", "disclosures")]


@pytest.mark.parametrize("gate", CHAIN, ids=lambda gate: gate.name)
@pytest.mark.parametrize("field", FACT_FIELDS)
def test_a_missing_fact_never_makes_a_closed_gate_pass_what_it_stopped(gate: Gate, field: str) -> None:
    if gate.on_missing is not OnMissing.CLOSED:
        return
    for example in gate.stop:
        facts = msgspec.structs.replace(example.facts, **{field: Unknown("timeout")})
        verdict = judge(gate, example.draft, facts)
        if field != "promise_review":  # without the classifier's answer the lexical verdict stands, by design
            assert verdict.outcome not in (Outcome.PASS, Outcome.NOT_APPLICABLE), (example.why, verdict)


def test_facts_and_drafts_survive_storage() -> None:
    for gate in CHAIN:
        for example in (*gate.clear, *gate.stop):
            assert msgspec.json.decode(msgspec.json.encode(example.facts), type=Facts) == example.facts
