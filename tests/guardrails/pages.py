"""The pages of guardrails on a bench: people of two tenants, and a browser for each of them."""

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

import httpx

from services.guardrails.http import app
from services.guardrails.rules import Rules
from services.guardrails.service import handlers
from shared.runtime import Context
from shared.web import store
from shared.web.people import Person
from tests.guardrails.world import TENANT, config, proposed, received, with_channel, wrote_to_before
from tests.harness import Bench, BenchFactory

OTHER_TENANT = UUID(int=99)
ADA, ANA, VERA, OTTO = "ada@example.com", "ana@example.com", "vera@example.com", "otto@example.com"
PEOPLE = [
    Person(tenant=TENANT, email=ADA, name="Ada", roles=("administrator",), language="en"),
    Person(tenant=TENANT, email=ANA, name="Ana", roles=("approver",), language="en"),
    Person(tenant=TENANT, email=VERA, name="Vera", roles=("viewer",), language="en"),
    Person(tenant=TENANT, email="nina@example.com", name="Nina", roles=(), language="en"),
    Person(tenant=OTHER_TENANT, email=OTTO, name="Otto", roles=("administrator",), language="en"),
]
LEAK = "Rodei search_knowledge e o webhook voltou null."


@dataclass
class House:
    """The service and its pages."""

    bench: Bench
    context: Context[Any]

    @asynccontextmanager
    async def browser(self, email: str = "") -> AsyncGenerator["Browser"]:
        """Of somebody who has signed in, or of nobody."""
        transport = httpx.ASGITransport(app(self.context), raise_app_exceptions=True)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            browser = Browser(client)
            if email:
                answer = await client.post("/sign-in", data={"email": email, "next": "/gates"})
                assert (answer.status_code, answer.headers["location"]) == (303, "/gates")
            yield browser

    async def judged(self, *bodies: str) -> list[UUID]:
        """Texts of the agent that the chain judged; the ids of their runs, in order."""
        for body in bodies:
            await self.bench.hear(proposed(body))
        rows = await self.bench.rows("select run_id from run order by at, run_id")
        return [row["run_id"] for row in rows]


@dataclass
class Browser:
    """Sends forms as a page does: with the token that stands in it."""

    client: httpx.AsyncClient

    async def get(self, path: str, **asked: str) -> httpx.Response:
        return await self.client.get(path, params=asked or None)

    async def text(self, path: str, status: int = 200, **asked: str) -> str:
        answer = await self.get(path, **asked)
        assert answer.status_code == status, answer.text
        return answer.text

    async def post(self, path: str, *, page: str = "/gates", **fields: str) -> httpx.Response:
        return await self.client.post(path, data={"csrf": token(await self.text(page)), **fields})


def token(page: str) -> str:
    found = re.search(r'name="csrf" value="([^"]+)"', page)
    assert found, "a page with no way out"
    return found[1]


async def open_house(bench_of: BenchFactory, rules: Rules | None = None, **changed: Any) -> House:
    settings = config(profile="local", local_sign_in=True, people_file="people.json", **changed)
    bench = await bench_of("guardrails", handlers(settings))
    async with bench.db.transaction() as tx:
        await store.people_are(tx, PEOPLE)
    await with_channel(bench, rules)
    await wrote_to_before(bench)
    await bench.hear(received())
    return House(bench, Context("guardrails", settings, bench.db, bench.web_db, cast("Any", bench)))
