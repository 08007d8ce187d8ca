"""Prometheus' rules: valid, about metrics that exist, each tested to fire and to stay silent, each with a runbook."""

import copy
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from contracts.topology import SERVICES
from deploy import cli
from deploy import metrics as page
from shared import metrics
from shared.config import BusConfig, load

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool is not installed (Debian package prometheus)")

RULES: dict[str, Any] = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in PROMETHEUS.glob("rules/*.yaml")
}
TESTS: dict[str, Any] = {
    path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in PROMETHEUS.glob("tests/*.yaml")
}
EVERY = [rule for file in RULES.values() for group in file["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in EVERY if "alert" in rule}
RECORDED = {rule["record"]: rule for rule in EVERY if "record" in rule}
OF_THE_SCRAPE = {"job", "instance", "le"}
NOT_OURS = {"up", "process_start_time_seconds"}
"""Prometheus' own, and the client library's."""
WORDS = {
    "absent", "and", "by", "changes", "histogram_quantile", "max", "min", "on", "or", "rate", "sum", "time", "unless",
}  # fmt: skip


def promtool(*arguments: str, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    assert PROMTOOL is not None
    return subprocess.run([PROMTOOL, *arguments], input=text, capture_output=True, check=False, timeout=60)


def words_of(expression: str) -> set[str]:
    """Names of metrics and recorded series in an expression."""
    bare = re.sub(r'"[^"]*"|\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)', " ", expression)
    return set(re.findall(r"[A-Za-z_:][\w:]*", bare)) - WORDS


def labels_of(expression: str) -> set[str]:
    grouped = (label for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in group.split(","))
    matched = re.findall(r"(\w+)\s*(?:=~|!~|!=|=)\s*\"", expression)
    return {label.strip() for label in (*grouped, *matched)}


def exported() -> dict[str, set[str]]:
    """Every series that a service may export → its labels."""
    found: dict[str, set[str]] = {}
    for module in page.modules().values():
        for one in page.defined(module):
            ends = ("_bucket", "_sum", "_count") if one.kind == "histogram" else ("",)
            found |= {one.name + end: set(one.labels) for end in ends}
    return found


# --------------------------------------------------------------------------------------------------------- as written


@pytest.mark.parametrize("rule", EVERY, ids=lambda rule: rule.get("alert") or rule["record"])
def test_a_rule_is_about_metrics_and_labels_that_exist(rule: dict[str, Any]) -> None:
    series = exported()
    names = words_of(rule["expr"])
    assert names
    assert names - series.keys() - RECORDED.keys() - NOT_OURS == set()
    known = set(OF_THE_SCRAPE).union(*(series.get(name, set()) for name in names))
    for name in names & RECORDED.keys():
        known |= labels_of(RECORDED[name]["expr"]).union(
            *(series.get(one, set()) for one in words_of(RECORDED[name]["expr"]))
        )
    assert labels_of(rule["expr"]) <= known


def test_a_recorded_name_says_what_it_is_summed_up_by() -> None:
    for name, rule in RECORDED.items():
        groups = {tuple(one.replace(" ", "").split(",")) for one in re.findall(r"\bby \(([^)]*)\)", rule["expr"])}
        level = name.split(":")[0].split("_")
        assert all(set(level) <= {*group} for group in groups), name


@pytest.mark.parametrize("alert", ALERTS.values(), ids=ALERTS.keys())
def test_an_alert_says_how_bad_it_is_and_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"critical", "warning"}
    assert alert["annotations"]["summary"].endswith(".")
    runbook = DEPLOY / "runbooks" / alert["annotations"]["runbook_url"]
    assert alert["alert"] in runbook.read_text(encoding="utf-8")


def test_metrics_that_runbooks_name_exist() -> None:
    series = exported()
    bare = {re.sub(r"_(bucket|sum|count)$", "", name) for name in series}
    for path in (DEPLOY / "runbooks").glob("*.md"):
        named = set(re.findall(r"(?<![\w:])(chancela_\w+)", path.read_text(encoding="utf-8")))
        recorded = set(re.findall(r"\w+:chancela_\w+:\w+", path.read_text(encoding="utf-8")))
        assert named - bare - series.keys() == set(), path.name
        assert recorded - RECORDED.keys() == set(), path.name


def test_commands_that_runbooks_name_exist() -> None:
    known = commands()
    for path in (DEPLOY / "runbooks").glob("*.md"):
        named = re.findall(r"`chancela ([a-z]+(?: [a-z]+)?)", path.read_text(encoding="utf-8"))
        assert [one for one in named if one not in known and one.split()[0] not in known] == [], path.name


def commands() -> set[str]:
    """Of `chancela`: `migrate`, `lanes list`, …; a group alone is none."""
    found: set[str] = set()
    for group, program in [("", cli.app), *((one.name or "", one.typer_instance) for one in cli.app.registered_groups)]:
        for one in program.registered_commands if program else ():
            name = one.name or (one.callback.__name__ if one.callback else "")
            found.add(f"{group} {name}".strip())
    return found


@pytest.mark.parametrize("alert", ALERTS)
def test_an_alert_is_tested_to_fire_and_to_stay_silent(alert: str) -> None:
    cases = [case for file in TESTS.values() for test in file["tests"] for case in test.get("alert_rule_test", [])]
    expected = [bool(case.get("exp_alerts")) for case in cases if case["alertname"] == alert]
    assert set(expected) == {True, False}


def test_every_service_is_scraped_under_its_name_and_missed_when_it_is_gone() -> None:
    config = yaml.safe_load((PROMETHEUS / "prometheus.yaml").read_text(encoding="utf-8"))
    port = load(
        BusConfig, {f"CHANCELA_{name}": "x" for name in ("DATABASE_URL", "NATS_URL", "NATS_SEED", "DIGEST_KEY")}
    )
    targets = {job["job_name"]: job["static_configs"][0]["targets"] for job in config["scrape_configs"]}
    assert targets == {service: [f"{service}:{port.metrics_port}"] for service in SERVICES}
    expression = ALERTS["ChancelaProcessAbsent"]["expr"]
    assert set(re.findall(r'absent\(up\{job="(\w+)"\}\)', expression)) == set(SERVICES)
    lists = re.findall(r'job=~"([^"]+)"', expression + ALERTS["ChancelaProcessRestarting"]["expr"])
    assert [set(one.split("|")) for one in lists] == [set(SERVICES)] * 2


def test_the_page_of_metrics_is_what_the_code_says() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.page()
    assert page.main(["--check"]) == 0


def test_a_page_that_is_stale_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = tmp_path / "metrics.md"
    stale.write_text("old", encoding="utf-8")
    monkeypatch.setattr(page, "PAGE", stale)
    assert page.main(["--check"]) == 1
    assert page.main([]) == 0
    assert page.main(["--check"]) == 0


# --------------------------------------------------------------------------------------------------- as promtool reads


@needs_promtool
def test_promtool_accepts_the_configuration_and_its_rules() -> None:
    checked = promtool("check", "config", str(PROMETHEUS / "prometheus.yaml"))
    assert checked.returncode == 0, checked.stderr.decode()
    for name in RULES:
        checked = promtool("check", "rules", "--lint-fatal", str(PROMETHEUS / "rules" / name))
        assert checked.returncode == 0, checked.stdout.decode() + checked.stderr.decode()


@needs_promtool
def test_promtool_accepts_what_a_scrape_finds() -> None:
    metrics.expect(["ingest.messages"], ["MessageReceived"], ["some timer"])
    page.modules()  # the services' too
    checked = promtool("check", "metrics", text=metrics.render()[1])
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, b"", b"")


@needs_promtool
@pytest.mark.parametrize("name", TESTS)
def test_alerts_fire_when_they_should_and_only_then(name: str) -> None:
    tested = promtool("test", "rules", str(PROMETHEUS / "tests" / name))
    assert tested.returncode == 0, tested.stdout.decode() + tested.stderr.decode()


def never(rule: dict[str, Any]) -> None:
    rule["expr"] = f"({rule['expr']}) and vector(0) > 1"


def always(rule: dict[str, Any]) -> None:
    rule["expr"] = "vector(1)"


def at_once(rule: dict[str, Any]) -> None:
    del rule["for"]


def mutations_of(rule: dict[str, Any]) -> list[Callable[[dict[str, Any]], None]]:
    return [never, always, at_once] if "for" in rule else [never, always]


MUTANTS = [(alert, mutate) for alert, rule in ALERTS.items() for mutate in mutations_of(rule)]


@needs_promtool
@pytest.mark.parametrize(("alert", "mutate"), MUTANTS, ids=lambda one: one if isinstance(one, str) else one.__name__)
def test_a_broken_alert_is_caught(alert: str, mutate: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    for name, file in copy.deepcopy(RULES).items():
        for group in file["groups"]:
            for rule in group["rules"]:
                if rule.get("alert") == alert:
                    mutate(rule)
        (tmp_path / "rules" / name).write_text(json.dumps(file), encoding="utf-8")  # which is YAML too
    tested = promtool("test", "rules", *(str(path) for path in cases_of(alert, tmp_path / "tests")))
    assert tested.returncode == 1
    assert f"alertname: {alert}" in (tested.stdout + tested.stderr).decode()


def cases_of(alert: str, folder: Path) -> Iterator[Path]:
    """Files with the tests of this alert alone."""
    folder.mkdir()
    for name, file in TESTS.items():
        cases = [
            {**test, "alert_rule_test": [case for case in test["alert_rule_test"] if case["alertname"] == alert]}
            for test in file["tests"]
            if any(case["alertname"] == alert for case in test.get("alert_rule_test", []))
        ]
        if cases:
            path = folder / name
            path.write_text(json.dumps({**file, "tests": cases}), encoding="utf-8")
            yield path
