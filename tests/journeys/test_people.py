"""What people do with a draft, and with a conversation."""

import pytest

from tests.journeys.world import DISCLOSURE, JOHN, MARIA, VERA, Chat


async def test_an_approved_text_arrives_once_as_it_was_shown(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await chat.approves(item)
    sent = await chat.becomes(item["id"], "sent", delivery="delivered")
    assert await chat.arrived() == [item["body"]]
    assert [line["event"] for line in sent["ledger"]][:3] == ["cleared", "begun", "accepted"]
    assert len(await chat.requests()) == 1


async def test_a_rejected_text_never_leaves_and_nobody_can_approve_it_later(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    assert (await chat.decide(item, "reject", reason="O plano mudou.")).status_code == 200
    rejected = await chat.hears("DraftRejected")
    assert (rejected["reason"], rejected["decided_by"]) == ("O plano mudou.", JOHN)
    late = await chat.decide(item, "approve", person=MARIA)
    assert (late.status_code, late.json()["who"]) == (409, JOHN)
    assert not await chat.requests()


async def test_a_text_sent_back_returns_as_the_instruction_said_and_names_what_it_answers(chat: Chat) -> None:
    await chat.writes()
    first = await chat.filed()
    back = await chat.decide(first, "send_back", instruction="Diga que a recepção fica no segundo andar.")
    assert (back.status_code, back.json()["state"]) == (200, "waiting_agent")
    second = await chat.filed(2)
    draft = await chat.hears("DraftProposed", 2)
    assert draft["redraft_of"] == {"obligation_id": first["id"], "epoch": 1}
    assert (second["id"], second["epoch"], second["rounds"]) == (first["id"], 2, 1)
    assert "segundo andar" in second["body"]
    await chat.approves(second)
    assert await chat.arrived() == [second["body"]]


async def test_a_text_goes_back_to_the_agent_at_most_three_times(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    for number in range(3):
        instruction = f"Diga que temos a sala {('azul', 'verde', 'branca')[number]}."
        assert (await chat.decide(item, "send_back", instruction=instruction)).status_code == 200
        item = await chat.filed(number + 2)
    refused = await chat.decide(item, "send_back", instruction="Diga outra coisa.")
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/rounds-used-up")
    assert {one["verb"]: one["is_allowed"] for one in item["actions"]}["send_back"] is False
    assert (item["rounds_left"], (await chat.item())["state"]) == (0, "open")


@pytest.mark.parametrize(
    "ending",
    [
        "linha um\r\nlinha dois\n\tlinha três",
        "família 👩‍👩‍👧‍👦 e bandeira 🏴‍☠️, pele 👍🏽",
        "espaços no fim   ",
        "e\u0301 decomposto e é composto, ﬁ ligado, ½",
        "direita para esquerda: שלום عليكم",
    ],
    ids=["line ends", "joined emoji", "trailing spaces", "unnormalised", "right to left"],
)
async def test_exactly_the_edited_characters_arrive(chat: Chat, ending: str) -> None:
    await chat.writes()
    item = await chat.filed()
    edited = f"{DISCLOSURE} {chat.words}: {ending}"
    await chat.approves(item, edited_text=edited)
    assert await chat.arrived() == [edited]
    sent = await chat.becomes(item["id"], "sent")
    assert [(one["epoch"], one["author"]) for one in sent["versions"]][-1] == (2, JOHN)


async def test_control_characters_of_an_edit_go_and_people_see_which(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await chat.approves(item, edited_text=f"{DISCLOSURE} Bem\x07-vindo, {chat.words}\x00!")
    assert await chat.arrived() == [f"{DISCLOSURE} Bem-vindo, {chat.words}!"]
    removed = (await chat.item_of(item["id"]))["basis"]["removed"]
    assert {one["what"] for one in removed} == {"U+0000", "U+0007"}


async def test_the_agent_is_silent_while_a_person_has_the_conversation_and_speaks_after_its_return(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    assert (await chat.owns("takeover", 0)).json()["owner_version"] == 1
    await chat.hears("ApprovalEnded", how="invalidated")
    assert (await chat.decide(item, "approve")).status_code == 409
    await chat.writes("Tem alguém aí?")
    await chat.hears("TurnClosed", outcome="skipped", reason="person_owns")
    assert (await chat.owns("return", 0)).status_code == 409
    assert (await chat.owns("return", 1)).status_code == 200
    await chat.hears("OwnershipChanged", owner="agent")
    await chat.writes(f"E o plano {chat.words} vale no sábado?")
    again = await chat.filed(2)
    await chat.approves(again)
    assert await chat.arrived() == [again["body"]]


async def test_who_only_reads_can_read_but_neither_decide_nor_take_over(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    refused = await chat.decide(item, "approve", person=VERA)
    assert (refused.status_code, refused.json()["right"]) == (403, "decide")
    path = f"/v1/conversations/{await chat.conversation()}/takeover"
    assert (await chat.world.outside.post(VERA, path, {"expected_version": 0})).status_code == 403
    assert (await chat.world.outside.get(VERA, f"/v1/obligations/{item['id']}")).status_code == 200
    assert (await chat.item())["state"] == "open"


async def test_a_question_among_colleagues_leaves_the_text_open_and_the_customer_untold(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    asked = await chat.decide(item, "request_information", reason="Esse plano ainda existe?")
    assert asked.status_code == 200
    assert (await chat.alerted("information_requested"))["text"] == "Esse plano ainda existe?"
    assert (await chat.item())["state"] == "open"
    assert not await chat.requests()


async def test_a_person_who_is_asked_for_gets_the_conversation_and_an_alert(chat: Chat) -> None:
    await chat.writes(f"Quero tratar do plano {chat.words} #person")
    await chat.hears("HandoffRequested")
    await chat.hears("OwnershipChanged", owner="person")
    alert = await chat.alerted("handoff")
    assert alert["severity"] == "critical"
    await chat.writes("Alguém?")
    await chat.hears("TurnClosed", outcome="skipped", reason="person_owns")
    await chat.settles()
    assert len(await chat.said("DraftProposed")) == 1
    own = f"{DISCLOSURE} Oi, aqui é o João: o plano {chat.words} vale, sim."
    await chat.approves(await chat.item(), edited_text=own, context_revision=2)
    assert await chat.arrived() == [own]


async def test_what_the_agent_said_when_it_stepped_back_may_still_be_approved(chat: Chat) -> None:
    await chat.writes(f"Quero tratar do plano {chat.words} #person")
    await chat.hears("OwnershipChanged", owner="person", is_handoff=True)
    item = await chat.item()
    await chat.approves(item)
    assert await chat.arrived() == [item["body"]]


async def test_a_person_s_own_text_takes_the_gates_and_a_yes_and_leaves(chat: Chat) -> None:
    await chat.writes()
    item = await chat.filed()
    await chat.owns("takeover", 0)
    await chat.hears("ApprovalEnded", how="invalidated")
    body = {"conversation_id": item["conversation"]["id"], "text": f"Aqui é o João. O plano {chat.words} vale, sim."}
    assert (await chat.world.outside.post(JOHN, "/v1/drafts", body)).status_code == 202
    own = await chat.filed(2)
    assert (own["origin"], own["author"], own["body"].endswith(body["text"])) == ("person", JOHN, True)
    await chat.approves(own)
    assert await chat.arrived() == [own["body"]]
