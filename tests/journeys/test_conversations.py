"""The five paths and the plain one, each a script that `chancela demo conversation` runs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from deploy.demo.conversation import run, run_on
from deploy.demo.fresh import fresh_stack
from deploy.demo.script import Script, read
from deploy.local.stack import Stack

SCRIPTS = {path.stem: read(path.read_bytes()) for path in sorted(Path(__file__).parent.glob("*.json"))}
PLAIN = [name for name, one in SCRIPTS.items() if not one.environment and not one.reply_window_opens_in_seconds]


@pytest.fixture(scope="module")
def plain() -> Iterator[Stack]:
    """The system that `chancela demo conversation` starts, for all scripts without settings of their own."""
    with fresh_stack() as running:
        yield running


@pytest.mark.parametrize("name", PLAIN)
def test_the_conversation_goes_as_written(plain: Stack, name: str) -> None:
    script = as_somebody_else(SCRIPTS[name], PLAIN.index(name))
    try:
        assert_held(run_on(plain, script))
    finally:
        httpx.post(f"{plain.layout.phone_url}/_control/session", json={"status": "WORKING"})


@pytest.mark.parametrize("name", sorted(SCRIPTS.keys() - set(PLAIN)))
def test_a_conversation_with_settings_of_its_own_goes_as_written(name: str) -> None:
    assert_held(run(SCRIPTS[name]))


def as_somebody_else(script: Script, number: int) -> Script:
    """Each script has a customer of its own."""
    messages = [msgspec.structs.replace(says, chat=f"55119777{number:05}@c.us") for says in script.messages]
    return msgspec.structs.replace(script, messages=messages)


def assert_held(printed: dict[str, Any]) -> None:
    missed = [one for message in printed["messages"] for one in message["expectations"] if not one["held"]]
    assert not missed, (missed, printed)
