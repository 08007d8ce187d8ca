"""The pages of the gates in a real browser: from the sign-in by keyboard to a rule that holds for the next text."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
import uvicorn
from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Browser, Page, expect

from services.guardrails.facts import PromiseTable
from services.guardrails.http import app
from services.guardrails.rules import Rules
from tests.browser.conftest import PATIENCE_MS, Served
from tests.guardrails.pages import ADA, LEAK, House, open_house
from tests.guardrails.world import CONTACT, received
from tests.harness import BenchFactory, within

RULES = Rules(promise_table=PromiseTable(version=1, price_floor_cents=5000))
PAGE_WEIGHT_BYTES = 150_000


@pytest.fixture
async def house(bench_of: BenchFactory) -> House:
    house = await open_house(bench_of, RULES)
    await house.judged("Abrimos das 8h às 18h.", LEAK, "Fica por R$ 10,00.")
    await house.bench.hear(received("Parar", revision=2, opt_out="opt_out"))
    return house


@asynccontextmanager
async def served(house: House) -> AsyncGenerator[str]:
    """The pages on a port of loopback."""
    options = uvicorn.Config(
        app(house.context), port=0, log_config=None, access_log=False, lifespan="off", timeout_graceful_shutdown=1
    )
    server = Served(options)
    serving = asyncio.create_task(server.serve())
    await within(server.is_up.wait(), 10)
    try:
        yield f"http://localhost:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def opened(browser: Browser, url: str, *, width: int = 1280, height: int = 800) -> AsyncGenerator[Page]:
    """Ada's browser, who has signed in by keyboard. Whatever its console complains of makes the test fail."""
    context = await browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(PATIENCE_MS)
    page, complaints = await context.new_page(), list[str]()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda one: complaints.append(one.text) if "Content Security Policy" in one.text else None)
    await page.goto(f"{url}/gates")
    await page.locator(f'button[value="{ADA}"]').press("Enter")
    await page.wait_for_selector("html[data-ready]")
    yield page
    await context.close()
    assert complaints == []


async def violations(page: Page) -> str:
    found = await Axe().run(page)  # pyright: ignore[reportUnknownMemberType] - the package leaves its types open
    return found.generate_report() if found.violations_count else ""


async def follow(page: Page, name: str) -> None:
    """A link of the page's head, by keyboard."""
    await page.get_by_role("link", name=name, exact=True).first.press("Enter")


async def test_from_a_veto_to_a_dispute_and_a_rule_that_a_person_changed(house: House, browser: Browser) -> None:
    async with served(house) as url, opened(browser, url) as page:
        await page.locator('[data-gate="promise"] a').press("Enter")
        await page.locator('[data-semantic-id="run"]').press("Enter")
        await expect(page.locator("mark")).to_have_text("R$ 10,00")
        await expect(page.locator("[data-verdict]")).to_have_count(10)
        await page.locator("#reason").fill("It was the price of a sample")
        await page.get_by_role("button", name="Dispute").press("Enter")
        await expect(page.locator('[data-semantic-id="disputes"]')).to_contain_text("It was the price of a sample")
        await follow(page, "Rules")
        await page.locator("#price_floor").fill("ten")
        await page.locator("#reason").fill("Samples are sold")
        await page.get_by_role("button", name="Save a new version").press("Enter")
        await expect(page.locator("#price_floor")).to_be_focused()
        await expect(page.locator("#price_floor")).to_have_value("ten")
        await expect(page.locator("#price_floor-fault")).to_be_visible()
        await page.locator("#price_floor").fill("5,00")
        await page.locator("#price_floor").press("Enter")
        await expect(page.get_by_role("status")).to_contain_text("version 2 is in force")
        await page.get_by_role("link", name="Version 1").press("Enter")
        await page.locator("#reason").fill("Not after all")
        await page.get_by_role("button", name="Go back to this version").press("Enter")
        await expect(page.get_by_role("status")).to_contain_text("version 3 is in force")
        await follow(page, "Consent")
        await page.locator('[data-semantic-id="contacts"] a').press("Enter")
        await expect(page.locator('[data-state="opted_out"]')).to_be_visible()
        await page.get_by_role("button", name="Sign out").press("Enter")
        await expect(page.locator('[data-semantic-id="sign-in"]')).to_be_visible()
    assert await house.bench.value("select count(*) from act") == 3


@pytest.mark.parametrize("width", [1280, 360])
async def test_every_page_is_accessible_in_both_themes_fits_and_is_light(
    house: House, browser: Browser, width: int
) -> None:
    run_id = await house.bench.value("select run_id from run where outcome = 'vetoed' limit 1")
    paths = (
        "",
        "/runs",
        f"/runs/{run_id}",
        "/rules",
        "/rules/1",
        "/contacts",
        f"/contacts/{CONTACT}",
        "/disputes",
        "/changes",
    )
    async with served(house) as url, opened(browser, url, width=width) as page:
        for path in paths:
            answer = await page.goto(f"{url}/gates{path}")
            assert answer is not None
            assert len(await answer.body()) < PAGE_WEIGHT_BYTES
            await page.wait_for_selector("html[data-ready]")
            for scheme in ("light", "dark"):
                await page.emulate_media(color_scheme=scheme)
                assert await violations(page) == "", (path, scheme)
            over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert over <= 0, path
