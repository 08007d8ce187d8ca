"""What is wrong gets an answer of its own, in a problem document; nothing is lost, nothing is sent."""

import json
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

import httpx
import pytest

from deploy.demo.outside import customer_message, envelope
from tests.journeys.world import JOHN, MARIA, VERA, Chat, World

LETTERS_OF_A_SENTENCE = 15


def problem(answer: httpx.Response, status: int) -> Mapping[str, Any]:
    """The problem document of a refusal, which says to a person what is wrong."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"].startswith("application/problem+json"), answer.text
    told = answer.json()
    assert told["status"] == status
    assert told["title"]
    assert len(told["detail"]) >= LETTERS_OF_A_SENTENCE, told
    assert " " in told["detail"], told
    return told


# ------------------------------------------------------------------------------------------------------- webhooks


async def post(world: World, raw: bytes, *, address: str = "", **headers: str) -> httpx.Response:
    """A webhook whose headers may lie."""
    url = address or world.stack.layout.webhook_url
    return await world.outside.client.post(url, content=raw, headers=world.outside.signed(raw) | headers)


async def test_a_webhook_with_a_wrong_signature_is_not_authentic(world: World, chat: Chat) -> None:
    raw = b'{"event":"message.any"}'
    assert problem(await post(world, raw, **{"X-Webhook-Hmac": "0" * 128}), 401)["action"] == "reject_401"
    unsigned = await world.outside.client.post(world.stack.layout.webhook_url, json=customer_message(chat.id, "Oi"))
    problem(unsigned, 401)
    problem(await post(world, raw, **{"X-Webhook-Hmac-Algorithm": "sha1"}), 401)
    assert await world.observer.conversation_of(chat.id) is None


@pytest.mark.parametrize("raw", [b"{", b"[1, 2]", b"\xff\xfe", b"", b'"text"', b"[" * 100_000])
async def test_signed_garbage_is_refused_and_not_kept(world: World, raw: bytes) -> None:
    problem(await post(world, raw), 400)


async def test_a_webhook_of_five_megabytes_is_too_large(world: World) -> None:
    problem(await post(world, b'{"a":"' + b"x" * 5 * 1024 * 1024 + b'"}'), 413)


async def test_an_event_that_nobody_knows_is_taken_and_ignored(world: World) -> None:
    answer = await world.outside.webhook(envelope("moon.rose", {"phase": "full"}))
    assert (answer.status_code, answer.json()["action"]) == (200, "ignore")


async def test_a_webhook_for_an_unknown_channel_or_another_session_is_told_so(world: World, chat: Chat) -> None:
    elsewhere = f"{world.stack.layout.ingest_url}/webhooks/waha/nowhere"
    problem(await post(world, b"{}", address=elsewhere), 404)
    problem(await post(world, b"{}", address=f"{world.stack.layout.ingest_url}/webhooks"), 404)
    problem(await world.outside.client.get(world.stack.layout.webhook_url), 405)
    other = envelope("message.any", customer_message(chat.id, "Oi")) | {"session": "another"}
    problem(await world.outside.webhook(other), 403)


@pytest.mark.parametrize("payload", [None, [], {}, {"id": 7}, {"id": "false_x_y", "from": {}}, {"id": "_" * 5_000}])
async def test_a_message_that_cannot_be_understood_is_kept_aside(world: World, payload: object) -> None:
    answer = await world.outside.webhook(envelope("message.any", payload))
    assert (answer.status_code, answer.json()["action"]) == (200, "quarantine")


async def test_strange_texts_of_customers_are_heard_and_shown(chat: Chat) -> None:
    text = "\u202e\u0000\ud83d" + "x" * 70_000
    raw = envelope("message.any", customer_message(chat.id, "@@@"))
    body = json.dumps(raw).replace('"@@@"', json.dumps(text)).encode()
    answer = await chat.world.outside.webhook(body)
    assert (answer.status_code, answer.json()["action"]) == (200, "inbound")
    await chat.hears("TurnClosed")
    assert len((await chat.talk())["history"][0]["text"]) > 60_000


# -------------------------------------------------------------------------------------------------------- decisions


async def test_a_decision_says_what_is_missing_or_wrong_in_its_headers(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    outside, path = chat.world.outside, f"/v1/obligations/{item['id']}/decisions"
    approve, shown = {"verb": "approve"}, {"If-Match": item["etag"]}
    assert "If-Match" in problem(await outside.post(JOHN, path, approve), 428)["detail"]
    keyless = await outside.client.post(
        chat.world.stack.layout.approval_url + path, json=approve, headers=await outside.signed_in(JOHN) | shown
    )
    assert "Idempotency-Key" in problem(keyless, 428)["detail"]
    for wrong in ('"1"', "*", '"x-y"', f"W/{item['etag']}", f'"{"9" * 30}-{item["commitment"]}"'):
        problem(await outside.post(JOHN, path, approve, {"If-Match": wrong}), 422)
    problem(await outside.post(JOHN, path, approve, {"If-Match": f'"1-{"0" * 64}"'}), 412)
    problem(await outside.post(JOHN, path, approve, {"If-Match": f'"7-{item["commitment"]}"'}), 412)
    problem(await outside.post(JOHN, path, approve, shown | {"Idempotency-Key": "k" * 201}), 422)
    assert (await chat.item())["state"] == "open"
    assert not await chat.requests()


async def test_one_key_is_one_request_and_a_second_person_comes_too_late(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    outside, path = chat.world.outside, f"/v1/obligations/{item['id']}/decisions"
    own = {"If-Match": item["etag"], "Idempotency-Key": str(uuid4())}
    first = await outside.post(JOHN, path, {"verb": "approve"}, own)
    again = await outside.post(JOHN, path, {"verb": "approve"}, own)
    assert (first.status_code, again.json()) == (200, first.json())
    problem(await outside.post(JOHN, path, {"verb": "reject"}, own), 422)
    assert problem(await chat.decide(item, "approve", person=MARIA), 409)["who"] == JOHN
    assert await chat.arrived() == [item["body"]]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"verb": "aprove"},
        {"verb": "approve", "edited": "x"},
        {"verb": "approve", "context_revision": -1},
        {"verb": "approve", "context_revision": "many"},
        {"verb": "approve", "edited_text": ""},
        {"verb": "approve", "edited_text": " \u200b\n"},
        {"verb": "approve", "edited_text": "x" * 4_097},
        {"verb": "approve", "edited_text": None},
        {"verb": "send_back"},
        {"verb": "send_back", "instruction": " "},
        {"verb": "reject", "reason": "x" * 4_001},
        ["approve"],
        "approve",
        None,
    ],
)
async def test_a_decision_that_says_nothing_sensible_names_the_field(chat: Chat, body: object) -> None:
    await chat.writes()
    item = await chat.filed()
    answer = await chat.world.outside.decide(JOHN, item["id"], item["etag"], body)  # pyright: ignore[reportArgumentType] - that is the test
    problem(answer, 422)
    assert (await chat.item())["state"] == "open"
    assert not await chat.requests()


async def test_bytes_that_are_no_json_are_told_so(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    url = f"{chat.world.stack.layout.approval_url}/v1/obligations/{item['id']}/decisions"
    own = await chat.world.outside.signed_in(JOHN) | {"If-Match": item["etag"], "Idempotency-Key": "k"}
    for raw, kind in (
        (b"{", "application/json"),
        (b'{"verb":"\xff"}', "application/json"),
        (b'{"verb":"approve"}', "text/plain"),
        (b"verb=approve", "application/x-www-form-urlencoded"),
        (b"", "application/json"),
        (b"[" * 100_000, "application/json"),
    ):
        answer = await chat.world.outside.client.post(url, content=raw, headers=own | {"Content-Type": kind})
        problem(answer, answer.status_code)
        assert 400 <= answer.status_code < 500, (raw[:40], answer.text)
    assert (await chat.item())["state"] == "open"


# --------------------------------------------------------------------------------------------- rights and addresses


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Authorization": "Basic am9objpq"}])
async def test_who_is_not_signed_in_learns_nothing(world: World, headers: Mapping[str, str]) -> None:
    url = world.stack.layout.approval_url
    for path in ("/v1/obligations", f"/v1/obligations/{uuid4()}", "/v1/alerts", "/v1/me", "/v1/audit"):
        problem(await world.outside.client.get(url + path, headers=headers), 401)
    problem(await world.outside.client.post(f"{url}/v1/drafts", json={}, headers=headers), 401)


async def test_what_is_not_there_is_not_found_and_what_is_no_id_is_told_so(world: World) -> None:
    outside, nothing = world.outside, uuid4()
    for path in (f"/v1/obligations/{nothing}", f"/v1/conversations/{nothing}", f"/v1/drafts/{nothing}", "/v1/moon"):
        problem(await outside.get(JOHN, path), 404)
    shown = {"If-Match": f'"1-{"0" * 64}"'}
    problem(await outside.post(JOHN, f"/v1/obligations/{nothing}/decisions", {"verb": "approve"}, shown), 404)
    problem(await outside.post(JOHN, f"/v1/conversations/{nothing}/takeover", {"expected_version": 0}), 404)
    problem(await outside.post(JOHN, f"/v1/alerts/{nothing}/acknowledge", {}), 404)
    problem(await outside.get(JOHN, "/v1/obligations/7"), 422)
    problem(await outside.post(JOHN, "/v1/obligations/x/decisions", {"verb": "approve"}, shown), 422)


@pytest.mark.parametrize(
    "query",
    [
        "limit=0",
        "limit=many",
        "state=happy",
        "cursor=x",
        "cursor=%C3%A9",
        "cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwieCJd",
        "cursor=WyIyMDI2LTAxLTAxVDAwOjAwOjAwIiwiMDAwMDAwMDAtMDAwMC00MDAwLTgwMDAtMDAwMDAwMDAwMDAxIl0=",
    ],
)
async def test_a_query_that_makes_no_sense_names_its_parameter(world: World, query: str) -> None:
    told = problem(await world.outside.get(JOHN, f"/v1/obligations?{query}"), 422)
    assert query.split("=", maxsplit=1)[0] in told["detail"]


async def test_numbers_beyond_every_row_are_told_so(world: World) -> None:
    problem(await world.outside.get(MARIA, f"/v1/audit?after={10**30}"), 422)


async def test_a_method_that_an_address_does_not_take_is_told_so(world: World) -> None:
    url = f"{world.stack.layout.approval_url}/v1/obligations"
    problem(await world.outside.client.delete(url, headers=await world.outside.signed_in(JOHN)), 405)


async def test_rights_are_asked_for_by_name(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    assert problem(await chat.decide(item, "reject", person=VERA), 403)["right"] == "decide"
    outside = chat.world.outside
    body = {"conversation_id": item["conversation"]["id"], "text": "Oi"}
    assert problem(await outside.post(VERA, "/v1/drafts", body), 403)["right"] == "file"
    assert problem(await outside.get(JOHN, "/v1/audit"), 403)["right"] == "audit"
    made = await outside.post(JOHN, "/v1/api-keys", {"name": "mine", "scopes": ["file"]})
    assert problem(made, 403)["right"] == "administer"
    assert (await chat.item())["state"] == "open"


async def test_what_comes_by_cookie_changes_nothing_without_the_page_s_token(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    url = chat.world.stack.layout.approval_url
    own = {"If-Match": item["etag"], "Idempotency-Key": str(uuid4())}
    async with httpx.AsyncClient(base_url=url) as browser:
        csrf = (await browser.post("/sign-in", json={"email": JOHN})).json()["csrf"]
        path = f"/v1/obligations/{item['id']}/decisions"
        problem(await browser.post(path, json={"verb": "approve"}, headers=own), 403)
        problem(await browser.post(path, json={"verb": "approve"}, headers=own | {"X-CSRF-Token": "x"}), 403)
        assert (await chat.item())["state"] == "open"
        taken = await browser.post(path, json={"verb": "approve"}, headers=own | {"X-CSRF-Token": csrf})
        assert taken.status_code == 200
        abroad = await browser.post("/sign-in", json={"email": JOHN}, headers={"Sec-Fetch-Site": "cross-site"})
        problem(abroad, 403)
        problem(await browser.post("/sign-in", json={"email": "nobody@clinica.example"}), 401)
        problem(await browser.post("/sign-in", json={"email": "\u0000"}), 401)
        problem(await browser.post("/sign-in", json={"mail": JOHN}), 422)


async def test_people_of_another_house_find_nothing_here(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    stranger = await chat.world.stranger()
    outside, conversation = chat.world.outside, item["conversation"]["id"]
    problem(await outside.get(stranger, f"/v1/obligations/{item['id']}"), 404)
    problem(await outside.get(stranger, f"/v1/conversations/{conversation}"), 404)
    problem(await chat.decide(item, "approve", person=stranger), 404)
    problem(await outside.post(stranger, f"/v1/conversations/{conversation}/takeover", {"expected_version": 0}), 404)
    problem(await outside.post(stranger, "/v1/drafts", {"conversation_id": conversation, "text": "Oi"}), 404)
    assert (await outside.get(stranger, "/v1/obligations")).json()["items"] == []
    assert (await outside.get(stranger, "/v1/alerts")).json()["items"] == []
    assert (await chat.item())["state"] == "open"


# ------------------------------------------------------------------------------------------------- outside drafts


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"text": "x" * 12_001}, "draft"),
        ({"text": "x" * 4_097}, "draft"),
        ({"text": ""}, "draft"),
        ({"text": "\u200b \n"}, "draft"),
        ({"text": None}, "text"),
        ({"text": "Oi", "summary": "x" * 281}, "summary"),
        ({"text": "Oi", "context": "x" * 4_001}, "context"),
        ({"text": "Oi", "kind": "transactional"}, "kind"),
        ({"text": "Oi", "to": "5511900000000@c.us"}, "to"),
        ({"text": "Oi", "conversation_id": "x"}, "conversation_id"),
        ({"text": "Oi", "language": "x" * 10_000}, "language"),
        ({"text": "Oi", "language": "pt BR"}, "language"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_draft_that_does_not_fit_names_the_field(chat: Chat, changed: dict[str, Any], field: str) -> None:
    await chat.writes()
    item = await chat.filed()
    body = {"conversation_id": item["conversation"]["id"], **changed}
    assert field in problem(await chat.world.outside.post(MARIA, "/v1/drafts", body), 422)["detail"]
    assert not await chat.said("DraftSubmitted")
