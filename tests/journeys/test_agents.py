"""What the agent's turns leave behind, and how agents from outside use the same gates and people."""

from typing import Any

from tests.journeys.world import MARIA, Chat, shortly


async def operated(chat: Chat, turns: int = 1) -> list[dict[str, Any]]:
    """The operating role's decisions, once every turn has one."""
    conversation = await chat.conversation()

    async def found() -> Any:
        decisions = await chat.world.observer.operated(conversation)
        return decisions if len(decisions) >= turns else None

    return await shortly(found, f"{turns} decisions of the operating role")


async def test_an_agent_that_calls_nothing_says_nothing_and_that_is_recorded(chat: Chat) -> None:
    await chat.writes(f"{chat.words} #silent")
    await chat.hears("TurnClosed", outcome="silent")
    await operated(chat)
    assert not await chat.said("DraftProposed")
    assert not await chat.requests()


async def test_a_turn_that_nobody_evaluated_is_operated_with_the_model(chat: Chat) -> None:
    await chat.writes(f"Oi! Meu plano é {chat.words} #no-closing")
    await chat.filed()
    assert (await chat.hears("TurnClosed"))["checkpoint"] is None
    assert (await operated(chat))[0]["model_rounds"] > 0


async def test_a_turn_with_nothing_to_declare_needs_no_model_to_operate(chat: Chat) -> None:
    await chat.writes("Obrigada!")
    closed = await chat.hears("TurnClosed")
    assert closed["checkpoint"]["declaration"]["nothing_to_declare"] is True
    assert (await operated(chat))[0]["model_rounds"] == 0


async def test_every_turn_has_exactly_one_decision_of_the_operating_role(chat: Chat) -> None:
    await chat.writes(f"Quero remarcar minha consulta, meu plano é {chat.words}")
    await chat.filed()
    await chat.hears("TurnClosed", outcome="spoke")
    await operated(chat)  # before a person has the lead: else this turn is skipped too
    await chat.owns("takeover", 0)
    await chat.hears("OwnershipChanged", owner="person")
    await chat.writes("Oi?")
    await chat.hears("TurnClosed", outcome="skipped")
    decisions = await operated(chat, 2)
    closed = {event["turn_id"] for event in await chat.said("TurnClosed")}
    assert sorted(one["turn_id"] for one in decisions) == sorted(closed)
    assert [one["outcome"] for one in decisions] == ["acted", "skipped"]


async def test_a_promise_that_left_without_an_owner_raises_an_alert_once_it_left(chat: Chat) -> None:
    await chat.writes(f"Meu plano é {chat.words}? #promise-owner")
    item = await chat.filed()
    await operated(chat)
    assert not await chat.said("AlertRaised", kind="promise_without_owner")
    await chat.approves(item)
    assert "Retornamos" in (await chat.arrived())[0]
    await chat.hears("AlertRaised", kind="promise_without_owner")
    told = await chat.alerted("promise_without_owner")
    assert told["text"] == "Ninguém é responsável por: Retornamos com a resposta por aqui."


async def test_a_draft_of_an_outside_agent_takes_the_same_way_and_its_key_never_decides(chat: Chat) -> None:
    outside, url = chat.world.outside, chat.world.stack.layout.approval_url
    await chat.writes()
    conversation = (await chat.filed())["conversation"]["id"]
    made = await outside.post(MARIA, "/v1/api-keys", {"name": "crm", "scopes": ["file"]})
    key = {"Authorization": f"Bearer {made.json()['key']}"}
    body = {"conversation_id": conversation, "text": f"Temos o plano {chat.words} desde janeiro."}
    posted = await outside.client.post(f"{url}/v1/drafts", json=body, headers=key | {"Idempotency-Key": chat.id})
    assert (posted.status_code, posted.json()["status"]) == (202, "checking")
    item = await chat.filed(2)
    asked = await outside.client.get(f"{url}/v1/drafts/{posted.json()['id']}", headers=key)
    assert asked.json() == {"id": posted.json()["id"], "status": "pending"}
    own = key | {"If-Match": item["etag"], "Idempotency-Key": "k"}
    decided = await outside.client.post(
        f"{url}/v1/obligations/{item['id']}/decisions", json={"verb": "approve"}, headers=own
    )
    assert (decided.status_code, (await chat.item())["state"]) == (403, "open")
    assert (item["origin"], item["epoch"]) == ("outside", 2)
    await chat.approves(item)
    assert (await chat.arrived())[0].endswith(body["text"])


async def test_a_draft_of_an_outside_agent_with_internal_words_is_refused_and_never_shown(chat: Chat) -> None:
    outside = chat.world.outside
    await chat.writes()
    item = await chat.filed()
    text = "O webhook voltou status: null para lead_id 7c1e09af-2b7d-4f0e-9a51-0d6f3c2b1a90."
    body = {"conversation_id": item["conversation"]["id"], "text": text}
    posted = await outside.post(MARIA, "/v1/drafts", body)
    await chat.hears("DraftVetoed", gate="internal_vocabulary")

    async def is_refused() -> bool:
        return (await outside.get(MARIA, f"/v1/drafts/{posted.json()['id']}")).json()["status"] == "refused"

    await shortly(is_refused, "the caller learns of the refusal")
    assert (await chat.item())["body"] == item["body"]
