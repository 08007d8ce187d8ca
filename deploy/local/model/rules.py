"""Which part the request asks the model to play, and the answer."""

from typing import Any

import msgspec

from deploy.local.model.answer import Answer
from deploy.local.model.closing import close
from deploy.local.model.language import listen
from deploy.local.model.leaking import tell
from deploy.local.model.operating import operate
from deploy.local.model.phrases import REPLIES
from deploy.local.model.request import ChatRequest, JsonSchema, read_turn
from deploy.local.model.schema import Schema, fit
from deploy.local.model.speaking import compose, speak


def answer(request: ChatRequest) -> Answer:
    tools = request.schemas
    asked = request.response_format.json_schema if request.response_format else None
    if asked is not None:
        return close(request.messages, asked.schema) if asked.name == "checkpoint" else choose(request, asked)
    if "send_message" in tools:
        turn = read_turn(request.messages)
        return tell(turn, request.tools or ()) or speak(turn, tools)
    if tools:
        return operate(request.messages, tools)
    turn = read_turn(request.messages)
    heard = listen(turn.words, tuple(turn.earlier))
    return Answer(content=compose(turn, heard, 0) if heard.words else REPLIES["pt"]["greeting"][0])


def choose(request: ChatRequest, asked: JsonSchema) -> Answer:
    """Any other structured question: every choice by the words that it shares with the customer's."""
    words = read_turn(request.messages).words
    properties: Schema = asked.schema.get("properties", {})
    wanted: dict[str, Any] = {name: words for name, part in properties.items() if "enum" in part}
    return Answer(content=msgspec.json.encode(fit(asked.schema, wanted)).decode())
