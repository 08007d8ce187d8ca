"""The bus's own metrics and the port that serves all of them. Services keep theirs in their `metrics.py`.

Laws
- Base units; labels are closed sets: topics, streams, types of messages, kinds of jobs. Never a tenant, a contact, a
  conversation, a lane or a phone.
- Gauges that are read from Postgres or from a consumer are set by `shared/bus/watch.py` and `continuity.py` alone: each
  pod of a service tells the same, so that rules take the maximum. Counters and histograms are the process's own: rules
  add them up.
- `deploy/metrics.md` is generated from here; `deploy/prometheus` holds the rules.
"""

from collections.abc import Iterable

from prometheus_client import CONTENT_TYPE_LATEST, REGISTRY, Counter, Gauge, Histogram, generate_latest

FAST = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Seconds of what should take milliseconds."""
LONG = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600)
"""Seconds of what may wait for somebody."""
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)

# ------------------------------------------------------------------------------------------------------------- hearing

HEARD = Counter("chancela_bus_heard_total", "Messages heard, by what became of them.", ["topic", "result"])
REDELIVERED = Counter("chancela_bus_redelivered_total", "Messages that the stream delivered once more.", ["topic"])
QUARANTINED = Counter("chancela_bus_quarantined_total", "Messages put aside, by what is wrong with them.", ["reason"])
BATCH_MESSAGES = Histogram("chancela_bus_batch_messages", "Messages of a batch.", ["topic"], buckets=SIZES)
HANDLING = Histogram("chancela_bus_batch_seconds", "A batch, from its pull to its commit.", ["topic"], buckets=FAST)
HANDLER = Histogram(
    "chancela_bus_handler_seconds",
    "Quick handlers: load, decide and write for the messages of one type in a batch.",
    ["message"],
    buckets=FAST,
)
HEARD_AGE = Histogram(
    "chancela_bus_heard_age_seconds",
    "Age of a batch's oldest message when its transaction had committed.",
    ["topic"],
    buckets=LONG,
)
SILENT_PULLS = Counter(
    "chancela_bus_silent_pulls_total", "Pulls given up because not even a heartbeat came.", ["topic"]
)
PENDING = Gauge("chancela_bus_pending_messages", "Messages of the topic not delivered to us yet.", ["topic"])
UNACKNOWLEDGED = Gauge(
    "chancela_bus_unacknowledged_messages", "Messages delivered to us and not acknowledged.", ["topic"]
)
UNHEARD_AGE = Gauge(
    "chancela_bus_unheard_age_seconds",
    "Age of the oldest message that this service has not acknowledged, as far as this process has seen the stream.",
    ["topic"],
)
CONSUMER_MISSING = Gauge(
    "chancela_bus_consumer_missing", "1 while the topic's stream knows no consumer of this service.", ["topic"]
)

# ------------------------------------------------------------------------------------------------------- what must wait

PARKED = Gauge("chancela_bus_parked", "Lanes and jobs that stand still until a person repairs them.", ["what"])
PARKED_AGE = Gauge("chancela_bus_parked_age_seconds", "How long the one parked first stands still.", ["what"])
GAPS = Gauge("chancela_bus_gaps", "Lanes whose next message has been missing for over 30 seconds.")
WAITING = Gauge("chancela_bus_waiting_lanes", "Lanes with messages that wait.")
WAITING_MESSAGES = Gauge("chancela_bus_waiting_messages", "Stored messages that wait for their turn.")
WAITING_AGE = Gauge(
    "chancela_bus_waiting_age_seconds", "How long the lane waits that waits longest without being parked."
)
QUARANTINE = Gauge("chancela_bus_quarantine_messages", "Messages in quarantine.")
QUARANTINE_NEWEST = Gauge(
    "chancela_bus_quarantine_newest_timestamp_seconds", "When the latest message was put aside; 0 when there is none."
)
BREAKER = Gauge(
    "chancela_bus_breaker_open", "1 while work stands still, as too many of this kind in a row were parked.", ["kind"]
)

TOOL_BREAKER = Gauge(
    "chancela_tool_breaker_state", "A model's tools: 0 closed, 1 warned, 2 open, as the latest turn left it.", ["tool"]
)

HELD = Gauge(
    "chancela_bus_held",
    "1 after the database was restored to an older state: while the service stands still until it is recovered, and"
    " while it sends nothing until a person has lifted the hold.",
    ["until"],
)

# ------------------------------------------------------------------------------------------------------------- saying

OUTBOX_AGE = Gauge("chancela_bus_outbox_age_seconds", "Age of the oldest message that the stream has not acknowledged.")
OUTBOX_ROWS = Gauge("chancela_bus_outbox_rows", "Messages that the stream has not acknowledged.")
OUTBOX_AGAIN = Gauge("chancela_bus_outbox_again_rows", "Messages that wait to be published once more.")
PUBLISHED = Counter("chancela_bus_published_total", "Messages sent to a stream, by its answer.", ["result"])
PUBLISH = Histogram(
    "chancela_bus_publish_seconds", "Rows written to NATS in one go, until the stream's last answer.", buckets=FAST
)
COMMIT = Histogram("chancela_database_commit_seconds", "COMMIT of a transaction, until its answer.", buckets=FAST)

# --------------------------------------------------------------------------------------------------------------- jobs

JOBS = Counter("chancela_bus_jobs_total", "Timers and slow work, by what became of them.", ["kind", "result"])
JOB_SECONDS = Histogram(
    "chancela_bus_job_seconds", "A timer or slow work, from the lease to its end.", ["kind"], buckets=LONG
)
JOBS_RUNNING = Gauge("chancela_bus_jobs_running", "Jobs that this process is working on.")
JOBS_DUE = Gauge("chancela_bus_jobs_due", "Jobs that are due and not begun.")
JOBS_OVERDUE = Gauge("chancela_bus_jobs_overdue_seconds", "How long the job is overdue that could have run longest.")

# --------------------------------------------------------------------------------------------------------- the process

CONNECTED = Gauge("chancela_bus_connected", "1 while the connection to NATS stands.")
FORGOTTEN = Counter(
    "chancela_forgotten_rows_total", "Rows that went because their time was over (shared/retention.py).", ["table"]
)
RECONNECTS = Counter("chancela_bus_reconnects_total", "Connections to NATS that were lost and stand again.")
LOST_TICKS = Counter("chancela_process_lost_ticks_total", "Quarter seconds in which the event loop did not come round.")
WATCHED = Gauge(
    "chancela_bus_watched_timestamp_seconds", "When the gauges were last read, from Postgres and from NATS.", ["source"]
)

RESULTS = ("run", "stored", "duplicate", "drained")
REASONS = ("subject", "headers", "body", "conflict")
ANSWERS = ("acknowledged", "refused", "unanswered")
JOB_RESULTS = ("done", "put_off", "parked", "failed", "fenced")


def expect(topics: Iterable[str], messages: Iterable[str], kinds: Iterable[str]) -> None:
    """Let every series of a service stand at zero from the start: a first increase must be seen as one.

    Args:
        topics: roots of the topics heard, `ingest.messages`.
        messages: names of the types heard.
        kinds: kinds of jobs.
    """
    for topic in topics:
        for result in RESULTS:
            HEARD.labels(topic, result)
        for metric in (REDELIVERED, BATCH_MESSAGES, HANDLING, HEARD_AGE, SILENT_PULLS):
            metric.labels(topic)
    for message in messages:
        HANDLER.labels(message)
        BREAKER.labels(message)
    for kind in kinds:
        JOB_SECONDS.labels(kind)
        BREAKER.labels(kind)
        for result in JOB_RESULTS:
            JOBS.labels(kind, result)
    for reason in REASONS:
        QUARANTINED.labels(reason)
    for answer in ANSWERS:
        PUBLISHED.labels(answer)


def render() -> tuple[str, bytes]:
    """Content type and body of a scrape."""
    return CONTENT_TYPE_LATEST, generate_latest(REGISTRY)
