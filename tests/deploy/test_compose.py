"""deploy/compose.yaml and its example files, as they are written; a Docker engine is needed only to run them."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from contracts.topology import SERVICES
from deploy.handout import hand_out
from shared.config import load

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
PARTS: dict[str, dict[str, Any]] = COMPOSE["services"]
JOBS = {"roles", "bus", *(f"migrate-{service}" for service in SERVICES)}
SECRETS = "/run/secrets/chancela"
CHANNEL_READERS = ("ingest", "guardrails", "delivery")


def settings_of(service: str, secrets: Path) -> Any:
    """What the service would read in its container; raises ConfigError where it would not start."""
    told = {
        name: re.sub(r"\$\{\w+:-(.*?)\}", r"\1", value)
        .replace(SECRETS, str(secrets / "for" / service))
        .replace("/etc/chancela", str(DEPLOY / "compose" / service))
        for name, value in PARTS[service]["environment"].items()
    }
    return load(importlib.import_module(f"services.{service}.config").Config, told)


@pytest.fixture(scope="module")
def secrets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    hand_out(folder, host="postgres:5432", database="chancela")
    return folder


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_finds_every_setting_that_it_requires(service: str, secrets: Path) -> None:
    assert f"{service}_bus:" in settings_of(service, secrets).database_url


@pytest.mark.parametrize("part", PARTS)
def test_every_container_is_without_capabilities_new_privileges_and_a_writable_root(part: str) -> None:
    assert PARTS[part]["cap_drop"] == ["ALL"]
    assert PARTS[part]["security_opt"] == ["no-new-privileges:true"]
    assert PARTS[part]["read_only"] is True
    assert not PARTS[part].get("privileged")
    assert part == "postgres" or "cap_add" not in PARTS[part]


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_waits_for_its_schema_and_the_bus_and_is_probed(service: str) -> None:
    done = {"condition": "service_completed_successfully"}
    assert PARTS[service]["depends_on"] == {f"migrate-{service}": done, "bus": done}
    assert PARTS[service]["healthcheck"]["test"] == ["CMD", "chancela", "probe"]
    assert PARTS[service]["restart"] == "unless-stopped"


def test_every_job_is_awaited_so_that_its_end_is_no_failure_of_up_wait() -> None:
    awaited = {
        name
        for part in PARTS.values()
        for name, how in part.get("depends_on", {}).items()
        if how["condition"] == "service_completed_successfully"
    }
    assert awaited == JOBS
    assert PARTS.keys() == JOBS | set(SERVICES) | {"postgres", "nats", "model"}


@pytest.mark.parametrize("part", sorted({*SERVICES, *JOBS, "postgres"} - {"roles"}))
def test_a_container_mounts_one_folder_of_secrets_and_it_is_its_own(part: str, secrets: Path) -> None:
    mounts = [volume.split(":") for volume in PARTS[part]["volumes"]]
    party = {"bus": "bus-admin"}.get(part, part.removeprefix("migrate-"))
    own = f"./secrets/for/{party}-owner" if part.startswith("migrate-") else f"./secrets/for/{party}"
    assert [mount for mount in mounts if "secrets" in mount[0]] == [[own, SECRETS, "ro"]]
    held = {file.name for file in (secrets / own.removeprefix("./secrets/")).iterdir()}
    told = PARTS[part]["environment"].values()
    assert {value.removeprefix(f"{SECRETS}/") for value in told if value.startswith(SECRETS)} <= held


def test_only_delivery_is_on_the_network_of_the_channels_and_ports_are_published_on_loopback() -> None:
    assert [part for part in PARTS if "channels" in PARTS[part]["networks"]] == ["delivery"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    published = [port for part in PARTS.values() for port in part.get("ports", [])]
    assert len(published) == 3
    assert all(port.startswith("127.0.0.1:") for port in published)


def test_no_image_is_left_to_the_newest_and_no_secret_stands_in_the_file() -> None:
    for name, part in PARTS.items():
        image = re.sub(r"\$\{\w+:-(.*?)\}", r"\1", part["image"])
        assert re.fullmatch(r"[a-z]+:(?!latest)[\w.-]+", image), name
    named = re.findall(
        r"(?i)^\s*\w*(?:password|seed|key|url)\w*: (.+)$", (DEPLOY / "compose.yaml").read_text(), re.MULTILINE
    )
    assert all(value.startswith((SECRETS, "nats://nats:", "${")) for value in named), named


def test_the_example_channel_is_the_same_for_those_who_must_know_it(secrets: Path) -> None:
    files = {name: json.loads((DEPLOY / "compose" / name / "channels.json").read_text()) for name in CHANNEL_READERS}
    assert len({(one["channel_id"], one["tenant"], one["kind"]) for (one,) in files.values()}) == 1
    held = {party: {file.name for file in (secrets / "for" / party).iterdir()} for party in ("ingest", "delivery")}
    assert Path(files["ingest"][0]["hmac_key_file"]).name in held["ingest"]
    assert Path(files["delivery"][0]["api_key_file"]).name in held["delivery"]


def test_the_example_files_are_what_their_readers_accept() -> None:
    """Each by the reader's own type; key files exist only in a container."""
    for service, reader, kind in (
        ("ingest/channels.json", "services.ingest.config", "Channel"),
        ("delivery/channels.json", "services.delivery.config", "Channel"),
        ("guardrails/channels.json", "services.guardrails.store", "ChannelSetting"),
        ("guardrails/rules.json", "services.guardrails.rules", "TenantRules"),
        ("approval/people.json", "shared.web.people_file", "Entry"),
        ("guardrails/people.json", "shared.web.people_file", "Entry"),
    ):
        accepted: Any = getattr(importlib.import_module(reader), kind)
        for one in msgspec.json.decode((DEPLOY / "compose" / service).read_bytes(), type=list[Any]):
            msgspec.convert(one, accepted)
