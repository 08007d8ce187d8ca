"""Lenient, total readings of other people's JSON: every function takes anything and never raises.

Codecs read webhooks with these, so that one odd field costs that field and not the message.
"""

import json
import re
import unicodedata
from datetime import UTC, datetime
from typing import Any, Final, NoReturn, cast

from contracts.channel import TEXT_LIMIT_BYTES

Object = dict[str, object]

_UNSTORABLE: Final = re.compile("[\ud800-\udfff\x00]")
_INVISIBLE_LETTERS: Final = frozenset("\u034f\u115f\u1160\u2800\u3164\ufe0e\ufe0f\uffa0")
_INVISIBLE_CATEGORIES: Final = frozenset({"Cc", "Cf", "Zs", "Zl", "Zp"})
_TRUNCATED: Final = "… [truncated: {} bytes in full]"
_EPOCH_SECONDS: Final = range(946_684_800, 4_102_444_800)  # 2000 to 2100: what lies outside is not a clock


def decoded(raw: bytes) -> Object | None:
    """The JSON object in `raw`; None when it is not UTF-8, not strict JSON (no NaN), too deep, or not an object."""
    try:
        value: object = json.loads(raw.decode(), parse_constant=_refused)
    except (ValueError, RecursionError):
        return None
    return cast("Object", value) if isinstance(value, dict) else None


def _refused(literal: str) -> NoReturn:
    raise ValueError(literal)


def an_object(value: object) -> Object:
    """The object, or an empty one."""
    return cast("Object", value) if isinstance(value, dict) else {}


def a_list(value: object) -> list[Any]:
    """The list, or an empty one."""
    return cast("list[Any]", value) if isinstance(value, list) else []


def a_word(value: object, *, limit: int = 300) -> str:
    """A short string (an id, a name) in storable form; empty when it is not a string."""
    return storable(value[:limit]) if isinstance(value, str) else ""


def a_text(value: object) -> str:
    """A string people wrote: storable, and beyond 64 KiB cut at a character with a visible mark."""
    if not isinstance(value, str):
        return ""
    text = storable(value)
    if len(text) * 4 <= TEXT_LIMIT_BYTES or len(encoded := text.encode()) <= TEXT_LIMIT_BYTES:
        return text
    mark = _TRUNCATED.format(len(encoded))
    return encoded[: TEXT_LIMIT_BYTES - len(mark.encode())].decode(errors="ignore") + mark


def storable(text: str) -> str:
    """The same text; lone surrogates and NUL, which UTF-8 or Postgres refuse, become U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def is_blank(text: str) -> bool:
    """Whether nobody could see anything in it: spaces, controls, format characters, fillers."""
    return all(c in _INVISIBLE_LETTERS or unicodedata.category(c) in _INVISIBLE_CATEGORIES for c in text)


def an_integer(value: object) -> int | None:
    """An integer written as a number or as digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,18}", value) else None


def a_number(value: object) -> float | None:
    """A number written as a number or as text; None when it is neither or not finite."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if abs(number) < 1e300 else None


def an_instant(value: object) -> datetime | None:
    """A moment in UTC from seconds, milliseconds or finer (told apart by magnitude), text, {low, high}, or ISO 8601."""
    if isinstance(value, dict):
        return an_instant(_joined_halves(cast("Object", value)))
    if (number := a_number(value)) is None:
        return _iso_instant(value)
    while number >= _EPOCH_SECONDS.stop and number < 1e22:
        number /= 1000
    return datetime.fromtimestamp(number, UTC) if int(number) in _EPOCH_SECONDS else None


def _joined_halves(halves: Object) -> int | None:
    low, high = an_integer(halves.get("low")), an_integer(halves.get("high"))
    return None if low is None else ((high or 0) << 32) + (low & 0xFFFF_FFFF)


def _iso_instant(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        moment = datetime.fromisoformat(value)
        return moment.astimezone(UTC) if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None


def phone_aliases(phone: str) -> tuple[str, ...]:
    """The digits of `phone` first, then the other form of a Brazilian mobile (with or without the ninth digit).

    Both forms name one person; which one a chat uses is the network's choice: reply to the id that wrote.
    """
    digits = re.sub(r"[^0-9]", "", phone)
    if found := re.fullmatch(r"(55[1-9][1-9])9([0-9]{8})", digits):
        return digits, found[1] + found[2]
    if found := re.fullmatch(r"(55[1-9][1-9])([016-9][0-9]{7})", digits):  # 2 to 5 begin a landline: no ninth digit
        return digits, f"{found[1]}9{found[2]}"
    return (digits,)
