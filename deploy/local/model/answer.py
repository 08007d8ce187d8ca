"""What the model answers: words, calls of tools, or both absent when there is nothing left to do."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Answer:
    content: str | None = None
    calls: tuple[Call, ...] = ()
