"""Linear-time pattern sets (RE2). No text, however hostile, makes a search slower than its length.

A set is compiled on first use. One combined pass answers "nothing here" for the ordinary text; only a text with a hit
is searched pattern by pattern, so that overlapping finds of different patterns are all reported.
"""

from collections.abc import Iterator, Mapping
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


class Patterns:
    """Named RE2 patterns, matched on folded text. `rules` may use `{name}` for a shared fragment of `fragments`."""

    def __init__(self, rules: Mapping[str, str], fragments: Mapping[str, str] | None = None) -> None:
        self.rules = {name: _filled(rule, fragments or {}) for name, rule in rules.items()}

    @cached_property
    def _any(self) -> Any:
        return _compiled("|".join(f"(?:{rule})" for rule in self.rules.values()))

    @cached_property
    def _each(self) -> dict[str, Any]:
        return {name: _compiled(rule) for name, rule in self.rules.items()}

    def found_in(self, text: str) -> bool:
        return self._any.search(text) is not None

    def full_match(self, text: str) -> bool:
        return self._any.fullmatch(text) is not None

    def hits(self, text: str) -> Iterator[Hit]:
        if not self.found_in(text):
            return
        for name, pattern in self._each.items():
            for match in pattern.finditer(text):
                yield Hit(name, cast("int", match.start()), cast("int", match.end()))

    def matches(self, text: str) -> Iterator[tuple[Hit, Mapping[str, str | None]]]:
        """As `hits`, with the named groups of each match."""
        if not self.found_in(text):
            return
        for name, pattern in self._each.items():
            for match in pattern.finditer(text):
                yield Hit(name, match.start(), match.end()), match.groupdict()


def _filled(rule: str, fragments: Mapping[str, str]) -> str:
    for name, fragment in fragments.items():
        rule = rule.replace("{" + name + "}", fragment)
    return rule


def _compiled(pattern: str) -> Any:
    options: Any = re2.Options()
    options.max_mem = _MEMORY_BYTES
    options.log_errors = False
    return cast("Any", re2).compile(pattern, options)
