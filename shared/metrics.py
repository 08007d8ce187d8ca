"""The bus's own metrics and the port that serves all of them. Services keep theirs in their `metrics.py`."""

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Gauge, Histogram, generate_latest

HEARD = Counter("chancela_bus_heard_total", "Messages heard, by what became of them.", ["topic", "result"])
PARKED = Gauge("chancela_bus_parked", "Lanes and jobs that stand still until a person repairs them.", ["what"])
GAPS = Gauge("chancela_bus_gaps", "Lanes whose next message has been missing for over 30 seconds.")
WAITING = Gauge("chancela_bus_waiting_lanes", "Lanes with messages that wait.")
OUTBOX_AGE = Gauge("chancela_bus_outbox_age_seconds", "Age of the oldest message that the stream has not acknowledged.")
JOBS = Counter("chancela_bus_jobs_total", "Timers and slow work, by what became of them.", ["kind", "result"])
HANDLING = Histogram("chancela_bus_batch_seconds", "A batch, from its pull to its commit.", ["stream"])
CONNECTED = Gauge("chancela_bus_connected", "1 while the connection to NATS stands.")


def render() -> tuple[str, bytes]:
    """Content type and body of a scrape."""
    return CONTENT_TYPE_LATEST, generate_latest(REGISTRY)
