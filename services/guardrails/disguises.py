"""Words pulled apart or stretched to hide them: `w.e.b.h.o.o.k`, `web hook`, `weeebhoook`, whatever stands between.

Laws
- A word is its letters, each once or more, with anything that is no letter or digit between them. All words are one
  pattern, so that a text is read once however many words there are.
- A word that is written as it is, is none of these finds.
- Letters drawn one by one hide a word wherever they stand; a word in two or three pieces only where the pieces are not
  ordinary neighbours, which the caller decides.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from typing import Final

from shared.patterns import Patterns

_LETTERS: Final = 4
"""Of a word that can be told from chance when its letters stand apart."""
_PIECES: Final = 6
"""As `_LETTERS`, when it is broken in pieces or its letters are repeated."""
_BETWEEN_PIECES: Final = 6


class Way(StrEnum):
    LETTERS = "letters"
    PIECES = "pieces"
    STRETCHED = "stretched"


@dataclass(frozen=True, slots=True)
class Hidden:
    word: str
    way: Way
    start: int
    end: int


class Disguises:
    def __init__(self, words: Iterable[str]) -> None:
        long = [word for word in sorted(words, key=len, reverse=True) if len(_letters(word)) >= _LETTERS]
        self._words = {_once(_letters(word)): word for word in long}
        self._pattern = Patterns({"word": "|".join(map(_pattern, long)) or r"[^\s\S]"})

    def found_in(self, text: str) -> Iterator[Hidden]:
        for hit in self._pattern.hits(text):
            written = text[hit.start : hit.end]
            word = self._words[_once(_letters(written))]
            if _has_edges(text, hit.start, hit.end) and (way := _way(word, written)):
                yield Hidden(word, way, hit.start, hit.end)


def _letters(written: str) -> str:
    return "".join(each for each in written if each.isalnum())


def _once(letters: str) -> str:
    """Each letter that repeats the one before it is left out."""
    return "".join(each for each, _ in groupby(letters))


def _pattern(word: str) -> str:
    return r"[^a-z0-9]*".join(f"{each}+" for each in _letters(word))


def _has_edges(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def _way(word: str, written: str) -> Way | None:
    if written == word:
        return None
    pieces = "".join(each if each.isalnum() else " " for each in written).split()
    if all(len(set(each)) == 1 for each in pieces):
        return Way.LETTERS
    if len(_letters(word)) < _PIECES:
        return None
    is_repeated = len(pieces) == len(word.split()) and "".join(pieces) != "".join(word.split())
    return Way.STRETCHED if is_repeated or len(pieces) == 1 else _in_pieces(pieces, written)


def _in_pieces(pieces: list[str], written: str) -> Way | None:
    between = len(written) - sum(map(len, pieces))
    return Way.PIECES if between <= _BETWEEN_PIECES * (len(pieces) - 1) else None
