"""Gate 3. On a channel that restricts numbers, a young number warms up and nobody is approached at night.

It defers and never drops: the text leaves at the next allowed time. The short throttle between two sends is delivery's.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from services.guardrails.examples import NOON, a_draft, some_facts
from services.guardrails.facts import (
    ChannelRules,
    Draft,
    DraftKind,
    Facts,
    HoursWindow,
    SenderNumber,
    Unknown,
    known,
)
from services.guardrails.gate import NOT_APPLICABLE, Example, Gate, OnMissing, Verdict, defer, passed

WARM_UP: Final = ((4, 20), (8, 50), (15, 100), (31, 200))  # younger than so many days: so many sends a day


def judge(draft: Draft, facts: Facts) -> Verdict:
    channel = known(facts.channel)
    if not channel.has_ban_risk:
        return NOT_APPLICABLE
    window = channel.outreach_window if draft.kind is DraftKind.FOLLOW_UP else channel.reply_window
    if window is not None and not is_open(window, _local(facts, channel).time()):
        return defer("outside_window", next_opening(window, _local(facts, channel)), "now", "channel")
    number = known(facts.sender_number)
    code, cap = daily_cap(number, channel)
    if number.sent_today >= cap:
        return defer(code, _tomorrow(window, _local(facts, channel)), "now", "channel", "sender_number")
    return passed("now", "channel", "sender_number")


def _local(facts: Facts, channel: ChannelRules) -> datetime:
    return facts.now.astimezone(ZoneInfo(channel.time_zone))


def is_open(window: HoursWindow, at: time) -> bool:
    if window.opens == window.closes:
        return True
    if window.opens < window.closes:
        return window.opens <= at < window.closes
    return at >= window.opens or at < window.closes


def next_opening(window: HoursWindow, local: datetime) -> datetime:
    """The next instant, in UTC, at which the window opens; `local` is outside of it."""
    today = datetime.combine(local.date(), window.opens, tzinfo=local.tzinfo)
    opening = today if today > local else datetime.combine(local.date() + timedelta(1), window.opens, local.tzinfo)
    return opening.astimezone(UTC)


def daily_cap(number: SenderNumber, channel: ChannelRules) -> tuple[str, int]:
    warm_up = next((cap for days, cap in WARM_UP if number.age_days < days), channel.daily_cap)
    return ("warmup_cap", warm_up) if warm_up < channel.daily_cap else ("daily_cap", channel.daily_cap)


def _tomorrow(window: HoursWindow | None, local: datetime) -> datetime:
    midnight = datetime.combine(local.date() + timedelta(1), time(0), local.tzinfo)
    if window is None or is_open(window, midnight.time()):
        return midnight.astimezone(UTC)
    return next_opening(window, midnight)


_NIGHT: Final = NOON + timedelta(hours=10)
_BAN_RISK: Final = ChannelRules(kind="waha", has_ban_risk=True)

PACING: Final = Gate(
    name="pacing",
    judge=judge,
    on_missing=OnMissing.OPEN,
    judges_text=False,
    clear=(
        Example("outreach at noon", a_draft(kind=DraftKind.FOLLOW_UP), some_facts()),
        Example("a reply at night", a_draft(), some_facts(now=_NIGHT)),
        Example(
            "a channel without ban risk, at night",
            a_draft(kind=DraftKind.FOLLOW_UP),
            some_facts(now=_NIGHT, channel=ChannelRules(kind="email")),
        ),
        Example(
            "one below the warm-up cap", a_draft(), some_facts(sender_number=SenderNumber(age_days=0, sent_today=19))
        ),
        Example("the number's age is unknown", a_draft(), some_facts(sender_number=Unknown("timeout"))),
    ),
    stop=(
        Example("outreach at night", a_draft(kind=DraftKind.FOLLOW_UP), some_facts(now=_NIGHT), "outside_window"),
        Example(
            "a reply outside its own window",
            a_draft(),
            some_facts(
                now=_NIGHT,
                channel=ChannelRules(kind="waha", has_ban_risk=True, reply_window=HoursWindow(time(7), time(21))),
            ),
            "outside_window",
        ),
        Example(
            "a new number at its cap",
            a_draft(),
            some_facts(sender_number=SenderNumber(age_days=3, sent_today=20)),
            "warmup_cap",
        ),
        Example(
            "thirty days old at its cap",
            a_draft(),
            some_facts(sender_number=SenderNumber(age_days=30, sent_today=200)),
            "warmup_cap",
        ),
        Example(
            "an old number at the channel's limit",
            a_draft(),
            some_facts(sender_number=SenderNumber(age_days=31, sent_today=_BAN_RISK.daily_cap)),
            "daily_cap",
        ),
    ),
)
