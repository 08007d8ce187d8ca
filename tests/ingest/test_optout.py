"""Opt-out detection on the labelled samples, on our own lines of ten trades, and in its context."""

import json
from pathlib import Path
from typing import Any

import pytest

from services.ingest.optout import MENU_KIND, OptOutSignal, detect

HERE = Path(__file__).parent
SAMPLES: list[dict[str, Any]] = [
    json.loads(line) for line in (HERE.parent / "samples" / "optout.jsonl").read_text("utf-8").splitlines()
]
LINES = [line for line in (HERE / "lines" / "optout.txt").read_text("utf-8").splitlines() if line]


def signal(text: str, *, kind: str | None = None, is_opted_out: bool = False) -> OptOutSignal:
    return detect(text, last_outbound_kind=kind, is_opted_out=is_opted_out)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample["text"][:40])
def test_a_labelled_sample_is_judged_as_labelled(sample: dict[str, Any]) -> None:
    context = str(sample.get("context", ""))
    kind = MENU_KIND if "CONFIRM" in context.upper() else "campaign"
    found = signal(sample["text"], kind=kind, is_opted_out="opted out" in context)
    assert (found.value, found.stops_messages) == (sample["action"], sample["label"])


def test_lines_of_business_talk_are_judged_as_marked() -> None:
    assert [line for line in LINES if signal(line[2:]).stops_messages != line.startswith("+")] == []


def test_cancel_answers_our_own_booking_question() -> None:
    assert signal("CANCELAR", kind=MENU_KIND) is OptOutSignal.HANDOFF
    assert signal("CANCELAR", kind="campaign") is OptOutSignal.OPT_OUT
    assert signal("PARAR", kind=MENU_KIND) is OptOutSignal.OPT_OUT


def test_only_someone_who_is_opted_out_opts_in() -> None:
    assert signal("VOLTAR", is_opted_out=True) is OptOutSignal.OPT_IN
    assert signal("VOLTAR") is OptOutSignal.NONE
    assert signal("quero voltar a receber", is_opted_out=True) is OptOutSignal.OPT_IN


def test_someone_who_is_opted_out_may_repeat_it() -> None:
    assert signal("PARAR", is_opted_out=True) is OptOutSignal.OPT_OUT


@pytest.mark.parametrize(
    "text",
    [
        "ok, obrigada\n> Para sair responda SAIR",
        "Confirmo.\nEm seg., 21 de set., Padaria escreveu:\n> responda PARAR para sair",
        "See you then.\nOn Mon, Sep 21, 2026 Bakery wrote:\nReply STOP to unsubscribe",
    ],
)
def test_our_own_quoted_footer_is_not_the_customers_wish(text: str) -> None:
    assert signal(text) is OptOutSignal.NONE


@pytest.mark.parametrize("text", ["STOP 123", "chega", "sai", "para", "no gracias", "not interested"])
def test_a_doubtful_word_asks_a_person(text: str) -> None:
    assert signal(text) is OptOutSignal.ASK


@pytest.mark.parametrize(
    "text", ["P A R A R", "pàrár", "ЅТОР", "＊ＳＴＯＰ＊", "parar" + "\u200b" * 9, "🛑🛑 SAIR 🛑🛑", "stop stop stop"]
)
def test_noise_does_not_hide_a_keyword(text: str) -> None:
    assert signal(text) is OptOutSignal.OPT_OUT


@pytest.mark.parametrize("text", ["", "   ", "👍", "?", "\u200b", "obrigado"])
def test_nothing_said_asks_for_nothing(text: str) -> None:
    assert signal(text) is OptOutSignal.NONE
