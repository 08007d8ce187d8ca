"""Make a draft follow a person's instruction, visibly; and take out what a refusal pointed at."""

import re
from typing import Any

from deploy.local.model.language import fold
from deploy.local.model.schema import as_list, as_map

SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
QUOTED = re.compile(r"[\"“«]([^\"”»]{2,})[\"”»]|(?:^|[\s:])'([^']{2,})'")
SHORTER = re.compile(r"\b(mais curt|menor|resum|encurt|shorter|brief|mas cort|breve)")
FORMAL = re.compile(r"\bmais formal|\bmore formal|\bmas formal")
PLEASE = r"^\W*(?:por favor,?\s*|please,?\s*)?"
GREETED = re.compile(r"^(?:Oi|Olá|Hi|Hello|¡Hola)!\s*")
WITHOUT = re.compile(
    PLEASE + r"(?:n[aã]o (?:fale|mencione|diga|cite|ofere[cç]a|use)|sem|tire|remova|retire|without|remove|quite"
    r"|do(?: not|n't) (?:mention|say|offer|use)|no (?:mencione|diga|ofrezca|use))\s+"
    r"(?:(?:de|sobre|a|o|as|os|the|about|el|la)\s+)*(.+)",
    re.IGNORECASE,
)
SAY = re.compile(
    PLEASE + r"(?:diga|fale|informe|avise|explique|mencione|inclua|acrescente|responda|agregue|incluya"
    r"|say|tell (?:him|her|them|the customer)|mention|add|include|answer)\s+(?:que\s+|that\s+)?(.+)",
    re.IGNORECASE,
)
OFFER = re.compile(
    PLEASE + r"(?:ofere[cç]a|proponha|sugira|offer|suggest|propose|ofrezca|proponga)\s+(.+)", re.IGNORECASE
)
ASK = re.compile(PLEASE + r"(?:pergunte|pe[cç]a|ask(?: for| her| him| them)*|pregunte|pida)\s+(.+)", re.IGNORECASE)

OFFERED = {"pt": "Que tal {this}?", "en": "How about {this}?", "es": "¿Qué tal {this}?"}
ASKED = {"pt": "Pode me dizer {this}?", "en": "Could you tell me {this}?", "es": "¿Puede decirme {this}?"}
FORMALLY = {"pt": "Prezado(a), ", "en": "Dear customer, ", "es": "Estimado(a), "}


def follow(text: str, wish: str, language: str) -> str:
    """The draft after one instruction: shortened, made formal, something left out, or something said."""
    wish, plain = wish.strip(), fold(wish)
    if QUOTED.search(wish) and not WITHOUT.match(wish):
        return f"{keep_statements(text)} {sentence(quoted_in(wish)[0])}".strip()
    if SHORTER.search(plain):
        return SENTENCE.split(text)[-1]
    if FORMAL.search(plain):
        plainly = GREETED.sub("", text)
        return FORMALLY[language] + plainly[:1].lower() + plainly[1:]
    if found := WITHOUT.match(wish):
        return leave_out(text, quoted_in(wish) or [found[1].rstrip(" .")]) or text
    return f"{keep_statements(text)} {spoken(wish, language)}".strip()


def spoken(wish: str, language: str) -> str:
    """The instruction turned into something said to the customer."""
    if found := OFFER.match(wish):
        return OFFERED[language].format(this=found[1].rstrip(" .?"))
    if found := ASK.match(wish):
        return ASKED[language].format(this=found[1].rstrip(" .?"))
    found = SAY.match(wish)
    return sentence((found[1] if found else wish).strip())


def sentence(said: str) -> str:
    return said[:1].upper() + said[1:] + ("" if said.endswith((".", "!", "?")) else ".")


def keep_statements(text: str) -> str:
    """The draft without its closing question: what the person wants said takes that place."""
    kept = [sentence for sentence in SENTENCE.split(text) if not sentence.rstrip().endswith("?")]
    return " ".join(kept)


def quoted_in(text: str) -> list[str]:
    return [(double or single).strip() for double, single in QUOTED.findall(text)]


def leave_out(text: str, phrases: list[str]) -> str:
    """The text without the sentences that hold one of the phrases."""
    folded = [fold(phrase) for phrase in phrases if phrase.strip()]
    kept = [one for one in SENTENCE.split(text) if not any(phrase in fold(one) for phrase in folded)]
    return " ".join(kept)


def phrases_of(refusal: Any) -> list[str]:
    """Every phrase that a refusal points at: the named spans of its problems, and what its instruction quotes."""
    found: list[str] = []
    for problem in as_list(as_map(refusal).get("problems")):
        named = as_map(problem)
        found += [str(named[key]) for key in ("phrase", "span", "excerpt", "found", "text") if named.get(key)]
        found += quoted_in(problem) if isinstance(problem, str) else []
    return found + quoted_in(str(as_map(refusal).get("instruction") or ""))
