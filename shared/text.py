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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise, repeat
from typing import Final

# No repetition without a bound: linear in plain `re`.
_ENTITY: Final = re.compile(r"&[^;]{0,31};")
_OTHER_THAN_LATIN_1: Final = re.compile("([^\x00-\xff]+)")
_OTHER_THAN_ASCII: Final = re.compile("[^\x00-\x7f]+")
_RUNS: Final = 64  # a text with more of them is folded character by character from there on
_KEPT: Final = 8192
_NEEDS_THE_LONG_WAY: Final = b"\0"  # folds to nothing itself, so no folded text has it
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


@dataclass(frozen=True)
class Folded:
    """`text` is what to match on; `offsets[i]` is where its i-th character came from in the raw text."""

    text: str
    raw: str
    is_letter_by_letter: bool = False
    """Known to be; otherwise it is looked for where offsets are asked for."""

    @cached_property
    def offsets(self) -> Sequence[int]:
        """Found when a match is led back: most texts have none."""
        if self.is_letter_by_letter or self._looks_letter_by_letter():
            return range(len(self.raw))
        offsets: list[int] = []
        for at, character in _characters(self.raw):
            offsets.extend(repeat(at, len(fold_character(character))))
        return offsets

    def _looks_letter_by_letter(self) -> bool:
        return "&" not in self.raw and all(len(fold_character(each)) == 1 for each in set(self.raw))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The raw span behind `text[start:end]`, trailing marks and invisibles included."""
        if start >= end:
            at = self.offsets[start] if start < len(self.offsets) else len(self.raw)
            return at, at
        last = self.offsets[end - 1]
        while end < len(self.offsets) and self.offsets[end] == last:
            end += 1
        following = self.offsets[end] if end < len(self.offsets) else len(self.raw)
        return self.offsets[start], following


@lru_cache(maxsize=64)
def fold(text: str) -> Folded:
    if "&" in text:
        return Folded(_fold_runs(_ENTITY.sub(_meaning, text)), text)
    folded = _fold_latin_1(text)
    if folded is None:
        return Folded(_fold_runs(text), text)
    return Folded(folded, text, is_letter_by_letter=len(folded) == len(text))


def _fold_runs(text: str) -> str:
    """Runs of Latin-1, most of every Western text, are folded many times faster than other characters."""
    pieces = _OTHER_THAN_LATIN_1.split(text, maxsplit=_RUNS)
    for at, piece in enumerate(pieces):
        folded = _fold_latin_1(piece)
        pieces[at] = piece.translate(_FOLDED) if folded is None else folded
    return "".join(pieces)


def _fold_latin_1(text: str) -> str | None:
    """Each character as one or none; None where one is not in Latin-1, or folds to more or to what is not."""
    try:
        encoded = text.encode("latin-1")
    except UnicodeEncodeError:
        return None
    letters, dropped = _latin_1_table()
    folded = encoded.translate(letters, dropped)
    return None if _NEEDS_THE_LONG_WAY in folded else folded.decode("latin-1")


@lru_cache(maxsize=1)
def _latin_1_table() -> tuple[bytes, bytes]:
    """What each byte folds to, and those that fold to nothing."""
    pieces = [fold_character(chr(code)) for code in range(256)]
    letters = (piece.encode("latin-1", "replace") if len(piece) == 1 and piece < "\u0100" else b"" for piece in pieces)
    table = b"".join(letter or _NEEDS_THE_LONG_WAY for letter in letters)
    return table, bytes(code for code, piece in enumerate(pieces) if not piece)


def _characters(text: str) -> Iterator[tuple[int, str]]:
    """Each code point with its raw offset; an HTML entity counts as the characters that it stands for."""
    at = 0
    while at < len(text):
        entity, length = _entity(text, at) if text[at] == "&" else (text[at], 1)
        for character in entity:
            yield at, character
        at += length


def _entity(text: str, at: int) -> tuple[str, int]:
    found = _ENTITY.match(text, at)
    if found is None or (meaning := _meaning(found)) == found[0]:
        return "&", 1
    return meaning, len(found[0])


def _meaning(entity: re.Match[str]) -> str:
    return _unescaped(entity[0])


_unescaped: Final = lru_cache(maxsize=1024)(html.unescape)


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


class ByCharacter(dict[int, str]):
    """What each character becomes, for `str.translate`: asked once, kept up to a size that no honest text reaches.

    What a character becomes must become itself.
    """

    def __init__(self, becomes: Callable[[str], str]) -> None:
        super().__init__()
        self._becomes = becomes

    def __missing__(self, code: int) -> str:
        piece = self._becomes(chr(code))
        if len(self) < _KEPT:
            self[code] = piece
        return piece


_FOLDED: Final = ByCharacter(fold_character)
_WORDS: Final = ByCharacter(lambda each: each if each.isalnum() else " ")


def words(text: str) -> list[str]:
    """Runs of letters and digits."""
    return by_character(text, _WORDS).split()


def by_character(text: str, table: ByCharacter) -> str:
    """`text.translate(table)`, which is slow on the whole of a text for one emoji in it."""
    if not text.isascii():
        text = _OTHER_THAN_ASCII.sub(lambda other: other[0].translate(table), text)
    return text.translate(table)


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
