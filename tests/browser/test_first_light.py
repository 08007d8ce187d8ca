"""The README's first minute, in a real browser before the whole running system: phone → queue → key `a` → phone."""

import shutil
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from deploy.demo.fresh import fresh_stack
from deploy.local.stack import Stack
from tests.browser.conftest import CHROMIUM, FLAGS

MESSAGE = "Oi, quero remarcar minha consulta de quinta"
CHAT = "5511900001234@c.us"
PATIENCE_MS = 60_000


@pytest.fixture(scope="module")
def stack() -> Iterator[Stack]:
    with fresh_stack() as running:
        yield running


@pytest.fixture
def browser() -> Iterator[Browser]:
    path = shutil.which(CHROMIUM)
    assert path, "chromium is missing: apt-get install chromium"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield chromium
        chromium.close()


def test_a_message_becomes_an_approved_reply_by_keyboard(stack: Stack, browser: Browser) -> None:
    page = browser.new_context(locale="pt-BR").new_page()
    page.set_default_timeout(PATIENCE_MS)
    page.goto(stack.layout.approval_url)
    page.get_by_role("button", name="Maria Souza").click()
    page.locator('[data-semantic-id="desk"]').wait_for()
    page.goto(stack.layout.approval_url)
    phone = page.frame_locator("iframe")
    phone.locator("#people button").first.wait_for()
    phone.locator("#text").fill(MESSAGE)
    phone.locator("#send").click()
    page.locator('[data-semantic-id="queue.item"]').first.wait_for()
    page.locator('[data-semantic-id="queue.item"]').first.click()
    shown = page.locator('[data-semantic-id="item.body"]').first.inner_text()
    page.locator("#item[data-settled]").wait_for()  # deciding keys are inert for the first moment of an item
    page.keyboard.press("a")
    expect(phone.locator("#bubbles")).to_contain_text(shown.split("\n")[-1], timeout=PATIENCE_MS)
    received = httpx.get(f"{stack.layout.phone_url}/_control/received").json()
    assert [(one["chat"], one["text"].split()) for one in received] == [(CHAT, shown.split())]
