"""The metrics of every process: names, labels, and that something sets them."""

import re
from pathlib import Path

import pytest

from deploy.metrics import Described, defined, modules
from shared import metrics
from tests.shared.world import told

ROOT = Path(__file__).resolve().parents[2]
EVERY = [one for module in modules().values() for one in defined(module)]
LABELS = {
    # of the bus
    "topic", "message", "kind", "result", "reason", "what", "source", "table", "until",
    # of the services: closed sets all of them; `channel` is the kind of channel, `hash` that of the chain in force
    "action", "category", "cause", "channel", "code", "direction", "disposition", "gate", "hash", "mode", "operation",
    "outcome", "phase", "purpose", "signal", "state", "tool", "verb", "version",
}  # fmt: skip
BASE_UNITS = ("_seconds", "_bytes", "_ratio", "_total", "_info")
COUNTED = re.compile(
    r"_(messages|rows|lanes|gaps|parked|jobs_due|jobs_running|watchers|uncertain|connected|open|held|missing|mode|state)$"
)
"""Gauges and histograms without a unit: numbers of something, or states."""


# --------------------------------------------------------------------------------------------------- names and labels


@pytest.mark.parametrize("metric", EVERY, ids=lambda one: one.name)
def test_a_metric_has_a_base_unit_a_help_text_and_bounded_labels(metric: Described) -> None:
    assert metric.name.startswith("chancela_")
    assert metric.help.endswith(".")
    assert (metric.kind == "counter") == metric.name.endswith("_total")
    assert metric.name.endswith(BASE_UNITS) or COUNTED.search(metric.name)
    assert set(metric.labels) <= LABELS


def test_no_name_is_told_by_two() -> None:
    assert len({one.name for one in EVERY}) == len(EVERY)


def test_every_metric_of_the_bus_is_set_somewhere() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "shared").rglob("*.py"))
    names = [name for name, one in vars(metrics).items() if isinstance(one, (metrics.Counter, metrics.Gauge))]
    names += [name for name, one in vars(metrics).items() if isinstance(one, metrics.Histogram)]
    assert len(names) == len(list(defined(metrics)))
    assert [name for name in names if f"metrics.{name}." not in code] == []


def test_series_stand_at_zero_before_the_first_message() -> None:
    metrics.expect(["somebody.said"], ["SomethingSaid"], ["somewhen"])
    assert told("chancela_bus_heard_total", topic="somebody.said", result="stored") == 0
    assert told("chancela_bus_redelivered_total", topic="somebody.said") == 0
    assert told("chancela_bus_handler_seconds_count", message="SomethingSaid") == 0
    assert told("chancela_bus_jobs_total", kind="somewhen", result="parked") == 0
    assert told("chancela_bus_breaker_open", kind="SomethingSaid") == 0
    assert told("chancela_bus_breaker_open", kind="somewhen") == 0
