"""A wrong setting stops the process with the variable's name; nothing is guessed."""

import json
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from services.delivery.config import load_channels
from services.delivery.kit import Kit
from shared.config import ConfigError
from tests.delivery.world import config

GOOD: dict[str, Any] = {
    "channel_id": str(uuid4()),
    "tenant": str(uuid4()),
    "kind": "waha",
    "account": "atendimento",
    "base_url": "http://127.0.0.1:3000",
    "api_key": "k",
}


def _file(tmp_path: Path, *channels: dict[str, Any]) -> str:
    path = tmp_path / "channels.json"
    path.write_text(json.dumps(channels))
    return str(path)


def test_a_key_may_stand_in_a_file_of_its_own(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("from-a-file\n")
    path = _file(tmp_path, {**GOOD, "api_key": "", "api_key_file": str(key)})
    assert [channel.api_key for channel in load_channels(path).values()] == ["from-a-file"]


@pytest.mark.parametrize(
    "change",
    [{"api_key": ""}, {"api_key": "ç"}, {"api_key_file": "x"}, {"base_url": "waha:3000"}, {"kind": "fax"}, {"nope": 1}],
)
def test_a_channel_that_cannot_work_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="CHANCELA_CHANNELS_FILE"):
        load_channels(_file(tmp_path, {**GOOD, **change}))


def test_a_channel_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="twice"):
        load_channels(_file(tmp_path, GOOD, GOOD))


@pytest.mark.parametrize("change", [{"seal_ring": "[]x"}, {"seal_key": "{}"}, {"call_timeout_seconds": 26.0}])
def test_keys_and_times_that_cannot_work_stop_the_start(tmp_path: Path, change: dict[str, Any]) -> None:
    good = config(tmp_path, uuid4(), uuid4(), "http://127.0.0.1:3000")
    with pytest.raises(ConfigError, match="CHANCELA_"):
        Kit.from_config(msgspec.structs.replace(good, **change))
