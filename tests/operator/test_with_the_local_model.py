"""The operator with the rule-based model that `chancela dev` starts: the path that runs offline, end to end."""

import asyncio
from collections.abc import AsyncIterator

import pytest
import uvicorn

from contracts.messages import Declaration, Intent, Promise
from deploy.local.model.server import app
from services.operator.service import handlers
from tests.harness import BenchFactory
from tests.operator.conftest import config_for
from tests.operator.world import AT, World, calls_of


@pytest.fixture
async def offline(bench_of: BenchFactory) -> AsyncIterator[World]:
    options = uvicorn.Config(app, port=0, log_config=None, lifespan="off", headers=[("connection", "close")])
    server = uvicorn.Server(options)
    serving = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody when it has started
            await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    yield World(await bench_of("operator", handlers(config_for(f"http://127.0.0.1:{port}/v1"))))
    server.should_exit = True
    await serving


def wants(words: str) -> Declaration:
    return Declaration(intents=(Intent(what=words, evidence=words),))


@pytest.mark.parametrize(
    ("words", "operations"),
    [
        ("posso remarcar minha consulta para sexta?", {"create_task", "add_tag"}),
        ("quanto custa a limpeza?", {"move_stage", "add_tag"}),
        ("o bolo veio errado, que absurdo", {"open_case", "add_tag"}),
    ],
)
async def test_what_a_customer_wants_is_carried_out(offline: World, words: str, operations: set[str]) -> None:
    await offline.customer_writes(words)
    await offline.turn_closes(wants(words))
    decision = await offline.decision()
    assert {(call["operation"], call["outcome"]) for call in calls_of(decision)} == {
        (name, "changed") for name in operations
    }
    assert decision["outcome"] == "acted"


async def test_an_absent_declaration_is_read_from_the_customers_own_words(offline: World) -> None:
    await offline.customer_writes("quanto custa a limpeza?")
    await offline.turn_closes(None)
    assert "move_stage" in {call["operation"] for call in calls_of(await offline.decision())}


async def test_a_greeting_without_declaration_changes_nothing(offline: World) -> None:
    await offline.customer_writes("oi, tudo bem?")
    await offline.turn_closes(None)
    decision = await offline.decision()
    assert (decision["outcome"], decision["model_rounds"], calls_of(decision)) == ("nothing", 1, [])


async def test_a_promise_gets_a_task_with_its_date(offline: World) -> None:
    due = AT.replace(year=2999)
    await offline.customer_writes("vocês me ligam?")
    turn = await offline.turn_closes(Declaration(promises=(Promise(what="ligar na terça", due=due),)))
    (task,) = await offline.bench.rows("select title, due_at, turn_id from task")
    assert (task["title"], task["due_at"], task["turn_id"]) == ("ligar na terça", due, turn.turn_id)
    await offline.text_is_filed(turn)
    await offline.text_is_sent()
    assert not await offline.alerts()
