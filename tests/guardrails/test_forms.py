"""The rules as fields of a form, and back."""

from datetime import time
from string import Formatter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.guardrails.chain import CHAIN
from services.guardrails.facts import Facts, HoursWindow, Language, PromiseTable
from services.guardrails.gate import OnMissing, Outcome, Span, Verdict
from services.guardrails.rules import Rules
from services.guardrails.web import forms, showing
from services.guardrails.web.words import CATALOGUES

NOTHING = Rules(outreach_window=None)
CENTS = st.none() | st.integers(0, forms.MOST_CENTS)
LINE = st.text("abcé_-1", min_size=1, max_size=20)
HOURS = st.none() | st.tuples(st.integers(0, 23), st.integers(0, 59), st.integers(1, 59)).map(
    lambda n: HoursWindow(time(n[0], n[1]), time(n[0], (n[1] + n[2]) % 60))
)
TABLES = st.builds(
    PromiseTable,
    version=st.just(3),
    price_floor_cents=CENTS,
    discount_ceiling_percent=st.none() | st.integers(0, 10_000).map(lambda n: n / 100),
    discount_ceiling_cents=CENTS,
    instalments_ceiling=st.none() | st.integers(1, forms.MOST_INSTALMENTS),
).filter(lambda table: table != PromiseTable(version=3))
RULES = st.builds(
    Rules,
    promise_table=st.none() | TABLES,
    disclosures=st.dictionaries(st.sampled_from(list(Language)), LINE),
    allowed_terms=st.frozensets(LINE, max_size=5),
    people=st.lists(LINE, max_size=5, unique=True).map(tuple),
    reply_window=HOURS,
    outreach_window=HOURS,
)


@given(RULES)
def test_rules_that_are_written_out_and_read_again_are_the_same(rules: Rules) -> None:
    answer = forms.read(forms.written(rules), rules)
    assert answer.faults == {}
    assert answer.rules == rules


@pytest.mark.parametrize(
    ("typed", "cents"),
    [
        ("50", 5000), ("50,5", 5050), ("50.05", 5005), ("R$ 1.234,56", 123456), ("1,234.56", 123456),
        ("1.000", 100000), ("1 000,00", 100000), ("1.234.567", 123456700), ("0", 0),
    ],
)  # fmt: skip
def test_an_amount_is_read_as_people_write_it(typed: str, cents: int) -> None:
    table = forms.read({"price_floor": typed}, NOTHING).rules.promise_table
    assert table is not None
    assert table.price_floor_cents == cents


@pytest.mark.parametrize("typed", ["-1", "1.23,4,5", "12.34.56", "1e3", "fifty", "1.2345", "9" * 12, "٥", "50 reais"])
def test_what_is_no_amount_is_a_fault_and_never_a_guess(typed: str) -> None:
    assert list(forms.read({"price_floor": typed}, NOTHING).faults) == ["price_floor"]


@pytest.mark.parametrize(
    ("opens", "closes", "wrong"),
    [("08:00", "", "reply_closes"), ("", "18:00", "reply_opens"), ("08:00", "08:00", "reply_closes"),
     ("8h", "18:00", "reply_opens"), ("24:00", "", "reply_opens")],
)  # fmt: skip
def test_hours_have_a_start_and_another_end(opens: str, closes: str, wrong: str) -> None:
    assert wrong in forms.read({"reply_opens": opens, "reply_closes": closes}, NOTHING).faults


def test_a_text_is_cut_at_every_span_and_nothing_of_it_is_lost() -> None:
    body = "😀ab\u202ecd"
    verdicts = [
        Verdict(Outcome.VETO, gate="one", spans=(Span(1, 3, "ab"), Span(2, 5, "b\u202ec"))),
        Verdict(Outcome.VETO, gate="two", spans=(Span(2, 99, "?"), Span(3, 3, ""), Span(4, 6, "cd", "kind"))),
    ]
    found = showing.pieces(body, verdicts)
    assert [piece.gates for piece in found] == [(), ("one",), ("one",), ("one",), ("one", "two"), ("two",)]
    assert [part.text for piece in found for part in piece.segments] == ["😀", "a", "b", "U+202E", "c", "d"]


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("language", CATALOGUES)
def test_every_language_says_everything_that_a_page_may_meet(language: str) -> None:
    words, ours = CATALOGUES[language], CATALOGUES["pt-BR"]
    assert words.keys() == ours.keys()
    assert all(placeholders(text) == placeholders(ours[key]) and text.strip() for key, text in words.items())
    wanted = {f"{group}.{gate.name}" for gate in CHAIN for group in ("gate", "vetoes")}
    wanted |= {f"code.{example.code}" for gate in CHAIN for example in gate.stop}
    wanted |= {f"missing.{one.value}" for one in OnMissing} | {f"outcome.{one.value}" for one in Outcome}
    wanted |= {f"field.{name}" for name in forms.FIELDS} | {f"state.{name}" for name in showing.STATE_TONE}
    wanted |= {f"fact.{name}" for name in Facts.__struct_fields__ if name != "people"}
    assert wanted - words.keys() == set()
