"""Which words of a message betray the machine, and the doors through which each came in.

A span came through a door when it stands there, whatever its case, accents or separators. A longer span that stands
nowhere as a whole came through the doors of its words that the speaking role's own prompt does not have: “exige
permissão de manager” came with a result that says `required: 'manager'`. What no door explains is the model's own.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final, Literal, cast

from msgspec import Struct

from services.guardrails.leaks import Finding, detect_leaks
from shared.text import fold

Door = Literal["name", "description", "data", "prompt", "customer", "own"]
DOORS: Final[Mapping[Door, str]] = {
    "name": "name of a tool or of its argument",
    "description": "description of a tool or of its argument",
    "data": "data: a tool's result, or the raw state",
    "prompt": "the prompt itself",
    "customer": "the customer said it first",
    "own": "the model's own",
}

_SHORTEST_WORD: Final = 3
_SHORTEST_JOINED: Final = 8
_APART: Final = re.compile(r"[^a-z0-9]+")


class Span(Struct, frozen=True, kw_only=True):
    """Words of a message that the detector found; `doors` is never empty."""

    text: str
    categories: tuple[str, ...]
    doors: tuple[Door, ...]


class Seen(Struct, frozen=True, kw_only=True):
    """What stood before the model in one turn, door by door; `clean` is the prompt that no machine shows in."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    data: tuple[str, ...]
    prompt: tuple[str, ...]
    customer: tuple[str, ...]
    clean: tuple[str, ...]

    def by_door(self) -> Mapping[Door, "_Wall"]:
        return {
            "name": _Wall(self.names),
            "description": _Wall(self.descriptions),
            "data": _Wall(self.data),
            "prompt": _Wall(self.prompt),
            "customer": _Wall(self.customer),
        }


def leaked(text: str, operations: Collection[str], seen: Seen) -> tuple[Span, ...]:
    """The spans of a message, in their order; finds that overlap are one span."""
    walls, clean = seen.by_door(), _Wall(seen.clean)
    return tuple(
        Span(text=text[start:end], categories=categories, doors=_doors(text[start:end], walls, clean))
        for start, end, categories in _merged(detect_leaks(text, operations=tuple(operations)))
    )


def named_in(tools: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names (of tools, arguments and their choices) and the descriptions that a model is offered."""
    names: list[str] = []
    descriptions: list[str] = []
    for tool in tools:
        function = tool["function"]
        names.append(function["name"])
        descriptions.append(function.get("description", ""))
        for kind, text in _schema_texts(function.get("parameters", {})):
            (names if kind == "name" else descriptions).append(text)
    return tuple(names), tuple(one for one in descriptions if one)


def _schema_texts(schema: Any) -> Iterator[tuple[Literal["name", "description"], str]]:
    if isinstance(schema, list):
        for one in cast("list[Any]", schema):
            yield from _schema_texts(one)
    if not isinstance(schema, dict):
        return
    for key, value in cast("dict[str, Any]", schema).items():
        if key == "description" and isinstance(value, str):
            yield "description", value
        elif key == "properties" and isinstance(value, dict):
            for name in cast("dict[str, Any]", value):
                yield "name", name
            yield from _schema_texts(list(cast("dict[str, Any]", value).values()))
        elif key == "enum" and isinstance(value, list):
            for one in cast("list[Any]", value):
                yield "name", str(one)
        else:
            yield from _schema_texts(value)


def _merged(findings: Iterable[Finding]) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Finds come sorted by their start."""
    start, end, categories = 0, 0, list[str]()
    for one in findings:
        if categories and one.start < end:
            end = max(end, one.end)
            categories.append(one.category)
            continue
        if categories:
            yield start, end, tuple(dict.fromkeys(categories))
        start, end, categories = one.start, one.end, [one.category]
    if categories:
        yield start, end, tuple(dict.fromkeys(categories))


def _doors(span: str, walls: Mapping[Door, "_Wall"], clean: "_Wall") -> tuple[Door, ...]:
    whole: tuple[Door, ...] = tuple(door for door, wall in walls.items() if wall.holds(span))
    if whole:
        return whole
    words = [word for word in _apart(span).split() if len(word) >= _SHORTEST_WORD and not clean.holds(word)]
    through: tuple[Door, ...] = tuple(door for door, wall in walls.items() if any(wall.holds(word) for word in words))
    return through or ("own",)


class _Wall:
    """Texts in which a span may stand: word by word, or joined where it is long enough to mean only itself."""

    def __init__(self, texts: Iterable[str]) -> None:
        apart = [_apart(text) for text in texts]
        self._apart = " | ".join(f" {text} " for text in apart)
        self._joined = "|".join(text.replace(" ", "") for text in apart)

    def holds(self, span: str) -> bool:
        words = _apart(span)
        joined = words.replace(" ", "")
        return bool(words) and (
            f" {words} " in self._apart or (len(joined) >= _SHORTEST_JOINED and joined in self._joined)
        )


def _apart(text: str) -> str:
    return _APART.sub(" ", fold(text).text).strip()
