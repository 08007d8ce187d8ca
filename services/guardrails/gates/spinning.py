"""Gate 5. The same text to many people is spam, whatever invisible noise makes each copy look different."""

from functools import lru_cache
from typing import Final, NamedTuple

from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Draft, DraftKind, Facts, Unknown, known
from services.guardrails.gate import NOT_APPLICABLE, Example, Gate, OnMissing, Verdict, Wording, passed, veto
from services.guardrails.sweeps import FOLDED
from shared import patterns
from shared.text import ByCharacter, by_character, fold

RECENT: Final = 20
COPIES_ALLOWED: Final = 1
SHORT: Final = 15
ALIKE: Final = 0.8
_VARY: Final = Wording(
    pt="Este texto é quase igual a outros enviados há pouco. Escreva de outro jeito, com o que esta pessoa contou.",
    en="This text is almost the same as others sent a moment ago. Write it anew from what this person told you.",
    es="Este texto es casi igual a otros enviados hace poco. Escríbelo de otra manera, con lo que contó esta persona.",
)
_PAYMENT_LINK: Final = patterns.Patterns(
    {
        "link": r"https?://\S*(?:pay|pag[aseu]|checkout|boleto|fatura|invoice|factura|cobranca|pix|stripe)\S*",
        "pix": r"\b000201\w{20,}",
    },
    sweep=FOLDED,
)


class _Words(NamedTuple):
    """Of one text: its words in order, the distinct ones, and a bit for each of those (some share one)."""

    in_order: list[str]
    distinct: frozenset[str]
    bits: int


def judge(draft: Draft, facts: Facts) -> Verdict:
    words = _words(draft.body)
    is_short = sum(map(len, words.in_order)) + len(words.in_order) - 1 <= SHORT
    if draft.kind is DraftKind.TRANSACTIONAL or is_short or _PAYMENT_LINK.found_in(fold(draft.body).text):
        return NOT_APPLICABLE
    recent = known(facts.recent_outbound)[-RECENT:]
    most_lacking = len(words.distinct) * (1 - ALIKE) + 1
    # a bit that they lack is a word that they lack: most of what was sent is no copy at this glance
    near = [sent for sent in map(_words, recent) if (words.bits & ~sent.bits).bit_count() <= most_lacking]
    copies = sum(_is_near_copy(words, sent) for sent in near)
    if copies > COPIES_ALLOWED:
        return veto("mass_identical", _VARY.say(draft.language), "recent_outbound")
    return passed("recent_outbound")


@lru_cache(maxsize=1024)
def _words(text: str) -> _Words:
    """Folded words with digits masked: an order number does not make a copy a different text."""
    in_order = by_character(fold(text).text, _MASKED).split()
    distinct = frozenset(in_order)
    bits = 0
    for word in distinct:
        bits |= _BITS[hash(word) % len(_BITS)]
    return _Words(in_order, distinct, bits)


_MASKED: Final = ByCharacter(lambda each: "0" if each.isdigit() else each if each.isalnum() else " ")
_BITS: Final = tuple(1 << place for place in range(256))


def _is_near_copy(ours: _Words, theirs: _Words) -> bool:
    if ours.in_order == theirs.in_order:
        return True
    both = len(ours.distinct & theirs.distinct)
    either = len(ours.distinct) + len(theirs.distinct) - both
    return either > 0 and both / either >= ALIKE


_OFFER: Final = "Oi, Ana! Chegou a coleção nova de pães e a loja abre mais cedo no sábado."

SPINNING: Final = Gate(
    name="spinning",
    judge=judge,
    on_missing=OnMissing.OPEN,
    judges_text=False,
    rules=(patterns,),
    clear=(
        Example("nothing was sent before", a_draft(body=_OFFER), some_facts()),
        Example("one copy is a coincidence", a_draft(body=_OFFER), some_facts(recent_outbound=(_OFFER,))),
        Example(
            "short words repeat", a_draft(body="Bom dia, Ana!"), some_facts(recent_outbound=("Bom dia, Ana!",) * 9)
        ),
        Example(
            "the same frame with another fact",
            a_draft(body="No sábado abrimos às 8h"),
            some_facts(recent_outbound=("No domingo abrimos às 9h", "Na segunda abrimos às 7h")),
        ),
        Example(
            "payment links look alike",
            a_draft(body="Segue o link do seu pagamento: https://pay.loja.example/4512"),
            some_facts(recent_outbound=("Segue o link do seu pagamento: https://pay.loja.example/4513",) * 5),
        ),
        Example("nobody knows what was sent", a_draft(body=_OFFER), some_facts(recent_outbound=Unknown("timeout"))),
    ),
    stop=(
        Example("two copies", a_draft(body=_OFFER), some_facts(recent_outbound=(_OFFER, _OFFER)), "mass_identical"),
        Example(
            "only the name and invisible noise differ",
            a_draft(body=_OFFER),
            some_facts(
                recent_outbound=(_OFFER.replace("Ana", "Bia"), _OFFER.replace("o", "o\u200b").replace("a", "а")),
            ),
            "mass_identical",
        ),
    ),
)
