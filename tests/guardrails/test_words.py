"""What a run says without its words, and that the words bring all of it back."""

import msgspec
import pytest

from services.guardrails import words
from services.guardrails.facts import Unknown
from services.guardrails.gate import Outcome, Span, Verdict
from services.guardrails.store.runs import Record
from services.guardrails.words import FAILED, Judged, apart, together
from tests.guardrails.kept import records

RECORDS = list(records())


def test_apart_and_together_again_is_the_same_run() -> None:
    for record in RECORDS:
        bare, said = apart(record.judged)
        recent = record.judged.facts.recent_outbound
        read = words.read(msgspec.json.encode(said).decode())
        assert together(bare, read, () if isinstance(recent, Unknown) else recent) == record.judged


@pytest.mark.parametrize("record", RECORDS, ids=range(len(RECORDS)))
def test_what_stays_quotes_nobody(record: Record) -> None:
    bare, said = apart(record.judged)
    facts = record.judged.facts
    recent = () if isinstance(facts.recent_outbound, Unknown) else facts.recent_outbound
    kept = msgspec.json.encode(bare).decode()
    quotes = [said.body, *recent, *said.excerpts, *said.amended]
    quotes += [one.text for one in said.evidence] + [one.phrase for one in said.reviewed]
    rules = msgspec.json.encode((facts.operations, facts.allowed_terms)).decode()  # a leak may be a tool's own name
    instructions = " ".join(one.instruction or "" for one in record.judged.verdicts)
    assert [each for each in quotes if len(each) > 8 and each in kept and each not in rules + instructions] == []


def test_the_candidates_words_go_and_come_with_the_others() -> None:
    one = RECORDS[0].judged
    text = Verdict(outcome=Outcome.VETO, gate="c", spans=(Span(0, 7, "Abrimos"),))
    judged = Judged(one.draft, one.facts, (replaced(text, "às 8h"), text), (replaced(text, "sábado"),))
    bare, said = apart(judged)
    assert said.excerpts == ("às 8h", "Abrimos", "sábado")
    assert together(bare, said, ()) == judged


def replaced(verdict: Verdict, excerpt: str) -> Verdict:
    return msgspec.structs.replace(verdict, spans=(Span(0, 1, excerpt),))


def test_what_a_crash_quoted_goes_with_the_words() -> None:
    one = RECORDS[0].judged
    crashed = Verdict(outcome=Outcome.VETO, gate="c", code=FAILED, warning="KeyError: 'Abrimos às 8h'")
    judged = Judged(one.draft, one.facts, (crashed,), (crashed, Verdict(outcome=Outcome.PASS, warning="timeout")))
    bare, said = apart(judged)
    assert [each.warning for each in (*bare.verdicts, *bare.shadow)] == ["KeyError", "KeyError", "timeout"]
    assert together(bare, said, ()) == judged
