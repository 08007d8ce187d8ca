# ruff: noqa: E501 (rule data: a pattern reads best on one line)
"""Prices, discounts and instalments in a text, as numbers, digits or words, in Portuguese, English and Spanish.

"12x de R$ 50" is twelve instalments, not a price of 50; a delivery fee or a deposit is not the price of the goods.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from shared.patterns import Patterns


class AmountKind(StrEnum):
    PRICE_CENTS = "price_cents"
    DISCOUNT_PERCENT = "discount_percent"
    DISCOUNT_CENTS = "discount_cents"
    INSTALMENTS = "instalments"


@dataclass(frozen=True, slots=True)
class Amount:
    kind: AmountKind
    value: float
    start: int
    end: int


_NUMBER_WORDS: Final[Mapping[str, int]] = {
    "zero": 0, "cero": 0, "um": 1, "uma": 1, "un": 1, "uno": 1, "una": 1, "one": 1, "dois": 2, "duas": 2, "dos": 2,
    "two": 2, "tres": 3, "three": 3, "quatro": 4, "cuatro": 4, "four": 4, "cinco": 5, "five": 5, "seis": 6, "six": 6,
    "sete": 7, "siete": 7, "seven": 7, "oito": 8, "ocho": 8, "eight": 8, "nove": 9, "nueve": 9, "nine": 9, "dez": 10,
    "diez": 10, "ten": 10, "onze": 11, "once": 11, "eleven": 11, "doze": 12, "doce": 12, "twelve": 12, "treze": 13,
    "trece": 13, "thirteen": 13, "catorze": 14, "quatorze": 14, "catorce": 14, "fourteen": 14, "quinze": 15,
    "quince": 15, "fifteen": 15, "dezesseis": 16, "dieciseis": 16, "sixteen": 16, "dezessete": 17, "diecisiete": 17,
    "seventeen": 17, "dezoito": 18, "dieciocho": 18, "eighteen": 18, "dezenove": 19, "diecinueve": 19, "nineteen": 19,
    "vinte": 20, "veinte": 20, "twenty": 20, "veinticuatro": 24, "veinticinco": 25, "trinta": 30, "treinta": 30,
    "thirty": 30, "quarenta": 40, "cuarenta": 40, "forty": 40, "cinquenta": 50, "cincuenta": 50, "fifty": 50,
    "sessenta": 60, "sesenta": 60, "sixty": 60, "setenta": 70, "seventy": 70, "oitenta": 80, "ochenta": 80,
    "eighty": 80, "noventa": 90, "ninety": 90, "cem": 100, "cien": 100, "cento": 100, "ciento": 100, "duzentos": 200,
    "doscientos": 200, "trezentos": 300, "trescientos": 300, "quatrocentos": 400, "cuatrocientos": 400,
    "quinhentos": 500, "quinientos": 500, "seiscentos": 600, "seiscientos": 600, "setecentos": 700, "setecientos": 700,
    "oitocentos": 800, "ochocientos": 800, "novecentos": 900, "novecientos": 900,
}  # fmt: skip
_HUNDRED: Final = "hundred"
_THOUSANDS: Final = ("mil", "thousand", "k")
_WORD: Final = "(?:" + "|".join((*_NUMBER_WORDS, _HUNDRED, "mil", "thousand")) + ")"

_FRAGMENTS: Final = {
    "n": rf"(?:\d{{1,3}}(?:[.,]\d{{3}})+(?:[.,]\d{{1,2}})?|\d+(?:[.,]\d{{1,2}})?"
    rf"|{_WORD}(?:(?:\s+(?:e|y|and)\s+|[\s-]+){_WORD})*)(?:\s*(?:mil|k)\b)?",
    "coin": r"(?:r\$|us\$|\$|€|brl|usd|eur)",
    "unit": r"(?:reais|real|contos?|pilas?|dolares|dolar|dollars?|bucks|euros?|pesos|soles)\b",
    "percent": r"(?:\s*%|\s+por\s*cento\b|\s+percent\b|\s+por\s*ciento\b|\s+pct\b)",
    "off": r"(?:descontos?|off|discounts?|descuentos?|abatimento|rebaja|cashback|dto|"
    r"a menos|mais barat[oa]s?|cheaper|mas barat[oa]s?|less)\b",
    "gap": r"(?:\s+[\w%$.,]+){0,4}?\s+",
}
_PATTERNS: Final = Patterns(
    {
        "instalments_x": r"\b(?:(?:em|in|en|ate|hasta|parcel\w+)(?:\s+(?:ate|hasta|up to))?\s+)(?P<n>{n})\s*x\b"
        r"(?:\s*(?:iguais\s+)?(?:de|of|por)?\s*{coin}?\s*{n}(?:\s*{unit})?)?",
        "instalments_x_of": r"\b(?P<n>{n})\s*x\s*(?:iguais|fixas|sem\s+juros|s/\s*juros|sin\s+intereses|interest|no\s+cartao|"
        r"(?:de|of)?\s*{coin}\s*{n}|(?:de|of)\s+{n}(?:\s*{unit})?)",
        "instalments_times": r"\b(?:em|en)\s+(?:ate\s+)?(?P<n>{n})\s+(?:vezes|veces|pagos|vez)\b"
        r"(?:\s+(?:iguais\s+|fixas\s+)?de\s*{coin}?\s*{n}(?:\s*{unit})?)?",
        "instalments_times_of": r"\b(?P<n>{n})\s+(?:vezes|veces)\s+(?:iguais|fixas|sem\s+juros|sin\s+intereses|no\s+cartao|"
        r"de\s+(?:{coin}\s*)?{n}(?:\s*{unit})?)",
        "instalments_parts": r"\b(?P<n>{n})\s+(?:parcelas|prestacoes|cuotas|mensualidades|mensalidades|instal+ments|"
        r"(?:monthly|equal|weekly)\s+payments)\b(?:\s+(?:iguais\s+|fixas\s+)?(?:de|of)\s*{coin}?\s*{n}(?:\s*{unit})?)?",
        "discount_percent_off": r"(?P<n>{n}){percent}(?:{gap}|\s+){off}",
        "discount_off_percent": r"\b{off}(?:{gap}|\s+)(?P<n>{n}){percent}",
        "discount_cut_percent": r"\b(?:tir[oae]\w*|abat\w+|baix\w+|reduz\w+|knock|take|cut|baj\w+|rebaj\w+|descont\w+|dou|dar|damos|te dou|consigo|faco|doy|hago|give(?: you)?)"
        r"(?:{gap}|\s+)(?P<n>{n}){percent}",
        "discount_money_off": r"(?:{coin}\s*(?P<n>{n})|\b(?P<m>{n})\s+{unit})\s+(?:de\s+|do\s+|of\s+)?{off}",
        "discount_off_money": r"\b{off}(?:\s+\w+){0,2}\s+(?:{coin}\s*(?P<n>{n})|(?P<m>{n})\s+{unit})",
        "discount_half": r"\b(?:metade do (?:preco|valor)|pela metade|half[\s-]price|half off|mitad de(?:l)? precio|"
        r"a mitad de precio|2\s*x\s*1|two for one|2 for 1|dois por um|dos por uno|"
        r"(?:buy|compre|leve) (?:one|um|1),? (?:get|ganhe|leve) (?:one|outro|1|dois|2))\b",
        "discount_take_pay": r"\b(?:leve|lleva|llevate|take|get)\s+(?P<n>{n})\s+(?:e\s+|y\s+|and\s+)?"
        r"(?:pague|pag[au]e?|pay(?: for)?)\s+(?P<m>{n})\b",
        "discount_n_for_m": r"\b(?P<n>[3-9])\s+(?:por|for)\s+(?P<m>[2-8])\b",
        "price_coin": r"{coin}\s*(?P<n>{n})",
        "price_unit": r"\b(?P<n>{n})\s+{unit}",
        "price_bare": r"\b(?:faco|fazemos|fazer|deixo|deixamos|vendo|sai|fica|consigo|fecho|fechamos|dejo|hago|"
        r"let you have it|do it)\s+(?:\w+\s+){0,3}?(?:por|for|em|en|a)\s+(?P<n>\d{2,5}(?:[.,]\d{2})?)(?:$|[\s,.!?])",
    },
    _FRAGMENTS,
)
_NOT_THE_PRICE: Final = Patterns(
    {
        "fee_before": r"\b(?:nota|boleto|fatura|recibo|invoice|factura|receipt|frete|entrega|taxa|sinal|entrada|multa|troco|gorjeta|caucao|shipping|delivery|fee|deposit|tip|envio|"
        r"propina|senal|recargo|cashback|limite|acima de|a partir de|over|above|a partir|mas de|estorno|reembolso|"
        r"refund|credito|credit|saldo|pagou|pagaste|paid|economiza|economia|save|ahorra)\b[^.!?;]{0,24}$",
    }
)
_UNITS_AFTER: Final = Patterns(
    {
        "unit": r"^\s*(?:dias?|horas?|hs?|min\w*|pessoas?|kg|g|un\w*|pecas?|lugares|days?|hours?|weeks?|months?|meses|semanas?|"
        r"people|anos|km|metros|m2|cm|%|x|por cento|vezes|graus|degrees|grados|volts?|watts?|ml|litros?|kcal|calorias|passos)\b"
    }
)


@lru_cache(maxsize=16)
def amounts(text: str) -> tuple[Amount, ...]:
    """Amounts in a folded text. An amount inside a discount or instalments belongs to those alone.

    Two gates and the draft's classes ask about the same text.
    """
    taken: list[Amount] = []
    covered: set[int] = set()  # prices come last in the rules, so what was read as something else stays that
    for hit, groups in _PATTERNS.matches(text):
        amount = _amount(hit.name, hit.start, hit.end, groups)
        if amount and amount.start not in covered:
            taken.append(amount)
            covered.update(range(amount.start, amount.end))
    return tuple(each for each in taken if each.kind is not AmountKind.PRICE_CENTS or _is_a_price(text, each))


def _amount(name: str, start: int, end: int, groups: Mapping[str, str | None]) -> Amount | None:
    first, second = groups.get("n"), groups.get("m")
    if name == "discount_half":
        return Amount(AmountKind.DISCOUNT_PERCENT, 50, start, end)
    if name in ("discount_take_pay", "discount_n_for_m"):
        return _part_for_less(number(first or ""), number(second or ""), start, end)
    value = number(first or second or "")
    if name.startswith("instalments"):
        return Amount(AmountKind.INSTALMENTS, value, start, end) if value > 1 else None
    if name.startswith("discount"):
        money = "money" in name
        kind = AmountKind.DISCOUNT_CENTS if money else AmountKind.DISCOUNT_PERCENT
        return Amount(kind, round(value * 100) if money else value, start, end)
    return Amount(AmountKind.PRICE_CENTS, round(value * 100), start, end)


def _part_for_less(taken: float, paid: float, start: int, end: int) -> Amount | None:
    if not 0 < paid < taken:
        return None
    return Amount(AmountKind.DISCOUNT_PERCENT, round(100 * (taken - paid) / taken, 2), start, end)


def _is_a_price(text: str, amount: Amount) -> bool:
    before = text[max(0, amount.start - 40) : amount.start]
    return not _NOT_THE_PRICE.found_in(before) and not _UNITS_AFTER.found_in(text[amount.end : amount.end + 12])


def number(words: str) -> float:
    """`1.299,90`, `1,299.90`, `2 mil` or `cento e vinte` as a number; 0 where there is none."""
    tokens = words.replace("-", " ").split()
    total = current = 0.0
    for token in tokens:
        if token in _THOUSANDS:
            total, current = total + max(current, 1) * 1000, 0
        elif token == _HUNDRED:
            current = max(current, 1) * 100
        else:
            current += next(_plain(token), 0)
    return total + current


def _plain(token: str) -> Iterator[float]:
    multiplier = 1000 if token.endswith("k") else 1
    token = token.removesuffix("k").removesuffix("mil")
    if token in _NUMBER_WORDS:
        yield _NUMBER_WORDS[token]
    elif token[:1].isdigit():
        yield _decimal(token) * multiplier


def _decimal(token: str) -> float:
    head, separator, tail = max(token.rpartition(","), token.rpartition("."), key=lambda parts: len(parts[0]))
    if not separator or len(tail) == 3:
        return float(token.replace(".", "").replace(",", ""))
    return float(f"{head.replace('.', '').replace(',', '')}.{tail or '0'}")
