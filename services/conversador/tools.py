"""What the speaking role can do: look something up, read back, and speak. Nothing of operating is here.

The schema offered is wide, decoding is strict: an unknown field is refused by name, nothing is silently dropped.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from services.conversador.projection import Projection, ProjectionError, Shown

LONGEST_MESSAGE = 4096


class SearchKnowledge(Struct, frozen=True, forbid_unknown_fields=True):
    """Look something up in what the house knows: hours, prices, address, rules."""

    query: Annotated[str, Meta(min_length=1, max_length=400, description="What to look for, in a few words.")]


class ReadHistory(Struct, frozen=True, forbid_unknown_fields=True):
    """Read further back in this conversation."""

    limit: Annotated[int, Meta(ge=1, le=100, description="How many earlier messages.")] = 30


class SendMessage(Struct, frozen=True, forbid_unknown_fields=True):
    """Say something to the person. Whatever is written elsewhere, the person never sees."""

    needs_person: Annotated[bool, Meta(description="The person should be attended by someone of the team now.")]
    needs_case: Annotated[bool, Meta(description="Someone of the team must do something after this message.")]
    reason: Annotated[str, Meta(max_length=280, description="Why this message, in one sentence.")]
    text: Annotated[str, Meta(max_length=LONGEST_MESSAGE, description="The message itself.")] = ""
    language: Annotated[
        Literal["pt-BR", "pt", "en", "es"] | None, Meta(description="Its language, where it is not the conversation's.")
    ] = None


Arguments = SearchKnowledge | ReadHistory | SendMessage


class KnowledgeFound(Struct, frozen=True):
    """A passage of the tenant's knowledge."""

    knowledge_id: str
    title: str
    text: str
    version: str
    score: float


class SaidEarlier(Struct, frozen=True):
    """A message of the conversation, as it was sent."""

    speaker: Literal["customer", "house"]
    text: str


class Phrase(Struct, frozen=True):
    """Words of a draft that a refusal points at."""

    phrase: str


class Refusal(Struct, frozen=True):
    """Why something was not done, and what to do instead, in neutral words."""

    problems: tuple[str | Phrase, ...]
    instruction: str
    status: Literal["refused"] = "refused"


class Tool(Struct, frozen=True):
    """A name, the arguments, and the projection of its results."""

    name: str
    arguments: type[Arguments]
    projection: Projection[Any] | None


def _offered(tool: Tool) -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components([tool.arguments])
    del schemas
    schema = components[tool.arguments.__name__]
    wide = {key: schema[key] for key in ("type", "properties", "required")}
    function = {"name": tool.name, "description": " ".join((tool.arguments.__doc__ or "").split()), "parameters": wide}
    return {"type": "function", "function": function}


class Toolset:
    """The tools of the speaking role, refused at start when a result of one could reach the model unprojected."""

    def __init__(self, *tools: Tool) -> None:
        bare = [tool.name for tool in tools if tool.projection is None]
        if bare:
            raise ProjectionError(
                f"{', '.join(bare)}: the result has no projection, so the speaking role cannot have it"
            )
        self._tools = {tool.name: tool for tool in tools}
        self.names = tuple(self._tools)
        self.offered = [_offered(tool) for tool in tools]

    def decode(self, name: str, arguments: str) -> Arguments | Refusal:
        tool = self._tools.get(name)
        if tool is None:
            return Refusal((f"There is no {name!r}.",), f"Use one of: {', '.join(self._tools)}.")
        try:
            return msgspec.json.decode(arguments or "{}", type=tool.arguments)
        except msgspec.MsgspecError as error:
            known = ", ".join(tool.arguments.__struct_fields__)
            return Refusal((str(error),), f"Repeat it with exactly these fields: {known}.")


KNOWLEDGE: Final = Projection(KnowledgeFound, fields=("title", "text"), named="found")
HISTORY: Final = Projection(SaidEarlier, fields=("speaker", "text"), named="earlier")
REFUSAL: Final = Projection(Refusal, fields=("status", "problems", "instruction"))

TOOLS: Final = Toolset(
    Tool("search_knowledge", SearchKnowledge, KNOWLEDGE),
    Tool("read_history", ReadHistory, HISTORY),
    Tool("send_message", SendMessage, REFUSAL),
)


def answered(call_id: str, shown: Shown) -> dict[str, Any]:
    """A tool's answer as the model reads it."""
    return {"role": "tool", "tool_call_id": call_id, "content": shown.text}


def last_call_id(transcript: Sequence[dict[str, Any]]) -> str:
    """The id of the call that proposed the latest text; it is the last one of its message."""
    message = next(one for one in reversed(transcript) if one["role"] == "assistant")
    return message["tool_calls"][-1]["id"]


def spoken_last(transcript: Sequence[dict[str, Any]]) -> SendMessage:
    """The words that wait for their verdict: the latest call of the transcript."""
    called: dict[str, Any] = transcript[-1]["tool_calls"][-1]["function"]
    words = TOOLS.decode(called["name"], called["arguments"])
    assert isinstance(words, SendMessage)  # a turn waits for a verdict only after speaking
    return words


def refused(transcript: Sequence[dict[str, Any]], refusal: Refusal) -> dict[str, Any]:
    """The refusal of the latest text, as the answer to the call that proposed it."""
    return answered(last_call_id(transcript), REFUSAL.show(refusal))
