"""What customers, and our own people on the phone, do while a text is on its way to them."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from deploy.demo.outside import customer_message, envelope
from tests.journeys.world import Chat, World


@pytest.fixture
async def waiting(world: World, chat: Chat) -> AsyncIterator[dict[str, object]]:
    """An approved text that cannot leave yet, because the number's session is down."""
    await chat.writes()
    item = await chat.filed()
    await world.outside.phone("session", status="STOPPED")
    try:
        await chat.session_is("STOPPED")
        await chat.approves(item)
        await chat.hears("DispatchDeferred", code="session_not_ready")
        yield item
    finally:
        await world.outside.phone("session", status="WORKING")
        await chat.session_is("WORKING")


async def test_a_burst_of_four_messages_is_one_turn_with_one_draft(chat: Chat) -> None:
    texts = ["Oi!", "Tudo bem?", f"Meu plano é {chat.words}", "Posso usar aí?"]
    with chat.world.running_with("conversador", BURST_DEBOUNCE_SECONDS="3", BURST_CAP_SECONDS="20"):
        await asyncio.gather(*(chat.posts(text) for text in texts))
        item = await chat.filed()
        await chat.hears("TurnClosed")
    assert len(await chat.said("DraftProposed")) == len(await chat.said("TurnClosed")) == 1
    assert sorted(one["text"] for one in item["conversation"]["history"]) == sorted(texts)


async def test_people_read_messages_of_one_second_in_the_order_in_which_they_came(chat: Chat) -> None:
    payload = customer_message(chat.id, "0")
    for number in range(6):
        said = payload | {"id": f"false_{chat.id}_3A{number}{chat.id[:12]}", "body": f"{number}"}
        await chat.world.outside.webhook(envelope("message.any", said))
    await chat.hears("MessageReceived", 6)
    await chat.settles()
    assert [one["text"] for one in (await chat.talk())["history"]] == [str(number) for number in range(6)]


async def test_a_second_message_makes_a_new_epoch_and_the_old_one_releases_nothing(chat: Chat) -> None:
    await chat.writes()
    first = await chat.filed()
    await chat.writes(f"Na verdade meu plano é Novo {chat.words}")
    second = await chat.filed(2)
    assert (second["id"], second["epoch"]) == (first["id"], 2)
    stale = await chat.decide(first, "approve")
    assert (stale.status_code, stale.json()["seen_epoch"], stale.json()["epoch"]) == (412, 1, 2)
    await chat.approves(second)
    assert await chat.arrived() == [second["body"]]


@pytest.mark.parametrize("change", ["writes again", "edits", "deletes"])
async def test_an_approval_is_void_when_the_customer_changes_the_conversation(
    chat: Chat, waiting: dict[str, str], change: str
) -> None:
    phone = chat.world.outside.phone
    match change:
        case "writes again":
            await chat.posts(f"Esqueça, meu plano é Outro {chat.words}")  # the phone would wait for the session
        case "edits":
            await phone("edit", chat=chat.id, text=f"Oi! Meu plano é Melhor {chat.words}")
        case _:
            await phone("revoke", chat=chat.id)
    ended = await chat.hears("ApprovalEnded", how="invalidated")
    assert ended["epoch"] == 1
    late = await chat.decide(waiting, "approve")
    assert late.status_code in {409, 412}
    assert not await chat.requests()


async def test_a_reply_from_our_own_phone_voids_the_approval_and_is_not_answered(
    chat: Chat, waiting: dict[str, str]
) -> None:
    await chat.world.outside.phone("owner_reply", chat=chat.id, text="Oi, aqui é a Maria, já resolvi.")
    await chat.hears("PhoneReplied", text="Oi, aqui é a Maria, já resolvi.")
    await chat.hears("ApprovalEnded", how="invalidated")
    item = await chat.item_of(waiting["id"])
    assert [one["detail"] for one in item["banners"]] == ["phone_replied"]
    assert [one["direction"] for one in item["conversation"]["history"]] == ["customer", "phone"]
    assert len(await chat.said("DraftProposed")) == 1
    assert not await chat.requests()


async def test_our_own_echo_is_never_taken_for_a_person(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await chat.approves(item)
    await chat.hears("EchoSeen")
    assert (await chat.becomes(item["id"], "sent"))["conversation"]["context_revision"] == 1
    assert await chat.world.observer.holds(await chat.conversation()) == 0, "nothing waits to become a person's reply"
    assert not await chat.said("PhoneReplied")


async def test_a_message_edited_into_an_opt_out_silences_us(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await chat.world.outside.phone("edit", chat=chat.id, text="PARAR")
    await chat.hears("ConsentChanged", state="opted_out")
    assert (await chat.hears("MessageEdited"))["opt_out"] == "opt_out"
    await chat.alerted("consent")
    unseen = await chat.decide(item, "approve")
    assert (unseen.status_code, unseen.json()["type"]) == (409, "/problems/context-changed")
    assert (await chat.decide(item, "approve", context_revision=2)).status_code == 200
    await chat.hears("DispatchRefused", gate="stop")
    assert (await chat.becomes(item["id"], "open"))["banners"][0]["code"] == "dispatch_refused"
    assert not await chat.requests()


async def test_an_opt_out_is_met_with_silence_and_a_later_message_too(chat: Chat) -> None:
    await chat.writes("PARAR")
    await chat.hears("TurnClosed", outcome="skipped", reason="contact_blocked")
    await chat.writes("vocês abrem no sábado?")
    await chat.hears("TurnClosed", 2, outcome="skipped", reason="contact_blocked")
    assert not await chat.said("DraftProposed")
    assert not await chat.requests()


@pytest.mark.parametrize(
    "chat_id", ["120363025246125486@g.us", "status@broadcast", "123456@broadcast", "120363025246125486@newsletter"]
)
async def test_groups_and_stories_are_never_heard(world: World, chat_id: str) -> None:
    said = await world.outside.webhook(envelope("message.any", customer_message(chat_id, "Alguém recomenda?")))
    assert (said.status_code, said.json()["action"]) == (200, "ignore")
    assert await world.observer.conversation_of(chat_id) is None


async def test_a_voice_message_is_kept_for_people_and_gets_no_draft(chat: Chat) -> None:
    media = {"url": "http://waha.example/1.ogg", "mimetype": "audio/ogg; codecs=opus"}
    assert await chat.posts(None, hasMedia=True, media=media) == "inbound_no_draft"
    await chat.hears("TurnClosed", outcome="skipped", reason="not_draftable")
    assert [one["media_kind"] for one in (await chat.talk())["history"]] == ["voice"]
    assert not await chat.said("DraftProposed")


async def test_the_same_webhook_twice_is_one_message(chat: Chat) -> None:
    body = envelope("message.any", customer_message(chat.id, f"Oi! Meu plano é {chat.words}"))
    answers = await asyncio.gather(*(chat.world.outside.webhook(body) for _ in range(4)))
    assert sorted(one.json()["action"] for one in answers) == ["duplicate", "duplicate", "duplicate", "inbound"]
    await chat.filed()
    assert len(await chat.said("MessageReceived")) == 1
