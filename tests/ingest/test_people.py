"""Who wrote: one contact per person, one conversation per person and channel, whatever the chat is called."""

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from contracts.messages import ConsentChanged, ContactSeen, MessageReceived
from services.ingest.language import guess
from services.ingest.outbound import kind
from services.ingest.store import people
from tests.harness import BenchFactory
from tests.ingest.edge import CUSTOMER, Edge, accepted, channel, inbound
from tests.shared.world import until

LID = "990000000000234@lid"
PHONE_HINT: dict[str, Any] = {"_data": {"key": {"remoteJidAlt": "5511900001234@s.whatsapp.net"}, "pushName": "Ana"}}


async def heard(edge: Edge, *events: dict[str, Any]) -> list[MessageReceived]:
    for event in events:
        assert await edge.post(event) == "inbound"
    return await edge.said(MessageReceived)


async def test_both_forms_of_a_brazilian_number_are_one_person_and_each_is_answered_where_it_wrote(edge: Edge) -> None:
    first, second = await heard(edge, inbound("3A1"), inbound("3A2", chat="551100001234@c.us"))
    assert (first.contact_id, first.conversation_id) == (second.contact_id, second.conversation_id)
    assert (first.destination.chat, second.destination.chat) == (CUSTOMER, "551100001234@c.us")


async def test_a_hidden_id_with_its_phone_is_the_person_known_by_that_phone(edge: Edge) -> None:
    first, second, third = await heard(
        edge, inbound("3A1"), inbound("3A2", chat=LID, **PHONE_HINT), inbound("3A3", chat=LID)
    )
    assert first.contact_id == second.contact_id == third.contact_id
    assert first.conversation_id == third.conversation_id


async def test_two_contacts_that_turn_out_to_be_one_keep_their_lanes(edge: Edge) -> None:
    by_phone, by_lid = await heard(edge, inbound("3A1"), inbound("3A2", chat=LID))
    assert by_phone.contact_id != by_lid.contact_id
    await edge.bench.hear(consent(by_phone, "opted_out"), consent(by_lid, "opted_in"))
    await edge.post(inbound("3A3", "VOLTAR", chat=LID, **PHONE_HINT))
    seen, merged = await edge.said()
    assert isinstance(seen, ContactSeen)
    assert (seen.contact_id, seen.merged_contact_ids) == (by_lid.contact_id, (by_phone.contact_id,))
    assert merged.conversation_id == by_lid.conversation_id
    assert merged.opt_out == "opt_in", "the opt-out of either is the opt-out of both"
    after = (await heard(edge, inbound("3A4")))[0]
    assert (after.conversation_id, after.contact_id) == (by_phone.conversation_id, by_lid.contact_id)


async def beside_a_merge(edge: Edge, work: Coroutine[Any, Any, Any]) -> Any:
    """It begins when the contact of the phone and that of the hidden id have become one, and nobody can see it yet."""
    async with edge.bench.db.transaction() as tx:
        await people.find_or_open(tx, edge.channel, people.Who(chat=LID, phone="5511900001234"), "pt-BR")
        task = asyncio.create_task(work)
        await until(lambda: edge.is_over_or_waits(task))
    return await task


@pytest.mark.parametrize("chat", [CUSTOMER, LID])
async def test_a_message_beside_a_merge_is_of_the_one_who_is_left_with_the_opt_out_of_either(
    edge: Edge, chat: str
) -> None:
    by_phone, by_lid = await heard(edge, inbound("3A1"), inbound("3A2", chat=LID))
    await edge.bench.hear(consent(by_phone, "opted_out"))
    assert await beside_a_merge(edge, edge.post(inbound("3A3", "VOLTAR", chat=chat))) == "inbound"
    (said,) = await edge.said(MessageReceived)
    assert (said.contact_id, said.opt_out) == (by_lid.contact_id, "opt_in")
    assert said.conversation_id == (by_phone if chat == CUSTOMER else by_lid).conversation_id


async def test_an_opt_out_heard_beside_a_merge_is_that_of_the_one_who_is_left(edge: Edge) -> None:
    by_phone, by_lid = await heard(edge, inbound("3A1"), inbound("3A2", chat=LID))
    await beside_a_merge(edge, edge.bench.hear(consent(by_phone, "opted_out")))
    sql = "select consent from contact where contact_id = $1"
    assert await edge.bench.value(sql, by_lid.contact_id) == "opted_out"


async def test_a_number_that_passed_to_somebody_else_does_not_bring_its_history(edge: Edge) -> None:
    first, second = await heard(
        edge, inbound("3A1", chat=LID, **PHONE_HINT), inbound("3A2", chat="990000000000999@lid", **PHONE_HINT)
    )
    assert first.contact_id != second.contact_id
    assert first.conversation_id != second.conversation_id


async def test_many_first_messages_at_once_open_one_contact(edge: Edge) -> None:
    forms = (CUSTOMER, "551100001234@c.us", LID)
    events = [inbound(f"3A{n}", chat=forms[n % 3], **(PHONE_HINT if n % 3 == 2 else {})) for n in range(18)]
    assert set(await asyncio.gather(*(edge.post(one) for one in events))) == {"inbound"}
    received = await edge.said(MessageReceived)
    assert len({one.contact_id for one in received}) == 1
    assert [one.context_revision for one in received] == list(range(1, 19))


async def test_one_person_on_two_numbers_of_a_tenant_is_one_contact_with_two_conversations(
    bench_of: BenchFactory, tmp_path: Path
) -> None:
    a = channel("a")
    edge = await Edge.open(bench_of, tmp_path, [a, msgspec.structs.replace(channel("b"), tenant=a.tenant)])
    await edge.post(inbound("3A1"), "a")
    await edge.post(inbound("3A2"), "b")
    first, second = await edge.said(MessageReceived)
    assert first.contact_id == second.contact_id
    assert first.conversation_id != second.conversation_id
    await edge.client.aclose()


async def test_a_contact_is_told_once_and_again_when_it_has_another_name(edge: Edge) -> None:
    for number, name in enumerate(("Ana", "Ana", "Ana P.", "")):
        await edge.post(inbound(f"3A{number}", _data={"pushName": name}))
    told = [(one.name, one.is_new, one.has_phone) for one in await edge.said(ContactSeen)]
    assert told == [("Ana", True, True), ("Ana P.", False, True)]


def consent(of: MessageReceived, state: Any) -> ConsentChanged:
    return ConsentChanged(tenant=of.tenant, contact_id=of.contact_id, state=state, at=datetime.now(UTC))


async def test_only_who_is_opted_out_can_opt_in(edge: Edge) -> None:
    before = (await heard(edge, inbound("3A1", "VOLTAR")))[0]
    await edge.bench.hear(consent(before, "opted_out"))
    while_out = (await heard(edge, inbound("3A2", "VOLTAR")))[0]
    await edge.bench.hear(consent(before, "opted_in"))
    after = (await heard(edge, inbound("3A3", "VOLTAR")))[0]
    assert [one.opt_out for one in (before, while_out, after)] == ["none", "opt_in", "none"]


async def test_cancelar_after_our_own_menu_is_about_the_booking(edge: Edge) -> None:
    first = (await heard(edge, inbound("3A1", "CANCELAR")))[0]
    asked = accepted(edge.channel, "3EB1", first.conversation_id, body="Responda CONFIRMAR ou CANCELAR.")
    await edge.bench.hear(asked)
    second = (await heard(edge, inbound("3A2", "CANCELAR")))[0]
    assert (first.opt_out, second.opt_out) == ("opt_out", "handoff")


async def test_an_opt_out_in_a_caption_counts(edge: Edge) -> None:
    await edge.post(inbound("3A1", "PARAR", hasMedia=True, media={"url": None, "mimetype": "image/jpeg"}))
    assert [(one.opt_out, one.is_draftable) for one in await edge.said(MessageReceived)] == [("opt_out", False)]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Oi, vocês abrem no domingo?", "pt-BR"),
        ("Hi, are you open on Sunday?", "en"),
        ("Hola, ¿abren el domingo?", "es"),
        ("ok", "en"),
        ("هل لديكم خبز", "en"),
        ("", "en"),
    ],
)
def test_words_choose_the_language_and_silence_keeps_it(text: str, language: str) -> None:
    assert guess(text, known="en") == language


async def test_a_conversation_keeps_its_language_through_short_answers(edge: Edge) -> None:
    received = await heard(edge, inbound("3A1", "Hi, what time do you open today?"), inbound("3A2", "ok"))
    assert [one.language for one in received] == ["en", "en"]


def test_only_a_question_that_offers_both_is_a_menu() -> None:
    assert kind("Digite CONFIRMAR ou CANCELAR") == "menu"
    assert kind("Sua consulta foi confirmada") is None
    assert kind("Para cancelar, avise") is None
