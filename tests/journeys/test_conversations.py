"""The five paths and the plain one, each a script that `chancela demo conversation` runs on a fresh system."""

from pathlib import Path

import pytest

from deploy.demo.conversation import run
from deploy.demo.script import read

SCRIPTS = sorted(Path(__file__).parent.glob("*.json"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_the_conversation_goes_as_written(path: Path) -> None:
    printed = run(read(path.read_bytes()))
    missed = [one for message in printed["messages"] for one in message["expectations"] if not one["held"]]
    assert not missed, (missed, printed)
