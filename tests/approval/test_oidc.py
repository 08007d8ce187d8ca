"""People sign in at a real OpenID provider; whatever goes wrong leaves nobody signed in."""

import base64
import hmac
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import httpx
import pytest
from joserfc import jwk

from shared.clock import utc_now
from shared.web import bounds, provider
from tests.approval.issuer import APPROVERS, COOKIE, HOME, PENDING, VIEWERS, Issuer, browser_of, to_callback, walk, why
from tests.approval.office import OTHER_TENANT, TENANT, Office, open_office
from tests.harness import BenchFactory

CARLA = "carla@example.com"
Forge = Callable[[Issuer, dict[str, Any], dict[str, Any]], str]


@pytest.fixture
def issuer(iam_server: Any) -> Iterator[Issuer]:
    keys = list(iam_server.app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"])
    yield Issuer.knowing_us(iam_server)
    iam_server.app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"] = keys
    iam_server.logout()


@pytest.fixture
async def office(bench_of: BenchFactory, issuer: Issuer) -> Office:
    return await open_office(bench_of, **issuer.settings())


@pytest.fixture
async def browser(office: Office) -> AsyncIterator[httpx.AsyncClient]:
    async with browser_of(office) as browser:
        yield browser


@pytest.fixture
def carla(issuer: Issuer) -> Any:
    """Somebody who may approve, and has signed in at the provider."""
    person = issuer.person(CARLA, APPROVERS)
    issuer.server.login(person)
    return person


async def me(browser: httpx.AsyncClient) -> dict[str, Any]:
    answer = await browser.get("/v1/me")
    assert answer.status_code == 200
    return answer.json()


async def is_nobody(browser: httpx.AsyncClient, office: Office) -> bool:
    """No session, here or in the browser."""
    sessions = await office.bench.value("select count(*) from session")
    return (await browser.get("/v1/me")).status_code == 401 and sessions == 0 and COOKIE not in browser.cookies


# ------------------------------------------------------------------------------------------------------- in and out


async def test_from_the_sign_in_to_the_page_and_out(issuer: Issuer, browser: httpx.AsyncClient, carla: Any) -> None:
    door = await walk(browser, "/approvals")
    assert door.url.path == "/sign-in"
    assert "/sign-in/start?next=%2Fapprovals" in door.text
    desk = await walk(browser, "/sign-in/start?next=/approvals")
    assert (desk.status_code, desk.url.path) == (200, "/approvals")
    known = await me(browser)
    assert (known["email"], known["name"], known["tenant"]) == (CARLA, "Carla", str(TENANT))
    assert "decide" in known["rights"]
    ended = await browser.post("/sign-out", headers={"x-csrf-token": known["csrf"]})
    assert (await browser.get("/v1/me")).status_code == 401
    there = ended.json()["next"]
    assert there.startswith(f"{issuer.url}/oauth/end_session?")
    issuer.server.logout()
    back = await walk(browser, there)
    assert (str(back.url).partition("?")[0], back.status_code) == (f"{HOME}/sign-in", 200)


async def test_the_cookies_are_out_of_reach_and_the_sign_in_s_own_goes_when_it_is_over(
    browser: httpx.AsyncClient, carla: Any
) -> None:
    started = await browser.get("/sign-in/start")
    begun = started.headers["set-cookie"]
    browser.cookies.clear()
    done = await browser.get(await to_callback(browser))
    kept, dropped = done.headers.get_list("set-cookie")
    for cookie, name in ((begun, PENDING), (kept, COOKIE), (dropped, PENDING)):
        assert cookie.startswith(f"{name}=")
        assert all(word in cookie for word in ("; HttpOnly", "; Secure", "; SameSite=lax", "; Path=/"))
        assert "Domain" not in cookie
    assert "Max-Age=0" in dropped
    assert done.headers["cache-control"] == "no-store"


async def test_the_provider_is_told_a_challenge_a_state_and_a_nonce_and_never_our_secret(
    issuer: Issuer, browser: httpx.AsyncClient
) -> None:
    url = (await browser.get("/sign-in/start")).headers["location"]
    told = dict(httpx.URL(url).params)
    assert (told["response_type"], told["code_challenge_method"]) == ("code", "S256")
    assert told["redirect_uri"] == f"{HOME}/sign-in/callback"
    assert min(len(told["state"]), len(told["nonce"]), len(told["code_challenge"])) >= 32
    assert issuer.client_secret not in url
    again = dict(httpx.URL((await browser.get("/sign-in/start")).headers["location"]).params)
    assert all(told[name] != again[name] for name in ("state", "nonce", "code_challenge"))


async def test_a_provider_without_a_page_to_sign_out_ends_nothing_there(
    issuer: Issuer, browser: httpx.AsyncClient, carla: Any
) -> None:
    with issuer.answering("/.well-known/openid-configuration", lambda said: said | {"end_session_endpoint": ""}):
        await walk(browser)
    ended = await browser.post("/sign-out", headers={"x-csrf-token": (await me(browser))["csrf"]})
    assert ended.json() == {"next": "/sign-in"}
    assert (await browser.get("/v1/me")).status_code == 401


async def test_keys_of_programs_go_on_and_local_ways_in_do_not_exist(
    browser: httpx.AsyncClient, office: Office, issuer: Issuer
) -> None:
    for path in ("/sign-in", "/v1/local/token"):
        assert (await browser.post(path, json={"email": CARLA})).status_code == 404
    bad = {"authorization": "Bearer ck_" + "0" * 32 + ".x"}
    assert (await browser.get("/v1/obligations", headers=bad)).status_code == 401


# --------------------------------------------------------------------------------------------------- who is let in


async def test_without_a_role_nobody_is_let_in_and_a_role_that_is_withdrawn_is_gone_from_open_sessions(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient
) -> None:
    dora = issuer.person("dora@example.com")
    issuer.server.login(dora)
    refused = await walk(browser)
    assert (why(refused), refused.status_code) == ("no_role", 403)
    assert 'data-code="no_role"' in refused.text
    assert await is_nobody(browser, office)
    issuer.join(dora, VIEWERS)
    await walk(browser)
    assert (await me(browser))["rights"] == ["read"]
    issuer.leave(dora, VIEWERS)
    async with browser_of(office) as elsewhere:
        assert why(await walk(elsewhere)) == "no_role"
    assert (await me(browser))["rights"] == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"email_verified": False}, "unverified_email"),
        ({"email": ""}, "no_email"),
        ({"email": "carla example.com"}, "no_email"),
        ({"org": None}, "no_tenant"),
        ({"org": "elsewhere"}, "no_tenant"),
        ({"org": ["north", "south"]}, "several_tenants"),
        ({"org": {"north": True}}, "no_tenant"),
        ({"groups": {APPROVERS: True}}, "no_role"),
    ],
)
async def test_claims_that_make_nobody_are_told_apart(
    bench_of: BenchFactory, issuer: Issuer, carla: Any, changed: dict[str, Any], code: str
) -> None:
    tenants = {"claim": "org", "values": {"north": str(TENANT), "south": str(OTHER_TENANT)}}
    roles = {"claim": "groups", "values": {APPROVERS: ["approver"]}}
    office = await open_office(
        bench_of, **issuer.settings(oidc_mapping=json.dumps({"tenant": tenants, "roles": roles}))
    )
    async with browser_of(office) as browser:
        with issuer.minting(lambda i, header, claims: i.sign(header, claims | {"org": "north"} | changed)):
            assert why(await walk(browser)) == code
        assert await is_nobody(browser, office)
        with issuer.minting(lambda i, header, claims: i.sign(header, claims | {"org": "south"})):
            await walk(browser)
        assert (await me(browser))["tenant"] == str(OTHER_TENANT)


async def test_an_address_that_came_with_another_account_opens_nothing(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    await walk(browser)
    issuer.server.login(issuer.person(CARLA, APPROVERS))
    async with browser_of(office) as elsewhere:
        assert why(await walk(elsewhere)) == "another_account"
    assert await office.bench.value("select count(*) from person where email = $1", CARLA) == 1


async def test_an_account_with_a_new_address_is_still_the_same_person(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    await walk(browser)
    with issuer.minting(lambda i, header, claims: i.sign(header, claims | {"email": "new@example.com"})):
        await walk(browser)
    assert (await me(browser))["email"] == CARLA
    assert await office.bench.value("select count(*) from person where email = 'new@example.com'") == 0


async def test_somebody_switched_off_is_not_switched_on_by_signing_in(
    office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    await walk(browser)
    async with office.bench.db.transaction() as tx:
        await tx.execute("update person set is_active = false where email = $1", CARLA)
    assert (await browser.get("/v1/me")).status_code == 401
    assert why(await walk(browser)) == "inactive"
    assert (await browser.get("/v1/me")).status_code == 401


async def test_what_the_id_token_leaves_out_is_asked_for_and_believed_of_the_same_person_alone(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    def lean(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
        return i.sign(header, {name: value for name, value in claims.items() if name not in {"groups", "email"}})

    with issuer.minting(lean), issuer.answering("/oauth/userinfo", lambda said: said | {"sub": "somebody else"}):
        assert why(await walk(browser)) == "not_verified"
    assert await is_nobody(browser, office)
    with issuer.minting(lean):
        await walk(browser)
    assert (await me(browser))["email"] == CARLA


# ------------------------------------------------------------------------------------------------ what does not count


def unsigned(_issuer: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    parts = (json.dumps(one).encode() for one in ({"alg": "none", "kid": header["kid"]}, claims))
    return ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts) + "."


def keyed_by_our_secret(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    return i.sign({"alg": "HS256"}, claims, jwk.OctKey.import_key(i.client_secret))


def keyed_by_its_public_key(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    parts = (json.dumps(one).encode() for one in ({"alg": "HS256", "kid": header["kid"]}, claims))
    signed = ".".join(base64.urlsafe_b64encode(part).decode().rstrip("=") for part in parts)
    public = jwk.RSAKey.import_key(i.keys[0]).as_pem(private=False)
    mark = hmac.digest(public, signed.encode(), "sha256")
    return f"{signed}.{base64.urlsafe_b64encode(mark).decode().rstrip('=')}"


def signed_by_another_key(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    return i.sign(header, claims, jwk.RSAKey.generate_key(2048))


def signed_by_a_key_that_it_brings(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    key = jwk.RSAKey.generate_key(2048)
    return i.sign({"alg": "RS256", "kid": "mine", "jwk": key.as_dict(private=False)}, claims, key)


def saying(**changed: Any) -> Forge:
    def forge(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
        said = claims | changed
        return i.sign(header, {name: value for name, value in said.items() if value is not None})

    return forge


def expired(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    return i.sign(header, claims | {"exp": claims["iat"] - 60})


def altered(i: Issuer, header: dict[str, Any], claims: dict[str, Any]) -> str:
    whole = i.sign(header, claims).split(".")
    body = base64.urlsafe_b64encode(json.dumps(claims | {"groups": [APPROVERS, "more"]}).encode()).decode().rstrip("=")
    return f"{whole[0]}.{body}.{whole[2]}"


FORGERIES: dict[str, Forge] = {
    "unsigned": unsigned,
    "keyed by our secret": keyed_by_our_secret,
    "keyed by its public key": keyed_by_its_public_key,
    "signed by another key": signed_by_another_key,
    "signed by a key that it brings": signed_by_a_key_that_it_brings,
    "altered": altered,
    "expired": expired,
    "without an expiry": saying(exp=None),
    "not valid yet": saying(nbf=4_000_000_000),
    "for another audience": saying(aud=["another"]),
    "for another audience, of our party": lambda i, h, said: i.sign(h, said | {"aud": ["x"], "azp": i.client_id}),
    "for us and others, of another party": lambda i, h, said: i.sign(h, said | {"aud": [i.client_id, "x"], "azp": "x"}),
    "without an audience": saying(aud=None),
    "of another issuer": saying(iss="https://elsewhere.example"),
    "without an issuer": saying(iss=None),
    "with another nonce": saying(nonce="another"),
    "without a nonce": saying(nonce=None),
    "of another access token": saying(at_hash="AAAAAAAAAAAAAAAAAAAAAA"),
    "of nobody": saying(sub=None),
    "no token": lambda _i, _header, _claims: "x.y.z",
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
async def test_a_token_that_is_not_the_provider_s_word_on_this_sign_in_opens_nothing(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any, forge: Forge
) -> None:
    with issuer.minting(forge):
        page = await walk(browser)
    assert (why(page), page.status_code) == ("not_verified", 400)
    assert await is_nobody(browser, office)
    assert await office.bench.value("select count(*) from person where email = $1", CARLA) == 0


async def test_an_id_token_of_an_earlier_sign_in_is_not_taken_again(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    given: list[str] = []

    def first_for_ever(said: dict[str, Any]) -> dict[str, Any]:
        given.append(said["id_token"])
        return said | {"id_token": given[0]}

    with issuer.answering("/oauth/token", first_for_ever):
        await walk(browser)
        csrf = (await me(browser))["csrf"]
        await browser.post("/sign-out", headers={"x-csrf-token": csrf})
        assert why(await walk(browser)) == "not_verified"
    assert len(given) == 2
    assert await is_nobody(browser, office)


async def test_new_keys_of_the_provider_are_fetched_and_withdrawn_ones_no_longer_believed(
    issuer: Issuer, browser: httpx.AsyncClient, carla: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider, "REFRESH_SECONDS", 0.0)
    await walk(browser)
    old, new = issuer.keys[0], jwk.RSAKey.generate_key(2048, auto_kid=True)
    issuer.server.app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"] = [new.as_dict(private=True)]
    assert (await walk(browser, "/sign-in/start?next=/approvals")).url.path == "/approvals"
    with issuer.minting(lambda i, header, claims: i.sign(header | {"kid": old["kid"]}, claims, jwk.import_key(old))):
        assert why(await walk(browser)) == "not_verified"


# ----------------------------------------------------------------------------------------------- ways back that fail


async def test_a_way_back_counts_for_the_browser_that_began_it_once(
    office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    back = await to_callback(browser)
    async with browser_of(office) as stranger:
        assert why(await walk(stranger, back)) == "too_late"
        await stranger.get("/sign-in/start")
        assert why(await walk(stranger, back)) == "too_late"
        assert await is_nobody(stranger, office)
    assert (await walk(browser, back)).url.path == "/approvals"
    first = browser.cookies[COOKIE]
    assert why(await walk(browser, back)) == "too_late"
    assert browser.cookies[COOKIE] == first


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"state": "another"}, "too_late"),
        ({"state": ""}, "too_late"),
        ({"code": ""}, "declined"),
        ({"error": "access_denied"}, "declined"),
        ({"iss": "https://elsewhere.example"}, "not_verified"),
    ],
)
async def test_a_tampered_way_back_leads_nowhere(
    office: Office, browser: httpx.AsyncClient, carla: Any, changed: dict[str, str], code: str
) -> None:
    params = dict(httpx.URL(await to_callback(browser)).params) | changed
    assert why(await walk(browser, f"/sign-in/callback?{urlencode(params)}")) == code
    assert await is_nobody(browser, office)


def changed_cookie(browser: httpx.AsyncClient, **changed: Any) -> dict[str, str]:
    """The browser's sign-in, with something of it changed."""
    pending = json.loads(base64.urlsafe_b64decode(browser.cookies[PENDING].strip('"'))) | changed
    browser.cookies.clear()
    return {"cookie": f"{PENDING}={base64.urlsafe_b64encode(json.dumps(pending).encode()).decode()}"}


@pytest.mark.parametrize(
    ("changed", "code"),
    [({"verifier": "v" * 64}, "not_verified"), ({"nonce": "n" * 32}, "not_verified"), ({"begun_at": 0}, "too_late")],
)
async def test_a_code_is_exchanged_by_the_sign_in_that_asked_for_it_while_it_is_young(
    office: Office, browser: httpx.AsyncClient, carla: Any, changed: dict[str, Any], code: str
) -> None:
    back = await to_callback(browser)
    answer = await browser.get(back, headers=changed_cookie(browser, **changed))
    assert answer.headers["location"].endswith(f"why={code}")
    assert await is_nobody(browser, office)


@pytest.mark.parametrize("rubbish", ["x", "e30=", "bnVsbA==", "%ff"])
async def test_a_cookie_that_we_did_not_make_begins_nothing(browser: httpx.AsyncClient, rubbish: str) -> None:
    answer = await browser.get("/sign-in/callback?state=x&code=y", headers={"cookie": f"{PENDING}={rubbish}"})
    assert answer.headers["location"] == "/sign-in?why=too_late"


@pytest.mark.parametrize(
    "there",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "evil.example", "javascript:x"],
)
async def test_a_sign_in_leads_to_no_other_site(browser: httpx.AsyncClient, carla: Any, there: str) -> None:
    door = await browser.get("/sign-in", params={"next": there})
    assert "evil" not in door.text
    desk = await walk(browser, str(httpx.URL("/sign-in/start", params={"next": there})))
    assert (desk.url.host, desk.url.path, desk.status_code) == ("approval.example", "/approvals", 200)


# ------------------------------------------------------------------------------------------------------- the session


async def test_a_cookie_that_somebody_planted_is_never_a_session(
    office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    planted = f"{TENANT.hex}.planted"
    browser.cookies.set(COOKIE, planted, domain="approval.example", path="/")
    await walk(browser)
    secret = next(cookie.value for cookie in browser.cookies.jar if cookie.name == COOKIE and cookie.value != planted)
    assert secret
    async with browser_of(office) as attacker:
        assert (await attacker.get("/v1/me", headers={"cookie": f"{COOKIE}={planted}"})).status_code == 401


async def test_signing_in_again_gives_a_new_secret_and_ends_the_old_session(
    office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    await walk(browser)
    first = browser.cookies[COOKIE]
    await walk(browser)
    assert browser.cookies[COOKIE] != first
    async with browser_of(office) as old:
        assert (await old.get("/v1/me", headers={"cookie": f"{COOKIE}={first}"})).status_code == 401
    assert await office.bench.value("select count(*) from session") == 1


@pytest.mark.parametrize(
    "past", ["expires_at = clock_timestamp()", "seen_at = clock_timestamp() - interval '61 minutes'"]
)
async def test_a_session_ends_by_its_age_and_when_nobody_uses_it(
    office: Office, browser: httpx.AsyncClient, carla: Any, past: str
) -> None:
    await walk(browser)
    async with office.bench.db.transaction() as tx:
        await tx.execute("update session set seen_at = clock_timestamp() - interval '59 minutes'")
    is_seen = "select clock_timestamp() - seen_at < interval '1 minute' from session"
    assert (await browser.get("/parts/queue", headers={"x-by-itself": "1"})).status_code == 200
    assert await office.bench.value(is_seen) is False
    await me(browser)
    assert await office.bench.value(is_seen) is True
    async with office.bench.db.transaction() as tx:
        await tx.execute(f"update session set {past}")
    assert (await browser.get("/v1/me")).status_code == 401


async def test_a_form_is_confirmed_by_the_token_of_its_session(browser: httpx.AsyncClient, carla: Any) -> None:
    await walk(browser)
    csrf = (await me(browser))["csrf"]
    for form in ({}, {"csrf": ""}, {"csrf": "another"}):
        refused = await browser.post("/sign-out", data=form)
        assert (refused.status_code, refused.json()["type"]) == (403, "/problems/csrf")
    await me(browser)
    done = await browser.post("/sign-out", data={"csrf": csrf})
    assert done.status_code == 303
    assert (await browser.get("/v1/me")).status_code == 401


# ------------------------------------------------------------------------------------------- a provider in trouble


async def test_while_the_provider_does_not_answer_nobody_is_signed_in_and_everybody_is_told(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    with issuer.answering("/.well-known/openid-configuration", lambda _: 503):
        page = await walk(browser, "/sign-in/start?next=/approvals")
        assert (why(page), page.status_code) == ("provider_down", 503)
        assert "/sign-in/start?next=%2Fapprovals" in page.text
    for path in ("/oauth/token", "/oauth/jwks.json"):
        with issuer.answering(path, lambda _: 503):
            assert why(await walk(browser)) == "provider_down"
        assert await is_nobody(browser, office)
    assert (await walk(browser)).url.path == "/approvals"


@pytest.mark.parametrize(
    "said",
    [{"issuer": "https://elsewhere.example"}, {"token_endpoint": "http://elsewhere.example/token"}, {"jwks_uri": 1}],
)
async def test_a_discovery_document_that_is_not_the_issuer_s_own_is_not_followed(
    issuer: Issuer, browser: httpx.AsyncClient, said: dict[str, Any]
) -> None:
    with issuer.answering("/.well-known/openid-configuration", lambda document: document | said):
        assert why(await walk(browser)) == "provider_down"


async def test_a_session_ends_here_also_while_the_provider_does_not_answer(
    issuer: Issuer, office: Office, carla: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with browser_of(office) as browser:
        await walk(browser)
        csrf = (await me(browser))["csrf"]
        monkeypatch.setattr(provider, "KEEP_SECONDS", 0.0)
        with issuer.answering("/.well-known/openid-configuration", lambda _: 503):
            ended = await browser.post("/sign-out", headers={"x-csrf-token": csrf})
        assert ended.json() == {"next": "/sign-in"}
        assert await is_nobody(browser, office)


async def test_who_fails_too_often_must_wait_and_the_provider_is_left_alone(
    issuer: Issuer, browser: httpx.AsyncClient, carla: Any
) -> None:
    for _ in range(bounds.FAILURES):
        assert why(await walk(browser, "/sign-in/callback?state=x&code=y")) == "too_late"
    calls: list[int] = []

    def counted(said: dict[str, Any]) -> dict[str, Any]:
        calls.append(1)
        return said

    with issuer.answering("/oauth/token", counted):
        page = await walk(browser)
    assert (why(page), page.status_code, calls) == ("busy", 429, [])


# ----------------------------------------------------------------------------------------------------------- step-up


async def approve(browser: httpx.AsyncClient, office: Office, **changed: Any) -> httpx.Response:
    filed = await office.file(f"São R$ 120,00. {uuid4()}", **changed)
    headers = {
        "if-match": f'"{filed.epoch}-{filed.version.commitment}"', "idempotency-key": str(uuid4()),
        "x-csrf-token": (await me(browser))["csrf"],
    }  # fmt: skip
    return await browser.post(f"/v1/obligations/{filed.id}/decisions", json={"verb": "approve"}, headers=headers)


async def aged(office: Office, what: str = "signed_in_at - interval '1 hour'") -> None:
    async with office.bench.db.transaction() as tx:
        await tx.execute(f"update session set signed_in_at = {what}")


async def test_a_critical_text_wants_a_recent_sign_in_and_says_where(
    office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    await walk(browser)
    assert (await approve(browser, office, classes=("price",))).status_code == 200
    await aged(office)
    assert (await approve(browser, office, classes=("first_contact",))).status_code == 200
    refused = await approve(browser, office, classes=("price",))
    assert (refused.status_code, refused.json()["type"]) == (403, "/problems/sign-in-again")
    item = (await office.standing()).id
    way = refused.json()["url"]
    asked = dict(httpx.URL((await browser.get(way)).headers["location"]).params)
    assert asked["max_age"] == "900"
    back = await walk(browser, way)
    assert back.url.path == f"/approvals/{item}"
    assert (await approve(browser, office, classes=("price",))).status_code == 200


@pytest.mark.parametrize("at", [None, 1_000_000_000])
async def test_a_provider_that_did_not_ask_again_makes_no_session_fresh(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any, at: int | None
) -> None:
    await walk(browser)
    await aged(office)
    with issuer.minting(saying(auth_time=at)):
        page = await walk(browser, "/sign-in/start?fresh=1")
        assert (why(page), page.status_code) == ("not_fresh", 403)
        assert (await approve(browser, office, classes=("price",))).status_code == 403
        await walk(browser)
    assert (await approve(browser, office, classes=("price",))).status_code == 403


async def test_a_provider_that_says_the_future_makes_no_session_fresh_for_longer(
    issuer: Issuer, office: Office, browser: httpx.AsyncClient, carla: Any
) -> None:
    with issuer.minting(saying(auth_time=int(utc_now().timestamp()) + 86_400)):
        await walk(browser)
    await aged(office)
    assert (await approve(browser, office, classes=("price",))).status_code == 403


async def test_a_stronger_sign_in_is_wanted_where_it_is_set(bench_of: BenchFactory, issuer: Issuer, carla: Any) -> None:
    office = await open_office(bench_of, **issuer.settings(step_up_acr="mfa"))
    async with browser_of(office) as browser:
        with issuer.minting(saying(acr="password")):
            await walk(browser)
            assert (await approve(browser, office, classes=("price",))).status_code == 403
            assert why(await walk(browser, "/sign-in/start?fresh=1")) == "not_fresh"
        with issuer.minting(saying(acr="mfa")):
            await walk(browser, "/sign-in/start?fresh=1")
        assert (await approve(browser, office, classes=("price",))).status_code == 200
