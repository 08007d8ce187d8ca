"""Scenarios: a customer's conversation, and all that is known about it and around it.

Laws
- A fact is written once. What each role sees of it is made by that role's own code: the projection here, the raw
  state there.
- A file is read strictly: a key that means nothing is refused with its place.
"""

from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
import yaml
from msgspec import Meta, Struct

from services.conversador.tools import TOOLS
from services.operator.catalogue import catalogue
from services.operator.stages import Stage
from services.operator.state import FactKind

DEFAULT: Final = Path(__file__).parent / "scenarios.pt.yaml"
SPEAKING: Final = frozenset(str(one["function"]["name"]) for one in TOOLS.offered)
_ENTRY: Final = "an entry of the conversation is `customer: …` or `us: …`"

Text = Annotated[str, Meta(min_length=1)]


class ScenarioError(Exception):
    """The file is none of scenarios; the message says where and what to do."""


class Said(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`customer: …` or `us: …`."""

    customer: str = ""
    us: str = ""

    def __post_init__(self) -> None:
        """One of them speaks."""
        if bool(self.customer) == bool(self.us):
            raise ValueError(_ENTRY)


class Passage(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the house knows, as a search finds it."""

    title: Text
    text: Text


class KnownFact(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something on record about the customer; the speaking role sees subject and value."""

    subject: Text
    value: Text
    kind: FactKind = "preference"


class OpenTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seen by the operating role alone."""

    title: Text
    due_in_days: int | None = None


class OutsideTool(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A tool of an outside system, offered where operating is offered; `result` comes back as it is."""

    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
    description: Text
    result: Any
    parameters: dict[str, Any] = msgspec.field(default_factory=lambda: {"type": "object", "properties": {}})

    @property
    def told(self) -> str:
        return self.result if isinstance(self.result, str) else msgspec.json.encode(self.result).decode()


class Scenario(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`refusals` makes operations fail: the name of each, and the raw reason that it gives."""

    name: Text
    conversation: Annotated[tuple[Said, ...], Meta(min_length=1)]
    language: Literal["pt-BR", "en", "es"] = "pt-BR"
    house: str = ""
    customer_name: str = ""
    summary: str = ""
    case: str = ""
    knowledge: tuple[Passage, ...] = ()
    facts: tuple[KnownFact, ...] = ()
    stage: Stage = "contacted"
    tags: tuple[str, ...] = ()
    tasks: tuple[OpenTask, ...] = ()
    tools: tuple[OutsideTool, ...] = ()
    refusals: dict[str, Text] = {}

    def __post_init__(self) -> None:
        """A turn answers the customer; what fails is an operation, what is added is none."""
        if not self.conversation[-1].customer:
            raise ValueError("the last entry of the conversation must be the customer's")
        if unknown := sorted(self.refusals.keys() - catalogue().keys()):
            raise ValueError(f"`refusals` names {', '.join(unknown)}; the operations are {', '.join(catalogue())}")
        taken = {*catalogue(), *SPEAKING}
        if doubled := [one.name for one in self.tools if one.name in taken]:
            raise ValueError(f"`tools` names {', '.join(doubled)}, which a role has itself")


class Scenarios(Struct, frozen=True):
    """A file that was read; the digest tells whether two runs measured the same."""

    file: str
    digest: str
    each: tuple[Scenario, ...]


def read(path: Path) -> Scenarios:
    """Read a JSON or YAML file: a list of scenarios.

    Raises:
        ScenarioError: it cannot be read, is no list of scenarios, or two bear one name.
    """
    try:
        content = path.read_bytes()
        # YAML holds JSON too, but a syntax error of a JSON file is told best by a JSON reader
        each = (msgspec.json if path.suffix == ".json" else msgspec.yaml).decode(content, type=tuple[Scenario, ...])
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, yaml.YAMLError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path}: {error}") from error
    if not each:
        raise ScenarioError(f"{path}: there is no scenario in it")
    names = [one.name for one in each]
    if doubled := sorted({name for name in names if names.count(name) > 1}):
        raise ScenarioError(f"{path}: more than one scenario is called {', '.join(doubled)}")
    return Scenarios(path.name, sha256(content).hexdigest()[:12], each)
