"""A text as people must see it: nothing hidden, and what changed. Pure.

Laws
- Put together, the segments of `seen` and `raw` stand for every code point of the text, in order.
- A character that a reader could not see is never shown as nothing: it becomes a mark that names it.
- A direction control is shown and has no effect, so that the order on the screen is the order of the bytes.
"""

import re
import unicodedata
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Final, Literal, NamedTuple

Kind = Literal["plain", "hidden", "break", "space", "add", "del"]
BYTES_PER_LINE: Final = 16
_BREAK: Final = "\n"
_TOKEN: Final = re.compile(r"\s+|\w+|[^\w\s]")
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that render as nothing.
_BLANKS: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_JOINERS: Final = frozenset("\u200d\ufe0f")
_EMOJI_CATEGORIES: Final = frozenset({"So", "Sk"})


class Segment(NamedTuple):
    """A piece of a text; `name` says what a mark stands for."""

    kind: Kind
    text: str
    name: str = ""


class HexLine(NamedTuple):
    """Up to sixteen bytes."""

    offset: str
    hex: str
    ascii: str


def seen(body: str) -> list[Segment]:
    """The text as the customer sees it; what is hidden in it is marked, the joints of an emoji are not."""
    return _merged([_segment(body, i, is_raw=False) for i in range(len(body))])


def raw(body: str) -> list[Segment]:
    """Every character that is not plainly visible, marked: breaks, tabs, wide spaces, joiners too."""
    return _merged([_segment(body, i, is_raw=True) for i in range(len(body))])


def hidden_count(body: str) -> int:
    return sum(_is_hidden(body, i) for i in range(len(body)))


def hexdump(body: str) -> list[HexLine]:
    data = body.encode("utf-8", "surrogatepass")
    lines = [data[at : at + BYTES_PER_LINE] for at in range(0, len(data), BYTES_PER_LINE)]
    return [HexLine(f"{at * BYTES_PER_LINE:04x}", line.hex(" "), _ascii(line)) for at, line in enumerate(lines)]


@lru_cache(maxsize=256)
def diff(before: str, after: str) -> tuple[Segment, ...]:
    """What was added and taken, word by word."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    found: list[Segment] = []
    for what, i, j, k, n in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if what == "equal":
            found.append(Segment("plain", "".join(new[k:n])))
            continue
        if j > i:
            found.append(Segment("del", "".join(old[i:j])))
        if n > k:
            found.append(Segment("add", "".join(new[k:n])))
    return tuple(found)


def excerpt(body: str, start: int, end: int) -> str:
    """The words that a gate points at."""
    return body[max(start, 0) : end]


def _segment(body: str, i: int, *, is_raw: bool) -> Segment:
    character = body[i]
    if character == _BREAK:
        return Segment("break", "\n", "U+000A") if is_raw else Segment("plain", "\n")
    if character == "\t" or (unicodedata.category(character) == "Zs" and character != " "):
        return Segment("space", character, _named(character)) if is_raw else Segment("plain", character)
    if _is_hidden(body, i) or (is_raw and character in _JOINERS):
        return Segment("hidden", f"U+{ord(character):04X}", _named(character))
    return Segment("plain", character)


def _is_hidden(body: str, i: int) -> bool:
    character = body[i]
    if character in "\n\t":
        return False
    if character in _JOINERS and _is_in_emoji(body, i):
        return False
    is_selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return is_selector or character in _BLANKS or unicodedata.category(character) in _HIDDEN_CATEGORIES


def _is_in_emoji(body: str, i: int) -> bool:
    """After a picture (or its skin tone), or a key cap's digit; what joins also needs something to join."""
    before = body[i - 1] if i else ""
    if body[i] == "\ufe0f":
        return bool(before) and (unicodedata.category(before) in _EMOJI_CATEGORIES or before in "0123456789#*↔⤴⤵‼⁉©®™")
    after = body[i + 1] if i + 1 < len(body) else ""
    follows = bool(before) and (before == "\ufe0f" or unicodedata.category(before) in _EMOJI_CATEGORIES)
    return follows and bool(after) and unicodedata.category(after) in _EMOJI_CATEGORIES


def _named(character: str) -> str:
    return f"U+{ord(character):04X} {unicodedata.name(character, '')}".strip()


def _merged(segments: list[Segment]) -> list[Segment]:
    """Neighbouring plain segments as one."""
    found: list[Segment] = []
    plain: list[str] = []
    for segment in [*segments, None]:
        if segment is not None and segment.kind == "plain":
            plain.append(segment.text)
            continue
        if plain:
            found.append(Segment("plain", "".join(plain)))
            plain = []
        if segment is not None:
            found.append(segment)
    return found


def _ascii(line: bytes) -> str:
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "·" for byte in line)
