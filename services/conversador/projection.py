"""The third door: what the speaking role may see of what we know.

Laws
- Nothing reaches the model but `Shown`, and only a projection makes one: an allow-list of fields, never a deny-list.
- Ids, paths, addresses and kinds of actors cannot be put on an allow-list: the projection refuses them at start.
- What customers said and what the house wrote as knowledge is never rewritten.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec

R = TypeVar("R", bound=msgspec.Struct)

_UNSHOWN: Final = re.compile(r"(^|_)(id|ids|uuid|path|url|uri|href|actor|owner|tenant|token|kind|table|schema)$")
_UNSPOKEN: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-|https?://|www\.|(^|\s)/\w+/|[a-z0-9]+_[a-z0-9]+|[{}<>]|\d{4}-\d\d-\d\dT\d\d"
)


class ProjectionError(Exception):
    """A projection would show what the speaking role must not see, or a tool has none; raised at start."""


class Shown:
    """A text that the speaking role may read."""

    __slots__ = ("_by", "text")

    def __init__(self, text: str, *, by: "Projection[Any]") -> None:
        self._by = by
        self.text = text

    def beside(self, remark: str) -> "Shown":
        """The same with a remark of ours on a line of its own; a projection writes no line breaks."""
        return Shown(f"{self.text}\n{remark}", by=self._by)


class Projection(Generic[R]):
    """The fields of one kind of result that may be shown, under the heading `named` where there may be several."""

    def __init__(self, result: type[R], *, fields: Sequence[str], named: str = "") -> None:
        unknown = set(fields) - set(result.__struct_fields__)
        unshown = {field for field in fields if _UNSHOWN.search(field)}
        if unknown or unshown:
            raise ProjectionError(
                f"{result.__name__}: {sorted(unknown | unshown)} cannot be shown to the speaking role"
            )
        self._fields = tuple(fields)
        self._named = named

    def show(self, *results: R) -> Shown:
        shown = [{field: getattr(result, field) for field in self._fields} for result in results]
        return Shown(msgspec.json.encode({self._named: shown} if self._named else shown[0]).decode(), by=self)


def spoken(text: str) -> str:
    """A text of ours (a fact, a case's subject) as it may stand in the prompt; empty when it shows the machine."""
    return "" if _UNSPOKEN.search(text) else " ".join(text.split())[:300]
