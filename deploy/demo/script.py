"""The form of a scripted conversation, and what is printed of it.

A script is JSON: `messages`, each with what the customer writes, what people then decide, and what must have come of
it. `expect` maps a dotted path of the printed message to a value, or to `{"contains": …}` / `{"count": …}`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

Until = Literal["settled", "deferred", "filed", "quiet"]


class Decision(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename={"person": "as"}):
    """What a person does with the draft that the message led to, through the HTTP API."""

    person: str
    verb: Literal["approve", "reject", "send_back", "takeover", "return"]
    text: str | None = None
    """An edited text: becomes a new epoch and is approved in the same transaction."""
    instruction: str | None = None
    reason: str | None = None
    epoch: int | None = None
    """Decide on this epoch instead of the one shown (a stale decision)."""


class Says(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message of the customer; `payload` replaces the whole webhook body."""

    text: str = ""
    chat: str = "5511900001234@c.us"
    name: str = "Ana P."
    event: str = "message.any"
    payload: Mapping[str, Any] | None = None
    phone: Sequence[Mapping[str, Any]] = ()
    """Controls of the phone before the message: `{"path": "session", "body": {"status": "STOPPED"}}`."""
    decisions: Sequence[Decision] = ()
    until: Until = "settled"
    """`settled`: until an approved text met its fate; `deferred`: only until it waits; `quiet`: no draft is awaited."""
    after_seconds: float = 0.0
    expect: Mapping[str, Any] = {}


class Script(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A conversation to run on a fresh system."""

    name: str
    why: str = ""
    messages: Sequence[Says]
    environment: Mapping[str, Mapping[str, str]] = {}
    """Settings by service, without the prefix CHANCELA_."""
    reply_window_opens_in_seconds: int | None = None
    """Closed hours at first, open after so many seconds: shows a deferral that leaves later."""


def read(data: bytes) -> Script:
    """Raises msgspec.ValidationError naming the path that is wrong."""
    return msgspec.json.decode(data, type=Script)


def check(printed: Mapping[str, Any], expect: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Each expectation with what was found and whether it held."""
    return [
        {"path": path, "wanted": wanted, "found": found, "held": _holds(found, wanted)}
        for path, wanted in expect.items()
        for found in [_at(printed, path)]
    ]


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = _step(value, part)
    return value


def _step(value: Any, part: str) -> Any:
    try:
        return value.get(part) if hasattr(value, "get") else value[int(part)]
    except (IndexError, TypeError, ValueError):
        return None


def _holds(found: Any, wanted: Any) -> bool:
    match wanted:
        case {"contains": part}:
            return found is not None and part in found
        case {"lacks": part}:
            return found is not None and part not in found
        case {"count": number}:
            return found is not None and len(found) == number
        case _:
            return found == wanted
