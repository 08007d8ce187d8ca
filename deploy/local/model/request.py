"""What a chat request says: its typed form, and the turn that is being answered."""

import re
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import Struct

MARK = re.compile(r"^[ \t]*\[([a-z][a-z _-]{2,20})\][ \t]*", re.IGNORECASE | re.MULTILINE)
SPEECH = ("text", "message", "body")
WISHES = ("instruction", "case")


class Function(Struct):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None


class Tool(Struct):
    function: Function
    type: str = "function"


class Called(Struct):
    name: str
    arguments: str = "{}"


class ToolCall(Struct):
    id: str
    function: Called
    type: str = "function"


class Part(Struct):
    type: str
    text: str | None = None


class Message(Struct):
    role: str
    content: str | list[Part] | None = None
    tool_calls: list[ToolCall] | None = None
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text or "" for part in self.content)
        return self.content or ""


class JsonSchema(Struct):
    name: str
    schema: dict[str, Any] = {}


class ResponseFormat(Struct):
    type: str
    json_schema: JsonSchema | None = None


class ChatRequest(Struct):
    model: str
    messages: list[Message]
    tools: list[Tool] | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = None

    @property
    def schemas(self) -> dict[str, dict[str, Any]]:
        return {tool.function.name: tool.function.parameters or {} for tool in self.tools or []}


class Line(Struct):
    by: str
    text: str


class RawState(Struct):
    """What the operating role is told, as far as a speaking turn hears it."""

    lines: list[Line]


@dataclass(frozen=True)
class Result:
    """What a tool answered in this turn."""

    tool: str
    content: str

    @property
    def value(self) -> Any:
        try:
            return msgspec.json.decode(self.content)
        except msgspec.DecodeError:
            return self.content


@dataclass
class Turn:
    """The customer's latest burst and everything that happened since."""

    prompt: str = ""
    customer: list[str] = field(default_factory=list[str])
    earlier: list[str] = field(default_factory=list[str])
    instructions: list[str] = field(default_factory=list[str])
    results: list[Result] = field(default_factory=list[Result])
    reply: str = ""

    @property
    def words(self) -> str:
        return "\n".join(self.customer)

    def results_of(self, tool: str) -> list[Result]:
        return [result for result in self.results if result.tool == tool]


def read_turn(messages: list[Message]) -> Turn:
    """Read the conversation in order; a customer who writes after our answer opens a new turn."""
    turn, tools = Turn(), dict[str, str]()
    for position, message in enumerate(messages):
        if message.role == "assistant":
            tools |= {call.id: call.function.name for call in message.tool_calls or []}
            turn.reply = said(message) or turn.reply
        elif message.role == "tool":
            turn.results.append(Result(tools.get(message.tool_call_id or "", ""), message.text))
        elif message.role == "user" or (position and MARK.search(message.text)):
            hear_lines(turn, message.text)
        else:
            turn.prompt += f"{message.text}\n"
    return turn


def read_closed_turn(messages: list[Message]) -> Turn:
    """The same, up to our answer: what follows it is the request to close, and its corrections."""
    answers = [place for place, message in enumerate(messages) if message.role == "assistant" and said(message)]
    return read_turn(messages[: answers[-1] + 1] if answers else messages)


def hear_lines(turn: Turn, text: str) -> None:
    """A user's message; where it is the raw state of the operating role, the lines of the conversation in it."""
    try:
        lines = msgspec.json.decode(text, type=RawState).lines
    except (msgspec.DecodeError, UnicodeEncodeError):
        hear(turn, text)
        return
    for line in lines:
        if line.by == "customer":
            hear(turn, line.text)
        else:
            turn.reply = line.text


def hear(turn: Turn, text: str) -> None:
    """A customer's words, or a marked note of the house: an instruction about the draft, the answer to a case."""
    mark = MARK.search(text)
    spoken = (text[: mark.start()] if mark else text).strip()
    if spoken:
        if turn.reply:
            turn.earlier += turn.customer
            turn.customer, turn.results, turn.instructions, turn.reply = [], [], [], ""
        turn.customer.append(spoken)
    if mark and mark[1].lower().startswith(WISHES):
        turn.instructions.append(text[mark.end() :].strip())
        turn.reply = ""


def said(message: Message) -> str:
    """The words of a message of ours, spoken as text or through send_message; an earlier closing is not speech."""
    for call in message.tool_calls or []:
        if call.function.name == "send_message":
            arguments = msgspec.json.decode(call.function.arguments or "{}", type=dict[str, Any])
            return next((str(arguments[key]) for key in SPEECH if key in arguments), "")
    return "" if message.text.lstrip().startswith("{") else message.text.strip()
