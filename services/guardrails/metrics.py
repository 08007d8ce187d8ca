"""What observability teams scrape: which gate vetoed what, how often, how fast, and where a gate could not know."""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from services.guardrails import shadow
from services.guardrails.chain import CHAIN, CHAIN_VERSION, chain_hash
from services.guardrails.gate import Outcome, Phase

EVALUATIONS = Counter("chancela_gate_evaluations_total", "Verdicts of each gate.", ["gate", "phase", "outcome"])
VETOES = Counter("chancela_gate_vetoes_total", "First vetoes of a run.", ["gate", "code", "phase", "channel"])
SECONDS = Histogram(
    "chancela_gate_duration_seconds",
    "CPU time of one gate.",
    ["gate", "phase"],
    buckets=(0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005, 0.05),
)
MODE = Gauge("chancela_gate_mode", "1 for the mode that a gate runs in.", ["gate", "mode"])
CHAIN_INFO = Gauge("chancela_chain_info", "The chain in force.", ["version", "hash"])
FAILURES = Counter(
    "chancela_gate_failures_total", "Facts that were missing or gates that crashed.", ["gate", "cause", "disposition"]
)
DISAGREEMENTS = Counter(
    "chancela_shadow_disagreements_total",
    "Verdicts of candidate rules that differ from the chain's: stricter than it, or looser than the gate they replace.",
    ["gate", "direction"],
)
LEAKS = Counter("chancela_leaks_total", "Internal words caught before they left.", ["category"])
DISPATCHES = Counter("chancela_dispatches_total", "Approved texts at the last gate.", ["result"])

_CANDIDATES = shadow.found()
_GATES: Final = (*CHAIN, *(_one.gate for _one in _CANDIDATES))


@cache
def seconds_of(gate: str, phase: Phase) -> Callable[[float], None]:
    """Bound once: finding a child by its labels costs more than counting."""
    return SECONDS.labels(gate, phase.value).observe


@cache
def evaluated(gate: str, phase: Phase, outcome: Outcome) -> Callable[[], None]:
    """As above."""
    return EVALUATIONS.labels(gate, phase.value, outcome.value).inc


for _gate, _phase in product(_GATES, Phase):
    seconds_of(_gate.name, _phase)
    for _outcome in Outcome:
        evaluated(_gate.name, _phase, _outcome)
for _gate in _GATES:
    MODE.labels(_gate.name, "enforce").set(_gate in CHAIN)
    MODE.labels(_gate.name, "shadow").set(_gate not in CHAIN)
for _one in _CANDIDATES:
    for _direction in shadow.Direction:
        DISAGREEMENTS.labels(_one.gate.name, _direction.value)
CHAIN_INFO.labels(str(CHAIN_VERSION), chain_hash()).set(1)
for _result in ("cleared", "deferred", "refused"):
    DISPATCHES.labels(_result)
