"""A closed turn, a bench of the operator, and an OpenAI-compatible server that answers what a test scripted."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
import pytest
import uvicorn

from services.operator.config import Config
from services.operator.service import handlers
from tests.harness import BenchFactory
from tests.operator.world import World


class Broken(NamedTuple):
    """An answer that is none."""

    status: int
    body: bytes


class ScriptedModel:
    """Answers each request with the next scripted answer; without one it has nothing left to do."""

    def __init__(self) -> None:
        self.script: list[dict[str, Any] | Broken] = []
        self.requests: list[dict[str, Any]] = []
        self.port = 0
        self.before_answer: Callable[[], Awaitable[None]] | None = None

    def calls(self, *calls: tuple[str, dict[str, Any] | str]) -> None:
        """The next answer calls these tools."""
        self.script.append(
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"call_{place}",
                        "type": "function",
                        "function": {
                            "name": name,
                            "arguments": given if isinstance(given, str) else msgspec.json.encode(given).decode(),
                        },
                    }
                    for place, (name, given) in enumerate(calls)
                ],
            }
        )

    def breaks(self, status: int = 500, body: bytes = b"{}") -> None:
        self.script.append(Broken(status, body))

    @property
    def results(self) -> list[dict[str, Any]]:
        """Everything that the model was told about its calls in the last request."""
        return [msgspec.json.decode(m["content"]) for m in self.requests[-1]["messages"] if m["role"] == "tool"]

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body = b""
        while True:
            event = await receive()
            body += event.get("body", b"")
            if not event.get("more_body"):
                break
        self.requests.append(msgspec.json.decode(body))
        if self.before_answer is not None:
            await self.before_answer()
        status, answer = self._next()
        # One connection an answer: the client's pool lives as long as a service does, longer than a test.
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _next(self) -> tuple[int, bytes]:
        said = self.script.pop(0) if self.script else {"role": "assistant", "content": "nothing left to do"}
        if isinstance(said, Broken):
            return said.status, said.body
        usage = {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12}
        answer = {"id": "x", "object": "chat.completion", "created": 0, "model": "scripted", "usage": usage}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        return 200, msgspec.json.encode({**answer, "choices": [choice]})


@pytest.fixture
async def model() -> AsyncIterator[ScriptedModel]:
    scripted = ScriptedModel()
    server = uvicorn.Server(uvicorn.Config(scripted, port=0, log_config=None, lifespan="off"))
    serving = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody when it has started
            await asyncio.sleep(0.01)
    scripted.port = server.servers[0].sockets[0].getsockname()[1]
    yield scripted
    server.should_exit = True
    await serving


@pytest.fixture
async def world(bench_of: BenchFactory, model: ScriptedModel) -> World:
    config = config_for(f"http://127.0.0.1:{model.port}/v1")
    return World(await bench_of("operator", handlers(config)))


def config_for(url: str) -> Config:
    return Config(
        database_url="", nats_url="", nats_seed="", digest_key="", model_base_url=url, model_retries=0, model_attempts=2
    )
