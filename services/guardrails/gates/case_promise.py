"""Gate 8. Who says that a person will act has a case open, so that a person really knows of it."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from services.guardrails import case_rules, clauses
from services.guardrails.clauses import is_asked
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Draft, Facts, Language, Unknown, known
from services.guardrails.gate import Example, Gate, OnMissing, Span, Verdict, Wording, passed, veto
from services.guardrails.sweeps import FOLDED
from shared.patterns import Hit, Patterns
from shared.text import Folded, fold

_OPEN_OR_REWRITE: Final = Wording(
    pt="O texto conta com a ação de alguém que ainda não foi avisado. "
    "Registre a necessidade na sua resposta estruturada ou reescreva sem contar com isso.",
    en="The text counts on the action of someone who has not been told. "
    "Record the need in your structured answer, or rewrite without counting on it.",
    es="El texto cuenta con la acción de alguien que todavía no fue avisado. "
    "Registra la necesidad en tu respuesta estructurada o reescribe sin contar con eso.",
)
_PROMISES: Final = Patterns(case_rules.CASE_WORDS, case_rules.FRAGMENTS, FOLDED)
_NAMED: Final = Patterns(case_rules.NAMED)
_SCHEDULE: Final = Patterns({"schedule": case_rules.SCHEDULE})
_OFFERED: Final = Patterns({"offered": case_rules.OFFERED})
_NEVER: Final = Patterns({"never": r"\b(?:nao|nunca|jamais|jamas|never|not)\b|n't\b|" + clauses.NO})
_PRETERITE: Final = ("ou", "eu", "iu", "aram", "eram", "iram", "aron", "ieron")
_NOBODY: Final = Patterns({"nobody": r"^(?:ninguem|nadie|nobody|nenhum|ningun|none)\b"})
_NEXT_WORDS: Final = 24


def judge(draft: Draft, facts: Facts) -> Verdict:
    spans = promised_cases(draft.body, facts.people)
    if not spans:
        return passed()
    if draft.opens_case or known(facts.has_open_case):
        return passed("has_open_case")
    instruction = _OPEN_OR_REWRITE.say(draft.language)
    return veto("case_promise_without_case", instruction, "has_open_case", spans=spans)


def promised_cases(body: str, people: tuple[str, ...] = ()) -> tuple[Span, ...]:
    """Phrases that count on a person's action; asking consent for it, or denying it, counts on nothing."""
    folded = fold(body)
    return (*_counted_on(body, folded, people), *_named(body))


def _named(body: str) -> Iterator[Span]:
    for hit in _NAMED.hits(body):
        words = body[hit.start : hit.end]
        if not is_asked(body, hit.start, hit.end) and not _NOBODY.found_in(fold(words).text):
            yield Span(hit.start, hit.end, words, hit.name)


def _counted_on(body: str, folded: Folded, people: tuple[str, ...]) -> Iterator[Span]:
    for hit in _patterns(people).hits(folded.text):
        if _counts(folded.text, hit):
            start, end = folded.span(hit.start, hit.end)
            yield Span(start, end, body[start:end], hit.name)


def _counts(text: str, hit: Hit) -> bool:
    if is_asked(text, hit.start, hit.end) or clauses.is_denied(text, hit.start):
        return False
    first, _ = clauses.sentence_of(text, hit.start)
    if _OFFERED.found_in(text[first : hit.end]) or _SCHEDULE.found_in(text[hit.start : hit.end + _NEXT_WORDS]):
        return False
    return not (hit.name.endswith("they_act") and _is_told(text, hit))


def _is_told(text: str, hit: Hit) -> bool:
    """What people did, or never do, is no action to come."""
    words = text[hit.start : hit.end]
    is_never = _NEVER.found_in(text[hit.start : hit.end + len(" never ")])
    return is_never or words.endswith(_PRETERITE) or clauses.is_past(text, hit.start)


@lru_cache(maxsize=256)
def _patterns(people: tuple[str, ...]) -> Patterns:
    names = "|".join(name for name in (fold(each).text.strip() for each in people) if name.isalpha())
    if not names:
        return _PROMISES
    named = {
        key: f"{fragment.removesuffix(')')}|(?:[ao] |the |la |el )?(?:{names}))" if key.startswith("who_") else fragment
        for key, fragment in case_rules.FRAGMENTS.items()
    }
    return Patterns(case_rules.CASE_WORDS, named)


def _clear(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts())


def _stop(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(
        why, a_draft(body=body, language=language), some_facts(people=("Marina",)), "case_promise_without_case"
    )


_FORWARDED: Final = "Já encaminhei seu pedido para a equipe."

CASE_PROMISE: Final = Gate(
    name="case_promise",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=True,
    rules=(case_rules, clauses),
    clear=(
        _clear("nobody is involved", "Abrimos às 8h."),
        _clear("asking consent", "Posso encaminhar seu pedido para a equipe?"),
        _clear("denied", "Não vou encaminhar nada sem a sua autorização."),
        _clear("asking consent in English", "Shall I ask the manager?", Language.EN),
        Example("a case is open", a_draft(body=_FORWARDED), some_facts(has_open_case=True)),
        Example("the draft opens one", a_draft(body=_FORWARDED, opens_case="case-1"), some_facts()),
    ),
    stop=(
        _stop("already forwarded", _FORWARDED),
        _stop("will check with the team", "Vou verificar com o time e te aviso."),
        _stop("a person of the team by name", "A Marina vai te ligar ainda hoje."),
        _stop("someone will", "Our team will get back to you.", Language.EN),
        _stop("I'll check with the manager", "I'll check with my manager.", Language.EN),
        _stop("in Spanish", "Voy a consultar con el encargado.", Language.ES),
        Example(
            "nobody knows whether a case is open",
            a_draft(body=_FORWARDED),
            some_facts(has_open_case=Unknown("timeout")),
            "fact_unavailable",
        ),
    ),
)
