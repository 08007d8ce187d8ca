"""Gate 6. Prices, discounts and instalments stay inside the tenant's versioned table."""

from typing import Final

from services.guardrails import amounts as amounts_module
from services.guardrails import clauses
from services.guardrails.amounts import Amount, AmountKind, amounts
from services.guardrails.examples import a_draft, some_facts
from services.guardrails.facts import Draft, Facts, Language, PromiseTable, Unknown, known
from services.guardrails.gate import Example, Gate, OnMissing, Span, Verdict, Wording, passed, veto
from shared.text import fold

_LIMITS: Final = {
    AmountKind.PRICE_CENTS: Wording(
        pt="O menor preço permitido é {limit}. Reescreva dentro desse limite.",
        en="The lowest price allowed is {limit}. Rewrite within that limit.",
        es="El precio más bajo permitido es {limit}. Reescribe dentro de ese límite.",
    ),
    AmountKind.DISCOUNT_PERCENT: Wording(
        pt="O limite aqui é {limit}. Reescreva dentro desse limite.",
        en="The limit here is {limit}. Rewrite within that limit.",
        es="El límite aquí es {limit}. Reescribe dentro de ese límite.",
    ),
    AmountKind.INSTALMENTS: Wording(
        pt="O número máximo de pagamentos permitido é {limit}. Reescreva dentro desse limite.",
        en="The highest number of payments allowed is {limit}. Rewrite within that limit.",
        es="El número máximo de pagos permitido es {limit}. Reescribe dentro de ese límite.",
    ),
}


def judge(draft: Draft, facts: Facts) -> Verdict:
    table = known(facts.promise_table)
    if table is None:
        return passed(warning="not configured")
    folded = fold(draft.body)
    outside = [each for each in amounts(folded.text) if _is_outside(each, table) and not _is_denied(folded.text, each)]
    if not outside:
        return passed("promise_table")
    spans = tuple(_span(draft.body, each.kind, *folded.span(each.start, each.end)) for each in outside)
    instruction = " ".join(dict.fromkeys(_limit(each, table, draft.language) for each in outside))
    return veto("promise_out_of_table", instruction, "promise_table", spans=spans)


def _is_outside(amount: Amount, table: PromiseTable) -> bool:
    limit = _ceiling(amount.kind, table)
    if limit is None:
        return False
    return amount.value < limit if amount.kind is AmountKind.PRICE_CENTS else amount.value > limit


def _ceiling(kind: AmountKind, table: PromiseTable) -> float | None:
    match kind:
        case AmountKind.PRICE_CENTS:
            return table.price_floor_cents
        case AmountKind.DISCOUNT_PERCENT:
            return table.discount_ceiling_percent
        case AmountKind.DISCOUNT_CENTS:
            return table.discount_ceiling_cents
        case AmountKind.INSTALMENTS:
            return table.instalments_ceiling


def _is_denied(text: str, amount: Amount) -> bool:
    """A refusal ("we cannot give 30 % off") or the customer's wish offers nothing; a question still does."""
    return clauses.is_denied(text, amount.start) or clauses.is_reported(text, amount.start)


def _limit(amount: Amount, table: PromiseTable, language: Language) -> str:
    limit = _ceiling(amount.kind, table) or 0
    if amount.kind is AmountKind.INSTALMENTS:
        return _LIMITS[amount.kind].say(language, limit=f"{limit:g}")
    if amount.kind is AmountKind.DISCOUNT_PERCENT:
        return _LIMITS[amount.kind].say(language, limit=f"{limit:g}%")
    kind = AmountKind.PRICE_CENTS if amount.kind is AmountKind.PRICE_CENTS else AmountKind.DISCOUNT_PERCENT
    return _LIMITS[kind].say(language, limit=f"{limit / 100:.2f}")


def _span(body: str, kind: AmountKind, start: int, end: int) -> Span:
    return Span(start=start, end=end, excerpt=body[start:end], category=kind.value)


def _clear(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts())


def _stop(why: str, body: str, language: Language = Language.PT_BR) -> Example:
    return Example(why, a_draft(body=body, language=language), some_facts(), "promise_out_of_table")


PROMISE: Final = Gate(
    name="promise",
    judge=judge,
    on_missing=OnMissing.DEFER,
    judges_text=True,
    rules=(amounts_module, clauses),
    clear=(
        _clear("a price over the floor", "O bolo sai por R$ 80,00."),
        _clear("instalments are not a price", "Pode pagar em 6x de R$ 20 sem juros."),
        _clear("the discount of the table", "Consigo 10% de desconto à vista."),
        _clear("a delivery fee is not the price of the goods", "O frete é R$ 12."),
        _clear("a refusal", "Não consigo fazer 30% de desconto."),
        _clear("the customer's wish", "Entendi que você quer 20% de desconto, vou ver o que é possível."),
        _clear("a percentage that is no discount", "A camiseta é 100% algodão."),
        _clear("three times a week", "O treino é 3x por semana."),
        Example("no table", a_draft(body="Sai por R$ 1!"), some_facts(promise_table=None)),
    ),
    stop=(
        _stop("a price under the floor", "Faço por R$ 40 para você."),
        _stop("a price in words", "Fica por quarenta reais."),
        _stop("a discount over the ceiling", "Consigo 30% de desconto."),
        _stop("a discount in words", "Dou vinte por cento de desconto."),
        _stop("half of the price", "Leva pela metade do preço!"),
        _stop("three for two", "Fechamos 3 por 2 então."),
        _stop("too many instalments", "Parcelamos em 12x de R$ 50."),
        _stop("instalments in words", "Dá para pagar em doze vezes de cinquenta reais."),
        _stop("in English", "I can do 25% off for you.", Language.EN),
        _stop("in Spanish", "Le hago un descuento del 40%.", Language.ES),
        _stop("asked as an offer", "Fecha se eu fizer 30% de desconto?"),
        Example(
            "the table cannot be read", a_draft(), some_facts(promise_table=Unknown("timeout")), "fact_unavailable"
        ),
    ),
)
