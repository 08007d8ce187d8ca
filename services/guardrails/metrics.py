"""What observability teams scrape: which gate vetoed what, how often, how fast, and where a gate could not know."""

from prometheus_client import Counter, Gauge, Histogram

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
LEAKS = Counter("chancela_leaks_total", "Internal words caught before they left.", ["category"])
DISPUTES = Counter("chancela_veto_disputes_total", "Vetoes that a person called wrong.", ["gate"])
DISPATCHES = Counter("chancela_dispatches_total", "Approved texts at the last gate.", ["result"])

for _gate in CHAIN:
    MODE.labels(_gate.name, "enforce").set(1)
    DISPUTES.labels(_gate.name)
    for _phase in Phase:
        SECONDS.labels(_gate.name, _phase.value)
        for _outcome in Outcome:
            EVALUATIONS.labels(_gate.name, _phase.value, _outcome.value)
CHAIN_INFO.labels(str(CHAIN_VERSION), chain_hash()).set(1)
for _result in ("cleared", "deferred", "refused"):
    DISPATCHES.labels(_result)
