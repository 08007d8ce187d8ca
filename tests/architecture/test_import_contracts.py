"""Each import contract is proven by a change that breaks it: a rule that nothing can break is no rule."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("contracts", "shared", "services", "deploy")
MUTATIONS = [
    ("services/ingest/echo.py", "import services.delivery.sender", "services do not know each other"),
    ("shared/seal.py", "import services.approval", "deploy above services above shared above contracts"),
    ("contracts/topology.py", "import shared.ids", "deploy above services above shared above contracts"),
    ("services/operator/turn.py", "import contracts.channels.waha", "the operator cannot reach any channel or sender"),
    ("services/operator/turn.py", "import httpx", "the operator cannot reach any channel or sender"),
    ("services/delivery/sender.py", "import nats", "only the bus knows NATS"),
    ("contracts/topology.py", "import asyncpg", "contracts do no I/O"),
]


def lint(folder: Path) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run(
        [program, "--no-cache"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for package in PACKAGES:
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_project_keeps_its_import_contracts(copy: Path) -> None:
    code, output = lint(copy)
    assert code == 0, output


@pytest.mark.parametrize(("file", "line", "contract"), MUTATIONS)
def test_a_forbidden_import_breaks_its_contract(copy: Path, file: str, line: str, contract: str) -> None:
    path = copy / file
    path.write_text(f"{path.read_text()}\n{line}  # a mutation\n")
    code, output = lint(copy)
    assert code == 1
    assert f"{contract} BROKEN" in output
