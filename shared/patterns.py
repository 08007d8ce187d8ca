"""Linear-time pattern sets (RE2). No text, however hostile, makes a search slower than its length.

A set is compiled on first use. One pass over the text tells which of the patterns match anywhere; only those are then
searched for one by one, so that overlapping finds of different patterns are all reported.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, cast

import re2

_MEMORY_BYTES: Final = 1 << 26


@dataclass(frozen=True, slots=True)
class Hit:
    name: str
    start: int
    end: int


class Sweep:
    """One pass over a text for the rules of several `Patterns`, which look at the same texts one after the other.

    The answer for the last text is kept. Many rules in one sweep are fast on
    texts like those seen before and slow on new ones (the states of an automaton multiply): few, and plain ones.
    """

    def __init__(self) -> None:
        self._rules: list[str] = []
        self._last: tuple[bytes | None, Sequence[int]] = (None, ())

    def add(self, rules: Iterable[str]) -> int:
        """The place of the first of these rules."""
        first = len(self._rules)
        self._rules += rules
        self.__dict__.pop("_match", None)  # compiled without these: a rule that comes late must not be missed
        self._last = (None, ())
        return first

    def present(self, encoded: bytes) -> Sequence[int]:
        """Places of the rules that match anywhere in a text, in their order."""
        last, found = self._last
        if last != encoded:
            found = sorted(self._match(encoded) or ())
            self._last = (encoded, found)
        return found

    @cached_property
    def _match(self) -> Callable[[bytes], list[int] | None]:
        patterns = cast("Any", re2).Set.SearchSet(_options())
        for rule in self._rules:
            patterns.Add(rule)
        patterns.Compile()
        return patterns.Match


class Patterns:
    """Named RE2 patterns, matched on folded text. `rules` may use `{name}` for a shared fragment of `fragments`."""

    def __init__(
        self, rules: Mapping[str, str], fragments: Mapping[str, str] | None = None, sweep: Sweep | None = None
    ) -> None:
        self.rules = {name: _filled(rule, fragments or {}) for name, rule in rules.items()}
        self._sweep = sweep or Sweep()
        first = self._sweep.add(self.rules.values())
        self._places = range(first, first + len(self.rules))

    @cached_property
    def _each(self) -> list["_Pattern"]:
        return [_Pattern(name, rule) for name, rule in self.rules.items()]

    def found_in(self, text: str) -> bool:
        found = self._sweep.present(text.encode())
        return bool(found) and any(place in self._places for place in found)

    def present_in(self, text: str) -> list[str]:
        """Names of the rules that match anywhere in the text, in their order."""
        return [pattern.name for pattern, _ in self._to_search(text)]

    def hits(self, text: str) -> Iterator[Hit]:
        for pattern, encoded in self._to_search(text):
            for match in pattern.found(text, encoded):
                start, end = match.span()
                yield Hit(pattern.name, start, end)

    def matches(self, text: str) -> Iterator[tuple[Hit, Mapping[str, str | None]]]:
        """As `hits`, with the named groups of each match."""
        for pattern, encoded in self._to_search(text):
            for match in pattern.found(text, encoded):
                start, end = match.span()
                yield Hit(pattern.name, start, end), pattern.groups(text, match)

    def _to_search(self, text: str) -> Sequence[tuple["_Pattern", bytes]]:
        """Only what is there is searched for."""
        encoded = text.encode()
        found = self._sweep.present(encoded)
        if not found:
            return ()
        return [(self._each[place - self._places.start], encoded) for place in found if place in self._places]


class _Pattern:
    """One rule, compiled when a text first matches it."""

    def __init__(self, name: str, rule: str) -> None:
        self.name = name
        self._rule = rule

    @cached_property
    def regex(self) -> Any:
        return _compiled(self._rule)

    @cached_property
    def _group_numbers(self) -> dict[str, int]:
        return self.regex.groupindex

    def found(self, text: str, encoded: bytes) -> Iterator[Any]:
        """Matches in code points; where a text has one byte for each, the bytes spare the counting."""
        return self.regex.finditer(encoded if len(encoded) == len(text) else text)

    def groups(self, text: str, match: Any) -> dict[str, str | None]:
        spans = {name: cast("tuple[int, int]", match.span(number)) for name, number in self._group_numbers.items()}
        return {name: text[start:end] if start >= 0 else None for name, (start, end) in spans.items()}


def _filled(rule: str, fragments: Mapping[str, str]) -> str:
    for name, fragment in fragments.items():
        rule = rule.replace("{" + name + "}", fragment)
    return rule


def _compiled(pattern: str) -> Any:
    return cast("Any", re2).compile(pattern, _options())


def _options() -> Any:
    options: Any = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    return options
