import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest

from contracts.messages import AlertRaised, DraftApproved, SendUncertain
from services.approval.config import Config
from services.approval.facts import Obligation
from services.approval.http import app, events
from services.approval.http.events import Feed
from services.approval.problems import CATALOGUE, LANGUAGES, Problem, document
from services.approval.store.changes import Position
from shared.config import ConfigError, load
from tests.approval.office import ADA, ANA, BRUNO, NOW, TENANT, VERA, Office, config, open_office
from tests.harness import BenchFactory, within


@pytest.fixture
async def client(office: Office) -> AsyncGenerator[httpx.AsyncClient]:
    async with client_of(office) as client:
        yield client


def client_of(office: Office) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app(office.context))
    return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")


async def bearer(client: httpx.AsyncClient, email: str = ANA) -> dict[str, str]:
    answer = await client.post("/v1/local/token", json={"email": email})
    assert answer.status_code == 201, answer.text
    return {"authorization": f"Bearer {answer.json()['token']}"}


async def decide(
    client: httpx.AsyncClient, o: Obligation, verb: str = "approve", *, by: str = ANA,
    headers: dict[str, str] | None = None, **body: Any,
) -> httpx.Response:  # fmt: skip
    known = {"if-match": f'"{o.epoch}-{o.version.commitment}"', "idempotency-key": str(uuid4())}
    sent = {**await bearer(client, by), **known, **(headers or {})}
    sent = {name: value for name, value in sent.items() if value}
    return await client.post(f"/v1/obligations/{o.id}/decisions", json={"verb": verb, **body}, headers=sent)


def slug(answer: httpx.Response) -> str:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    body = answer.json()
    assert body["status"] == answer.status_code
    return body["type"].removeprefix("/problems/")


# -------------------------------------------------------------------------------------------------------- deciding


async def test_what_the_page_shows_is_what_a_decision_names(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    headers = await bearer(client)
    item = await client.get(f"/v1/obligations/{filed.id}", headers=headers)
    assert item.headers["etag"] == f'"1-{filed.version.commitment}"' == item.json()["etag"]
    assert item.json()["shown"] == filed.version.commitment[:8]
    assert [one["text"] for one in item.json()["conversation"]["history"]] == ["Oi, tem em azul?"]
    sent = {**headers, "if-match": item.headers["etag"], "idempotency-key": "k"}
    decided = await client.post(f"/v1/obligations/{filed.id}/decisions", json={"verb": "approve"}, headers=sent)
    assert (decided.status_code, decided.json()["state"]) == (200, "approved")
    assert decided.json()["authorizes_execution"] is False
    assert (await office.said(DraftApproved)).snapshot.decision_id.hex == decided.json()["decision_id"].replace("-", "")


@pytest.mark.parametrize("missing", ["if-match", "idempotency-key"])
async def test_a_decision_without_its_preconditions_is_refused(
    office: Office, client: httpx.AsyncClient, missing: str
) -> None:
    filed = await office.file()
    answer = await decide(client, filed, headers={missing: ""})
    assert (answer.status_code, slug(answer)) == (428, "precondition-required")
    assert (await office.standing()).state == "open"


@pytest.mark.parametrize("header", ["*", "1-abc", 'W/"1-' + "0" * 64 + '"', '"x"'])
async def test_a_precondition_that_names_no_text_is_refused(
    office: Office, client: httpx.AsyncClient, header: str
) -> None:
    filed = await office.file()
    assert (await decide(client, filed, headers={"if-match": header})).status_code == 422


async def test_each_refusal_has_its_status_and_type(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    newer = await office.file("Mais novo.")
    answers = [
        (await decide(client, filed), 412, "stale-revision"),
        (await decide(client, newer, by=VERA), 403, "no-right"),
        (await decide(client, newer, edited_text="x" * 12_001), 422, "unfit"),
        (await decide(client, newer, edited_text=" "), 422, "unfit"),
        (await decide(client, newer, edited_text=None), 422, "invalid"),
        (await decide(client, newer, edited_text={"a": 1}), 422, "invalid"),
        (await decide(client, newer, "bless"), 422, "invalid"),
        (await decide(client, newer, unknown=1), 422, "invalid"),
    ]
    for answer, status, kind in answers:
        assert (answer.status_code, slug(answer)) == (status, kind)
    assert (await decide(client, newer)).status_code == 200
    again = await decide(client, newer, by=BRUNO)
    assert (again.status_code, slug(again), again.json()["who"]) == (409, "already-decided", ANA)
    assert len([one for one in await office.bench.said() if isinstance(one, DraftApproved)]) == 1


async def test_an_expired_item_is_gone_and_neither_listed_nor_counted(
    office: Office, client: httpx.AsyncClient
) -> None:
    filed = await office.file()
    async with office.bench.db.transaction() as tx:
        await tx.execute("update obligation set expires_at = clock_timestamp()")
    answer = await decide(client, filed)
    assert (answer.status_code, slug(answer)) == (410, "expired")
    listed = (await client.get("/v1/obligations", headers=await bearer(client))).json()
    assert (listed["items"], listed["counts"]) == ([], {})


async def test_an_id_that_was_never_issued_is_not_found(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    answer = await decide(client, msgspec.structs.replace(filed, id=uuid4()))
    assert (answer.status_code, slug(answer)) == (404, "not-found")


async def test_a_repeated_request_is_answered_as_before_and_another_one_with_its_key_is_refused(
    office: Office, client: httpx.AsyncClient
) -> None:
    filed = await office.file()
    key = {"idempotency-key": "k-1"}
    first, again = await decide(client, filed, headers=key), await decide(client, filed, headers=key)
    assert (first.status_code, again.status_code, again.json()) == (200, 200, first.json())
    other = await decide(client, filed, "reject", headers=key)
    assert (other.status_code, slug(other)) == (422, "key-reused")
    assert await office.bench.value("select count(*) from vote") == 1


async def test_a_request_whose_key_is_in_use_is_told_so(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    async with office.bench.web_db.transaction(TENANT) as tx:
        await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 1))", f"{TENANT}:{ANA}:k-1")
        answer = await decide(client, filed, headers={"idempotency-key": "k-1"})
    assert (answer.status_code, slug(answer)) == (409, "in-progress")


async def test_of_two_people_at_once_one_is_told_who_was_first(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    answers = await asyncio.gather(decide(client, filed), decide(client, filed, by=BRUNO))
    assert sorted(one.status_code for one in answers) == [200, 409]
    assert await office.bench.value("select count(*) from vote") == 1
    assert (
        await office.bench.value(
            "select count(*) from outbox where convert_from(payload, 'UTF8') like '%DraftApproved%'"
        )
        == 1
    )


async def test_the_page_says_why_a_button_is_off(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    for email, allowed in ((ANA, True), (VERA, False)):
        item = (await client.get(f"/v1/obligations/{filed.id}", headers=await bearer(client, email))).json()
        approve = next(one for one in item["actions"] if one["verb"] == "approve")
        assert approve["is_allowed"] is allowed
        assert (approve["why_not"] is None) is allowed
        assert item["deciders"] == ["Ana", "Bruno"]


async def test_the_queue_is_ordered_by_urgency_and_read_page_by_page(office: Office, client: httpx.AsyncClient) -> None:
    first = await office.file()
    second = await office.file("Volto a falar.", kind="follow_up")
    headers = await bearer(client)
    page = (await client.get("/v1/obligations?limit=1", headers=headers)).json()
    rest = (await client.get("/v1/obligations", params={"limit": 5, "cursor": page["next"]}, headers=headers)).json()
    assert [one["id"] for one in page["items"] + rest["items"]] == [str(first.id), str(second.id)]
    assert (page["items"][0]["contact_name"], rest["next"]) == ("Carla", None)
    assert (await client.get("/v1/obligations?state=nonsense", headers=headers)).status_code == 422
    assert (await client.get("/v1/obligations?cursor=AAAA", headers=headers)).status_code == 422


# --------------------------------------------------------------------------------------------------------- sign-in


async def test_without_a_session_nothing_is_shown_or_done(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    paths = [
        path
        for path in app(office.context).openapi()["paths"]
        if path not in {"/sign-in", "/v1/local/token", "/problems/{slug}"}
    ]
    assert len(paths) > 10
    for path in paths:
        for method in app(office.context).openapi()["paths"][path]:
            url = path.format(
                **dict.fromkeys(
                    ("obligation_id", "conversation_id", "alert_id", "draft_id", "contact_id", "key_id"), filed.id
                )
            )
            answer = await client.request(method, url, headers={"authorization": "Bearer ct_" + "0" * 32 + ".x"})
            assert answer.status_code == 401, (method, path)


async def signed_in(client: httpx.AsyncClient, email: str = ANA) -> str:
    answer = await client.post("/sign-in", json={"email": email})
    assert answer.status_code == 200
    return answer.json()["csrf"]


async def test_a_cookie_changes_nothing_without_the_csrf_token_of_its_session(
    office: Office, client: httpx.AsyncClient
) -> None:
    filed = await office.file()
    csrf = await signed_in(client)
    assert "httponly" in str(client.cookies.jar).lower() or client.cookies.get("chancela-approval")
    url = f"/v1/obligations/{filed.id}/decisions"
    headers = {"if-match": f'"1-{filed.version.commitment}"', "idempotency-key": "k"}
    for wrong in ({}, {"x-csrf-token": "x"}, {"x-csrf-token": ""}):
        answer = await client.post(url, json={"verb": "approve"}, headers={**headers, **wrong})
        assert (answer.status_code, slug(answer)) == (403, "csrf")
    assert (await office.standing()).state == "open"
    assert (
        await client.post(url, json={"verb": "approve"}, headers={**headers, "x-csrf-token": csrf})
    ).status_code == 200


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sign-in", json={"email": ANA})
    cookie = answer.headers["set-cookie"].lower()
    assert ("httponly" in cookie, "samesite=lax" in cookie, "path=/" in cookie, "domain" in cookie) == (
        True,
        True,
        True,
        False,
    )


async def test_after_signing_out_the_cookie_is_worth_nothing(client: httpx.AsyncClient) -> None:
    csrf = await signed_in(client)
    cookie = {"cookie": f"chancela-approval={client.cookies['chancela-approval']}"}
    assert (await client.get("/v1/me")).json()["email"] == ANA
    ended = await client.post("/sign-out", headers={"x-csrf-token": csrf})
    assert (ended.status_code, ended.json()) == (200, {"next": "/sign-in"})
    client.cookies.clear()
    assert (await client.get("/v1/me", headers=cookie)).status_code == 401


async def test_a_session_ends_when_its_person_is_no_longer_active(office: Office, client: httpx.AsyncClient) -> None:
    await signed_in(client)
    async with office.bench.db.transaction() as tx:
        await tx.execute("update person set is_active = false where email = $1", ANA)
    assert (await client.get("/v1/me")).status_code == 401


async def test_a_cookie_s_secret_is_no_bearer_token_and_the_other_way_round(client: httpx.AsyncClient) -> None:
    await signed_in(client)
    cookie = client.cookies["chancela-approval"]
    token = (await bearer(client))["authorization"].removeprefix("Bearer ")
    client.cookies.clear()
    assert (await client.get("/v1/me", headers={"authorization": f"Bearer {cookie}"})).status_code == 401
    assert (await client.get("/v1/me", headers={"cookie": f"chancela-approval={token}"})).status_code == 401


async def test_no_secret_is_kept_as_it_is(office: Office, client: httpx.AsyncClient) -> None:
    await signed_in(client)
    secret = client.cookies["chancela-approval"]
    stored = await office.bench.value("select string_agg(session::text, '') from session")
    assert secret not in stored
    assert secret.split(".")[1] not in stored


async def test_the_built_in_sign_in_does_not_exist_outside_the_local_profile(bench_of: BenchFactory) -> None:
    office = await open_office(bench_of, profile="cluster", local_sign_in=False)
    async with client_of(office) as client:
        assert (await client.post("/sign-in", json={"email": ANA})).status_code == 404
        assert (await client.post("/v1/local/token", json={"email": ANA})).status_code == 404


async def test_a_token_made_locally_is_refused_where_the_local_sign_in_is_off(
    office: Office, client: httpx.AsyncClient
) -> None:
    headers = await bearer(client)
    office.context.config = config(profile="cluster", local_sign_in=False)
    async with client_of(office) as elsewhere:
        assert (await elsewhere.get("/v1/me", headers=headers)).status_code == 401


def test_the_service_does_not_start_with_local_sign_in_outside_the_local_profile() -> None:
    known = {
        f"CHANCELA_{name}": "x"
        for name in ("DATABASE_URL", "NATS_URL", "NATS_SEED", "DIGEST_KEY", "SEAL_KEY", "PEOPLE_FILE")
    }
    with pytest.raises(ConfigError, match="CHANCELA_PROFILE=local"):
        load(Config, known | {"CHANCELA_LOCAL_SIGN_IN": "true"})
    assert load(Config, known | {"CHANCELA_LOCAL_SIGN_IN": "true", "CHANCELA_PROFILE": "local"}).local_sign_in


async def test_another_site_cannot_sign_somebody_in(client: httpx.AsyncClient) -> None:
    answer = await client.post("/sign-in", json={"email": ANA}, headers={"sec-fetch-site": "cross-site"})
    assert (answer.status_code, slug(answer)) == (403, "csrf")


# ------------------------------------------------------------------------------------------------- outside agents


async def key(
    client: httpx.AsyncClient, *, is_internal: bool = False, scopes: tuple[str, ...] = ("file",)
) -> dict[str, str]:
    made = await client.post(
        "/v1/api-keys",
        json={"name": "crm", "is_internal": is_internal, "scopes": scopes},
        headers=await bearer(client, ADA),
    )
    assert made.status_code == 201, made.text
    return {"authorization": f"Bearer {made.json()['key']}", "x-id": made.json()["id"]}


async def test_a_key_files_and_never_decides(office: Office, client: httpx.AsyncClient) -> None:
    filed = await office.file()
    agent = await key(client)
    answer = await decide(client, filed, headers=agent)
    assert (answer.status_code, slug(answer)) == (403, "no-right")
    for path in ("/v1/obligations", f"/v1/obligations/{filed.id}", "/v1/alerts", "/v1/audit", "/v1/me", "/v1/events"):
        assert (await client.get(path, headers=agent)).status_code == 403, path
    assert (await office.standing()).state == "open"


async def test_an_outside_caller_learns_a_neutral_status_and_nothing_else(
    office: Office, client: httpx.AsyncClient
) -> None:
    agent = await key(client)
    body = {"conversation_id": str(office.conversation), "text": "Saiu hoje.", "kind": "follow_up"}
    filed = await client.post("/v1/drafts", json=body, headers={**agent, "idempotency-key": "d-1"})
    assert (filed.status_code, filed.json()["status"]) == (202, "checking")
    again = await client.post("/v1/drafts", json=body, headers={**agent, "idempotency-key": "d-1"})
    assert again.json() == filed.json()
    id = filed.json()["id"]
    await office.bench.hear(office.draft("Saiu hoje.", draft_id=id, origin="outside", kind="follow_up"))
    status = (await client.get(f"/v1/drafts/{id}", headers=agent)).json()
    assert status == {"id": id, "status": "pending"}
    standing = await office.standing()
    assert (await decide(client, standing, "reject")).status_code == 200
    assert (await client.get(f"/v1/drafts/{id}", headers=agent)).json() == {"id": id, "status": "closed"}
    stranger = await key(client)
    assert (await client.get(f"/v1/drafts/{id}", headers=stranger)).status_code == 404


async def test_a_revoked_key_opens_nothing(client: httpx.AsyncClient) -> None:
    agent = await key(client)
    revoked = await client.delete(f"/v1/api-keys/{agent['x-id']}", headers=await bearer(client, ADA))
    assert revoked.status_code == 204
    assert (await client.get(f"/v1/drafts/{uuid4()}", headers=agent)).status_code == 401


async def test_only_an_administrator_makes_keys(client: httpx.AsyncClient) -> None:
    body = {"name": "x", "scopes": ["file"]}
    assert (await client.post("/v1/api-keys", json=body, headers=await bearer(client))).status_code == 403
    wide = await client.post(
        "/v1/api-keys", json={"name": "x", "scopes": ["decide"]}, headers=await bearer(client, ADA)
    )
    assert wide.status_code == 422


async def test_the_baseline_is_put_on_record_by_those_who_may(office: Office, client: httpx.AsyncClient) -> None:
    fact = {"kind": "contract_signed", "subject": "7", "value": "ok", "source": "erp", "observed_at": NOW.isoformat()}
    url = f"/v1/baseline/{office.contact}"
    assert (await client.put(url, json={"facts": [fact]}, headers=await key(client))).status_code == 403
    keeper = await key(client, scopes=("baseline",))
    assert (await client.put(url, json={"facts": [fact]}, headers=keeper)).status_code == 204
    await office.bench.hear(office.draft())
    assert await office.bench.value("select count(*) from obligation") == 0
    assert (await client.put(url, json={"facts": []}, headers=keeper)).status_code == 204
    assert (await office.file()).state == "open"


# ------------------------------------------------------------------------------- conversations, alerts, audit, feed


async def test_a_take_over_names_the_version_that_was_seen(office: Office, client: httpx.AsyncClient) -> None:
    url, headers = f"/v1/conversations/{office.conversation}", await bearer(client)
    taken = await client.post(f"{url}/takeover", json={"expected_version": 0}, headers=headers)
    assert taken.json()["owner_version"] == 1
    again = await client.post(f"{url}/return", json={"expected_version": 0}, headers=headers)
    assert (again.status_code, slug(again), again.json()["version"]) == (409, "wrong-version", 1)
    shown = (await client.get(url, headers=headers)).json()
    assert (shown["owner_state"], shown["owner_person"]) == ("person", ANA)


async def test_an_alert_stays_until_somebody_has_seen_it(office: Office, client: httpx.AsyncClient) -> None:
    await office.bench.hear(
        AlertRaised(
            tenant=TENANT, alert_id=uuid4(), conversation_id=office.conversation, turn_id=None, at=NOW,
            kind="promise_without_owner", severity="warning", text="prometeu ligar",
        )
    )  # fmt: skip
    headers = await bearer(client)
    [alert] = (await client.get("/v1/alerts", headers=headers)).json()["items"]
    for email in (ANA, BRUNO):
        seen = await client.post(f"/v1/alerts/{alert['id']}/acknowledge", headers=await bearer(client, email))
        assert seen.status_code == 204
    assert (await client.get("/v1/alerts", headers=headers)).json()["items"] == []
    [seen] = (await client.get("/v1/alerts?acknowledged=true", headers=headers)).json()["items"]
    assert seen["acknowledged_by"] == ANA


async def test_the_ledger_tells_votes_and_what_became_of_them(office: Office, client: httpx.AsyncClient) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendUncertain, approved, decision, code="timeout", detail=""))
    found = (await client.get(f"/v1/obligations/{approved.id}/ledger", headers=await bearer(client))).json()
    assert [(one["person"], one["verb"]) for one in found["votes"]] == [(ANA, "approve")]
    assert [(one["event"], one["code"]) for one in found["ledger"]] == [("uncertain", "timeout")]


async def test_auditors_read_and_check_the_chain_and_others_do_not(office: Office, client: httpx.AsyncClient) -> None:
    await office.approved()
    auditor = await bearer(client, ADA)
    entries = (await client.get("/v1/audit", headers=auditor)).json()["items"]
    assert [one["entry"]["action"] for one in entries] == ["filed", "approved"]
    checked = (await client.post("/v1/audit/verify", headers=auditor)).json()
    assert (checked["is_whole"], checked["length"], checked["head"]) == (True, 2, entries[-1]["hash"])
    assert (await client.get("/v1/audit", headers=await bearer(client))).status_code == 403


async def next_event(stream: Any) -> tuple[str, str, str]:
    fields = (await within(anext(stream), 10)).decode().strip().splitlines()
    id, name, body = (one.partition(": ")[2] for one in fields)
    return id, name, body


async def test_open_pages_are_told_what_changed_and_never_the_text(office: Office) -> None:
    feed = Feed(office.bench.db)
    async with aclosing(events.stream(feed, TENANT, None)) as stream:
        assert (await next_event(stream))[1] == "hello"
        filed = await office.file("Um texto secreto")
        id, name, body = await next_event(stream)
        assert (name, str(filed.id) in body, "secreto" in body) == ("change", True, False)
    async with aclosing(events.stream(feed, TENANT, None)) as other:
        assert (await next_event(other))[1] == "hello"
        await office.decide(filed)
        assert (await next_event(other))[1] == "change"
    async with aclosing(events.stream(feed, TENANT, Position.parse(id))) as back:
        missed_id, name, body = await next_event(back)
        assert (name, str(filed.id) in body, missed_id != id) == ("change", True, True)


async def test_a_page_that_was_away_too_long_is_told_to_look_anew(office: Office) -> None:
    await office.file()
    async with aclosing(events.stream(Feed(office.bench.db), TENANT, Position(1, 999_999))) as stream:
        assert (await next_event(stream))[1] == "resync"


async def test_a_page_is_told_nothing_of_another_tenant(office: Office) -> None:
    feed = Feed(office.bench.db)
    async with (
        aclosing(events.stream(feed, uuid4(), None)) as foreign,
        aclosing(events.stream(feed, TENANT, None)) as own,
    ):
        assert (await next_event(foreign))[1] == (await next_event(own))[1] == "hello"
        await office.file()
        assert (await next_event(own))[1] == "change"
        assert all(one.changes.empty() for one in feed.watchers if one.tenant != TENANT)


# -------------------------------------------------------------------------------------------------------- problems


async def test_a_problem_speaks_the_reader_s_language(office: Office, client: httpx.AsyncClient) -> None:
    for asked, title in (("es-AR,es;q=0.9", "Inicie sesión para continuar"), ("de, en", "Sign in to continue")):
        answer = await client.get("/v1/obligations", headers={"accept-language": asked})
        assert answer.json()["title"] == title
    assert (await client.get("/problems/expired")).json()["status"] == 410
    assert (await client.get("/problems/nonsense")).status_code == 404


def test_every_problem_has_its_words_in_every_language() -> None:
    for name, kind in CATALOGUE.items():
        assert len(kind.title) == len(kind.detail) == len(LANGUAGES)
        assert all((*kind.title, *kind.detail)), name
        assert 400 <= kind.status < 600
    assert (
        document(Problem("no-right", {"right": "decide"}), "pt-BR")["detail"]
        == "Falta o direito 'decide'. Peça-o a quem administra."
    )
