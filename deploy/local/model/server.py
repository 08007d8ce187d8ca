"""The OpenAI-compatible HTTP surface: `POST /v1/chat/completions`, `GET /v1/models`, errors in OpenAI's shape.

Starlette alone: FastAPI would cost half a second of start-up and nothing here needs it.
"""

import asyncio
import hashlib
import json
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from deploy.local.model.answer import Answer
from deploy.local.model.request import ChatRequest, read_turn
from deploy.local.model.rules import answer
from deploy.local.model.tricks import delay_seconds, tricks_in
from shared.clock import utc_now

MODEL = "chancela-local"
BODY_LIMIT_BYTES = 3 * 1024 * 1024
LETTERS_PER_TOKEN = 4
ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
decoder = msgspec.json.Decoder(ChatRequest)


async def complete(http: Request) -> JSONResponse:
    body = await http.body()
    if len(body) > BODY_LIMIT_BYTES:
        return refused(413, f"The request is larger than {BODY_LIMIT_BYTES} bytes.", "request_too_large")
    try:
        request = decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        return refused(400, f"We could not read the request: {fault}.", "invalid_request_body")
    if problem := problem_of(request):
        return refused(400, problem, "invalid_value")
    if "send_message" in request.schemas:
        tricks = tricks_in(read_turn(request.messages).words)
        if "error" in tricks:
            return refused(500, "The server had an error while processing your request.", None, "server_error")
        await asyncio.sleep(delay_seconds(tricks))
    return JSONResponse(completion(request, body, answer(request)))


def problem_of(request: ChatRequest) -> str | None:
    if not request.messages:
        return "`messages` is empty: give at least one message."
    if strange := next((message.role for message in request.messages if message.role not in ROLES), None):
        return f"`messages` has the unknown role {strange!r}: use one of {', '.join(sorted(ROLES))}."
    if request.stream:
        return "`stream` is not supported by the local model: ask without it."
    return None


def completion(request: ChatRequest, body: bytes, given: Answer) -> dict[str, Any]:
    digest = hashlib.sha256(body).hexdigest()
    calls = [
        {
            "id": f"call_{digest[:16]}{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments, ensure_ascii=False)},
        }
        for place, call in enumerate(given.calls)
    ]
    message = {"role": "assistant", "content": given.content if calls else given.content or "", "refusal": None}
    return {
        "id": f"chatcmpl-{digest[:24]}",
        "object": "chat.completion",
        "created": int(utc_now().timestamp()),
        "model": request.model,
        "choices": [
            {
                "index": 0,
                "message": message | ({"tool_calls": calls} if calls else {}),
                "logprobs": None,
                "finish_reason": "tool_calls" if calls else "stop",
            }
        ],
        "usage": usage(len(body), len(json.dumps([calls, given.content], ensure_ascii=False))),
    }


def usage(letters_in: int, letters_out: int) -> dict[str, int]:
    tokens_in, tokens_out = -(-letters_in // LETTERS_PER_TOKEN), -(-letters_out // LETTERS_PER_TOKEN)
    return {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}


async def models(_: Request) -> JSONResponse:
    model = {"id": MODEL, "object": "model", "created": 0, "owned_by": "chancela"}
    return JSONResponse({"object": "list", "data": [model]})


def refused(status: int, message: str, code: str | None, kind: str = "invalid_request_error") -> JSONResponse:
    error = {"message": message, "type": kind, "param": None, "code": code}
    return JSONResponse({"error": error}, status_code=status)


async def http_error(http: Request, fault: Exception) -> JSONResponse:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    return refused(status, f"{http.method} {http.url.path} is not part of the local model.", "unknown_url")


app = Starlette(
    routes=[Route("/v1/chat/completions", complete, methods=["POST"]), Route("/v1/models", models)],
    exception_handlers={HTTPException: http_error},
)
