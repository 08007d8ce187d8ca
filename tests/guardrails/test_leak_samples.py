"""The leak detector on the labelled samples, on our own lines of ten trades, and against evasion."""

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from services.guardrails.leaks import detect_leaks

HERE = Path(__file__).parent
SAMPLES: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE.parent / "samples" / "leak.jsonl").read_text("utf-8").splitlines()
]
LINES = [line for line in (HERE / "lines" / "leak.txt").read_text("utf-8").splitlines() if line]
ALLOWED = {"dev_support": frozenset({"webhook", "webhooks", "JSON", "header", "headers", "endpoint", "payload", "API"})}
OPERATIONS = (
    "crm_move_lead_stage",
    "crm_list_webhook_sources",
    "schedule_follow_up",
    "create_note",
    "search_knowledge",
)

QUOTED_IN_THE_SEED = (
    "seu perfil atual é agent, e essa alteração exige permissão de manager",
    "nenhuma entrada automática de contatos (webhook) configurada",
    "nenhuma entrada automática/webhook cadastrada",
    "As execuções mais recentes deram erro na ação de webhook: `unsafe_url:https_required`",
)
MUST_PASS = (
    "É só você role a tela até o seu perfil.",
    "Seu pedido PED_2024_001 já saiu.",
    "O total ficou em R$ 403,00.",
    "Siga @loja_da_ana no Instagram.",
    "Escreva para ana_paula@exemplo.com.br.",
    "Veja https://loja.com.br/colecao_de_verao?pagina=2",
    "Segue o arquivo contrato_social_v2.pdf",
    "Fale com o administrador do condomínio.",
    "Sua proposta está em Negociação avançada.",
    "I'll schedule a follow-up and create a note for the chef.",
)


def shifted(word: str, first: int) -> str:
    return "".join(chr(first + ord(each) - ord("a")) if each.islower() else each for each in word)


def encoded(word: str) -> str:
    return base64.b64encode(f"o {word} do sistema".encode()).decode()


DISGUISES: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "full width": lambda word: shifted(word, 0xFF41),
    "zero width": "\u200b".join,
    "soft hyphens": "\u00ad".join,
    "cyrillic": lambda word: word.translate(str.maketrans("aeocpxy", "аеосрху")),
    "spaced": " ".join,
    "dotted": ".".join,
    "hyphenated": "-".join,
    "bold": "*{}*".format,
    "code": "`{}`".format,
    "accented": lambda word: word.replace("e", "é").replace("o", "ô"),
    "leet": lambda word: word.replace("o", "0").replace("e", "3"),
    "entities": lambda word: "".join(f"&#{ord(each)};" for each in word),
    "percent": lambda word: "".join(f"%{ord(each):02x}" for each in word),
    "base64": encoded,
    "tags": lambda word: "".join(chr(0xE0000 + ord(each)) for each in word),
    "mathematical": lambda word: shifted(word, 0x1D41A),
    "circled": lambda word: shifted(word, 0x24D0),
    "split by markup": lambda word: f"{word[:3]}*{word[3:]}",
}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["text"][:40])
def test_a_labelled_sample_is_judged_as_labelled(sample: dict[str, Any]) -> None:
    found = detect_leaks(sample["text"], allowed=ALLOWED.get(sample["profile"], frozenset()))
    assert bool(found) == sample["label"], found


def test_lines_of_business_talk_are_judged_as_marked() -> None:
    assert [line for line in LINES if bool(detect_leaks(line[2:])) != line.startswith("+")] == []


@pytest.mark.parametrize("text", QUOTED_IN_THE_SEED)
def test_a_sentence_that_once_leaked_is_caught(text: str) -> None:
    assert detect_leaks(text)


@pytest.mark.parametrize("text", MUST_PASS)
def test_what_customers_own_passes(text: str) -> None:
    assert detect_leaks(text, operations=OPERATIONS) == []


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("around", ["Usei {} agora.", "Falhou: {}", "(`{}`)", "_{}_"])
def test_every_operation_of_the_catalogue_is_caught_by_its_name(name: str, around: str) -> None:
    assert detect_leaks(around.format(name), operations=OPERATIONS)


def test_a_new_operation_is_covered_on_the_day_it_exists() -> None:
    text = "Fiz isso com o agendaDoSalaoPremium."
    assert detect_leaks(text) == []
    assert detect_leaks(text, operations=("agenda_do_salao_premium",))


@pytest.mark.parametrize("disguise", DISGUISES)
@pytest.mark.parametrize("word", ["webhook", "endpoint", "crm_move_lead_stage"])
def test_a_disguised_word_is_caught(disguise: str, word: str) -> None:
    hidden = DISGUISES[disguise](word)
    assert detect_leaks(f"Falhou o {hidden} de hoje", operations=OPERATIONS), hidden


def test_a_find_quotes_the_raw_text() -> None:
    text = "Olá! O w\u200beb\u200bhook 🙈 falhou e o lead_id sumiu."
    for finding in detect_leaks(text):
        assert text[finding.start : finding.end] == finding.excerpt


def test_an_allowed_word_passes_and_a_structure_around_it_does_not() -> None:
    allowed = frozenset({"webhook", "JSON"})
    assert detect_leaks("O webhook recebe JSON.", allowed=allowed) == []
    assert detect_leaks('O webhook recebe {"id": 1}.', allowed=allowed)
    assert detect_leaks("O webhook_sources falhou.", allowed=allowed)


def test_a_payment_key_passes_and_any_other_uuid_does_not() -> None:
    key = "123e4567-e89b-42d3-a456-426614174000"
    assert detect_leaks(f"A chave Pix é {key}") == []
    assert detect_leaks(f"O seu registro é {key}")
