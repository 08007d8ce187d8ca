"""No channel, by absence: nothing that the operator's process loads leads to a send."""

import subprocess
import sys
from pathlib import Path

from services.operator.config import Config

ROOT = Path(__file__).parents[2]
LOAD_EVERYTHING = """
import importlib, pkgutil, sys
import services.operator as operator
for module in pkgutil.walk_packages(operator.__path__, "services.operator."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
importlib.import_module("shared.runtime")
print("\\n".join(sorted(sys.modules)))
"""
CHANNELS = ("contracts.channel", "contracts.channels", "contracts.foreign")


def loaded() -> list[str]:
    ran = subprocess.run(
        [sys.executable, "-c", LOAD_EVERYTHING], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    return ran.stdout.split()


def test_the_import_graph_reaches_no_channel_no_sender_and_no_other_service() -> None:
    modules = loaded()
    assert "services.operator.service" in modules
    assert "services.operator.operations.add_tag" in modules
    foreign = [
        name
        for name in modules
        if name.startswith(CHANNELS)
        or (name.startswith("services.") and not name.startswith("services.operator"))
        or (name.startswith(("services.", "shared.")) and "sender" in name)
    ]
    assert not foreign


def test_the_seal_module_is_not_even_loaded() -> None:
    assert "shared.seal" not in loaded()


def test_only_the_model_file_has_a_way_out() -> None:
    ways_out = ("import httpx", "import requests", "import aiohttp", "import socket", "urllib", "import nats", "openai")
    for path in (ROOT / "services" / "operator").rglob("*.py"):
        lines = [line for line in path.read_text().splitlines() if line.lstrip().startswith(("import ", "from "))]
        found = [line for line in lines if any(way.removeprefix("import ") in line.split() for way in ways_out)]
        assert bool(found) == (path.name == "model.py"), path


def test_the_configuration_knows_no_channel_and_no_seal_key() -> None:
    fields = Config.__struct_fields__
    assert not [name for name in fields if any(word in name for word in ("channel", "waha", "seal", "signing", "send"))]


def test_the_only_sql_stands_in_the_store() -> None:
    for path in (ROOT / "services" / "operator").rglob("*.py"):
        text = path.read_text().lower()
        has_sql = any(word in text for word in ("insert into ", "update lead", "delete from ", "select "))
        assert has_sql <= (path.parent.name == "store"), path
