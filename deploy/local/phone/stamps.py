"""Ids as WhatsApp and WAHA write them, and the phone's instants."""

from shared.clock import utc_now
from shared.ids import new_id

CROCKFORD = "0123456789abcdefghjkmnpqrstvwxyz"
TIME_LETTERS, RANDOM_LETTERS = 10, 16


def now_ms() -> int:
    return int(utc_now().timestamp() * 1000)


def ulid(at_ms: int) -> str:
    """48 bits of milliseconds, 80 random ones, in lower-case Crockford base 32."""
    number = (at_ms << 80) | (new_id().int & (2**80 - 1))
    return "".join(CROCKFORD[(number >> 5 * place) & 31] for place in reversed(range(TIME_LETTERS + RANDOM_LETTERS)))


def stanza_of_phone() -> str:
    """As an iPhone writes it: 3A and 18 hex digits."""
    return f"3A{new_id().hex[:18].upper()}"


def stanza_of_web() -> str:
    """As the API writes it: 3EB0 and 18 hex digits."""
    return f"3EB0{new_id().hex[:18].upper()}"
