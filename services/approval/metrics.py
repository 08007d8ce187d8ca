"""What people do here, in numbers."""

from prometheus_client import Counter, Gauge

from services.approval.lifecycle import VERBS

DECISIONS = Counter(
    "chancela_approval_decisions_total", "Decisions asked for, by verb and what became of them.", ["verb", "result"]
)
WATCHERS = Gauge("chancela_approval_watchers", "Open pages that are told of changes.")

for _verb in VERBS:
    for _result in ("done", "refused"):
        DECISIONS.labels(_verb, _result)
