"""delivery's metrics."""

from prometheus_client import Counter, Gauge, Histogram

SENDS = Counter("chancela_sends_total", "Decisions and attempts, by what became of them.", ["result"])
SEAL_CHECKS = Counter("chancela_seal_checks_total", "Commands verified, by result.", ["result"])
UNCERTAIN = Gauge("chancela_sends_uncertain", "Sends that nobody knows the fate of: a person or a proof settles them.")
ALARMS = Counter("chancela_delivery_alarms_total", "What must not happen and did.", ["what"])
WAITED = Histogram(
    "chancela_decision_to_request_seconds",
    "From a person's decision to the request that carries the text out.",
    buckets=(0.5, 1, 2, 5, 10, 30, 60, 120, 300, 900, 3600),
)

for _result in ("claimed", "duplicate", "refused", "begun", "accepted", "failed", "try_again", "uncertain"):
    SENDS.labels(_result)
for _result in ("ok", "refused"):
    SEAL_CHECKS.labels(_result)
for _what in ("clearance_from_future", "forged_copy", "failed_send_shows_life"):
    ALARMS.labels(_what)
