"""W3C trace context (`traceparent`), carried through HTTP, the outbox and NATS headers.

https://www.w3.org/TR/trace-context/#traceparent-header
"""

import re
import secrets
from contextvars import ContextVar

_current: ContextVar[str] = ContextVar("traceparent", default="")
_FORM = re.compile(r"00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}")


def current() -> str:
    """The running work's traceparent, empty when there is none."""
    return _current.get()


def start(parent: str | None) -> str:
    """Continue the caller's trace with a span of our own; a missing or malformed parent starts a new trace."""
    if parent and _FORM.fullmatch(parent):
        _, trace_id, _, flags = parent.split("-")
    else:
        trace_id, flags = secrets.token_hex(16), "01"
    value = f"00-{trace_id}-{secrets.token_hex(8)}-{flags}"
    _current.set(value)
    return value
