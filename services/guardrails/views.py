"""The ways in which one text can be read: as written, and as what spacing, separators, digits or encoding hide.

Views are built only where the text has the shape that they undo, so an ordinary message costs one folding.
"""

import base64
import binascii
import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import unquote

from services.guardrails.sweeps import FOLDED, WRITTEN
from shared.patterns import Patterns
from shared.text import Folded, fold

_LETTER_BY_LETTER: Final = r"(?:\b[a-z0-9@$][\s._*~|-]{1,3}){4,}[a-z0-9@$]\b"
_SPACED: Final = Patterns({"spaced": _LETTER_BY_LETTER})
_SHAPES: Final = Patterns(
    {
        "spaced": _LETTER_BY_LETTER,
        "separated": r"[a-z][._*~`|/\\-]+[a-z]",
        "leet": r"[a-z][0-9@$!]+[a-z]|\b[0-9@$][a-z]{2,}|[a-z]{3}[@$]+(?:[^\w@$]|$)",
    },
    sweep=FOLDED,
)
_PERCENT: Final = Patterns({"percent": r"%[0-9A-Fa-f]{2}"})
# a word of few letters is looked at only where it has the ending, or a capital or digit inside, that an encoding leaves
_BASE64: Final = Patterns(
    {"word": r"[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{6,}={1,2}|[A-Za-z0-9+/]*[a-z][A-Z0-9][A-Za-z0-9+/]{4,}"},
    sweep=WRITTEN,
)
# from a right-to-left override to its end; the classes exclude each other: linear in plain `re`
_TURNED: Final = re.compile("\u202e([^\u202c\u202e\n]+)")
# A separator that joins what stands on both sides of it. No repetition: linear in plain `re`.
_SEPARATOR: Final = re.compile(r"(?<=[^ \n])[._*~`|/\\-](?=[^ \n])")
_LETTERS: Final = str.maketrans("013457@$!", "oieastasi")


@dataclass(frozen=True, slots=True)
class View:
    """`text` is matched; `offsets` lead back into `folded` (or, for decoded text, to one span of the raw text)."""

    text: str
    folded: Folded
    offsets: Sequence[int]
    is_whole: bool  # sentences survive: phrases and structure can be judged
    is_plain: bool  # nothing was undone
    is_joined: bool = False  # letters were pulled together: words lost their edges
    source: tuple[int, int] | None = None

    def span(self, start: int, end: int) -> tuple[int, int]:
        if self.source is not None:
            return self.source
        return self.folded.span(self.offsets[start], self.offsets[end - 1] + 1)


def views(text: str) -> Iterator[View]:
    folded = fold(text)
    plain = View(folded.text, folded, range(len(folded.text)), is_whole=True, is_plain=True)
    yield plain
    shapes = _SHAPES.present_in(folded.text)
    if "spaced" in shapes:
        yield _without(plain, _spaced_positions(folded.text), is_joined=True)
    if "separated" in shapes:
        yield _without(plain, _separator_positions(folded.text), is_joined=False)
    if "leet" in shapes:
        letters = folded.text.translate(_LETTERS)
        yield View(letters, folded, plain.offsets, is_whole=False, is_plain=False)
    yield from _decoded(text)


def _without(view: View, dropped: Iterable[int], *, is_joined: bool) -> View:
    kept: list[int] = []
    pieces: list[str] = []
    start = 0
    for at in (*dropped, len(view.text)):
        kept.extend(range(start, at))
        pieces.append(view.text[start:at])
        start = at + 1
    return View("".join(pieces), view.folded, kept, is_whole=False, is_plain=False, is_joined=is_joined)


def _spaced_positions(text: str) -> Iterator[int]:
    for hit in _SPACED.hits(text):
        yield from (at for at in range(hit.start, hit.end) if not (text[at].isalnum() or text[at] in "@$"))


def _separator_positions(text: str) -> Iterator[int]:
    return (match.start() for match in _SEPARATOR.finditer(text))


def _decoded(text: str) -> Iterator[View]:
    """One level of percent or base64 encoding, entities that lack their end, and words turned round for display.

    A find in what was decoded is the whole encoded run.
    """
    if "&#" in text and (plain := html.unescape(text)) != text:
        yield _opaque(plain, 0, len(text))
    for run in _TURNED.finditer(text):
        yield _opaque(run[1][::-1], run.start(), run.end())
    if "%" in text and _PERCENT.found_in(text) and (plain := unquote(text)) != text:
        yield _opaque(plain, 0, len(text))
    for hit in _BASE64.hits(text):
        if plain := _from_base64(text[hit.start : hit.end]):
            yield _opaque(plain, hit.start, hit.end)


def _opaque(text: str, start: int, end: int) -> View:
    folded = fold(text)
    return View(folded.text, folded, range(len(folded.text)), is_whole=True, is_plain=False, source=(start, end))


def _from_base64(word: str) -> str:
    padded = word.rstrip("=") + "=" * (-len(word.rstrip("=")) % 4)
    try:
        plain = base64.b64decode(padded, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return plain if plain.isprintable() else ""
