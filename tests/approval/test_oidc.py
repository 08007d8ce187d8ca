"""People sign in at a real OpenID provider; whatever goes wrong leaves nobody signed in."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from tests.approval.issuer import APPROVERS, HOME, Issuer, browser_of, walk
from tests.approval.office import TENANT, Office, open_office
from tests.harness import BenchFactory


@pytest.fixture
def issuer(iam_server: Any) -> Iterator[Issuer]:
    yield Issuer.knowing_us(iam_server)
    iam_server.logout()


@pytest.fixture
async def office(bench_of: BenchFactory, issuer: Issuer) -> Office:
    return await open_office(bench_of, **issuer.settings())


@pytest.fixture
async def browser(office: Office) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(office) as browser:
        yield browser


async def test_from_the_sign_in_to_the_page_and_out(issuer: Issuer, browser: httpx.AsyncClient) -> None:
    issuer.server.login(issuer.person("carla@example.com", APPROVERS))
    door = await walk(browser, "/approvals")
    assert door.url.path == "/sign-in"
    assert "/sign-in/start?next=%2Fapprovals" in door.text
    desk = await walk(browser, "/sign-in/start?next=/approvals")
    assert (desk.status_code, desk.url.path) == (200, "/approvals")
    me = (await browser.get("/v1/me")).json()
    assert (me["email"], me["name"], me["tenant"], "decide" in me["rights"]) == (
        "carla@example.com", "Carla", str(TENANT), True,
    )  # fmt: skip
    ended = await browser.post("/sign-out", headers={"x-csrf-token": me["csrf"]})
    assert (await browser.get("/v1/me")).status_code == 401
    there = ended.json()["next"]
    assert there.startswith(f"{issuer.url}/oauth/end_session?")
    issuer.server.logout()
    assert str((await walk(browser, there)).url).split("?")[0] == f"{HOME}/sign-in"
