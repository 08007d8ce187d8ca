"""Our own echo is told from a person's reply on the phone, whichever comes first."""

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID, uuid4

import pytest

from contracts.messages import ContactSeen, EchoSeen, MessageReceived, MessageRevoked, PhoneReplied, SendAccepted
from services.ingest.echo import OwnSend, digests, match, stanza_of
from services.ingest.store import people
from shared.seal import text_digest
from tests.ingest.edge import CUSTOMER, Edge, accepted, ack, begun, from_me, inbound, revoked
from tests.shared.world import until

TEXT = "Abrimos às 8h."
NOW = datetime(2026, 9, 21, 12, tzinfo=UTC)


async def outcome(edge: Edge) -> tuple[int, int, int]:
    """Echoes, phone replies, revision, when every timer has fired."""
    await edge.bench.run_jobs(all=True)
    said = await edge.said()
    kinds = [type(one).__name__ for one in said]
    assert await edge.bench.rows("select from held_reply") == []
    return kinds.count("EchoSeen"), kinds.count("PhoneReplied"), await edge.revision()


@pytest.fixture
async def talk(edge: Edge) -> Edge:
    await edge.post(inbound("3AAA"))
    await edge.said()
    return edge


async def test_an_echo_is_known_by_its_id(talk: Edge) -> None:
    await talk.bench.hear(accepted(talk.channel, f"true_{CUSTOMER}_3EB1", await talk.conversation()))
    assert await talk.post(from_me("3EB1", "the vendor changed the words")) == "context_only"
    assert await outcome(talk) == (1, 0, 1)


async def test_an_echo_is_known_by_the_id_that_was_reserved_for_it(talk: Edge) -> None:
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT, provider_id="3EB1"))
    await talk.post(from_me("3EB1", "other words"))
    assert await outcome(talk) == (1, 0, 1)


async def test_an_echo_before_the_sends_answer_is_known_by_chat_and_text(talk: Edge) -> None:
    sent = begun(talk.channel, await talk.conversation(), TEXT)
    await talk.bench.hear(sent)
    await talk.post(from_me("3EB1", TEXT))
    await talk.bench.hear(accepted(talk.channel, "3EB1", sent.conversation_id, decision_id=sent.decision_id))
    said = await talk.said(EchoSeen)
    assert [(one.provider_id, one.text_digest) for one in said] == [("3EB1", sent.text_digest)]
    assert await outcome(talk) == (0, 0, 1)


async def test_an_echo_under_the_hidden_id_is_known_by_the_phone_behind_it(talk: Edge) -> None:
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT))
    hint = {"_data": {"Info": {"RecipientAlt": "5511900001234@s.whatsapp.net"}}}
    await talk.post(from_me("3EB1", TEXT, chat="990000000000234@lid", **hint))
    assert await outcome(talk) == (1, 0, 1)
    assert await talk.conversation()


async def test_an_echo_without_a_hint_is_known_by_the_chats_of_its_conversation(talk: Edge) -> None:
    hint = {"key": {"remoteJidAlt": "5511900001234@s.whatsapp.net"}}
    await talk.post(inbound("3AAB", chat="990000000000234@lid", _data=hint))
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT))
    await talk.post(from_me("3EB1", TEXT, chat="990000000000234@lid"))
    assert await outcome(talk) == (1, 0, 2)


async def test_an_echo_under_an_unknown_hidden_id_belongs_to_the_conversation_of_its_send(talk: Edge) -> None:
    await talk.bench.hear(accepted(talk.channel, "3EB1", await talk.conversation()))
    await talk.post(from_me("3EB1", TEXT, chat="990000000000234@lid"))
    assert await talk.conversation()
    assert await talk.post(inbound("3AAB", chat="990000000000234@lid")) == "inbound"
    assert await talk.conversation()
    assert [one.is_new for one in await talk.said(ContactSeen)] == []


LID = "990000000000234@lid"


@pytest.fixture
async def apart(talk: Edge) -> tuple[Edge, SendAccepted]:
    """An echo came back under a hidden id that nobody knew, before its send was known: it has a place of its own."""
    sent = begun(talk.channel, await talk.conversation(), TEXT)
    await talk.bench.hear(sent)
    await talk.post(from_me("3EB1", TEXT, chat=LID))
    (seen,) = await talk.said()
    assert seen.is_new
    return talk, accepted(talk.channel, "3EB1", sent.conversation_id, decision_id=sent.decision_id)


async def people_of(edge: Edge) -> list[UUID]:
    rows = await edge.bench.rows("select contact_id from contact where merged_into is null")
    return [row["contact_id"] for row in rows]


async def test_a_hidden_id_under_which_our_words_came_back_is_the_person_they_were_sent_to(
    apart: tuple[Edge, SendAccepted],
) -> None:
    edge, sent = apart
    await edge.bench.hear(sent)
    seen, echoed = await edge.said()
    assert isinstance(seen, ContactSeen)
    assert ([seen.contact_id], len(seen.merged_contact_ids)) == (await people_of(edge), 1)
    assert (type(echoed), echoed.conversation_id) == (EchoSeen, sent.conversation_id)
    await edge.post(revoked("3EB1", chat=LID))
    await edge.post(inbound("3AAB", "obrigada", chat=LID))
    await edge.post(inbound("3AAC", "e no domingo?", chat="551100001234@c.us"))
    said = await edge.said(MessageRevoked) + await edge.said(MessageReceived)
    assert {(one.conversation_id, one.contact_id) for one in said} == {(sent.conversation_id, seen.contact_id)}
    assert await outcome(edge) == (0, 0, 4)


async def test_what_a_person_wrote_under_the_hidden_id_on_the_phone_is_of_that_conversation_too(
    apart: tuple[Edge, SendAccepted],
) -> None:
    edge, sent = apart
    await edge.post(from_me("3EB2", "Oi, aqui é a Marta", chat=LID))
    await edge.bench.hear(sent)
    await edge.bench.run_jobs(all=True)
    assert [one.conversation_id for one in await edge.said(PhoneReplied)] == [sent.conversation_id]


async def test_the_timer_finds_the_person_of_a_hidden_id(apart: tuple[Edge, SendAccepted]) -> None:
    """The webhook and the send committed side by side: neither saw the other."""
    edge, sent = apart
    await edge.bench.rows("update held_reply set stanza_id = 'hidden'")
    await edge.bench.hear(sent)
    await edge.bench.rows("update held_reply set stanza_id = '3EB1'")
    await edge.bench.run_jobs(all=True)
    assert [type(one) for one in await edge.said()] == [ContactSeen, EchoSeen]
    await edge.post(inbound("3AAB", "obrigada", chat=LID))
    assert [one.conversation_id for one in await edge.said(MessageReceived)] == [sent.conversation_id]


async def test_an_ack_under_a_hidden_id_finds_its_person_when_its_send_is_known(talk: Edge) -> None:
    first = await talk.conversation()
    await talk.post(ack("3EB1", 1, chat=LID))
    await talk.bench.hear(accepted(talk.channel, "3EB1", first))
    await talk.post(ack("3EB1", 2, chat=LID))
    assert len(await people_of(talk)) == 1
    await talk.post(inbound("3AAB", "obrigada", chat=LID))
    assert [one.conversation_id for one in await talk.said(MessageReceived)] == [first]


async def test_a_conversation_in_which_the_customer_wrote_meanwhile_keeps_its_lane(
    apart: tuple[Edge, SendAccepted],
) -> None:
    edge, sent = apart
    await edge.post(inbound("3AAB", "obrigada", chat=LID))
    (before,) = await edge.said(MessageReceived)
    await edge.bench.hear(sent)
    await edge.post(inbound("3AAC", "e no domingo?", chat=LID))
    (after,) = await edge.said(MessageReceived)
    assert before.conversation_id == after.conversation_id != sent.conversation_id
    assert [after.contact_id] == await people_of(edge)


async def test_a_hidden_id_beside_the_one_of_the_person_is_somebody_elses(talk: Edge) -> None:
    hint = {"key": {"remoteJidAlt": "5511900001234@s.whatsapp.net"}}
    await talk.post(inbound("3AAB", chat="990000000000999@lid", _data=hint))
    first = await talk.conversation()
    await talk.post(from_me("3EB1", TEXT, chat=LID))
    await talk.bench.hear(accepted(talk.channel, "3EB1", first))
    assert len(await people_of(talk)) == 2


async def test_a_message_beside_the_finding_of_its_person_is_of_their_conversation(
    apart: tuple[Edge, SendAccepted],
) -> None:
    edge, sent = apart
    async with edge.bench.db.transaction() as tx:
        who = people.Who(chat=LID, known_conversation=sent.conversation_id)
        await people.find_or_open(tx, edge.channel, who, "pt-BR")
        writing = asyncio.create_task(edge.post(inbound("3AAB", "obrigada", chat=LID)))
        await until(lambda: edge.is_over_or_waits(writing))
    assert await writing == "inbound"
    assert [one.conversation_id for one in await edge.said(MessageReceived)] == [sent.conversation_id]


async def test_an_echo_ahead_of_its_send_waits_for_it(talk: Edge) -> None:
    await talk.post(from_me("3EB1", TEXT))
    assert await talk.said() == []
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT))
    assert len(await talk.said(EchoSeen)) == 1
    assert await talk.bench.rows("select from job") == []
    assert await outcome(talk) == (0, 0, 1)


async def test_an_echo_ahead_of_an_accepted_send_waits_for_its_id(talk: Edge) -> None:
    await talk.post(from_me("3EB1", "the vendor changed the words"))
    await talk.bench.hear(accepted(talk.channel, f"true_{CUSTOMER}_3EB1", await talk.conversation()))
    assert await outcome(talk) == (1, 0, 1)


async def test_the_timer_looks_again_before_it_says_person(talk: Edge) -> None:
    """The webhook and the send committed side by side: neither saw the other."""
    await talk.post(from_me("3EB1", TEXT))
    held = await talk.bench.rows("select * from held_reply")
    async with talk.bench.db.autocommit() as tx:
        await tx.execute("delete from held_reply")
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT))
    async with talk.bench.db.autocommit() as tx:
        columns, values = list(held[0].keys()), list(held[0].values())
        slots = ", ".join(f"${n + 1}" for n in range(len(columns)))
        await tx.execute(f"insert into held_reply ({', '.join(columns)}) values ({slots})", *values)
    assert await outcome(talk) == (1, 0, 1)


async def test_a_person_on_the_phone_is_heard_after_the_hold(talk: Edge) -> None:
    assert await talk.post(from_me("3EB1", "Oi, aqui é a Marta")) == "context_only"
    await talk.bench.run_jobs()
    assert await talk.said() == []
    await talk.bench.run_jobs(all=True)
    reply = (await talk.said())[0]
    assert (type(reply), reply.text, reply.context_revision) == (PhoneReplied, "Oi, aqui é a Marta", 2)
    assert await talk.bench.rows("select from held_reply") == []


async def test_other_words_in_the_same_chat_are_a_persons(talk: Edge) -> None:
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT))
    await talk.post(from_me("3EB2", TEXT + " E domingo?"))
    assert await outcome(talk) == (0, 1, 2)


async def test_the_same_words_to_another_chat_are_a_persons(talk: Edge) -> None:
    await talk.bench.hear(begun(talk.channel, await talk.conversation(), TEXT))
    await talk.post(from_me("3EB2", TEXT, chat="5511900009999@c.us"))
    assert await outcome(talk) == (0, 1, 1)


async def test_copies_of_one_send_under_other_ids_are_no_person(talk: Edge) -> None:
    sent = begun(talk.channel, await talk.conversation(), TEXT)
    await talk.bench.hear(sent)
    await talk.bench.hear(accepted(talk.channel, "3EB1", sent.conversation_id, decision_id=sent.decision_id))
    for stanza in ("3EB1", "3EB7", "3EB8"):
        await talk.post(from_me(stanza, TEXT))
    assert await outcome(talk) == (3, 0, 1)


def own(seconds_ago: float, *, stanza: str | None = None, is_echoed: bool = False) -> OwnSend:
    return OwnSend(uuid4(), uuid4(), stanza, NOW - timedelta(seconds=seconds_ago), is_echoed)


def test_the_same_words_long_after_an_echoed_send_are_a_persons() -> None:
    assert match("3EB9", [own(121, is_echoed=True)], now=NOW, copy_seconds=120) is None
    assert match("3EB9", [own(119, is_echoed=True)], now=NOW, copy_seconds=120) is not None
    assert match("3EB9", [own(121, stanza="3EB1")], now=NOW, copy_seconds=120) is None


def test_an_uncertain_send_is_recognised_for_a_day() -> None:
    assert match("3EB9", [own(86_000)], now=NOW, copy_seconds=120) is not None
    assert match("3EB9", [own(86_401)], now=NOW, copy_seconds=120) is None


def test_the_id_wins_over_the_words_and_the_waiting_over_the_echoed() -> None:
    by_id, waiting, echoed = own(90_000, stanza="3EB9"), own(10), own(20, is_echoed=True)
    assert match("3EB9", [waiting, by_id], now=NOW, copy_seconds=120) is by_id
    assert match("3EB0", [echoed, waiting], now=NOW, copy_seconds=120) is waiting


def test_words_are_looked_up_under_both_forms_of_a_brazilian_number() -> None:
    found = digests(["5511900001234@c.us", "1@lid"], TEXT)
    assert found == tuple(text_digest(chat, TEXT) for chat in (CUSTOMER, "551100001234@c.us", "1@lid"))


@pytest.mark.parametrize("whole", ["3EB1", "true_1@c.us_3EB1", "false_1@g.us_3EB1_2@c.us"])
def test_an_id_is_known_whole_or_bare(whole: str) -> None:
    assert stanza_of(whole) == "3EB1"


async def someone_waits(talk: Edge) -> None:
    """For a lock; Postgres tells nobody."""
    async with asyncio.timeout(20):
        while True:
            if await talk.bench.value("select exists (select from pg_locks where not granted)"):
                return
            await asyncio.sleep(0.01)


async def test_what_delivery_says_takes_the_conversation_before_anything_else(talk: Edge) -> None:
    """As the echo's webhook does: whoever comes second waits, and neither holds what the other needs."""
    conversation = await talk.conversation()
    async with talk.bench.db.transaction() as webhook:
        await webhook.rows("select from conversation where conversation_id = $1 for update", conversation)
        hearing = asyncio.create_task(talk.bench.hear(accepted(talk.channel, "3EB1", conversation)))
        await someone_waits(talk)
        await webhook.execute("set local lock_timeout = '2s'")
        await webhook.execute(
            "insert into message (message_id, tenant, channel_id, conversation_id, stanza_id, is_ours)"
            " values (gen_random_uuid(), $1, $2, $3, '3EB1', true)",
            *(talk.channel.tenant, talk.channel.channel_id, conversation),
        )
    await hearing
    assert await talk.bench.value("select count(*) from message where stanza_id = '3EB1'") == 1
