"""`context_revision`: plus one for four kinds of events, for nothing else, without a gap."""

import asyncio
from typing import Any

import pytest

from contracts.messages import EchoSeen, MessageEdited, MessageReacted, MessageReceived, MessageRevoked, PhoneReplied
from services.ingest.store import heard
from tests.ingest.edge import Edge, accepted, ack, begun, edited, from_me, inbound, reaction, revoked
from tests.shared.world import until


async def test_each_of_the_four_raises_it_by_one(edge: Edge) -> None:
    await edge.post(inbound("3AAA", "tem bolo?"))
    await edge.post(edited("3AAB", "3AAA", "tem torta?"))
    await edge.post(revoked("3AAA"))
    await edge.post(from_me("3EB1", "Temos sim"))
    await edge.bench.run_jobs(all=True)
    said = [one for one in await edge.said() if hasattr(one, "context_revision")]
    kinds = [MessageReceived, MessageEdited, MessageRevoked, PhoneReplied]
    assert [(type(one), one.context_revision) for one in said] == list(zip(kinds, (1, 2, 3, 4), strict=True))
    assert said[1].message_id == said[2].message_id == said[0].message_id
    assert await edge.revision() == 4


async def test_nothing_else_raises_it(edge: Edge) -> None:
    await edge.post(inbound("3AAA"))
    conversation = await edge.conversation()
    await edge.bench.hear(begun(edge.channel, conversation, "Abrimos às 8h."))
    await edge.bench.hear(accepted(edge.channel, "3EB1", conversation))
    for quiet in (from_me("3EB1", "Abrimos às 8h."), ack("3EB1", 3), reaction("3AAC", "3EB1", "👍"), inbound("3AAA")):
        await edge.post(quiet)
    await edge.post(edited("3AAD", "3AUNKNOWN", "x"))
    await edge.bench.run_jobs(all=True)
    assert await edge.revision() == 1
    assert len(await edge.said(MessageReacted)) == 1


async def test_it_has_no_gap_and_no_repeat_when_many_write_at_once(edge: Edge) -> None:
    await asyncio.gather(*(edge.post(inbound(f"3A{n:03}", f"mensagem {n}")) for n in range(24)))
    received = await edge.said(MessageReceived)
    assert [one.context_revision for one in received] == list(range(1, 25))
    assert await edge.bench.value("select count(*) from contact") == 1
    assert await edge.conversation() == received[0].conversation_id


async def test_concurrent_edits_of_one_message_leave_the_latest(edge: Edge) -> None:
    await edge.post(inbound("3AAA"))
    edits = [edited(f"3AB{n}", "3AAA", f"versão {n}", timestamp=1_789_999_000 + n) for n in range(8)]
    await asyncio.gather(*(edge.post(one) for one in reversed(edits)))
    told = await edge.said(MessageEdited)
    assert told[-1].text == "versão 7"
    assert [one.context_revision for one in told] == list(range(2, 2 + len(told)))


async def test_an_edit_that_comes_late_changes_nothing(edge: Edge) -> None:
    await edge.post(inbound("3AAA"))
    await edge.post(edited("3AAC", "3AAA", "segunda", timestamp=1_789_999_900))
    assert await edge.post(edited("3AAB", "3AAA", "primeira", timestamp=1_789_999_800)) == "edit_update"
    assert [one.text for one in await edge.said(MessageEdited)] == ["segunda"]
    assert await edge.revision() == 2


async def test_an_edit_into_an_opt_out_is_heard_as_one(edge: Edge) -> None:
    await edge.post(inbound("3AAA", "oi"))
    await edge.post(edited("3AAB", "3AAA", "PARAR"))
    assert [one.opt_out for one in await edge.said(MessageEdited)] == ["opt_out"]


async def test_what_our_people_change_on_the_phone_is_theirs_not_the_customers(edge: Edge) -> None:
    await edge.post(inbound("3AAA"))
    await edge.bench.hear(accepted(edge.channel, "true_5511900001234@c.us_3EB1", await edge.conversation()))
    await edge.post(edited("3EB2", "3EB1", "Fechamos às 9h", fromMe=True, id="true_5511900001234@c.us_3EB2"))
    await edge.post(revoked("3EB1"))
    reply, gone = [one for one in await edge.said() if isinstance(one, PhoneReplied | MessageRevoked)]
    assert (type(reply), reply.context_revision) == (PhoneReplied, 2)
    assert isinstance(gone, MessageRevoked)
    assert (gone.is_ours, gone.context_revision) == (True, 3)


async def test_changes_that_overtook_their_message_follow_it(edge: Edge) -> None:
    early = [edited("3AAB", "3AAA", "não quero mais", timestamp=1_789_999_900), revoked("3AAA")]
    assert [await edge.post(one) for one in early] == ["quarantine", "quarantine"]
    assert await edge.post(inbound("3AAA", "quero")) == "inbound"
    said = [one for one in await edge.said() if hasattr(one, "context_revision")]
    kinds = [MessageReceived, MessageEdited, MessageRevoked]
    assert [(type(one), one.context_revision) for one in said] == list(zip(kinds, (1, 2, 3), strict=True))
    assert len({one.message_id for one in said}) == 1
    assert await edge.revision() == 3
    assert await edge.bench.value("select count(*) from raw_event where action = 'quarantine'") == 0


async def test_of_two_edits_that_overtook_their_message_the_latest_stands(edge: Edge) -> None:
    await edge.post(edited("3AAC", "3AAA", "segunda", timestamp=1_789_999_900))
    await edge.post(edited("3AAB", "3AAA", "primeira", timestamp=1_789_999_800))
    await edge.post(inbound("3AAA"))
    assert [one.text for one in await edge.said(MessageEdited)] == ["segunda"]


async def test_a_message_and_its_edit_at_once_lose_neither(edge: Edge) -> None:
    pairs = [(inbound(f"3A{n}"), edited(f"3B{n}", f"3A{n}", f"depois {n}")) for n in range(12)]
    await asyncio.gather(*(edge.post(one) for pair in pairs for one in reversed(pair)))
    told = await edge.said(MessageEdited)
    assert {one.text for one in told} == {f"depois {n}" for n in range(12)}
    assert await edge.revision() == 24


@pytest.mark.parametrize("is_from_me", [True, False], ids=["said to be ours", "not said whose"])
async def test_changes_that_overtook_our_words_on_the_phone_follow_them(edge: Edge, is_from_me: bool) -> None:
    await edge.post(inbound("3AAA"))
    early = [
        edited("3EB2", "3EB1", "Fechamos às 9h", fromMe=is_from_me, timestamp=1_789_999_900),
        revoked("3EB1", is_from_me=is_from_me),
    ]
    assert [await edge.post(one) for one in early] == ["quarantine", "quarantine"]
    assert await edge.post(from_me("3EB1", "Fechamos às 8h")) == "context_only"
    await edge.bench.run_jobs(all=True)
    received, reply, gone = [one for one in await edge.said() if hasattr(one, "context_revision")]
    assert (type(reply), reply.text, reply.context_revision) == (PhoneReplied, "Fechamos às 9h", 2)
    assert (type(gone), gone.is_ours, gone.context_revision) == (MessageRevoked, True, 3)
    assert await edge.revision() == received.context_revision + 2
    assert await edge.bench.value("select count(*) from raw_event where action = 'quarantine'") == 0
    assert await edge.bench.rows("select from held_reply") == []


async def test_words_that_were_taken_back_while_they_were_held_are_not_said(edge: Edge) -> None:
    await edge.post(inbound("3AAA"))
    await edge.post(from_me("3EB1", "errei"))
    await edge.post(revoked("3EB1", is_from_me=True))
    await edge.bench.run_jobs(all=True)
    received, gone = [one for one in await edge.said() if hasattr(one, "context_revision")]
    assert (type(received), type(gone)) == (MessageReceived, MessageRevoked)
    assert await edge.bench.rows("select from held_reply") == []


async def test_what_our_people_changed_is_not_the_customers_message_of_that_id(edge: Edge) -> None:
    assert await edge.post(revoked("3AAA", is_from_me=True)) == "quarantine"
    await edge.post(inbound("3AAA"))
    assert await edge.said(MessageRevoked) == []


async def test_an_echo_whose_message_was_changed_before_it_came_is_still_ours(edge: Edge) -> None:
    await edge.post(inbound("3AAA"))
    await edge.bench.hear(begun(edge.channel, await edge.conversation(), "Abrimos às 8h."))
    await edge.post(revoked("3EB1", is_from_me=True))
    await edge.post(from_me("3EB1", "Abrimos às 8h."))
    assert [type(one) for one in (await edge.said())[-2:]] == [EchoSeen, MessageRevoked]


async def test_a_revocation_beside_our_words_on_the_phone_is_not_lost(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The words have looked for what waits for them and found nothing; before they commit, the revocation comes."""
    await edge.post(inbound("3AAA"))
    revoking: list[asyncio.Task[str]] = []
    look = heard.awaiting

    async def look_and_revoke(*args: Any) -> Any:
        found = await look(*args)
        revoking.append(asyncio.create_task(edge.post(revoked("3EB1", is_from_me=True))))
        await until(lambda: edge.is_over_or_waits(revoking[0]))
        return found

    monkeypatch.setattr(heard, "awaiting", look_and_revoke)
    await edge.post(from_me("3EB1", "errei"))
    assert await revoking[0] == "revoke_update"
