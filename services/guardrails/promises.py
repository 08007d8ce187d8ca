"""Commissive phrases: what a reader could rely on as the business's commitment, offer term or done concession.

A family is a surface form; the guards of `clauses` remove refusals, questions, reports and instructions. Forms whose
own words deny ("won't charge", "não cobramos") contain the denial, so that the guard looks only before them.
"""

from dataclasses import dataclass
from typing import Final

from services.guardrails import promise_rules as rules
from services.guardrails.amounts import amounts
from services.guardrails.clauses import NO, is_guarded, sentence_of
from shared.patterns import Hit, Patterns
from shared.text import Folded, fold

_FAMILIES: Final = Patterns(rules.FAMILIES, rules.FRAGMENTS)

# Families whose own words deny something and so promise: a denial inside the find is the promise itself.
_DENYING: Final = frozenset({"freebie", "fee", "absolute", "done"})
_DENIED_INSIDE: Final = Patterns({"denied": r"\b(?:nao|nunca|jamais|not|never|aun|todavia)\b|n't\b|" + NO})


_HABITUAL: Final = Patterns(rules.HABITUAL)
_OTHER_MEANING: Final = Patterns(rules.OTHER_MEANING)
_PUBLIC: Final = Patterns({"public": rules.PUBLIC})
_HAPPENED: Final = Patterns({"happened": rules.HAPPENED})


@dataclass(frozen=True, slots=True)
class Promise:
    """One commissive phrase: offsets and excerpt are of the raw text."""

    kind: str
    start: int
    end: int
    excerpt: str


def detect_promises(text: str) -> list[Promise]:
    folded = fold(text)
    hits = [*_FAMILIES.hits(folded.text), *(Hit("price", each.start, each.end) for each in amounts(folded.text))]
    return [_promise(folded, text, hit) for hit in hits if _commits(folded.text, hit)]


def _commits(text: str, hit: Hit) -> bool:
    if _family(hit) not in _DENYING and _DENIED_INSIDE.found_in(text[hit.start : hit.end]):
        return False
    if is_guarded(text, hit.start, hit.end) or _OTHER_MEANING.found_in(_sentence(text, hit)):
        return False
    if _family(hit) == "freebie" and _PUBLIC.found_in(_sentence(text, hit)):
        return False
    return not (_is_dated(text, hit) and _is_no_date_for_this_customer(text, hit))


def _is_dated(text: str, hit: Hit) -> bool:
    return _family(hit) == "deadline" or text.startswith("see you", hit.start)


def _is_no_date_for_this_customer(text: str, hit: Hit) -> bool:
    return _HABITUAL.found_in(_sentence(text, hit)) or _HAPPENED.found_in(_sentence(text, hit))


def _sentence(text: str, hit: Hit) -> str:
    first, last = sentence_of(text, hit.start)
    return text[first:last]


def _family(hit: Hit) -> str:
    return hit.name.partition("_")[0]


def _promise(folded: Folded, text: str, hit: Hit) -> Promise:
    start, end = folded.span(hit.start, hit.end)
    return Promise(_family(hit), start, end, text[start:end])
