"""A real browser before the real pages: the approval application on a bench database, served by uvicorn on loopback."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import pytest
import uvicorn
from playwright.async_api import Browser, ConsoleMessage, Page, async_playwright, expect

from contracts.messages import ContactSeen, GateVerdict
from services.approval.facts import Obligation
from services.approval.http import app
from tests.approval.office import ANA, TENANT, Office, open_office
from tests.harness import BenchFactory, within

CHROMIUM = "chromium"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 30_000
GATES = (
    "stop", "lgpd", "pacing", "service_window", "spinning", "promise", "semantic_promise", "case_promise",
    "internal_vocabulary", "disclosure",
)  # fmt: skip


class Served(uvicorn.Server):
    """Leaves signals to pytest, and says when it is up."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = asyncio.Event()

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    def install_signal_handlers(self) -> None:
        """Nothing."""


@dataclass
class Shop:
    """The service with several conversations, and browsers that look at it."""

    office: Office
    browser: Browser
    url: str
    pages: list[Page] = field(default_factory=list[Page])
    complaints: list[str] = field(default_factory=list[str])
    """What the browsers' consoles said: scripts that failed, and what the Content-Security-Policy stopped."""
    talks: dict[str, tuple[UUID, UUID]] = field(default_factory=dict[str, tuple[UUID, UUID]])

    async def says(self, who: str, text: str, *, revision: int = 1) -> None:
        """A customer writes."""
        conversation, contact = self.talks.setdefault(who, (uuid4(), uuid4()))
        bench = self.office.bench
        seen = ContactSeen(
            tenant=TENANT, contact_id=contact, channel_id=self.office.channel, name=who, has_phone=True, is_new=True
        )
        heard = self.office.received(text, revision, conversation_id=conversation, contact_id=contact, sender_name=who)
        await bench.hear(seen, heard)

    async def drafts(self, who: str, body: str, **changed: Any) -> Obligation:
        """The agent's text waits for a decision."""
        if who not in self.talks:
            await self.says(who, "Oi, tudo bem?")
        conversation, contact = self.talks[who]
        known: dict[str, Any] = {
            "conversation_id": conversation, "contact_id": contact, "chain_version": "1",
            "verdicts": tuple(GateVerdict(gate=gate, outcome="pass") for gate in GATES),
        }  # fmt: skip
        await self.office.bench.hear(self.office.draft(body, **(known | changed)))
        return await self.standing(who)

    async def standing(self, who: str) -> Obligation:
        id = await self.office.bench.value(
            "select id from obligation where conversation_id = $1 order by opened_at desc, id limit 1",
            self.talks[who][0],
        )
        return await self.office.obligation(id)

    async def page(
        self, email: str = ANA, *, width: int = 1280, height: int = 800, path: str = "/", **how: Any
    ) -> Page:
        """A browser of somebody who has signed in, by keyboard."""
        context = await self.browser.new_context(viewport={"width": width, "height": height}, **how)
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        self.pages.append(page)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", self.complaint)
        await page.goto(f"{self.url}/sign-in")
        await page.locator(f'button[value="{email}"]').press("Enter")
        await page.wait_for_selector("html[data-ready]")
        if path != "/":
            await page.goto(f"{self.url}{path}")
            await page.wait_for_selector("html[data-ready]")
        return page

    def complaint(self, message: ConsoleMessage) -> None:
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.complaints.append(message.text)

    async def speaks(self, email: str, language: str) -> None:
        async with self.office.bench.db.transaction() as tx:
            await tx.execute("update person set language = $2 where email = $1", email, language)

    async def close(self) -> None:
        for page in self.pages:
            await page.context.close()


def _chromium() -> str:
    found = shutil.which(CHROMIUM) or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.fail("the browser tests need Chromium: install the package chromium (apt-get install chromium)")
    return found


@pytest.fixture(scope="session")
async def browser() -> AsyncIterator[Browser]:
    expect.set_options(timeout=PATIENCE_MS)
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=_chromium(), args=list(FLAGS))
        yield browser
        await browser.close()


@pytest.fixture
async def shop(bench_of: BenchFactory, browser: Browser) -> AsyncIterator[Shop]:
    async with serve(await open_office(bench_of), browser) as shop:
        yield shop
    assert shop.complaints == []


@asynccontextmanager
async def serve(office: Office, browser: Browser, *, port: int = 0) -> AsyncGenerator[Shop]:
    """The application on a port of loopback."""
    api = app(office.context)
    options = uvicorn.Config(
        api, port=port, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    server = Served(options)
    serving = asyncio.create_task(server.serve())
    await within(server.is_up.wait(), 10)
    port = server.servers[0].sockets[0].getsockname()[1]
    shop = Shop(office, browser, f"http://127.0.0.1:{port}")
    try:
        yield shop
    finally:
        await shop.close()
        server.should_exit = True
        await serving
        if (reading := api.state.feed._task) is not None:
            await within(reading, 10)
