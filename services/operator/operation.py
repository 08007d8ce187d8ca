"""An operation: a name, typed arguments, and one pure decision.

Laws
- `decide` reads no clock, no file, no network; it answers with a new state and effects, or with a refusal that teaches.
- The schema that the model is offered is wide; decoding is strict: nothing that the model wrote is silently dropped.
- An operation says only what the operator may say. None of it can reach a customer.
- An operation carries its own examples; the tests run every operation over them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

import msgspec

from contracts import topology
from services.operator.state import State
from shared.bus.effects import NOTHING, Effects
from shared.ids import derived_id

Risk = Literal["safe", "attention", "critical"]
Bundle = Literal["serve", "sell", "retain", "escalate", "organise", "evolve"]
A = TypeVar("A", bound=msgspec.Struct)

SAYABLE: Final = frozenset(message for topic in topology.said_by("operator") for message in topic.says)


class ForbiddenWordError(Exception):
    """An operation wants to say a message that is not the operator's: a bug in that operation, never carried out."""


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of what one call makes: the same turn and place in it make the same ids, so a re-run makes nothing new."""

    turn_id: UUID
    ordinal: int

    def of(self, what: str) -> UUID:
        return derived_id(self.turn_id, f"{self.ordinal}:{what}")


@dataclass(frozen=True, slots=True)
class Done:
    """What is true now. `entry` is the timeline's line; without one nothing changed."""

    state: State
    effects: Effects = NOTHING
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why not, for the model and, when it stays so, for people."""

    why: str


@dataclass(frozen=True, slots=True)
class Example:
    """A call in a situation, and how it must end. `names` must be part of the refusal or of the timeline's line."""

    arguments: Mapping[str, Any]
    state: State
    ends: Literal["changed", "unchanged", "refused"]
    names: str = ""


@dataclass(frozen=True, slots=True)
class Operation:
    """One capability. The file's name is its name."""

    name: str
    arguments: type[msgspec.Struct]
    decide: Callable[[Any, State, Ids, datetime], Done | Refusal]
    risk: Risk
    bundle: Bundle
    examples: tuple[Example, ...]
    human_only: bool = False

    def schema(self) -> dict[str, Any]:
        """The JSON Schema that the model is offered: wide, so that a stray field comes back as a lesson."""
        _, components = msgspec.json.schema_components([self.arguments])
        schema = dict(components[self.arguments.__name__])
        schema.pop("additionalProperties", None)
        return schema

    def run(self, arguments: str, state: State, ids: Ids, now: datetime) -> Done | Refusal:
        """Decode strictly, then decide."""
        decoded = _decoded(arguments, self.arguments)
        if isinstance(decoded, Refusal):
            return decoded
        result = self.decide(decoded, state, ids, now)
        if isinstance(result, Done):
            _check_says(self.name, result.effects)
        return result


def _decoded(arguments: str, kind: type[A]) -> A | Refusal:
    try:
        return msgspec.json.decode(arguments, type=kind)
    except msgspec.DecodeError as error:
        fields = ", ".join(field.encode_name for field in msgspec.structs.fields(kind))
        return Refusal(f"{error}. The fields are: {fields}")


def _check_says(name: str, effects: Effects) -> None:
    for message in effects.says:
        if type(message) not in SAYABLE:
            raise ForbiddenWordError(f"{name} may not say {type(message).__name__}")
