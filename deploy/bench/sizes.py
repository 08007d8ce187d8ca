"""How much is measured: `quick` ends within four minutes on two shared cores, `full` is what results are kept of."""

from typing import NamedTuple

LANES = 1000


class Load(NamedTuple):
    """Messages of one run, and how many of them are only warm-up."""

    messages: int
    warm: int


class Sizes(NamedTuple):
    rounds: int
    rounds_within_seconds: float
    """No further round begins after this long."""
    rounds_end_seconds: float
    """What is not measured by then is told as a failure; so for the next two. All counted from the start."""
    growth_ends_seconds: float
    pipeline_ends_seconds: float
    batched: Load
    """For what does thousands in a second."""
    single: Load
    """For what works on one message at a time."""
    queues: Load
    """For the queues in a database."""
    latencies: int
    """Messages in a block of the latency bench; a block a round."""
    pipeline_rounds: int
    pipeline_latencies: int
    """Messages through the whole pipeline, one at a time, a round."""
    pipeline_messages: int
    """Messages through the whole pipeline, all at once, a round."""
    pipeline_seconds: float
    """What has not arrived after this long does not count."""
    stored: int
    """Messages that the growth bench stores."""
    growth_seconds: float
    """How long one of its runs may take; on a slow machine it stores less."""


QUICK = Sizes(
    rounds=3,
    rounds_within_seconds=75,
    rounds_end_seconds=110,
    growth_ends_seconds=150,
    pipeline_ends_seconds=215,
    batched=Load(12_000, 3_000),
    single=Load(600, 100),
    queues=Load(250, 50),
    latencies=25,
    pipeline_rounds=1,
    pipeline_latencies=15,
    pipeline_messages=120,
    pipeline_seconds=20,
    stored=100_000,
    growth_seconds=6,
)
FULL = Sizes(
    rounds=7,
    rounds_within_seconds=1_800,
    rounds_end_seconds=2_700,
    growth_ends_seconds=9_000,
    pipeline_ends_seconds=10_800,
    batched=Load(60_000, 10_000),
    single=Load(4_000, 500),
    queues=Load(2_000, 200),
    latencies=100,
    pipeline_rounds=5,
    pipeline_latencies=60,
    pipeline_messages=1_000,
    pipeline_seconds=120,
    stored=1_000_000,
    growth_seconds=60,
)
