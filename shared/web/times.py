"""Times in a reader's words, language and zone."""

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel.dates import format_date, format_time, format_timedelta

TIME_ZONE_COOKIE = "chancela-zone"


def zone_of(name: str) -> tzinfo:
    """The zone that a browser names; UTC for none, or for one that we do not know."""
    try:
        return ZoneInfo(name) if name else UTC
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC


class Clock:
    """A moment, a place and a language."""

    def __init__(self, now: datetime, zone: tzinfo, language: str) -> None:
        self.now = now
        self._zone = zone
        self._locale = language.replace("-", "_")

    def at(self, moment: datetime) -> str:
        """The time; with the day when it is another one."""
        local = moment.astimezone(self._zone)
        time = format_time(local, "HH:mm", locale=self._locale)
        if local.date() == self.now.astimezone(self._zone).date():
            return time
        return f"{format_date(local, 'd MMM', locale=self._locale)} {time}"

    def relative(self, moment: datetime) -> str:
        """From now: `in 12 min`, `3 h ago`."""
        return format_timedelta(
            moment - self.now,
            granularity="minute",
            threshold=1.2,
            add_direction=True,
            format="short",
            locale=self._locale,
        )

    def minutes_until(self, moment: datetime) -> float:
        return (moment - self.now).total_seconds() / 60
