"""Decisions outlive what fails beneath them; and time never approves."""

import asyncio
from uuid import uuid4

import httpx

from deploy.demo.outside import customer_message, envelope
from tests.journeys.world import JOHN, Chat, World, shortly


async def test_what_customers_write_while_the_bus_is_away_is_answered_when_it_is_back(world: World, chat: Chat) -> None:
    nats = world.stack.nats
    assert nats is not None
    nats.stop()
    try:
        assert await chat.posts(f"Oi! Meu plano é {chat.words}") == "inbound"
    finally:
        nats.restart()
    item = await chat.filed()
    await chat.approves(item)
    assert await chat.arrived() == [item["body"]]


async def test_a_yes_while_the_bus_is_away_is_shown_and_leaves_once_when_it_is_back(world: World, chat: Chat) -> None:
    nats = world.stack.nats
    assert nats is not None
    await chat.writes()
    item = await chat.filed()
    await chat.settles()
    nats.stop()
    try:
        await chat.approves(item)
        waiting = await chat.item_of(item["id"])
        assert (waiting["state"], waiting["delivery"]) == ("approved", "queued")
        assert not await chat.requests()
    finally:
        nats.restart()
    await chat.becomes(item["id"], "sent")
    assert await chat.arrived() == [item["body"]]
    assert len(await chat.requests()) == 1


async def test_a_yes_while_the_database_restarts_is_taken_once(world: World, chat: Chat) -> None:
    postgres, outside = world.stack.postgres, world.outside
    assert postgres is not None
    await chat.writes()
    item = await chat.filed()
    body, once = {"verb": "approve"}, {"If-Match": item["etag"], "Idempotency-Key": str(uuid4())}
    path = f"/v1/obligations/{item['id']}/decisions"
    postgres.stop()
    try:
        refused = await outside.post(JOHN, path, body, once)
        assert (refused.status_code, refused.json()["type"]) == (503, "/problems/unavailable")
        said = envelope("message.any", customer_message(world.chat().id, "Oi"))
        untaken = await outside.webhook(said)
        assert (untaken.status_code, untaken.headers["Retry-After"]) == (503, "5")
    finally:
        postgres.restart()
    await world.look_again()

    async def is_taken() -> bool:
        try:
            return (await outside.post(JOHN, path, body, once)).status_code == 200
        except httpx.TransportError:
            return False

    async def is_heard() -> bool:
        return (await outside.webhook(said)).json().get("action") == "inbound"

    await shortly(is_taken, "the decision is taken after the database is back")
    await shortly(is_heard, "the webhook is taken, too: ingest may come back later than approval")
    replayed = await outside.post(JOHN, path, body, once)
    assert (replayed.status_code, replayed.json()["state"]) == (200, "approved")
    await chat.becomes(item["id"], "sent")
    assert await chat.arrived() == [item["body"]]
    assert len(await chat.said("DraftApproved")) == len(await chat.requests()) == 1


async def test_one_second_late_is_too_late(world: World, chat: Chat) -> None:
    with world.running_with("approval", EXPIRES_AFTER_HOURS="0.0006"):
        await chat.writes()
        item = await chat.filed()

        async def is_expired() -> bool:
            return (await chat.item_of(item["id"]))["is_expired"] or bool(await chat.said("ApprovalEnded"))

        await shortly(is_expired, "the item expires")
        late = await chat.decide(item, "approve")
        assert (late.status_code, late.json()["type"]) == (410, "/problems/expired")
        await chat.hears("ApprovalEnded", how="expired")
        assert (await chat.item_of(item["id"]))["state"] == "expired"
    assert not await chat.requests()


async def test_two_people_who_say_yes_at_once_send_one_text(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    answers = await asyncio.gather(
        *(chat.decide(item, "approve", person=one) for one in (JOHN, "maria@clinica.example"))
    )
    assert sorted(one.status_code for one in answers) == [200, 409]
    await chat.becomes(item["id"], "sent")
    assert await chat.arrived() == [item["body"]]
    assert len(await chat.requests()) == 1
