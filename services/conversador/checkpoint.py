"""The closing of a turn: the schema that is imposed, strict decoding, and the one correction.

Laws
- Absent is not empty: a null declaration means that nobody evaluated; `nothing_to_declare` means evaluated, nothing.
- `nothing_to_declare` beside something declared is a contradiction, not a choice of ours.
- A date without its zone is refused: nobody can keep a promise that is three hours off.
"""

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from msgspec import Struct

from contracts.messages import Checkpoint, Declaration, Intent, Promise
from services.conversador.voice import voice_of

NAME: Final = "checkpoint"


class Broken(Struct, frozen=True):
    """What was wrong, with its path."""

    problem: str


def _imposed(part: Any) -> Any:
    """Every field required and no prose: the descriptions are written for us, not for the speaking role."""
    if isinstance(part, list):
        return [_imposed(one) for one in part]  # pyright: ignore[reportUnknownVariableType] - JSON
    if not isinstance(part, dict):
        return part
    kept: dict[str, Any] = {
        key: _imposed(value)
        for key, value in part.items()  # pyright: ignore[reportUnknownVariableType] - JSON
        if key not in {"title", "description", "default"}
    }
    if kept.get("type") == "object":
        kept["required"] = list(kept["properties"])
    return kept


def _schema() -> dict[str, Any]:
    whole = _imposed(msgspec.json.schema(Checkpoint))
    definitions = whole["$defs"]
    return {**definitions.pop("Checkpoint"), "$defs": definitions}


RESPONSE_FORMAT: Final[dict[str, Any]] = {
    "type": "json_schema",
    "json_schema": {"name": NAME, "strict": True, "schema": _schema()},
}


def decode(text: str) -> Checkpoint | Broken:
    try:
        checkpoint = msgspec.json.decode(text, type=Checkpoint)
    except msgspec.MsgspecError as error:
        return Broken(f"{error}.")
    declaration = checkpoint.declaration
    if declaration is None:
        return checkpoint
    if declaration.nothing_to_declare and (declaration.intents or declaration.promises):
        return Broken("`nothing_to_declare` is true beside something declared - at `$.declaration`.")
    for place, promise in enumerate(declaration.promises):
        if promise.due is not None and promise.due.tzinfo is None:
            return Broken(f"The date lacks its offset from UTC - at `$.declaration.promises[{place}].due`.")
    return checkpoint


def correction(broken: Broken, language: str) -> str:
    """The one correction: the path that broke, and every field by its exact name."""
    return voice_of(language).correct.format(problem=broken.problem, names="; ".join(_names()))


def _names() -> Iterator[str]:
    parts: tuple[tuple[str, type[Struct]], ...] = (
        ("$", Checkpoint),
        ("$.declaration", Declaration),
        ("$.declaration.intents[]", Intent),
        ("$.declaration.promises[]", Promise),
    )
    for path, part in parts:
        yield f"{path} → {', '.join(part.__struct_fields__)}"
