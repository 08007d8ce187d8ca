"""What the channel answers, and what becomes of the text: at most one attempt that may have been accepted."""

from typing import Any

import pytest

from deploy.demo.outside import Shape
from tests.journeys.world import Chat, World


async def approved_into(chat: Chat, mode: str, *, is_sent: bool) -> Shape:
    """An approved text whose send meets this fault."""
    await chat.writes()
    item = await chat.filed()
    await chat.world.outside.phone("fail_next", mode=mode, sent=is_sent)
    await chat.approves(item)
    return item


@pytest.mark.parametrize("mode", ["timeout", "reset_after_body", "500", "201_empty"])
async def test_a_send_that_nobody_knows_about_is_held_and_alerted_until_its_echo_settles_it(
    chat: Chat, mode: str
) -> None:
    item = await approved_into(chat, mode, is_sent=False)
    await chat.becomes(item["id"], "uncertain")
    assert (await chat.alerted("send_uncertain"))["obligation_id"] == item["id"]
    again = await chat.decide(item, "approve")
    assert again.status_code == 409, "what is uncertain is not approved again"
    assert await chat.echoes(item["body"], "3EB0ECHO" + chat.id[:8]) == "context_only"
    await chat.hears("SendAccepted", provider_id="3EB0ECHO" + chat.id[:8])
    await chat.acks("3EB0ECHO" + chat.id[:8], 3)
    await chat.becomes(item["id"], "sent", delivery="read")
    assert len(await chat.requests()) == 1
    assert not await chat.said("PhoneReplied")


@pytest.mark.parametrize("mode", ["timeout", "reset_after_body", "201_empty"])
async def test_a_send_that_arrived_without_an_answer_is_known_by_its_echo_and_not_repeated(
    chat: Chat, mode: str
) -> None:
    item = await approved_into(chat, mode, is_sent=True)
    await chat.becomes(item["id"], "sent", delivery="delivered")
    assert await chat.arrived() == [item["body"]]
    assert len(await chat.requests()) == 1


@pytest.mark.parametrize("mode", ["shape_key", "shape_serialized"])
async def test_every_shape_of_answer_that_names_the_message_is_an_acceptance(chat: Chat, mode: str) -> None:
    item = await approved_into(chat, mode, is_sent=True)
    await chat.becomes(item["id"], "sent", delivery="delivered")
    assert not await chat.said("SendUncertain")
    assert await chat.arrived() == [item["body"]]


@pytest.mark.parametrize(("mode", "code"), [("400", "http_400"), ("500_463", "account_restricted")])
async def test_a_clear_refusal_opens_the_item_again_with_its_reason_and_a_new_yes_sends_it(
    chat: Chat, mode: str, code: str
) -> None:
    item = await approved_into(chat, mode, is_sent=False)
    await chat.hears("SendFailed", code=code)
    again = await chat.becomes(item["id"], "open", epoch=2)
    assert [(one["code"], one["detail"].split()[0]) for one in again["banners"]] == [("send_failed", code)]
    assert (again["body"], again["commitment"] == item["commitment"]) == (item["body"], False)
    stale = await chat.decide(item, "approve")
    assert stale.status_code == 412
    await chat.approves(again)
    assert await chat.arrived() == [item["body"]]
    assert len(await chat.requests()) == 2


async def test_a_session_that_was_not_ready_is_tried_again_by_itself(chat: Chat) -> None:
    item = await approved_into(chat, "422", is_sent=False)
    await chat.becomes(item["id"], "sent")
    assert await chat.arrived() == [item["body"]]
    assert [one["outcome"] for one in await chat.requests()] == ["fault 422", "sent"]


async def test_a_channel_that_cannot_be_reached_is_tried_again_by_itself(world: World, chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    world.stack.processes.stop("phone")
    await chat.approves(item)
    await chat.hears("SendBegun", 2)
    world.stack.processes["phone"].start_again()
    await chat.becomes(item["id"], "sent")
    assert [(one["text"], one["outcome"]) for one in await chat.requests()] == [(item["body"], "sent")]


async def test_levels_only_go_forward_whatever_order_they_come_in(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await chat.approves(item)
    await chat.becomes(item["id"], "sent", delivery="delivered")
    stanza = (await chat.hears("SendAccepted"))["provider_id"]
    for level in (3, 1, 2, 0, 4):
        await chat.acks(stanza, level)
    await chat.hears("SendStatusChanged", level="played")
    told: list[Any] = [event["level"] for event in await chat.said("SendStatusChanged")]
    assert told == sorted(set(told), key=["server", "device", "read", "played"].index)
    assert (await chat.becomes(item["id"], "sent", delivery="read"))["conversation"]["history"][-1]["level"] == "played"


async def test_an_approved_text_waits_for_the_session_and_then_leaves_once(world: World, chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await world.outside.phone("session", status="STOPPED")
    try:
        await chat.session_is("STOPPED")
        await chat.approves(item)
        waiting = await chat.becomes(item["id"], "approved", delivery="deferred")
        assert waiting["leaves_at"] is not None
        assert not await chat.requests()
    finally:
        await world.outside.phone("session", status="WORKING")
    assert await chat.arrived() == [item["body"]]
    await chat.becomes(item["id"], "sent")
    assert len(await chat.requests()) == 1


async def test_a_text_of_an_uncertain_send_is_repeated_only_when_a_person_says_so(chat: Chat) -> None:
    first = await approved_into(chat, "500", is_sent=False)
    await chat.becomes(first["id"], "uncertain")
    await chat.writes(f"Oi? Meu plano é {chat.words}, recebeu?")
    second = await chat.filed(2)
    assert second["id"] != first["id"]
    assert "earlier_uncertain" in {one["code"] for one in second["banners"]}
    refused = await chat.decide(second, "approve", edited_text=first["body"])
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/repeats-uncertain")
    await chat.approves(second, edited_text=first["body"], confirm_repeat=True)
    assert await chat.arrived() == [first["body"]]
