"""The pages' words: each in every language, each code worded."""

import re
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

from contracts.messages import AlertRaised
from services import approval
from services.approval.facts import Delivery, State
from services.approval.lifecycle import VERBS
from services.approval.web.rendering import SITE
from services.approval.web.words import CATALOGUES, FOR_SCRIPTS
from services.guardrails.chain import CHAIN

LANGUAGES = ("pt-BR", "en", "es")


def placeholders(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_language_says_everything_with_the_same_values() -> None:
    ours = CATALOGUES["pt-BR"]
    for language in LANGUAGES:
        assert CATALOGUES[language].keys() == ours.keys()
        for key, text in CATALOGUES[language].items():
            assert text.strip(), (language, key)
            assert placeholders(text) == placeholders(ours[key]), (language, key)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_that_a_page_may_meet_is_in_words(language: str) -> None:
    known = CATALOGUES[language]
    wanted = {f"gate.{gate.name}" for gate in CHAIN}
    wanted |= {f"code.{example.code}" for gate in CHAIN for example in gate.stop}
    wanted |= {f"state.{state}" for state in get_args(State)} | {f"delivery.{one}" for one in get_args(Delivery)}
    wanted |= {f"verb.{verb}" for verb in VERBS}
    assert wanted - known.keys() == set()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_banner_and_alert_that_the_service_writes_is_in_words(language: str) -> None:
    written = "\n".join(file.read_text() for file in Path(approval.__file__).parent.glob("*.py"))
    banners = set(re.findall(r'Banner\(code="(\w+)"', written))
    alerts = set(re.findall(r'kind="(\w+)", (?:severity|body)', written)) | set(
        get_args(AlertRaised.__annotations__["kind"])
    )
    assert len(banners) >= 5
    assert len(alerts) >= 6
    wanted = {f"{group}.{code}" for group in ("banner", "tag") for code in banners} | {
        f"alert.{kind}" for kind in alerts
    }
    assert wanted - CATALOGUES[language].keys() == set()


def test_scripts_say_only_words_that_exist() -> None:
    scripts = "\n".join(content.decode() for name, content in SITE.assets.items() if name.endswith(".js"))
    said = set(re.findall(r'say\("([^"]+)"', scripts))
    assert len(said) > 10
    assert {f"{FOR_SCRIPTS}{key}" for key in said} - CATALOGUES["en"].keys() == set()
