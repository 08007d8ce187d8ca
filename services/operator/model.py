"""The model seam of the operating role: any OpenAI-compatible endpoint. The only way out of this service.

It asks a model and nothing else: there is no address here but the configured one.
"""

from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct
from openai import AsyncOpenAI, OpenAIError

from services.operator.config import Config


class ModelUnavailableError(Exception):
    """The model did not give a usable answer within its retries; the message says what happened, never the text."""


class Function(Struct, frozen=True):
    name: str
    arguments: str = "{}"


class AskedCall(Struct, frozen=True):
    """A call as the model wrote it: its arguments are not decoded here."""

    id: str
    function: Function
    type: str = "function"


class Message(Struct, frozen=True):
    content: str | None = None
    tool_calls: tuple[AskedCall, ...] | None = None


class Choice(Struct, frozen=True):
    message: Message


class Usage(Struct, frozen=True):
    prompt_tokens: int = 0
    completion_tokens: int = 0


class Completion(Struct, frozen=True):
    """The part of an answer that is read; an endpoint may say more, and may not say less."""

    choices: Annotated[tuple[Choice, ...], Meta(min_length=1)]
    usage: Usage | None = None


class Answer(Struct, frozen=True):
    text: str
    calls: tuple[AskedCall, ...]
    usage: Usage


class Talk:
    """One turn's exchange with the model."""

    def __init__(
        self, client: AsyncOpenAI, model: str, opening: list[dict[str, Any]], tools: list[dict[str, Any]]
    ) -> None:
        self._client = client
        self._messages = opening
        self._tools = tools
        self.model = model

    async def answer(self) -> Answer:
        """Ask for the next step.

        Raises:
            ModelUnavailableError: no answer, or one that is not an answer.
        """
        try:
            response = await self._client.chat.completions.with_raw_response.create(
                model=self.model, messages=cast("Any", self._messages), tools=cast("Any", self._tools), temperature=0
            )
            # The client does not check what an endpoint answers: a page of HTML would pass.
            completion = msgspec.json.decode(_without_nul(response.content), type=Completion)
        except (OpenAIError, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ModelUnavailableError(type(error).__name__) from error
        said = completion.choices[0].message
        self._messages.append({"role": "assistant", "content": said.content, **_calls(said)})
        return Answer(said.content or "", said.tool_calls or (), completion.usage or Usage())

    def give_result(self, call: AskedCall, content: str) -> None:
        self._messages.append({"role": "tool", "tool_call_id": call.id, "content": content})


class Model:
    """A configured endpoint."""

    def __init__(self, config: Config) -> None:
        self._name = config.model_name
        self._client = AsyncOpenAI(
            base_url=config.model_base_url,
            api_key=config.model_api_key,
            timeout=config.model_timeout_seconds,
            max_retries=config.model_retries,
        )

    def talk(self, *, office: str, situation: str, tools: list[dict[str, Any]]) -> Talk:
        opening = [{"role": "system", "content": office}, {"role": "user", "content": situation}]
        return Talk(self._client, self._name, opening, tools)


def _without_nul(content: bytes) -> bytes:
    """Postgres stores no NUL, and nothing that a model means needs one."""
    return content.replace(b"\\u0000", b"\\ufffd")


def _calls(said: Message) -> dict[str, Any]:
    return {"tool_calls": msgspec.to_builtins(said.tool_calls)} if said.tool_calls else {}
