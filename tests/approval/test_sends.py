from datetime import timedelta

import pytest

from contracts.messages import (
    ApprovalEnded,
    DispatchCleared,
    DispatchDeferred,
    DispatchRefused,
    DraftFiled,
    Message,
    SendAccepted,
    SendBegun,
    SendFailed,
    SendRefused,
    SendStatusChanged,
    SendUncertain,
)
from services.approval.deciding import Decided
from services.approval.problems import Problem
from tests.approval.office import NOW, Office
from tests.approval.test_invalidation import RECEIPT_SEAL


async def test_an_accepted_send_closes_the_obligation_and_enters_the_history(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendAccepted, approved, decision, provider_id="p", receipt=RECEIPT_SEAL))
    standing = await office.standing()
    assert (standing.state, standing.delivery) == ("sent", "accepted")
    assert await office.bench.value("select text from utterance where direction = 'ours'") == approved.version.body


async def test_statuses_only_go_forward_whatever_order_they_come_in(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendAccepted, approved, decision, provider_id="p", receipt=RECEIPT_SEAL))
    for level, shown in (("read", "read"), ("device", "read"), ("server", "read")):
        await office.bench.hear(office.send(SendStatusChanged, approved, decision, provider_id="p", level=level))
        assert (await office.standing()).delivery == shown
    assert await office.bench.value("select level from utterance where direction = 'ours'") == "read"
    events = [row["event"] for row in await office.bench.rows("select event from ledger order by id")]
    assert events == ["accepted", "read", "device", "server"]


async def test_an_uncertain_send_is_held_and_alerted_and_asks_nobody_again(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendUncertain, approved, decision, code="timeout", detail=""))
    assert (await office.standing()).state == "uncertain"
    assert await office.bench.value("select severity from alert where kind = 'send_uncertain'") == "critical"
    assert not await office.bench.said()


async def test_an_uncertain_send_is_settled_by_delivery_s_word(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendUncertain, approved, decision, code="timeout", detail=""))
    await office.bench.hear(office.send(SendAccepted, approved, decision, provider_id="p", receipt=RECEIPT_SEAL))
    assert (await office.standing()).state == "sent"


async def test_the_text_of_an_uncertain_send_needs_a_tick_to_be_sent_again(office: Office) -> None:
    approved, decision = await office.approved(body="Ok, obrigado")
    await office.bench.hear(office.send(SendUncertain, approved, decision, code="timeout", detail=""))
    again = await office.file("Ok, obrigado")
    assert again.banners[0].code == "earlier_uncertain"
    assert await office.decide(again) == Problem("repeats-uncertain")
    assert await office.decide(again, edited_text="Ok, obrigado") == Problem("repeats-uncertain")
    assert isinstance(await office.decide(again, confirm_repeat=True), Decided)


async def test_another_text_beside_an_uncertain_send_needs_no_tick(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendUncertain, approved, decision, code="timeout", detail=""))
    other = await office.file("Outro texto.")
    assert other.id != approved.id
    assert isinstance(await office.decide(other), Decided)


@pytest.mark.parametrize(
    ("kind", "code", "banner"),
    [
        (SendFailed, "x1", "send_failed"),
        (SendRefused, "x1", "send_refused"),
        (SendRefused, "decided_before_restore", "decided_before_restore"),  # it may have left, and people are told so
        (DispatchRefused, "x1", "dispatch_refused"),
    ],
)
async def test_a_text_that_did_not_leave_comes_back_to_people_at_a_new_epoch(
    office: Office, kind: type[Message], code: str, banner: str
) -> None:
    approved, decision = await office.approved()
    more = {"gate": "stop"} if kind is DispatchRefused else {}
    await office.bench.hear(office.send(kind, approved, decision, code=code, detail="because", **more))
    standing = await office.standing()
    assert (standing.state, standing.epoch, standing.banners[0].code) == ("open", 2, banner)
    assert standing.version.body == approved.version.body
    assert (await office.said(DraftFiled)).epoch == 2
    assert isinstance(await office.decide(approved), Problem)
    assert isinstance(await office.decide(standing), Decided)


async def test_a_clearance_that_ran_out_leaves_the_approval_standing(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendRefused, approved, decision, code="clearance_expired", detail=""))
    assert ((await office.obligation(approved.id)).state, (await office.obligation(approved.id)).epoch) == (
        "approved",
        1,
    )


async def test_a_failure_that_is_told_late_reopens_what_counted_as_sent(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendAccepted, approved, decision, provider_id="p", receipt=RECEIPT_SEAL))
    await office.bench.hear(office.send(SendFailed, approved, decision, code="131047", detail="re-engagement"))
    assert (await office.standing()).state == "open"


async def test_a_failed_text_yields_to_a_newer_one_that_waits_already(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendBegun, approved, decision, chat="c", text_digest="d"))
    newer = await office.file("Texto novo.")
    await office.bench.hear(office.send(SendFailed, approved, decision, code="400", detail=""))
    assert (await office.obligation(approved.id)).state == "superseded"
    assert (await office.obligation(newer.id)).state == "open"
    assert (await office.said(ApprovalEnded)).obligation_id == approved.id


async def test_a_word_about_a_decision_that_was_lost_reopens_nothing(office: Office) -> None:
    approved, lost = await office.approved()
    await office.bench.hear(office.received("espera", 2))
    again = await office.decide(await office.standing(), context_revision=2)
    assert isinstance(again, Decided)
    refused = office.send(DispatchRefused, approved, lost, gate="context", code="stale", detail="")
    await office.bench.hear(refused)
    standing = await office.standing()
    assert (standing.state, standing.decision_id) == ("approved", again.decision_id)
    assert await office.bench.value("select count(*) from ledger") == 1


async def test_a_deferred_dispatch_shows_when_it_leaves(office: Office) -> None:
    approved, decision = await office.approved()
    leaves_at = NOW + timedelta(hours=1)
    deferred = office.send(DispatchDeferred, approved, decision, gate="pacing", code="quiet_hours", retry_at=leaves_at)
    await office.bench.hear(deferred)
    standing = await office.standing()
    assert (standing.delivery, standing.leaves_at) == ("deferred", leaves_at)
    await office.bench.hear(office.send(DispatchCleared, approved, decision, expires_at=leaves_at))
    assert (await office.standing()).delivery == "cleared"


async def test_a_send_that_has_begun_can_no_longer_be_withdrawn(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendBegun, approved, decision, chat="c", text_digest="d"))
    assert await office.decide(approved, "withdraw") == Problem("too-late", {"delivery": "begun"})


async def test_a_send_that_had_begun_when_its_clearance_ran_out_waits_again(office: Office) -> None:
    approved, decision = await office.approved()
    leaves_at = NOW + timedelta(hours=1)
    await office.bench.hear(office.send(SendBegun, approved, decision, chat="c", text_digest="d"))
    await office.bench.hear(office.send(SendRefused, approved, decision, code="clearance_expired", detail=""))
    assert (await office.standing()).delivery == "queued"
    deferred = office.send(
        DispatchDeferred, approved, decision, gate="session", code="session_not_ready", retry_at=leaves_at
    )
    await office.bench.hear(deferred)
    assert (await office.standing()).leaves_at == leaves_at
    assert isinstance(await office.decide(approved, "withdraw"), Decided)


async def test_a_clearance_that_ran_out_takes_nothing_from_what_waits_for_its_time(office: Office) -> None:
    """It was heard by guardrails first, and put the text off."""
    approved, decision = await office.approved()
    leaves_at = NOW + timedelta(hours=1)
    deferred = office.send(DispatchDeferred, approved, decision, gate="pacing", code="quiet_hours", retry_at=leaves_at)
    await office.bench.hear(deferred)
    await office.bench.hear(office.send(SendRefused, approved, decision, code="clearance_expired", detail=""))
    standing = await office.standing()
    assert (standing.delivery, standing.leaves_at) == ("deferred", leaves_at)


@pytest.mark.parametrize("code", ["send_by_passed", "context_changed"])
async def test_a_send_that_had_begun_and_was_given_up_comes_back_to_people(office: Office, code: str) -> None:
    """Delivery began, could not and let the clearance run out, which is heard after guardrails refused to renew it."""
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendBegun, approved, decision, chat="c", text_digest="d"))
    await office.bench.hear(office.send(DispatchRefused, approved, decision, gate="binding", code=code))
    await office.bench.hear(office.send(SendRefused, approved, decision, code="clearance_expired", detail=""))
    standing = await office.standing()
    assert (standing.state, standing.epoch, standing.banners[0].code) == ("open", 2, "dispatch_refused")


async def test_a_deferral_of_an_earlier_clearance_changes_nothing_once_the_send_has_begun(office: Office) -> None:
    approved, decision = await office.approved()
    await office.bench.hear(office.send(SendBegun, approved, decision, chat="c", text_digest="d"))
    deferred = office.send(DispatchDeferred, approved, decision, gate="pacing", code="quiet_hours", retry_at=NOW)
    await office.bench.hear(deferred)
    assert (await office.standing()).delivery == "begun"
