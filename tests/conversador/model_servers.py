"""OpenAI-compatible servers for the tests, over real HTTP: a scripted one, and the local model of the project."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

Reply = dict[str, Any] | Response
Script = Callable[[dict[str, Any]], Reply]

START_SECONDS = 10


class ScriptedModel:
    """Answers by `script`, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.script: Script = lambda _: speaks("Oi!")
        self.app = Starlette(routes=[Route("/v1/chat/completions", self._complete, methods=["POST"])])

    @property
    def drafts_asked(self) -> list[dict[str, Any]]:
        return [one for one in self.asked if one.get("tools")]

    @property
    def closings_asked(self) -> list[dict[str, Any]]:
        return [one for one in self.asked if one.get("response_format")]

    async def _complete(self, http: Request) -> Response:
        request = json.loads(await http.body())
        self.asked.append(request)
        reply = self.script(request)
        return reply if isinstance(reply, Response) else JSONResponse(reply)


def completion(message: dict[str, Any], finish_reason: str = "stop") -> dict[str, Any]:
    return {
        "id": "completion-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [{"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", **message}}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18},
    }


def says(text: str) -> dict[str, Any]:
    """Loose text."""
    return completion({"content": text})


def calls(*made: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    return completion(
        {
            "content": None,
            "tool_calls": [
                {
                    "id": f"call_{place}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }
                for place, (name, arguments) in enumerate(made)
            ],
        },
        "tool_calls",
    )


def speaks(text: str, **fields: Any) -> dict[str, Any]:
    return calls(("send_message", {"text": text, "needs_person": False, "needs_case": False, "reason": "", **fields}))


def notes(**fields: Any) -> dict[str, Any]:
    """A closing that keeps the contract."""
    whole: dict[str, Any] = {
        "commitments": [],
        "objections": [],
        "next_action": None,
        "rolling_summary": "Resumo.",
        "declaration": {"intents": [], "promises": [], "nothing_to_declare": True},
    }
    return says(json.dumps({**whole, **fields}))


def fails(status: int, **error: Any) -> Response:
    return JSONResponse({"error": {"message": "no", "type": "x", "param": None, "code": None, **error}}, status)


@asynccontextmanager
async def serving(app: Any) -> AsyncGenerator[str]:
    """The base URL of an application that is served on a free port of loopback."""
    options = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_config=None, lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(options)
    serving_ = asyncio.create_task(server.serve())
    async with asyncio.timeout(START_SECONDS):
        while not server.started:  # noqa: ASYNC110 - uvicorn has a flag, not an event
            await asyncio.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        await serving_
