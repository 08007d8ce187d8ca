from collections.abc import Sequence
from uuid import uuid4

import pytest

from contracts.messages import (
    ApprovalEnded,
    ConsentChanged,
    ConversationMessage,
    DraftApproved,
    DraftFiled,
    HandoffRequested,
    MessageEdited,
    MessageRevoked,
    OwnershipChanged,
    PhoneReplied,
    SendAccepted,
    SendBegun,
)
from services.approval.deciding import Decided
from services.approval.problems import Problem
from shared.seal import RECEIPT, Envelope, commitment
from shared.web.people import Person
from tests.approval.office import ANA, NOW, PEOPLE, TENANT, Office

RECEIPT_SEAL = Envelope(payload_type=RECEIPT, payload=b"{}", key_id="k", signature=b"s")


def person(email: str) -> Person:
    return next(one for one in PEOPLE if one.email == email)


def changes(office: Office, revision: int) -> Sequence[ConversationMessage]:
    where = {
        "tenant": TENANT, "conversation_id": office.conversation, "contact_id": office.contact,
        "channel_id": office.channel, "context_revision": revision,
    }  # fmt: skip
    return [
        office.received("mudei de ideia", revision),
        MessageEdited(**where, message_id=uuid4(), text="verde", edited_at=NOW),  # pyright: ignore[reportArgumentType] - a dict of mixed values
        MessageRevoked(**where, message_id=uuid4(), revoked_at=NOW),  # pyright: ignore[reportArgumentType] - as above
        PhoneReplied(**where, text="já respondi", sent_at=NOW),  # pyright: ignore[reportArgumentType] - as above
    ]


@pytest.mark.parametrize("which", range(4))
async def test_an_approval_is_lost_when_the_conversation_goes_on_before_it_leaves(office: Office, which: int) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(changes(office, 2)[which])
    said = await office.bench.said()
    ended = next(one for one in said if isinstance(one, ApprovalEnded))
    assert (ended.how, ended.decision_id, ended.epoch) == ("invalidated", decision, 1)
    assert ended.trigger_id is not None
    standing = await office.standing()
    assert (standing.id, standing.state, standing.epoch) == (approved.id, "open", 2)
    assert standing.version.commitment != approved.version.commitment
    assert standing.banners[0].code == "approval_lost"
    assert next(one for one in said if isinstance(one, DraftFiled)).epoch == 2


async def test_an_approval_after_a_reopening_holds_with_its_own_salt(office: Office) -> None:
    await office.approved()
    await office.bench.hear(office.received("espera", 2))
    await office.bench.said()
    await office.decide(await office.standing(), context_revision=2)
    snapshot = (await office.said(DraftApproved)).snapshot
    bound = commitment(snapshot.salt, tenant=TENANT, destination=snapshot.destination, body=snapshot.body)
    assert (snapshot.epoch, snapshot.commitment) == (2, bound)


async def test_an_approval_that_delivery_has_begun_to_send_is_not_lost(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendBegun, approved, decision, chat="c", text_digest="d"))
    await office.bench.hear(office.received("mais uma coisa", 2))
    assert not [one for one in await office.bench.said() if isinstance(one, ApprovalEnded)]
    assert (await office.standing()).state == "approved"


async def test_the_same_message_heard_late_does_not_take_an_approval_that_knew_it(office: Office) -> None:
    filed = await office.file(revision=2)
    assert isinstance(await office.decide(filed), Decided)
    await office.bench.hear(office.received("a mensagem 2", 2))
    assert (await office.standing()).state == "approved"


async def test_what_the_customer_wrote_since_must_have_been_seen(office: Office) -> None:
    filed = await office.file()
    await office.bench.hear(office.received("e em verde?", 2))
    refused = await office.decide(filed)
    assert refused == Problem("context-changed", {"context_revision": 1, "heard_context_revision": 2})
    assert await office.decide(filed, context_revision=1) == refused
    decided = await office.decide(filed, context_revision=2)
    assert isinstance(decided, Decided)
    assert (await office.said(DraftApproved)).snapshot.context_revision == 2


async def test_a_text_may_be_rejected_without_reading_on(office: Office) -> None:
    filed = await office.file()
    await office.bench.hear(office.received("e em verde?", 2))
    assert isinstance(await office.decide(filed, "reject"), Decided)


async def test_a_newer_text_supersedes_an_approval_that_has_not_left(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.draft("Outra coisa."))
    said = await office.bench.said()
    ended = next(one for one in said if isinstance(one, ApprovalEnded))
    assert (ended.obligation_id, ended.how, ended.decision_id) == (approved.id, "superseded", decision)
    assert (await office.obligation(approved.id)).state == "superseded"
    assert (await office.standing()).state == "open"


async def test_taking_over_voids_what_the_agent_wrote(office: Office) -> None:
    approved, decision = await office.approved()
    follow_up = await office.file(kind="follow_up")
    version = await office.desk.change_owner(person(ANA), office.conversation, "take_over", 0, "cliente antigo")
    assert version == 1
    said = await office.bench.said()
    owned = next(one for one in said if isinstance(one, OwnershipChanged))
    assert (owned.owner, owned.person, owned.version) == ("person", ANA, 1)
    ended = {one.obligation_id: one for one in said if isinstance(one, ApprovalEnded)}
    assert {one.how for one in ended.values()} == {"invalidated"}
    assert (ended[approved.id].decision_id, ended[follow_up.id].decision_id) == (decision, None)
    assert (await office.obligation(approved.id)).state == "withdrawn"


async def test_a_person_s_own_approved_text_is_decided_again_after_a_take_over(office: Office) -> None:
    filed = await office.file()
    await office.decide(filed, edited_text="Eu mesma respondo.")
    await office.desk.change_owner(person("bruno@example.com"), office.conversation, "take_over", 0, "")
    standing = await office.standing()
    assert (standing.state, standing.epoch, standing.version.body) == ("open", 3, "Eu mesma respondo.")


async def test_what_the_agent_drafts_after_a_take_over_is_not_filed_until_it_is_given_back(office: Office) -> None:
    await office.desk.change_owner(person(ANA), office.conversation, "take_over", 0, "")
    await office.bench.hear(office.draft())
    assert await office.bench.value("select count(*) from obligation") == 0
    assert await office.desk.change_owner(person(ANA), office.conversation, "give_back", 1, "") == 2
    assert (await office.file()).state == "open"


async def test_ownership_moves_only_from_the_version_that_was_seen(office: Office) -> None:
    await office.desk.change_owner(person(ANA), office.conversation, "take_over", 0, "")
    refused = await office.desk.change_owner(person(ANA), office.conversation, "take_over", 0, "")
    assert refused == Problem("wrong-version", {"version": 1, "expected": 0})
    assert isinstance(
        await office.desk.change_owner(person("vera@example.com"), office.conversation, "take_over", 1, ""), Problem
    )


async def test_a_handoff_gives_the_conversation_to_people_and_calls_them(office: Office) -> None:
    request = HandoffRequested(
        tenant=TENANT,
        turn_id=uuid4(),
        conversation_id=office.conversation,
        contact_id=office.contact,
        reason="quer falar",
    )
    await office.bench.hear(request)
    said = await office.said(OwnershipChanged)
    assert (said.owner, said.version, said.person) == ("person", 1, "")
    assert await office.bench.value("select kind from alert") == "handoff"
    assert await office.bench.value("select owner_state from conversation") == "handoff"


async def test_what_had_left_before_its_approval_was_lost_counts_as_sent_and_asks_nobody_again(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.received("espera", 2))
    reopened = await office.obligation(approved.id)
    await office.bench.hear(office.send(SendAccepted, approved, decision, provider_id="p", receipt=RECEIPT_SEAL))
    assert (await office.obligation(approved.id)).state == "sent"
    assert isinstance(await office.decide(reopened, context_revision=2), Problem)


async def test_a_second_approval_of_a_text_that_had_left_already_is_void(office: Office) -> None:
    approved, first = await office.approved()
    await office.bench.hear(office.received("espera", 2))
    again = await office.decide(await office.standing(), context_revision=2)
    assert isinstance(again, Decided)
    await office.bench.said()
    await office.bench.hear(office.send(SendAccepted, approved, first, provider_id="p", receipt=RECEIPT_SEAL))
    ended = await office.said(ApprovalEnded)
    assert (ended.decision_id, ended.how) == (again.decision_id, "superseded")
    assert (await office.obligation(approved.id)).state == "sent"


async def test_an_opt_out_that_is_told_of_all_ids_of_a_person_alerts_once(office: Office) -> None:
    """Both contacts are one; a later word of the same person is another alert."""
    ids, message = (office.contact, uuid4()), uuid4()
    for state in ("opted_out", "opted_in"):
        for one in ids:
            await office.bench.hear(
                ConsentChanged(tenant=TENANT, contact_id=one, state=state, cause_message_id=message, at=NOW)
            )
    alerts = await office.bench.rows("select text from alert where kind = 'consent' order by text")
    assert [row["text"] for row in alerts] == ["opted_in", "opted_out"]
    assert await office.bench.value("select count(*) from contact where consent = 'opted_in'") == len(ids)
