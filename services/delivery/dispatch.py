"""Begin now, wait, or stop? Asked by the head of a number's queue. Pure.

Laws
- Everything is verified again from nothing before this is asked; a refusal wins over every reason to wait, so that
  nothing waits that may not leave any more.
- Only a clearance that ran out leaves the claim open to a fresh one (`lapsed`); every other stop burns the decision.
- While sending is held nothing begins, and no clearance is renewed: it would run out again.
"""

from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

import msgspec

from services.delivery.facts import Number
from services.delivery.kit import SIGNING_MARGIN_SECONDS
from services.delivery.verification import Refusal, Verified

CALL_WITHIN: Final = timedelta(seconds=30)
WATCH_AFTER: Final = timedelta(seconds=60)
LONGEST_WAIT_SECONDS: Final = 5.0
BACKOFF_SECONDS: Final = (2.0, 5.0, 10.0, 20.0, 40.0)

RENEWED: Final = "clearance_expired"
HELD_SECONDS: Final = 2.0

BEGIN: Final = "begin"
RESERVE: Final = "reserve"
CALL: Final = "call"
OVERDUE: Final = "overdue"
RECONCILE: Final = "reconcile"
EARLY: Final = "early"


class ForDecision(msgspec.Struct, frozen=True):
    """Payload of delivery's jobs. `token` fences a call and its watchdog; `tries` counts lookups."""

    decision_id: UUID
    token: UUID | None = None
    tries: int = 0


class Stop(msgspec.Struct, frozen=True):
    state: Literal["cancelled", "lapsed"]
    refusal: Refusal


class Wait(msgspec.Struct, frozen=True):
    seconds: float
    why: str


class Go(msgspec.Struct, frozen=True):
    call_before: datetime


def decide(verdict: Verified | Refusal, number: Number, *, signs_until: datetime, now: datetime) -> Go | Wait | Stop:
    if isinstance(verdict, Refusal) and not (number.is_held and verdict.code == RENEWED):
        return Stop("lapsed" if verdict.code == RENEWED else "cancelled", verdict)
    return _wait(number, signs_until, now) or Go(now + CALL_WITHIN)


def _wait(number: Number, signs_until: datetime, now: datetime) -> Wait | None:
    if now + timedelta(seconds=SIGNING_MARGIN_SECONDS) >= signs_until:
        return Wait(10.0, "the receipt key's signing time is over; rotate CHANCELA_SEAL_KEY")
    if number.is_held:
        return Wait(HELD_SECONDS, "sending is held, the database was restored: chancela recover delivery")
    if not number.is_ready:
        return Wait(2.0, "the channel's session is not ready")
    if number.not_before is not None and now < number.not_before:
        return Wait(rest_step(number.not_before - now), "the channel asked to wait")
    if number.is_lane_blocked:
        return Wait(0.5, "something of this conversation is still unheard")
    return Wait(0.1, "another send of this number is under way") if number.is_busy else None


def rest_step(rest: timedelta) -> float:
    """Seconds until the queue's head is asked again: soon, so that what may not leave any more is told in time."""
    return min(rest.total_seconds(), LONGEST_WAIT_SECONDS)


def wait_after(attempts: int, asked: timedelta | None) -> timedelta:
    """How long a number rests after an answer that proves non-acceptance."""
    own = timedelta(seconds=BACKOFF_SECONDS[min(max(attempts, 1), len(BACKOFF_SECONDS)) - 1])
    return own if asked is None else max(own, asked)
