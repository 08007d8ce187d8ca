"""Pattern sets: whatever passes are shared, the same is found as by each rule alone."""

from typing import Any, cast

import re2
from hypothesis import given
from hypothesis import strategies as st

from shared.patterns import Hit, Patterns, Sweep

RULES = {"word": r"\bpao\b", "gap": r"a[^.]{0,5}?o", "number": r"(?P<n>\d+)(?:,(?P<m>\d))?", "end": r"o\s*$"}
TEXTS = st.text(st.sampled_from("pao .,0 9\né😊"), max_size=40)


def alone(rules: dict[str, str], text: str) -> list[Hit]:
    each: Any = cast("Any", re2).finditer
    return [Hit(name, *match.span()) for name, rule in rules.items() for match in each(rule, text)]


@given(TEXTS)
def test_a_set_finds_what_each_of_its_rules_finds(text: str) -> None:
    patterns = Patterns(RULES)
    found = list(patterns.hits(text))
    assert found == alone(RULES, text)
    assert patterns.found_in(text) == bool(found)
    assert patterns.present_in(text) == list(dict.fromkeys(hit.name for hit in found))


@given(TEXTS, TEXTS)
def test_patterns_that_share_a_pass_find_what_they_find_alone(first: str, second: str) -> None:
    sweep = Sweep()
    halves = {"word": RULES["word"], "end": RULES["end"]}, {"gap": RULES["gap"], "number": RULES["number"]}
    sharing = [Patterns(half, sweep=sweep) for half in halves]
    for text in (first, second, first):
        assert [list(each.hits(text)) for each in sharing] == [alone(half, text) for half in halves]


@given(TEXTS)
def test_groups_are_of_the_text(text: str) -> None:
    for hit, groups in Patterns({"number": RULES["number"]}).matches(text):
        whole = text[hit.start : hit.end]
        assert whole == (groups["n"] or "") + ("" if groups["m"] is None else f",{groups['m']}")


def test_a_rule_that_comes_after_the_first_text_is_not_missed() -> None:
    sweep = Sweep()
    first = Patterns({"word": RULES["word"]}, sweep=sweep)
    assert first.found_in("um pao 9")
    late = Patterns({"number": RULES["number"]}, sweep=sweep)
    assert late.found_in("um pao 9")


def test_the_empty_text_is_looked_at_too() -> None:
    assert Patterns({"nothing": r"^$"}).found_in("")
