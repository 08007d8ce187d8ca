"""The ratios and what they must reach (`10-quality.md`, Performance)."""

from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

Medians = Mapping[str, Mapping[str, float]]


class Target(msgspec.Struct, frozen=True):
    """One ratio: how it is made of medians, and its bound."""

    name: str
    what: str
    is_at: Literal["least", "most"]
    must: float
    goal: float
    of: Callable[[Medians], float]
    is_extra: bool = False
    """Told beside the ratios that the issue names."""

    def is_met(self, value: float) -> bool:
        return value >= self.must if self.is_at == "least" else value <= self.must


def _rates(over: str) -> Callable[[Medians], float]:
    return lambda m: m["hop"]["per_second"] / m[over]["per_second"]


def _over_commit_and_publish(bench: str, value: str) -> Callable[[Medians], float]:
    return lambda m: m[bench][value] / m[bench]["commit_and_publish_ms"]


TARGETS = (
    Target("hop_vs_fetch", "our hop ÷ nats-py fetch(256) + ack", "least", 0.45, 0.65, _rates("fetch")),
    Target("hop_vs_without_lanes", "our hop ÷ the batched hop without lanes", "least", 0.75, 1.0,
           _rates("without_lanes"), is_extra=True),
    Target("hop_vs_naive", "our hop ÷ one transaction per message", "least", 20, 30, _rates("naive")),
    Target("hop_vs_faststream", "our hop ÷ FastStream's plain hop", "least", 6, 10, _rates("faststream")),
    Target("hop_latency", "our hop at 10/s, p50 ÷ (commit + publish)", "most", 2.5, 2.0,
           _over_commit_and_publish("latency", "hop_ms")),
    Target("approve_to_channel", "approve → request at the channel, p50 ÷ same", "most", 2.5, 2.0,
           _over_commit_and_publish("pipeline", "approve_ms")),
    Target("webhook_to_channel", "webhook → request at the channel, p50 ÷ same", "most", 6, 5,
           _over_commit_and_publish("pipeline", "webhook_ms")),
    Target("pipeline_per_second", "messages/s through the whole pipeline", "least", 2000, 4000,
           lambda m: m["pipeline"]["per_second"]),
    Target("wal_per_payload", "WAL bytes ÷ payload bytes of our hop", "most", 3.3, 2.5,
           lambda m: m["hop"]["wal_bytes"] / 340),
)  # fmt: skip


def ratios(medians: Medians) -> dict[str, float | None]:
    """Every ratio; None where a part of it was not measured."""
    found: dict[str, float | None] = {}
    for target in TARGETS:
        try:
            found[target.name] = target.of(medians)
        except KeyError:
            found[target.name] = None
    return found
