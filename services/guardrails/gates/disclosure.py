# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Gate 10. The first message to a person says that it comes from an AI; no message denies it."""

from typing import Final

from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Author, Draft, Facts, Language, Unknown, known
from services.guardrails.gate import (
    NOT_APPLICABLE,
    Example,
    Gate,
    OnMissing,
    Span,
    Verdict,
    Wording,
    amend,
    passed,
    veto,
)
from services.guardrails.sweeps import FOLDED
from shared.patterns import Patterns
from shared.text import fold

_SAY_IT: Final = Wording(
    pt="Diga no começo que quem escreve é uma assistente automática.",
    en="Say at the start that an automated assistant is writing.",
    es="Di al comienzo que quien escribe es un asistente automático.",
)
_DO_NOT_DENY: Final = Wording(
    pt="Responda com a verdade a quem pergunta: quem escreve é uma assistente automática.",
    en="Answer truthfully when asked: an automated assistant is writing.",
    es="Responde con la verdad a quien pregunta: escribe un asistente automático.",
)
_SAYS_IT: Final = Patterns(
    {
        "pt": r"\b(?:assistente|atendente|agente|atendimento)\s+(?:\w+\s+){0,3}?(?:virtual|digital|automatic[oa]|automatizad[oa]|de ia|por ia)\b"
        r"|\b(?:sou|somos|fala com|falando com)\s+(?:\w+\s+){0,3}?(?:ia|robo|bot|inteligencia artificial|chatbot)\b",
        "en": r"\b(?:virtual|automated|ai|digital|ai-powered)\s+(?:\w+\s+)?(?:assistant|agent|helper)\b|\b(?:i'm|i am|this is|chatting with|talking to)\s+"
        r"(?:\w+\s+){0,3}?(?:ai|bot|chatbot|robot)\b",
        "es": r"\b(?:asistente|agente)\s+(?:\w+\s+){0,3}?(?:virtual|digital|automatic[oa]|automatizad[oa]|de ia)\b|\b(?:soy|habla con)\s+"
        r"(?:\w+\s+){0,3}?(?:ia|robot|bot|chatbot|inteligencia artificial)\b",
    }
)
_DENIES_IT: Final = Patterns(
    {
        "pt": r"\b(?:sou|aqui e|somos)\s+(?:\w+\s+){0,2}?(?:human[oa]s?|pessoas?\s+(?:real|reais|de verdade|de carne e osso)|gente de verdade)\b"
        r"|\bnao\s+(?:sou|somos|e)\s+(?:\w+\s+){0,2}?(?:robo|bot|ia|maquina|inteligencia artificial|assistente virtual|chatbot)\b",
        "en": r"\b(?:i'm|i am|we're|we are)\s+(?:\w+\s+){0,2}?(?:human|real person|actual person|real human|people)\b"
        r"|\b(?:i'm|i am|we're|this is)\s+not\s+(?:\w+\s+){0,2}?(?:robot|bot|ai|machine|chatbot|automated)\b",
        "es": r"\b(?:soy|somos)\s+(?:\w+\s+){0,2}?(?:human[oa]s?|persona\s+(?:real|de verdad|de carne y hueso))\b"
        r"|\bno\s+(?:soy|somos|es)\s+(?:\w+\s+){0,2}?(?:robot|bot|ia|maquina|inteligencia artificial|asistente virtual|chatbot)\b",
    },
    sweep=FOLDED,
)


def judge(draft: Draft, facts: Facts) -> Verdict:
    if draft.author is Author.PERSON:
        return NOT_APPLICABLE
    folded = fold(draft.body)
    denied = next(_DENIES_IT.hits(folded.text), None)
    if denied is not None:
        start, end = folded.span(denied.start, denied.end)
        span = Span(start, end, draft.body[start:end], "denial")
        return veto("disclosure_denied", _DO_NOT_DENY.say(draft.language), spans=(span,))
    if not known(facts.is_first_message_to_contact):
        return NOT_APPLICABLE
    disclosure = facts.disclosures.get(draft.language, "").strip()
    if _says(folded.text, disclosure):
        return passed("is_first_message_to_contact", "disclosures")
    if not disclosure:
        return veto("disclosure_missing", _SAY_IT.say(draft.language), "is_first_message_to_contact", "disclosures")
    return amend("disclosure_missing", f"{disclosure}\n\n{draft.body}", "is_first_message_to_contact", "disclosures")


def _says(folded_body: str, disclosure: str) -> bool:
    """The tenant's own sentence, or a plain statement in other words."""
    return (bool(disclosure) and fold(disclosure).text in folded_body) or _SAYS_IT.found_in(folded_body)


def _first(**changes: object) -> Facts:
    return some_facts(is_first_message_to_contact=True, **changes)


DISCLOSURE: Final = Gate(
    name="disclosure",
    judge=judge,
    on_missing=OnMissing.CLOSED,
    judges_text=True,
    clear=(
        Example("not the first message", a_draft(), some_facts()),
        Example(
            "the tenant's sentence is there",
            a_draft(body="Sou a assistente virtual da padaria. Abrimos às 8h."),
            _first(),
        ),
        Example("a person wrote it", a_draft(author=Author.PERSON), _first()),
        Example(
            "no sentence is set, and the text says it plainly",
            a_draft(body="Hi, I'm the shop's AI assistant.", language=Language.EN),
            _first(disclosures={}),
        ),
    ),
    stop=(
        Example("the sentence is missing", a_draft(), _first(), "disclosure_missing"),
        Example(
            "no sentence is set and the text says nothing",
            a_draft(),
            _first(disclosures={}),
            "disclosure_missing",
        ),
        Example("denied in Portuguese", a_draft(body="Não sou robô, sou a Ana."), some_facts(), "disclosure_denied"),
        Example("denied in English", a_draft(body="I'm a real person!"), some_facts(), "disclosure_denied"),
        Example("denied in Spanish", a_draft(body="Soy una persona real."), some_facts(), "disclosure_denied"),
        Example(
            "nobody knows whether it is the first",
            a_draft(),
            some_facts(is_first_message_to_contact=Unknown("timeout")),
            "fact_unavailable",
        ),
    ),
)
