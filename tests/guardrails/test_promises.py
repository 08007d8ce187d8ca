"""The commissive and amount detectors, on the labelled samples and on our own lines of ten trades."""

import json
from pathlib import Path
from typing import Any

import pytest

from services.guardrails.amounts import AmountKind, amounts, number
from services.guardrails.gates.case_promise import promised_cases
from services.guardrails.promises import detect_promises
from shared.text import fold

HERE = Path(__file__).parent
SAMPLES: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE.parent / "samples" / "promise.jsonl").read_text("utf-8").splitlines()
]


def lines_of(name: str) -> list[str]:
    return [line for line in (HERE / "lines" / name).read_text("utf-8").splitlines() if line]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["text"][:40])
def test_a_labelled_sample_is_judged_as_labelled(sample: dict[str, Any]) -> None:
    found = detect_promises(sample["text"])
    assert bool(found) == sample["label"], found


def test_lines_of_business_talk_are_judged_as_marked() -> None:
    lines = lines_of("promise.txt")
    assert [line for line in lines if bool(detect_promises(line[2:])) != line.startswith("+")] == []


def test_counting_on_a_person_is_seen() -> None:
    lines = lines_of("case.txt")
    assert [line for line in lines if bool(promised_cases(line[2:], ("Marina",))) != line.startswith("+")] == []


def test_a_find_quotes_the_raw_text() -> None:
    text = "Olá! Garanti\u200bmos a entrega amanhã às 9h 🎂"
    found = detect_promises(text)
    assert found
    assert all(text[each.start : each.end] == each.excerpt for each in found)


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("Sai por R$ 1.299,90", AmountKind.PRICE_CENTS, 129_990),
        ("It's $1,299.90", AmountKind.PRICE_CENTS, 129_990),
        ("Fica por quarenta e cinco reais", AmountKind.PRICE_CENTS, 4_500),
        ("cento e vinte reais", AmountKind.PRICE_CENTS, 12_000),
        ("R$ 2 mil", AmountKind.PRICE_CENTS, 200_000),
        ("faço por 40", AmountKind.PRICE_CENTS, 4_000),
        ("two hundred dollars", AmountKind.PRICE_CENTS, 20_000),
        ("doscientos cincuenta pesos", AmountKind.PRICE_CENTS, 25_000),
        ("20% de desconto", AmountKind.DISCOUNT_PERCENT, 20),
        ("desconto de até 12,5%", AmountKind.DISCOUNT_PERCENT, 12.5),
        ("vinte por cento de desconto", AmountKind.DISCOUNT_PERCENT, 20),
        ("25% off", AmountKind.DISCOUNT_PERCENT, 25),
        ("un descuento del 15%", AmountKind.DISCOUNT_PERCENT, 15),
        ("leve 3 pague 2", AmountKind.DISCOUNT_PERCENT, 33.33),
        ("half price", AmountKind.DISCOUNT_PERCENT, 50),
        ("R$ 30 de desconto", AmountKind.DISCOUNT_CENTS, 3_000),
        ("em 12x de R$ 50", AmountKind.INSTALMENTS, 12),
        ("12x sem juros", AmountKind.INSTALMENTS, 12),
        ("em doze vezes de cinquenta reais", AmountKind.INSTALMENTS, 12),
        ("10 parcelas de R$ 90", AmountKind.INSTALMENTS, 10),
        ("in 6 monthly payments", AmountKind.INSTALMENTS, 6),
        ("en 12 cuotas sin interés", AmountKind.INSTALMENTS, 12),
    ],
)
def test_an_amount_is_read_as_one_number_of_one_kind(text: str, kind: AmountKind, value: float) -> None:
    assert [(each.kind, each.value) for each in amounts(fold(text).text)] == [(kind, value)]


@pytest.mark.parametrize(
    "text",
    [
        "100% algodão",
        "3x por semana",
        "duas vezes ao dia",
        "sala 403",
        "o frete é R$ 12",
        "das 8 às 18",
        "juros de 2% ao mês",
        "faço por 30 dias",
        "2 de 3 pessoas",
        "nota 10",
    ],
)
def test_other_numbers_are_no_amounts(text: str) -> None:
    assert not amounts(fold(text).text)


def test_numbers_in_words_add_up() -> None:
    assert number("mil duzentos e cinquenta") == 1250
    assert number("dois mil") == 2000
    assert number("one hundred and twenty-five") == 125
    assert number("nada") == 0
