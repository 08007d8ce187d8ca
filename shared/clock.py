"""The only place that reads this machine's clock, for logs and waits. Decisions use the database's clock."""

import time
from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)


def monotonic() -> float:
    """Seconds on a clock that never goes back."""
    return time.monotonic()
