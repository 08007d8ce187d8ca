"""Configuration: every mistake is told with the name of its variable, and never with its value."""

from pathlib import Path

import pytest

from shared.config import BusConfig, ConfigError, load

ENOUGH = {
    "CHANCELA_DATABASE_URL": "postgresql://bus@db/chancela",
    "CHANCELA_NATS_URL": "nats://bus",
    "CHANCELA_NATS_SEED": "SUAA",
    "CHANCELA_DIGEST_KEY": "key",
}


def test_what_is_not_set_has_its_default() -> None:
    assert load(BusConfig, ENOUGH).poll_seconds == 0.5


@pytest.mark.parametrize("name", ENOUGH)
def test_a_missing_variable_is_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not set"):
        load(BusConfig, {key: value for key, value in ENOUGH.items() if key != name})


@pytest.mark.parametrize("name", ENOUGH)
def test_a_variable_set_to_nothing_counts_as_missing(name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is not set"):
        load(BusConfig, {**ENOUGH, name: ""})


@pytest.mark.parametrize(
    ("name", "value"),
    [("CHANCELA_HTTP_PORT", "eighty"), ("CHANCELA_LEASE_SECONDS", "long"), ("CHANCELA_SLOW_CONCURRENCY", "1.5")],
)
def test_a_value_of_the_wrong_form_is_named_and_not_shown(name: str, value: str) -> None:
    with pytest.raises(ConfigError, match=f"^{name}: ") as raised:
        load(BusConfig, {**ENOUGH, name: value})
    assert value not in str(raised.value)


def test_a_number_and_a_default_are_read() -> None:
    config = load(BusConfig, {**ENOUGH, "CHANCELA_HTTP_PORT": "81", "CHANCELA_METRICS_PORT": ""})
    assert (config.http_port, config.metrics_port) == (81, 9090)


def test_a_secret_comes_from_its_file_without_the_line_end(tmp_path: Path) -> None:
    file = tmp_path / "seed"
    file.write_text("SUSECRET\n")
    assert load(BusConfig, {**ENOUGH, "CHANCELA_NATS_SEED_FILE": str(file)}).nats_seed == "SUSECRET"


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["absent", "not text"])
def test_a_file_that_cannot_be_read_is_named_with_its_variable(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "seed"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(ConfigError, match=f"CHANCELA_NATS_SEED_FILE={file}"):
        load(BusConfig, {**ENOUGH, "CHANCELA_NATS_SEED_FILE": str(file)})


def test_an_empty_file_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "seed").write_text("\n")
    with pytest.raises(ConfigError, match="CHANCELA_NATS_SEED is not set"):
        load(BusConfig, {**ENOUGH, "CHANCELA_NATS_SEED_FILE": str(tmp_path / "seed")})
