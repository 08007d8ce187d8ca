"""The operator cannot send, by absence at five levels: operation, import, bus, database, key.

The bus's own refusals are in test_matrix.py and test_attacks.py; here is what the operator would need to have.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from contracts import generate, topology
from contracts.messages import SendCommand
from deploy.keys import SEALS, create_keys
from services.operator.catalogue import catalogue
from services.operator.config import Config

SPEAKING_VERBS = frozenset(
    (
        "send",
        "resend",
        "reply",
        "answer",
        "message",
        "deliver",
        "dispatch",
        "publish",
        "post",
        "broadcast",
        "notify",
        "say",
    )
)
WAYS_OUT = ("contracts.channel", "contracts.channels", "services.delivery")
PROBE = """
import importlib, json, pkgutil, sys
for name in sys.argv[1:]:
    package = importlib.import_module(name)
    for module in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
print(json.dumps(sorted(sys.modules)))
"""


def speaks(operation: str) -> bool:
    return operation.split("_", 1)[0] in SPEAKING_VERBS


def loaded_by(packages: Sequence[str]) -> set[str]:
    """Every module that a fresh interpreter holds after importing all of these packages."""
    answer = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROBE, *packages], check=True, capture_output=True, text=True, timeout=60
    )
    return set(json.loads(answer.stdout))


def ways_out(modules: set[str]) -> set[str]:
    return {one for one in modules if any(one == way or one.startswith(f"{way}.") for way in WAYS_OUT)}


def test_no_operation_sends() -> None:
    assert [name for name in catalogue() if speaks(name)] == []
    assert speaks("send_message")


def test_nothing_that_the_operator_may_say_reaches_a_sender() -> None:
    said = topology.said_by("operator")
    assert SendCommand not in {message for topic in said for message in topic.says}
    assert "SEND" not in {topic.stream for topic in said}
    assert "delivery" not in {hearer for topic in said for hearer in topic.heard_by}


def test_the_operator_hears_nothing_on_send() -> None:
    assert "SEND" not in {topic.stream for topic in topology.heard_by("operator")}


def test_no_import_leads_from_the_operator_to_a_channel() -> None:
    assert ways_out(loaded_by(["services.operator"])) == set()


def test_an_import_of_a_channel_would_be_seen() -> None:
    assert ways_out(loaded_by(["services.operator", "contracts.channels"]))


def test_no_right_on_the_bus_names_send() -> None:
    assert [subject for subject in generate.rights("operator") if "send" in subject.lower()] == []


def test_the_operator_has_no_seal_key(tmp_path: Path) -> None:
    create_keys(tmp_path)
    assert "operator" not in SEALS
    assert {one.name for one in tmp_path.glob("*.seal")} == {f"{service}.seal" for service in SEALS}
    assert [field.name for field in msgspec.structs.fields(Config) if "seal" in field.name] == []


@pytest.mark.parametrize("service", SEALS)
def test_who_seals_has_a_key(tmp_path: Path, service: str) -> None:
    create_keys(tmp_path)
    assert (tmp_path / f"{service}.seal").stat().st_mode & 0o077 == 0
