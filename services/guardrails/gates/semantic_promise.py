"""Gate 7. A commercial promise needs evidence consulted in this turn: catalogue, policy, source or booking receipt.

A phrase found by the lexical detector, or by the classifier where one answered, must be supported: by an evidence text
that holds its numbers and most of its words, or by evidence that the classifier cites. The classifier may add a phrase
and may cite; it never argues a phrase away. Without its answer the lexical verdict stands, with a warning.
"""

from functools import lru_cache
from typing import Final

from services.guardrails import amounts, clauses, promise_rules
from services.guardrails import promises as promises_module
from services.guardrails.clauses import sentence_of
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import (
    Draft,
    Evidence,
    EvidenceKind,
    Facts,
    Language,
    PromiseReview,
    ReviewedPromise,
    Unknown,
    known,
)
from services.guardrails.gate import Example, Gate, OnMissing, Span, Verdict, Wording, passed, veto
from services.guardrails.promises import Promise, detect_promises
from shared.text import fold, words

_SHARED_WORDS: Final = 0.5
_STEM: Final = 5
_NEEDS_EVIDENCE: Final = Wording(
    pt="Há uma afirmação que o cliente poderia cobrar depois e que nada consultado agora sustenta. "
    "Consulte o catálogo, as regras da casa ou a agenda; ou reescreva sem essa afirmação.",
    en="One statement could be held against the business and nothing consulted just now supports it. "
    "Consult the catalogue, the house rules or the calendar, or rewrite without that statement.",
    es="Hay una afirmación que el cliente podría reclamar y nada consultado ahora la respalda. "
    "Consulta el catálogo, las reglas de la casa o la agenda; o reescribe sin esa afirmación.",
)


def judge(draft: Draft, facts: Facts) -> Verdict:
    evidence = known(facts.evidence)
    review = facts.promise_review
    answer = review if isinstance(review, PromiseReview) else None
    found = [*detect_promises(draft.body), *_added(draft.body, answer)]
    unsupported = [each for each in found if not _is_supported(draft.body, each, evidence, answer)]
    warning = f"no classifier: {review.cause}" if isinstance(review, Unknown) else None
    if not unsupported:
        return passed("evidence", "promise_review", warning=warning)
    spans = tuple(Span(each.start, each.end, each.excerpt, each.kind) for each in unsupported)
    return veto("promise_unsupported", _NEEDS_EVIDENCE.say(draft.language), "evidence", "promise_review", spans=spans)


def _added(body: str, answer: PromiseReview | None) -> list[Promise]:
    return [_reviewed(body, each) for each in (answer.promises if answer else ())]


def _reviewed(body: str, promise: ReviewedPromise) -> Promise:
    start = max(body.find(promise.phrase), 0)
    return Promise("reviewed", start, start + len(promise.phrase), promise.phrase)


def _is_supported(body: str, promise: Promise, evidence: tuple[Evidence, ...], answer: PromiseReview | None) -> bool:
    able = [each for each in evidence if promise.kind != "appointment" or each.kind is EvidenceKind.RECEIPT]
    if _is_cited(promise, able, answer):
        return True
    start, end = sentence_of(body, promise.start)
    announced = body.rfind(": ", start, promise.start)  # "here is what our list says: …" states nothing itself
    statement = body[max(start, announced + 1) : end]
    return any(_holds(each.text, statement) for each in able)


def _is_cited(promise: Promise, able: list[Evidence], answer: PromiseReview | None) -> bool:
    ids = {each.id for each in able}
    cited = [each for each in (answer.promises if answer else ()) if promise.excerpt in each.phrase]
    return any(not ids.isdisjoint(each.evidence_ids) for each in cited)


def _holds(evidence: str, statement: str) -> bool:
    """Every number of the statement, and at least half of its words, stand in the evidence."""
    said = frozenset(words(fold(statement).text))
    known_words, known_stems = _words(evidence)
    numbers = {each for each in said if each[0].isdigit()}
    stems = {each[:_STEM] for each in said - numbers if len(each) > 3}
    return numbers <= known_words and len(stems & known_stems) >= _SHARED_WORDS * len(stems)


@lru_cache(maxsize=256)
def _words(evidence: str) -> tuple[frozenset[str], frozenset[str]]:
    """Its words and their stems; the same evidence is held against every statement of a draft."""
    known_words = frozenset(words(fold(evidence).text))
    return known_words, frozenset(each[:_STEM] for each in known_words)


_RECEIPT: Final = Evidence("r1", EvidenceKind.RECEIPT, "Consulta confirmada com a Dra. Lia dia 22/09 às 14h30")
_WARRANTY: Final = Evidence("p1", EvidenceKind.PRODUCT, "Furadeira X: garantia de 24 meses, entrega em 5 dias úteis")


def _stop(why: str, body: str, language: Language = Language.PT_BR, *evidence: Evidence) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts(evidence=evidence), "promise_unsupported")


SEMANTIC_PROMISE: Final = Gate(
    name="semantic_promise",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=True,
    rules=(promises_module, promise_rules, amounts, clauses),
    clear=(
        Example("nothing is promised", a_draft(), some_facts()),
        Example(
            "an announcement before what the catalogue says",
            a_draft(body="Aqui está o que temos na tabela: a furadeira tem garantia de 24 meses."),
            some_facts(evidence=(_WARRANTY,)),
        ),
        Example(
            "the catalogue says so",
            a_draft(body="A furadeira tem garantia de 24 meses."),
            some_facts(evidence=(_WARRANTY,)),
        ),
        Example(
            "the booking is confirmed",
            a_draft(body="Sua consulta com a Dra. Lia está confirmada: dia 22/09 às 14h30."),
            some_facts(evidence=(_RECEIPT,)),
        ),
        Example(
            "the classifier cites the evidence for another wording",
            a_draft(body="Garantimos conserto por dois anos."),
            some_facts(
                evidence=(_WARRANTY,),
                promise_review=PromiseReview("v1", (ReviewedPromise("Garantimos conserto por dois anos.", ("p1",)),)),
            ),
        ),
        Example(
            "no classifier and no promise",
            a_draft(body="Qual o melhor dia para a visita?"),
            some_facts(promise_review=Unknown("timeout")),
        ),
    ),
    stop=(
        _stop("a gratuity", "Pode vir que o estacionamento é grátis."),
        _stop("a waiver", "We'll waive the fee.", Language.EN),
        _stop("a firm date", "Su pedido llega mañana sin falta.", Language.ES),
        _stop("another number than the evidence", "A furadeira tem garantia de 36 meses.", Language.PT_BR, _WARRANTY),
        _stop(
            "a booking without a receipt",
            "Sua consulta está confirmada para 22/09 às 14h30.",
            Language.PT_BR,
            _WARRANTY,
        ),
        Example(
            "the classifier adds what the words hide",
            a_draft(body="Fica tranquila que a gente cuida da despesa."),
            some_facts(promise_review=PromiseReview("v1", (ReviewedPromise("a gente cuida da despesa"),))),
            "promise_unsupported",
        ),
        Example(
            "the classifier cites evidence that was not consulted",
            a_draft(body="Garantimos conserto por dois anos."),
            some_facts(
                promise_review=PromiseReview("v1", (ReviewedPromise("Garantimos conserto por dois anos.", ("x9",)),))
            ),
            "promise_unsupported",
        ),
        Example(
            "no classifier: the words are enough",
            a_draft(body="Garantimos o mesmo preço até dezembro."),
            some_facts(promise_review=Unknown("timeout")),
            "promise_unsupported",
        ),
        Example("the evidence cannot be read", a_draft(), some_facts(evidence=Unknown("timeout")), "fact_unavailable"),
    ),
)
