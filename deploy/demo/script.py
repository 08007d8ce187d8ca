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
    """`settled`: wait for the fate of an approved text; `deferred`: only until it waits; `quiet`: no draft is awaited."""
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
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, Sequence) and not isinstance(value, str) and part.lstrip("-").isdigit():
            index = int(part)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            return None
    return value


def _holds(found: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and "contains" in wanted:
        return found is not None and wanted["contains"] in found
    if isinstance(wanted, Mapping) and "lacks" in wanted:
        return found is not None and wanted["lacks"] not in found
    if isinstance(wanted, Mapping) and "count" in wanted:
        return found is not None and len(found) == wanted["count"]
    return found == wanted
