"""What the operating role did, wanted and could not. Labels are closed sets: no id and no text among them."""

from collections.abc import Iterable

from prometheus_client import Counter

from services.operator.decision import MODEL_UNAVAILABLE, Decision
from services.operator.promises import Judged
from shared import metrics

UNKNOWN = "unknown"
_OUTCOMES = ("changed", "unchanged", "refused")
_JUDGED = ("owned", "ownerless", "void")
_TURNS = ("acted", "nothing", "skipped", "could_not_act")
_REASONS = (
    "preview", "person_has_lead", "role_off", "nothing_to_declare", "no_operations", MODEL_UNAVAILABLE, "breaker",
    "round_limit", "refused",
)  # fmt: skip

_ACTIONS = Counter(
    "chancela_operator_actions_total", "Calls of operations, by what became of them.", ["operation", "outcome"]
)
_BLOCKED = Counter(
    "chancela_operator_blocked_total", "Turns that were not or not fully operated, by cause.", ["reason"]
)
_TURN = Counter("chancela_operator_turns_total", "Turns decided; each turn is decided once.", ["outcome"])
_PROMISES = Counter("chancela_operator_promises_total", "Promises, by what became of them.", ["state"])


def start(operations: Iterable[str]) -> None:
    """Every label value exists from the start, so that a rate of zero is seen as zero."""
    for name in (*operations, UNKNOWN):
        metrics.TOOL_BREAKER.labels(name)
        for outcome in _OUTCOMES:
            _ACTIONS.labels(name, outcome)
    for reason in _REASONS:
        _BLOCKED.labels(reason)
    for outcome in _TURNS:
        _TURN.labels(outcome)
    for state in _JUDGED:
        _PROMISES.labels(state)


def count(decision: Decision, known: Iterable[str]) -> None:
    names = frozenset(known)
    _TURN.labels(decision.outcome).inc()
    for call in decision.calls:
        _ACTIONS.labels(call.operation if call.operation in names else UNKNOWN, call.outcome).inc()
    if decision.reason:
        _BLOCKED.labels(decision.reason).inc()
    elif decision.outcome == "could_not_act":
        _BLOCKED.labels("refused").inc()


def count_promises(changes: Iterable[Judged]) -> None:
    for one in changes:
        if one.state in _JUDGED:
            _PROMISES.labels(one.state).inc()
