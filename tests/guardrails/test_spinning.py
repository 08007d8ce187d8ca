"""Gate 5's short cut never changes its answer."""

from hypothesis import given
from hypothesis import strategies as st

from services.guardrails.examples import a_draft, some_facts
from services.guardrails.gate import Outcome
from services.guardrails.gates.spinning import ALIKE, judge

WORDS = st.lists(st.sampled_from([f"palavra{letter}" for letter in "abcdefghijklmnopqrst"]), min_size=2, max_size=24)


def are_alike(ours: list[str], theirs: list[str]) -> bool:
    """The law as it is written: equal, or Jaccard of the distinct words."""
    both, either = set(ours) & set(theirs), set(ours) | set(theirs)
    return ours == theirs or len(both) / len(either) >= ALIKE


@given(WORDS, st.lists(WORDS, max_size=4), st.integers(0, 3))
def test_a_draft_is_stopped_exactly_when_two_of_the_last_texts_are_near_copies(
    ours: list[str], sent: list[list[str]], dropped: int
) -> None:
    sent = [*sent, ours[dropped:], [*ours, "outra"], ours[::-1]][-3:]
    facts = some_facts(recent_outbound=tuple(" ".join(words) for words in sent))
    outcome = judge(a_draft(body=" ".join(ours)), facts).outcome
    assert (outcome is Outcome.VETO) == (sum(are_alike(ours, words) for words in sent) > 1)
