"""The chain's laws: order, what a veto does to the rest, what may change a text; nothing clears by accident."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.guardrails.chain import CHAIN, Cleared, Deferred, Vetoed, chain_hash, judge, run
from services.guardrails.examples import NOON, a_draft, some_facts
from services.guardrails.facts import (
    Consent,
    ContactState,
    Draft,
    DraftKind,
    Facts,
    SenderNumber,
    Unknown,
    known,
)
from services.guardrails.gate import Gate, OnMissing, Outcome, Phase, Verdict, amend, defer, passed, veto

BLOCKED = some_facts(contact=ContactState(consent=Consent.GRANTED, is_blocked=True))
FIRST = some_facts(is_first_message_to_contact=True)


def a_gate(name: str, verdict: Verdict, *, judges_text: bool = True, on_missing: OnMissing = OnMissing.CLOSED) -> Gate:
    return Gate(
        name=name,
        judge=lambda _draft, _facts: verdict,
        on_missing=on_missing,
        judges_text=judges_text,
        clear=(),
        stop=(),
    )


def a_crashing_gate(on_missing: OnMissing = OnMissing.OPEN) -> Gate:
    def crash(draft: Draft, facts: Facts) -> Verdict:
        raise ZeroDivisionError(draft.id)

    return Gate(name="crash", judge=crash, on_missing=on_missing, judges_text=True, clear=(), stop=())


def a_gate_without_its_fact(on_missing: OnMissing) -> Gate:
    def ask(_draft: Draft, facts: Facts) -> Verdict:
        known(facts.recent_outbound)
        return passed()

    return Gate(name="asks", judge=ask, on_missing=on_missing, judges_text=False, clear=(), stop=())


def outcomes(result: Cleared | Vetoed | Deferred) -> dict[str, Outcome]:
    return {verdict.gate: verdict.outcome for verdict in result.verdicts}


def test_the_order_the_names_and_the_length_are_locked() -> None:
    assert [gate.name for gate in CHAIN] == [
        "stop",
        "lgpd",
        "pacing",
        "service_window",
        "spinning",
        "promise",
        "semantic_promise",
        "case_promise",
        "internal_vocabulary",
        "disclosure",
    ]


def test_what_each_gate_does_without_a_fact_is_locked() -> None:
    assert {gate.name: gate.on_missing for gate in CHAIN if gate.on_missing is not OnMissing.CLOSED} == {
        "pacing": OnMissing.OPEN,
        "spinning": OnMissing.OPEN,
        "promise": OnMissing.DEFER,
    }


def test_text_gates_are_six_to_ten() -> None:
    assert [gate.judges_text for gate in CHAIN] == [False] * 5 + [True] * 5


def test_the_hash_is_stable_within_a_release() -> None:
    assert chain_hash() == chain_hash()
    assert len(chain_hash()) == 64


@pytest.mark.parametrize("phase", list(Phase))
def test_an_ordinary_reply_is_cleared_with_the_bytes_it_came_with(phase: Phase) -> None:
    result = run(a_draft(), some_facts(), phase)
    assert isinstance(result, Cleared)
    assert result.body == a_draft().body


def test_the_first_veto_is_recorded_and_later_state_gates_are_skipped() -> None:
    leaking = a_draft(body="O webhook falhou e o estacionamento é grátis.")
    result = run(leaking, BLOCKED, Phase.DISPATCH)
    assert isinstance(result, Vetoed)
    assert (result.gate, result.code) == ("stop", "contact_blocked")
    seen = outcomes(result)
    assert [seen[name] for name in ("lgpd", "pacing", "service_window", "spinning")] == [Outcome.SKIPPED] * 4
    assert seen["semantic_promise"] is Outcome.VETO
    assert seen["internal_vocabulary"] is Outcome.VETO
    assert len(result.instructions) == 3


def test_the_model_learns_every_problem_of_its_text_at_once() -> None:
    body = "Faço por R$ 10, a equipe vai te ligar e o webhook falhou."
    result = run(a_draft(body=body), some_facts(), Phase.FILING)
    assert isinstance(result, Vetoed)
    vetoes = [name for name, outcome in outcomes(result).items() if outcome is Outcome.VETO]
    assert vetoes == ["promise", "semantic_promise", "case_promise", "internal_vocabulary"]
    assert len(result.instructions) == 4


def test_the_disclosure_is_added_at_filing_and_the_person_sees_it() -> None:
    result = run(a_draft(), FIRST, Phase.FILING)
    assert isinstance(result, Cleared)
    assert result.body == "Sou a assistente virtual da padaria.\n\nAbrimos às 8h, de segunda a sábado."
    assert outcomes(result)["disclosure"] is Outcome.AMENDED


def test_the_filed_text_passes_at_dispatch_and_the_bare_one_does_not() -> None:
    filed = run(a_draft(), FIRST, Phase.FILING)
    assert isinstance(filed, Cleared)
    assert isinstance(run(a_draft(body=filed.body), FIRST, Phase.DISPATCH), Cleared)
    bare = run(a_draft(), FIRST, Phase.DISPATCH)
    assert isinstance(bare, Vetoed)
    assert bare.code == "disclosure_missing"


def test_an_amendment_without_a_code_asks_for_a_new_approval_at_dispatch() -> None:
    amending = a_gate("amends", Verdict(outcome=Outcome.AMENDED, amended_body="x"))
    result = run(a_draft(), some_facts(), Phase.DISPATCH, [amending])
    assert isinstance(result, Vetoed)
    assert result.code == "reapproval_required"
    assert result.instructions


def test_a_text_that_changes_twice_is_refused_at_filing() -> None:
    result = run(a_draft(), some_facts(), Phase.FILING, [a_gate("amends", amend("again", "x"))])
    assert isinstance(result, Vetoed)


def test_an_amended_text_is_judged_again() -> None:
    def stop_marked(draft: Draft, _facts: Facts) -> Verdict:
        return veto("marked", "rewrite") if "marked" in draft.body else passed()

    def mark(draft: Draft, _facts: Facts) -> Verdict:
        return passed() if "marked" in draft.body else amend("mark", f"marked {draft.body}")

    judges = {"stops": stop_marked, "marks": mark}
    chain = [a_text_gate(name, each) for name, each in judges.items()]
    result = run(a_draft(), some_facts(), Phase.FILING, chain)
    assert isinstance(result, Vetoed)
    assert result.code == "marked"


def a_text_gate(name: str, judge_text: Callable[[Draft, Facts], Verdict]) -> Gate:
    return Gate(name=name, judge=judge_text, on_missing=OnMissing.CLOSED, judges_text=True, clear=(), stop=())


def test_outreach_at_night_waits_for_the_morning_at_dispatch() -> None:
    night = some_facts(now=NOON + timedelta(hours=10))
    result = run(a_draft(kind=DraftKind.FOLLOW_UP), night, Phase.DISPATCH)
    assert isinstance(result, Deferred)
    assert result.retry_at == NOON + timedelta(hours=20)


def test_outreach_written_at_night_may_be_read_by_a_person() -> None:
    night = some_facts(now=NOON + timedelta(hours=10))
    result = run(a_draft(kind=DraftKind.FOLLOW_UP), night, Phase.FILING)
    assert isinstance(result, Cleared)
    assert result.not_before == NOON + timedelta(hours=20)


def test_an_unreadable_table_holds_the_draft_in_both_phases() -> None:
    for phase in Phase:
        assert isinstance(run(a_draft(), some_facts(promise_table=Unknown("timeout")), phase), Deferred)


def test_a_veto_outranks_a_deferral() -> None:
    capped = some_facts(sender_number=SenderNumber(age_days=1, sent_today=20))
    result = run(a_draft(body="O webhook falhou."), capped, Phase.DISPATCH)
    assert isinstance(result, Vetoed)
    assert result.code == "internal_vocabulary_leak"


@pytest.mark.parametrize("on_missing", list(OnMissing))
def test_a_missing_fact_does_what_the_gate_declared(on_missing: OnMissing) -> None:
    facts = some_facts(recent_outbound=Unknown("timeout"))
    result = run(a_draft(), facts, Phase.DISPATCH, [a_gate_without_its_fact(on_missing)])
    expected = {OnMissing.CLOSED: Vetoed, OnMissing.DEFER: Deferred, OnMissing.OPEN: Cleared}[on_missing]
    assert isinstance(result, expected)
    assert result.verdicts[0].warning == "timeout"


@pytest.mark.parametrize("malformed", [Verdict(outcome=Outcome.DEFER), Verdict(outcome=Outcome.AMENDED)])
def test_a_malformed_verdict_never_clears(malformed: Verdict) -> None:
    for phase in Phase:
        assert isinstance(run(a_draft(), some_facts(), phase, [a_gate("malformed", malformed)]), Vetoed)


VERDICTS = st.sampled_from(
    [
        passed(),
        Verdict(outcome=Outcome.NOT_APPLICABLE),
        veto("v", "rewrite"),
        defer("d", NOON + timedelta(hours=1)),
        amend("a", "amended"),
    ]
)
GATES = st.builds(a_gate, st.text("abc", min_size=1), VERDICTS, judges_text=st.booleans())
CHAINS = st.lists(GATES, max_size=6)


@given(CHAINS, st.integers(0, 6), st.sampled_from(list(Phase)), st.sampled_from(list(OnMissing)))
def test_a_crashing_gate_never_clears(chain: list[Gate], at: int, phase: Phase, on_missing: OnMissing) -> None:
    with_crash = [*chain[:at], a_crashing_gate(on_missing), *chain[at:]]
    assert not isinstance(run(a_draft(), some_facts(), phase, with_crash), Cleared)


@given(CHAINS, GATES, st.integers(0, 6), st.sampled_from(list(Phase)))
def test_adding_a_gate_never_loosens(chain: list[Gate], added: Gate, at: int, phase: Phase) -> None:
    before = run(a_draft(), some_facts(), phase, chain)
    after = run(a_draft(), some_facts(), phase, [*chain[:at], added, *chain[at:]])
    strictness = {Cleared: 0, Deferred: 1, Vetoed: 2}
    assert strictness[type(after)] >= strictness[type(before)]


@given(CHAINS, st.sampled_from(list(Phase)))
def test_a_cleared_text_changes_only_at_filing(chain: list[Gate], phase: Phase) -> None:
    result = run(a_draft(), some_facts(), phase, chain)
    if isinstance(result, Cleared) and phase is Phase.DISPATCH:
        assert result.body == a_draft().body


def test_the_shell_may_time_each_gate() -> None:
    timed: list[str] = []

    def judge_and_count(gate: Gate, draft: Draft, facts: Facts) -> Verdict:
        timed.append(gate.name)
        return judge(gate, draft, facts)

    run(a_draft(), some_facts(), Phase.DISPATCH, judge_one=judge_and_count)
    assert timed == [gate.name for gate in CHAIN]
