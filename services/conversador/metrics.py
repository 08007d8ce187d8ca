"""conversador's metrics; every label set exists from the start."""

from collections.abc import Iterable
from typing import get_args

from prometheus_client import Counter, Histogram

from contracts.messages import Message, TurnClosed, TurnKind, TurnOutcome
from services.conversador.model import Call, CallOutcome, Purpose
from services.conversador.turn import Recovery

TURNS = Counter("chancela_turns_total", "Turns of the speaking role, by how they ended.", ["kind", "outcome"])
RECOVERIES = Counter(
    "chancela_veto_recoveries_total",
    "What became of the text after a veto, by the gate of that veto.",
    ["gate", "result"],
)
CALLS = Counter("chancela_model_calls_total", "Requests to a model, by outcome.", ["purpose", "outcome"])
TOKENS = Counter("chancela_model_tokens_total", "Tokens of requests to a model.", ["purpose", "direction"])
LATENCY = Histogram(
    "chancela_model_call_seconds",
    "A request to a model with its retries.",
    ["purpose"],
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60),
)

GATES = (
    "stop", "lgpd", "pacing", "service_window", "spinning", "promise", "semantic_promise", "case_promise",
    "internal_vocabulary", "disclosure", "filing",
)  # fmt: skip
OTHER_GATE = "other"

for _kind in get_args(TurnKind):
    for _outcome in get_args(TurnOutcome):
        TURNS.labels(_kind, _outcome)
for _gate in (*GATES, OTHER_GATE):
    for _result in ("recovered", "refused_again", "handed_off"):
        RECOVERIES.labels(_gate, _result)
for _purpose in get_args(Purpose):
    for _outcome in get_args(CallOutcome):
        CALLS.labels(_purpose, _outcome)
    for _direction in ("in", "out"):
        TOKENS.labels(_purpose, _direction)
    LATENCY.labels(_purpose)


def count_turns(says: Iterable[Message]) -> None:
    for message in says:
        if isinstance(message, TurnClosed):
            TURNS.labels(message.kind, message.outcome).inc()


def count_recovery(recovery: Recovery | None) -> None:
    if recovery is not None:
        gate = recovery.gate if recovery.gate in GATES else OTHER_GATE
        RECOVERIES.labels(gate, recovery.result).inc()


def count_calls(calls: Iterable[Call]) -> None:
    for call in calls:
        CALLS.labels(call.purpose, call.outcome).inc()
        TOKENS.labels(call.purpose, "in").inc(call.tokens_in)
        TOKENS.labels(call.purpose, "out").inc(call.tokens_out)
        LATENCY.labels(call.purpose).observe(call.latency_ms / 1000)
