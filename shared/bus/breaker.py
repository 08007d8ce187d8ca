"""A limit on parking: a broken release must not park lane after lane until all of them stand still.

Laws
- So many of one kind parked within the window, and not one that ran: the breaker opens, by kind of message or of job.
- While it is open, hearing and draining stand still (of jobs: that kind), but for one probe each interval.
- The first of the kind that runs closes it; so does a person (`chancela lanes resume`, a row of `repair`).

The counts are this process's own: a pod of the broken release stops, one of the old release goes on.
"""

import asyncio
from collections import deque
from dataclasses import dataclass

from shared import log, metrics
from shared.clock import monotonic
from shared.db import TRANSIENT, Database

_log = log.get(__name__)

LOOK_SECONDS = 1.0
_RESUMED = """
select extract(epoch from clock_timestamp() - at)::float8 from repair where what = 'resume' order by at desc limit 1
"""


@dataclass(slots=True)
class Stop:
    """One kind that stands still; times are `monotonic`."""

    since: float
    next_probe: float


class Breaker:
    """Counts what is parked and what ran, by kind; says whether to go on."""

    def __init__(
        self, db: Database, *, limit: int = 20, window_seconds: float = 300.0, probe_seconds: float = 30.0
    ) -> None:
        self._db = db
        self._limit = limit
        self._window_seconds = window_seconds
        self._probe_seconds = probe_seconds
        self._parked: dict[str, deque[float]] = {}
        self._open: dict[str, Stop] = {}
        self._next_probe = 0.0

    @property
    def is_open(self) -> bool:
        return bool(self._open)

    def why_not_ready(self) -> str:
        """Empty while closed."""
        if not self._open:
            return ""
        kinds = ", ".join(sorted(self._open))
        return f"stopped: too many parked in a row of {kinds}; see `chancela lanes list`, then `chancela lanes resume`"

    def parked(self, kind: str) -> None:
        """One of this kind was parked."""
        now = monotonic()
        times = self._parked.setdefault(kind, deque(maxlen=self._limit))
        times.append(now)
        if kind not in self._open and len(times) == self._limit and now - times[0] <= self._window_seconds:
            self._next_probe = now + self._probe_seconds
            self._open[kind] = Stop(now, self._next_probe)
            metrics.BREAKER.labels(kind).set(1)
            _log.error("stopped: too many parked in a row", kind=kind, parked=self._limit)

    def ran(self, kind: str) -> None:
        """One of this kind ran to its end."""
        if self._parked and self._parked.pop(kind, None) is not None and kind in self._open:
            self._close(kind, "a probe ran")

    async def gate(self) -> None:
        """Returns at once while closed; while open to one caller each interval, whose work is the probe."""
        while self._open:
            await self.look()
            now = monotonic()
            if now >= self._next_probe:
                self._next_probe = now + self._probe_seconds
                return
            await asyncio.sleep(min(LOOK_SECONDS, self._next_probe - now))

    def may_run(self, kind: str) -> bool | None:
        """For work that is chosen by kind: True while closed, False while open, None when one may go as a probe."""
        if kind not in self._open:
            return True
        return None if monotonic() >= self._open[kind].next_probe else False

    def probed(self, kind: str) -> None:
        """One was taken as a probe; the next may go an interval later."""
        self._open[kind].next_probe = monotonic() + self._probe_seconds

    async def look(self) -> None:
        """While open: has a person asked to go on?"""
        if not self._open:
            return
        asked_at = monotonic()  # before, so that a slow answer never makes an old wish look new
        try:
            async with self._db.autocommit() as tx:
                resumed_ago: float | None = await tx.value(_RESUMED)
        except TRANSIENT:
            return
        if resumed_ago is None:
            return
        resumed_at = asked_at - resumed_ago
        for kind in [kind for kind, stop in self._open.items() if stop.since < resumed_at]:
            self._parked.pop(kind, None)
            self._close(kind, "a person asked for it")

    def _close(self, kind: str, why: str) -> None:
        del self._open[kind]
        metrics.BREAKER.labels(kind).set(0)
        _log.warning("going on", kind=kind, why=why)
