"""Ratios and verdicts from medians: arithmetic that must not flatter."""

import pytest

from deploy.bench.targets import TARGETS, Target, ratios

MEDIANS = {
    "fetch": {"per_second": 20_000.0},
    "hop": {"per_second": 10_000.0, "wal_bytes": 1020.0},
    "without_lanes": {"per_second": 12_500.0},
    "naive": {"per_second": 400.0},
    "faststream": {"per_second": 1_000.0},
    "latency": {"hop_ms": 4.0, "commit_and_publish_ms": 2.0},
    "pipeline": {"approve_ms": 6.0, "webhook_ms": 11.0, "commit_and_publish_ms": 2.0, "per_second": 2500.0},
}


def test_every_ratio_is_what_the_table_says() -> None:
    assert ratios(MEDIANS) == {
        "hop_vs_fetch": 0.5,
        "hop_vs_without_lanes": 0.8,
        "hop_vs_naive": 25.0,
        "hop_vs_faststream": 10.0,
        "hop_latency": 2.0,
        "approve_to_channel": 3.0,
        "webhook_to_channel": 5.5,
        "pipeline_per_second": 2500.0,
        "wal_per_payload": 3.0,
    }


def test_what_was_not_measured_is_no_number() -> None:
    without = {name: values for name, values in MEDIANS.items() if name not in {"faststream", "pipeline"}}
    missing = {name for name, value in ratios(without).items() if value is None}
    assert missing == {"hop_vs_faststream", "approve_to_channel", "webhook_to_channel", "pipeline_per_second"}


@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_a_target_is_met_at_its_bound_and_missed_past_it(target: Target) -> None:
    worse = 0.99 if target.is_at == "least" else 1.01
    assert target.is_met(target.must)
    assert not target.is_met(target.must * worse)


def test_the_named_ratios_are_exactly_those_of_the_contract() -> None:
    named = {target.name for target in TARGETS if not target.is_extra}
    assert named == {
        "hop_vs_fetch",
        "hop_vs_naive",
        "hop_vs_faststream",
        "hop_latency",
        "approve_to_channel",
        "webhook_to_channel",
        "pipeline_per_second",
        "wal_per_payload",
    }
