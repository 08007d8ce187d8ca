# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# (peers are seldom installed where this is checked)
"""Another guardrail on the same texts: `python peer.py NAME PACKAGE`, with the interpreter in which it is installed.

The first line names `words` and `patterns` to look for, ours of gate 9. A peer runs what it has that needs no model
and no network, the patterns where it takes any:
- llm_guard: BanSubstrings (words), InvisibleText, Regex (patterns);
- openai_guardrails: keywords (words), secret keys, URLs;
- nemo_guardrails: the regex rail (words and patterns).
"""

import asyncio
import json
import logging
import platform
import re
import sys
from collections.abc import Callable, Coroutine
from importlib.metadata import version
from typing import Any

from answering import Judge, answer  # pyright: ignore - a script finds what lies beside it

Check = Callable[[str], Coroutine[Any, Any, Any]]


def llm_guard(words: list[str], patterns: list[str]) -> Judge:
    from llm_guard.input_scanners import BanSubstrings, InvisibleText, Regex  # noqa: PLC0415 # pyright: ignore - optional
    from llm_guard.util import configure_logger  # noqa: PLC0415 # pyright: ignore - optional

    configure_logger("CRITICAL")
    scanners: list[Any] = [BanSubstrings(words, match_type="word"), InvisibleText(), Regex(patterns)]

    def judge(_: str, text: str) -> None:
        for scanner in scanners:
            scanner.scan(text)

    return judge


def openai_guardrails(words: list[str], _: list[str]) -> Judge:
    from guardrails.checks.text.keywords import KeywordCfg, keywords  # noqa: PLC0415 # pyright: ignore - optional
    from guardrails.checks.text.secret_keys import SecretKeysCfg, secret_keys  # noqa: PLC0415 # pyright: ignore - optional
    from guardrails.checks.text.urls import URLConfig, urls  # noqa: PLC0415 # pyright: ignore - optional

    banned: Any = KeywordCfg(keywords=words)
    secrets: Any = SecretKeysCfg(threshold="balanced")
    addresses: Any = URLConfig()

    async def check(text: str) -> None:
        await keywords(None, text, banned)
        await secret_keys(None, text, secrets)
        await urls(None, text, addresses)

    return _in_one_loop(check)


def nemo_guardrails(words: list[str], patterns: list[str]) -> Judge:
    from nemoguardrails import RailsConfig  # noqa: PLC0415 # pyright: ignore - optional
    from nemoguardrails.library.regex.actions import detect_regex_pattern  # noqa: PLC0415 # pyright: ignore - optional

    named = [rf"\b(?:{'|'.join(map(re.escape, words))})\b", *patterns]
    rails: Any = {"config": {"regex_detection": {"output": {"patterns": named, "case_insensitive": True}}}}
    config: Any = RailsConfig(models=[], rails=rails)

    async def check(text: str) -> None:
        await detect_regex_pattern(source="output", text=text, config=config)

    return _in_one_loop(check)


def _in_one_loop(check: Check) -> Judge:
    loop = asyncio.new_event_loop()

    def judge(_: str, text: str) -> None:
        loop.run_until_complete(check(text))

    return judge


BUILD = {"llm_guard": llm_guard, "openai_guardrails": openai_guardrails, "nemo_guardrails": nemo_guardrails}


def _understood(patterns: list[str]) -> list[str]:
    """Those that Python's `re`, which the peers use, can read."""
    understood: list[str] = []
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error:
            continue
        understood.append(pattern)
    return understood


def main(name: str, package: str) -> None:
    logging.disable(logging.CRITICAL)
    found = {"python": platform.python_version(), package: version(package)}
    rules = json.loads(sys.stdin.readline())
    answer(BUILD[name](rules["words"], _understood(rules["patterns"])), found)


if __name__ == "__main__":
    main(*sys.argv[1:])
