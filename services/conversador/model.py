"""The seam to a language model: any OpenAI-compatible endpoint. The only importer of `openai`.

A content block is recognised by the provider's structured metadata, never by reading the text. No text of a request or
an answer is logged here.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, Literal, Protocol

import openai
from msgspec import Struct
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from shared.clock import monotonic

Purpose = Literal["agent_turn", "followup_turn", "checkpoint"]
CallOutcome = Literal["answered", "content_blocked", "timeout", "unavailable", "refused"]


class Endpoint(Protocol):
    """Where the model is and how patiently it is asked; the service's `Config` is one."""

    @property
    def model_base_url(self) -> str: ...
    @property
    def model_api_key(self) -> str: ...
    @property
    def model_timeout_seconds(self) -> float: ...
    @property
    def model_retries(self) -> int: ...
    @property
    def model_budget_seconds(self) -> float: ...


class ToolCall(Struct, frozen=True):
    """A tool that the model wants to use; `arguments` is the JSON that it wrote."""

    id: str
    name: str
    arguments: str


class Call(Struct, frozen=True, kw_only=True):
    """One request as it is recorded: no text."""

    purpose: Purpose
    model: str
    outcome: CallOutcome
    tokens_in: int = 0
    tokens_out: int = 0
    latency_ms: int = 0


class Answer(Struct, frozen=True, kw_only=True):
    """What came back. `text` and `tools` are empty unless the call's outcome is `answered`.

    `failure` is what the client says of a request that failed. It may repeat the request: it is never stored.
    """

    call: Call
    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    failure: str = ""


class Model:
    """Asks the endpoint; failures are values, bounded by retries (with jitter, by the client) and a budget."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._budget_seconds = endpoint.model_budget_seconds
        self._client = openai.AsyncOpenAI(
            base_url=endpoint.model_base_url,
            api_key=endpoint.model_api_key,
            timeout=endpoint.model_timeout_seconds,
            max_retries=endpoint.model_retries,
        )

    async def ask(
        self,
        *,
        purpose: Purpose,
        model: str,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]] = (),
        response_format: dict[str, Any] | None = None,
    ) -> Answer:
        options: dict[str, Any] = {"tools": list(tools)} if tools else {}
        if response_format is not None:
            options["response_format"] = response_format
        create: Any = self._client.chat.completions.create  # its overloads know literal options only
        begun = monotonic()
        try:
            async with asyncio.timeout(self._budget_seconds):
                completion = await create(model=model, messages=list(messages), **options)
            answer = _answer(completion)
        except (openai.APIError, TimeoutError) as error:
            answer = _Read(_outcome_of(error), failure=str(error) or "no answer in time")
        return Answer(
            call=Call(
                purpose=purpose,
                model=model,
                outcome=answer.outcome,
                tokens_in=answer.tokens_in,
                tokens_out=answer.tokens_out,
                latency_ms=round((monotonic() - begun) * 1000),
            ),
            text=answer.text,
            tools=answer.tools,
            failure=answer.failure,
        )

    async def close(self) -> None:
        await self._client.close()


class _Read(Struct, frozen=True):
    outcome: CallOutcome
    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    failure: str = ""


def _answer(completion: object) -> _Read:
    if not isinstance(completion, ChatCompletion):
        # the client hands over what is not JSON as it is
        return _Read("unavailable", failure="what came back is no completion")
    tokens_in = completion.usage.prompt_tokens if completion.usage else 0
    tokens_out = completion.usage.completion_tokens if completion.usage else 0
    if not completion.choices:  # some endpoints answer an error with status 200
        return _Read("unavailable", "", (), tokens_in, tokens_out, "a completion without a choice")
    choice = completion.choices[0]
    message = getattr(choice, "message", None)  # the client does not check what it was given, only shapes it
    if not isinstance(message, ChatCompletionMessage):
        return _Read("unavailable", "", (), tokens_in, tokens_out, "a choice without a message")
    if getattr(choice, "finish_reason", "") == "content_filter" or message.refusal:
        return _Read("content_blocked", tokens_in=tokens_in, tokens_out=tokens_out)
    tools = tuple(
        ToolCall(call.id, call.function.name, call.function.arguments)
        for call in message.tool_calls or ()
        if call.type == "function"
    )
    return _Read("answered", message.content or "", tools, tokens_in, tokens_out)


def _outcome_of(error: openai.APIError | TimeoutError) -> CallOutcome:
    if isinstance(error, (openai.APITimeoutError, TimeoutError)):
        return "timeout"
    if isinstance(error, openai.BadRequestError) and error.code in {"content_filter", "content_policy_violation"}:
        return "content_blocked"
    if isinstance(error, openai.APIStatusError) and error.status_code < 500 and error.status_code != 429:
        return "refused"
    return "unavailable"
