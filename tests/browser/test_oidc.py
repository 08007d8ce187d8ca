"""A person signs in at a real provider, in a real browser: its own form and password, and out of both again."""

from collections.abc import Iterator
from typing import Any

import portpicker
import pytest
from playwright.async_api import Browser, Page, expect

from tests.approval.issuer import APPROVERS, Issuer
from tests.approval.office import open_office
from tests.browser.conftest import PATIENCE_MS, serve
from tests.harness import BenchFactory

PASSWORD = "correct horse"


@pytest.fixture
def issuer(iam_server: Any) -> Iterator[Issuer]:
    port: int = portpicker.pick_unused_port()  # pyright: ignore[reportUnknownMemberType] - untyped
    yield Issuer.knowing_us(iam_server, f"http://127.0.0.1:{port}")
    iam_server.logout()


async def prove(page: Page, name: str) -> None:
    """The provider's own pages: who, and the password."""
    await page.locator("[data-semantic-id='sign-in.provider']").press("Enter")
    await page.locator("[name=login]").fill(name)
    await page.locator("[name=login]").press("Enter")
    await page.locator("[name=password]").fill(PASSWORD)
    await page.locator("[name=password]").press("Enter")
    await page.wait_for_selector("html[data-ready]")


async def test_in_by_the_provider_s_form_to_the_page_that_was_asked_for_and_out_of_both(
    bench_of: BenchFactory, browser: Browser, issuer: Issuer
) -> None:
    office = await open_office(bench_of, **issuer.settings(profile="local"))
    carla = issuer.person("carla@example.com", APPROVERS, password=PASSWORD)
    async with serve(office, browser, port=int(issuer.home.rpartition(":")[2])) as shop:
        context = await browser.new_context()
        context.set_default_timeout(PATIENCE_MS)
        page = await context.new_page()
        shop.pages.append(page)
        page.on("console", shop.complaint)
        await page.goto(f"{shop.url}/approvals?show=leaving")
        await prove(page, carla.user_name)
        await expect(page).to_have_url(f"{shop.url}/approvals?show=leaving")
        await expect(page.locator("[data-semantic-id=sign-out]")).to_be_visible()
        await page.locator("[data-do=sign-out]").press("Enter")
        await page.wait_for_url("**/sign-in*")
        await page.goto(f"{shop.url}/approvals")
        await prove(page, carla.user_name)  # asked again: the provider's session has ended, too
        assert shop.complaints == []
