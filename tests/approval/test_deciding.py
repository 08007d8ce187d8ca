import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from msgspec import structs

from contracts.messages import ApprovalEnded, DraftApproved, DraftFiled, DraftRejected, DraftSentBack, ObligationRef
from services.approval.deciding import Decided
from services.approval.facts import Obligation
from services.approval.lifecycle import Wish
from services.approval.problems import Problem
from services.approval.store.idempotency import Attempt
from shared.seal import APPROVAL, ApprovalSeal, commitment
from tests.approval.office import ADA, ANA, BRUNO, PEOPLE, RING, TENANT, VERA, Office, config, open_office
from tests.harness import BenchFactory


def problem(answer: object) -> str:
    assert isinstance(answer, Problem), answer
    return answer.slug


async def votes(office: Office) -> int:
    return await office.bench.value("select count(*) from vote")


async def nothing_left(office: Office) -> bool:
    """Nothing was approved, neither in the ledger nor on the bus."""
    said = [one for one in await office.bench.said() if isinstance(one, DraftApproved)]
    return not said and await office.bench.value("select count(*) from snapshot") == 0


async def test_an_approval_seals_exactly_the_bytes_and_the_destination_that_were_shown(office: Office) -> None:
    body = "Temos sim,\r\nem azul \u200d🎉. e\u0301"
    filed = await office.file(body)
    decided = await office.decide(filed)
    assert isinstance(decided, Decided)
    said = await office.said(DraftApproved)
    seal = RING.open(said.seal, APPROVAL, ApprovalSeal)
    snapshot = said.snapshot
    assert snapshot.body == body
    assert seal.commitment == commitment(snapshot.salt, tenant=TENANT, destination=office.destination, body=body)
    assert (seal.obligation_id, seal.epoch, seal.voters) == (filed.id, 1, (ANA,))
    assert (seal.send_by - seal.decided_at).total_seconds() == 3600
    assert (seal.policy, seal.policy_version) == ("single", 1)
    assert (await office.standing()).state == "approved"


async def test_a_stale_epoch_releases_nothing(office: Office) -> None:
    old = await office.file("Temos em azul.")
    new = await office.file("Temos em azul e verde.")
    assert (new.id, new.epoch) == (old.id, 2)
    refused = await office.decide(old)
    assert isinstance(refused, Problem)
    assert (refused.slug, refused.members["seen_epoch"], refused.members["epoch"]) == ("stale-revision", 1, 2)
    assert await nothing_left(office)
    assert (await office.standing()).state == "open"


async def test_another_commitment_at_the_right_epoch_releases_nothing(office: Office) -> None:
    filed = await office.file()
    assert problem(await office.decide(filed, commitment="0" * 64)) == "stale-revision"
    assert await nothing_left(office)


async def test_a_text_that_comes_back_never_revives_an_old_approval(office: Office) -> None:
    first = await office.file("A")
    await office.file("B")
    again = await office.file("A")
    assert again.version.body == first.version.body
    assert (again.epoch, again.version.commitment == first.version.commitment) == (3, False)
    assert problem(await office.decide(first)) == "stale-revision"
    assert await nothing_left(office)


async def test_the_second_person_is_told_who_decided_and_when(office: Office) -> None:
    filed = await office.file()
    await office.decide(filed)
    late = await office.decide(filed, "reject", by=BRUNO)
    assert isinstance(late, Problem)
    assert (late.slug, late.members["who"]) == ("already-decided", ANA)
    assert late.members["when"]


async def test_two_people_at_once_make_one_vote_and_one_message(office: Office) -> None:
    filed = await office.file()
    answers = await asyncio.gather(office.decide(filed), office.decide(filed, by=BRUNO))
    assert sorted(type(one).__name__ for one in answers) == ["Decided", "Problem"]
    assert await votes(office) == 1
    assert len([one for one in await office.bench.said() if isinstance(one, DraftApproved)]) == 1


async def test_who_lacks_the_right_decides_nothing(office: Office) -> None:
    filed = await office.file()
    for email in (VERA, ADA):
        assert problem(await office.decide(filed, by=email)) == "no-right"
    assert await votes(office) == 0
    assert await nothing_left(office)


async def test_a_role_that_was_taken_away_decides_nothing(office: Office) -> None:
    filed = await office.file()
    async with office.bench.db.transaction() as tx:
        await tx.execute("update person set roles = '{viewer}' where email = $1", ANA)
    assert problem(await office.decide(filed)) == "no-right"
    async with office.bench.db.transaction() as tx:
        await tx.execute("update person set roles = '{approver}', is_active = false where email = $1", ANA)
    assert problem(await office.decide(filed)) == "no-right"
    assert await nothing_left(office)


async def test_past_its_time_nothing_is_decided_although_no_timer_ran(office: Office) -> None:
    filed = await office.file()
    async with office.bench.db.transaction() as tx:
        await tx.execute("update obligation set expires_at = clock_timestamp()")
    for verb in ("approve", "reject"):
        assert problem(await office.decide(filed, verb)) == "expired"
    assert await nothing_left(office)
    assert (await office.standing()).state == "open"


async def test_the_timer_announces_the_expiry_and_a_decision_after_it_is_refused(office: Office) -> None:
    filed = await office.file()
    async with office.bench.db.transaction() as tx:
        await tx.execute("update obligation set expires_at = clock_timestamp()")
    await office.bench.run_jobs(all=True)
    assert (await office.said(ApprovalEnded)).how == "expired"
    assert problem(await office.decide(filed)) == "expired"


async def test_a_timer_that_is_early_expires_nothing(office: Office) -> None:
    await office.file()
    await office.bench.run_jobs(all=True, rounds=1)
    assert (await office.standing()).state == "open"
    assert await office.bench.value("select count(*) from job where kind = 'expiry'") == 1


async def test_the_same_key_gets_the_first_answer_and_another_request_with_it_is_refused(office: Office) -> None:
    filed = await office.file()
    first = await office.decide(filed, key="k-1")
    assert await office.decide(filed, key="k-1") == first
    assert await votes(office) == 1
    other = await office.file(kind="follow_up")
    wish = Wish(verb="approve", epoch=other.epoch, commitment=other.version.commitment)
    reused = await office.desk.decide(PEOPLE[0], other.id, wish, Attempt(ANA, "k-1", b"another digest"))
    assert problem(reused) == "key-reused"


async def test_an_edit_is_approved_as_a_new_epoch_of_its_author_with_both_commitments_in_the_audit(
    office: Office,
) -> None:
    filed = await office.file("Custa R$ 10.")
    decided = await office.decide(filed, edited_text="Custa R$ 12.\x07")
    assert isinstance(decided, Decided)
    said = await office.bench.said()
    approved = next(one for one in said if isinstance(one, DraftApproved))
    assert [type(one) for one in said] == [DraftFiled, DraftApproved]
    assert (approved.snapshot.body, approved.snapshot.epoch, approved.snapshot.origin) == ("Custa R$ 12.", 2, "person")
    snapshot = approved.snapshot
    bound = commitment(snapshot.salt, tenant=TENANT, destination=snapshot.destination, body=snapshot.body)
    assert RING.open(approved.seal, APPROVAL, ApprovalSeal).commitment == snapshot.commitment == bound
    standing = await office.standing()
    assert (standing.version.author, standing.version.drafted_body) == (ANA, "Custa R$ 10.")
    assert standing.version.basis.removed[0].what == "U+0007"
    entry = await office.bench.value("select entry from audit where entry::jsonb ->> 'action' = 'edited'")
    assert filed.version.commitment in entry
    assert decided.commitment in entry
    assert "Custa" not in entry


async def test_where_editors_may_not_approve_their_own_text_waits_for_somebody_else(bench_of: BenchFactory) -> None:
    office = await open_office(bench_of, may_editor_approve=False)
    filed = await office.file()
    assert problem(await office.decide(filed, edited_text="Outro texto.")) == "sod-violation"
    edited = await office.decide(filed, "edit", edited_text="Outro texto.")
    assert isinstance(edited, Decided)
    standing = await office.standing()
    assert problem(await office.decide(standing)) == "sod-violation"
    assert isinstance(await office.decide(standing, by=BRUNO), Decided)


async def test_saving_the_same_text_makes_no_new_epoch(office: Office) -> None:
    filed = await office.file()
    same = await office.decide(filed, "edit", edited_text=filed.version.body)
    assert isinstance(same, Decided)
    assert (same.epoch, same.commitment) == (1, filed.version.commitment)


@pytest.mark.parametrize(("text", "size"), [("", 0), (" \n\t", 0), ("\u200b\u2060", 0), ("x" * 4097, 4097)])
async def test_an_edit_that_does_not_fit_is_refused_with_field_limit_and_size(
    office: Office, text: str, size: int
) -> None:
    filed = await office.file()
    refused = await office.decide(filed, edited_text=text)
    assert refused == Problem("unfit", {"field": "draft", "size": size, "limit": 4096})
    assert await nothing_left(office)


async def test_rejecting_ends_it_and_says_why(office: Office) -> None:
    filed = await office.file()
    await office.decide(filed, "reject", reason="preço errado")
    said = await office.said(DraftRejected)
    assert (said.reason, said.decided_by) == ("preço errado", ANA)
    assert problem(await office.decide(filed)) == "already-decided"
    assert await nothing_left(office)


async def sent_back(office: Office, o: Obligation) -> DraftSentBack:
    assert isinstance(await office.decide(o, "send_back", reason="diga o prazo"), Decided)
    return await office.said(DraftSentBack)


async def test_a_text_goes_back_to_the_agent_three_times_at_the_most(office: Office) -> None:
    standing = await office.file()
    for number in (1, 2, 3):
        back = await sent_back(office, standing)
        assert (back.round, back.instruction, back.previous_body) == (number, "diga o prazo", standing.version.body)
        assert problem(await office.decide(standing)) == "waiting-agent"
        redraft = ObligationRef(obligation_id=standing.id, epoch=standing.epoch)
        standing = await office.file(f"Texto {number}", redraft_of=redraft)
        assert (standing.id, standing.state, standing.epoch) == (redraft.obligation_id, "open", number + 1)
    assert problem(await office.decide(standing, "send_back", reason="outra vez")) == "rounds-used-up"


async def test_sending_back_without_an_instruction_is_refused(office: Office) -> None:
    filed = await office.file()
    assert problem(await office.decide(filed, "send_back", reason="  ")) == "unfit"
    assert (await office.standing()).state == "open"


async def test_asking_for_information_keeps_the_item_open_and_decidable(office: Office) -> None:
    filed = await office.file()
    await office.decide(filed, "request_information", reason="qual é o estoque?")
    standing = await office.standing()
    assert (standing.state, standing.banners[0].code) == ("open", "information_requested")
    assert isinstance(await office.decide(standing), Decided)


async def test_withdrawing_an_approval_that_has_not_begun_to_leave_says_that_it_is_void(office: Office) -> None:
    approved, decision = await office.approved()
    assert isinstance(await office.decide(approved, "withdraw"), Decided)
    said = await office.said(ApprovalEnded)
    assert (said.how, said.decision_id) == ("withdrawn", decision)


async def test_an_obligation_that_does_not_exist_is_not_found(office: Office) -> None:
    filed = await office.file()
    assert problem(await office.decide(structs.replace(filed, id=uuid4()))) == "not-found"


async def test_a_refused_attempt_is_audited(office: Office) -> None:
    filed = await office.file()
    await office.decide(filed, by=VERA)
    entry = await office.bench.value("select entry from audit where entry::jsonb ->> 'action' = 'refused'")
    assert VERA in entry
    assert "no-right" in entry


async def test_a_key_that_may_not_sign_any_more_decides_nothing(bench_of: BenchFactory) -> None:
    old = config().seal_key.replace("2100-01-01", "2020-01-01")
    assert datetime(2020, 1, 1, tzinfo=UTC).isoformat() in old
    office = await open_office(bench_of, seal_key=old)
    filed = await office.file()
    assert problem(await office.decide(filed)) == "cannot-seal"
    assert await votes(office) == 0
    assert await nothing_left(office)
