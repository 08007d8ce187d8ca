"""Folding: what a text says to a reader, whatever its code points pretend.

Laws
- `fold` is linear in the length of the text and never fails.
- `len(folded.text) == len(folded.offsets)` and offsets never decrease: a match maps back to one span of the raw text.
- Folding is for matching only. The body that people approve is never changed by it.
- Order per code point: HTML entity → tag character → invisible or mark → space → look-alike → NFKD → casefold.
"""

import html
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

_LONGEST_ENTITY: Final = 33
_TAG_OFFSET: Final = 0xE0000
_LINE_BREAKS: Final = "\n\r\v\f\x85\u2028\u2029"
# Letters of category Lo or So that render as nothing.
_BLANKS: Final = frozenset("\u115f\u1160\u3164\uffa0\u2800\u17b4\u17b5")
_DROPPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Mn", "Me"})

# UTS #39 confusables of Latin letters, kept to the scripts that keyboards and generators really offer.
_LOOK_ALIKES: Final = {
    "a": "аАɑαΑⱥᴀꭺ", "b": "ЬВвΒʙᏏƄ", "c": "сСϲϹᴄⅽꮯ", "d": "ԁđĐᴅⅾᏧ", "e": "еЕєΕεҽᴇ℮ꬲ", "f": "ғꞙẝꜰϝ",
    "g": "ɡցԍɢᏀ", "h": "һНнΗʜհᏂ", "i": "іІїΙιıɪӏӀⅰᎥǀ", "j": "јЈϳᴊյ", "k": "кКΚκᴋ", "l": "łŁʟⅼ",
    "m": "мМΜᴍⅿ", "n": "ΝɴոռηпП", "o": "оОοΟσøØօᴏ", "p": "рРρΡᴘ", "q": "ԛգ", "r": "гʀꭇᴦ", "s": "ѕЅꜱՏ",
    "t": "тТΤτᴛ", "u": "υսᴜцʋ", "v": "νѵᴠⅴ", "w": "ԝωᴡѡ", "x": "хХΧχⅹ", "y": "уУүҮΥγʏ", "z": "ΖᴢʐᏃ",
    "'": "’‘‛ʼ´′", '"': "“”„‟″«»", "-": "‐‑‒–—―−﹣", ".": "․。", "/": "⁄∕", ":": "։ː", "_": "‿ˍ",
}  # fmt: skip
# No repetition: linear in plain `re`.
_BREAK: Final = re.compile(r"\n|[.!?;](?=[ \n]|$)")
_LATIN: Final = {alike: latin for latin, alikes in _LOOK_ALIKES.items() for alike in alikes}
# Letters drawn inside circles, squares and flags have no decomposition to the letter: (first, how many).
_ENCLOSED: Final = ((0x1F130, 26), (0x1F150, 26), (0x1F170, 26), (0x1F1E6, 26))


@dataclass(frozen=True, slots=True)
class Folded:
    """`text` is what to match on; `offsets[i]` is where its i-th character came from in the raw text."""

    text: str
    offsets: Sequence[int]
    raw_length: int

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The raw span behind `text[start:end]`, trailing marks and invisibles included."""
        if start >= end:
            at = self.offsets[start] if start < len(self.offsets) else self.raw_length
            return at, at
        last = self.offsets[end - 1]
        while end < len(self.offsets) and self.offsets[end] == last:
            end += 1
        following = self.offsets[end] if end < len(self.offsets) else self.raw_length
        return self.offsets[start], following


@lru_cache(maxsize=64)
def fold(text: str) -> Folded:
    if _folds_letter_by_letter(text):
        return Folded("".join(map(fold_character, text)), range(len(text)), len(text))
    pieces: list[str] = []
    offsets: list[int] = []
    for at, character in _characters(text):
        piece = fold_character(character)
        pieces.append(piece)
        offsets.extend([at] * len(piece))
    return Folded("".join(pieces), offsets, len(text))


def _folds_letter_by_letter(text: str) -> bool:
    return "&" not in text and all(len(fold_character(each)) == 1 for each in set(text))


def _characters(text: str) -> Iterator[tuple[int, str]]:
    """Each code point with its raw offset; an HTML entity counts as the characters that it stands for."""
    at = 0
    while at < len(text):
        entity, length = _entity(text, at) if text[at] == "&" else (text[at], 1)
        for character in entity:
            yield at, character
        at += length


def _entity(text: str, at: int) -> tuple[str, int]:
    end = text.find(";", at, at + _LONGEST_ENTITY)
    if end < 0:
        return "&", 1
    source = text[at : end + 1]
    meaning = html.unescape(source)
    return (meaning, len(source)) if meaning != source else ("&", 1)


@lru_cache(maxsize=8192)
def fold_character(character: str) -> str:
    """One code point as the letters that a reader sees, or nothing."""
    code = ord(character)
    if 0xE0020 <= code <= 0xE007E:
        character = chr(code - _TAG_OFFSET)
    if character in _LINE_BREAKS:
        return "\n"
    if character == "\t" or unicodedata.category(character) == "Zs":
        return " "
    if character in _BLANKS or unicodedata.category(character) in _DROPPED_CATEGORIES:
        return ""
    seen = _LATIN.get(character) or _enclosed_letter(code)
    return seen.casefold() if seen else _decomposed(character)


def _enclosed_letter(code: int) -> str | None:
    return next((chr(code - first + ord("a")) for first, count in _ENCLOSED if first <= code < first + count), None)


def _decomposed(character: str) -> str:
    letters = unicodedata.normalize("NFKD", character).casefold()
    return "".join(_LATIN.get(each, each) for each in letters if unicodedata.category(each) not in _DROPPED_CATEGORIES)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Spans of the sentences of a folded text: a break is a line end, or `.!?;` before a space or the end."""
    yield from pairwise(_breaks(text))


def sentence_at(text: str, at: int, reach: int) -> tuple[int, int]:
    """The span of the sentence that holds position `at`, cut to `reach` characters on either side of it."""
    breaks = _breaks(text)
    after = min(bisect_right(breaks, at), len(breaks) - 1)
    start = breaks[max(after - 1, 0)]
    return max(start, at - reach), min(breaks[after], at + reach)


@lru_cache(maxsize=16)
def _breaks(text: str) -> tuple[int, ...]:
    inner = {match.end() for match in _BREAK.finditer(text)}
    return tuple(sorted({0, len(text)} | inner))
