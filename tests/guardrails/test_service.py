"""guardrails on a real database: filing, dispatch with its three answers, and what it remembers."""

from datetime import timedelta
from uuid import uuid4

import msgspec
import pytest

from contracts import messages as m
from services.guardrails.rules import Rules
from services.guardrails.service import handlers
from shared import seal
from tests.guardrails.world import (
    CHANNEL,
    CONTACT,
    NOW,
    RING,
    TALK,
    TENANT,
    approved,
    config,
    only,
    opened,
    phone_replied,
    proposed,
    received,
    with_channel,
)
from tests.harness import Bench, BenchFactory


@pytest.fixture
async def bench(bench_of: BenchFactory) -> Bench:
    return await opened(bench_of)


async def test_a_clean_draft_is_cleared_with_ten_verdicts(bench: Bench) -> None:
    await bench.hear(received(), proposed())
    cleared = only(await bench.said(), m.DraftCleared)
    assert cleared.body == "Abrimos das 8h às 18h."
    assert len(cleared.verdicts) == 10
    assert await bench.value("select outcome from run") == "cleared"


async def test_a_draft_that_came_before_its_contact_waits_for_it(bench: Bench) -> None:
    await bench.hear(proposed())
    assert await bench.said() == []
    await bench.hear(received())
    await bench.run_jobs(all=True)
    assert only(await bench.said(), m.DraftCleared).body == "Abrimos das 8h às 18h."
    assert await bench.value("select count(*) from job") == 0


async def test_a_draft_whose_contact_never_comes_is_refused_in_the_end(bench: Bench) -> None:
    await bench.hear(proposed())
    long_ago = (NOW - timedelta(days=1)).isoformat()
    async with bench.db.autocommit() as tx:
        await tx.execute(
            """update job set payload = convert_to(jsonb_set(convert_from(payload, 'UTF8')::jsonb, '{heard_at}',
                 to_jsonb($1::text))::text, 'UTF8')""",
            long_ago,
        )
    await bench.run_jobs(all=True)
    vetoed = only(await bench.said(), m.DraftVetoed)
    assert (vetoed.code, vetoed.ends_turn) == ("fact_unavailable", True)


@pytest.mark.parametrize("signal", ["none", "opt_out"])
async def test_a_draft_that_came_before_the_message_that_it_answers_waits_for_it(
    bench: Bench, signal: m.OptOutSignal
) -> None:
    """We wrote first, on the phone: contact and conversation are known, the customer's answer is not."""
    await bench.hear(phone_replied(), proposed(revision=2))
    await bench.run_jobs()
    assert await bench.said() == []
    await bench.hear(received(revision=2, opt_out=signal))
    await bench.said()
    await bench.run_jobs(all=True)
    said = await bench.said()
    if signal == "none":
        only(said, m.DraftCleared)
    else:
        assert only(said, m.DraftVetoed).code == "contact_blocked"


async def test_an_approval_that_came_before_the_message_that_people_saw_waits_for_it(bench: Bench) -> None:
    """After an outage each topic is heard at its own pace; the message may say stop."""
    await bench.hear(received(), approved(revision=2))
    await bench.run_jobs()
    assert await bench.said() == []
    await bench.hear(received("PARAR", revision=2, opt_out="opt_out"))
    await bench.run_jobs(all=True)
    assert only(await bench.said(), m.DispatchRefused).code == "contact_blocked"


async def test_an_approval_whose_message_never_comes_is_judged_in_the_end(bench: Bench) -> None:
    await bench.hear(received(), approved(revision=2))
    await bench.rows("update dispatch set updated_at = now() - interval '1 day'")
    await bench.run_jobs()
    only(await bench.said(), m.SendCommand)


async def test_internal_words_are_vetoed_and_the_instruction_names_no_gate(bench: Bench) -> None:
    await bench.hear(received(), proposed("Rodei search_knowledge e o webhook voltou null."))
    vetoed = only(await bench.said(), m.DraftVetoed)
    assert (vetoed.gate, vetoed.code) == ("internal_vocabulary", "internal_vocabulary_leak")
    assert "internal_vocabulary" not in vetoed.instruction
    assert not vetoed.ends_turn


async def test_the_disclosure_is_inserted_when_filed_and_demanded_when_dispatched(bench_of: BenchFactory) -> None:
    bench = await bench_of("guardrails", handlers(config()))
    await with_channel(bench, Rules(disclosures={"pt-BR": "Aqui é a assistente virtual da Clínica Sol."}))  # pyright: ignore[reportArgumentType] - StrEnum keys
    await bench.hear(received(), proposed())
    cleared = only(await bench.said(), m.DraftCleared)
    assert "assistente virtual" in cleared.body
    assert cleared.drafted_body == "Abrimos das 8h às 18h."
    await bench.hear(approved())
    await bench.run_jobs()
    assert only(await bench.said(), m.DispatchRefused).code == "disclosure_missing"


async def test_an_approved_text_leaves_once_with_a_seal_bound_to_the_approval(bench: Bench) -> None:
    approval = approved()
    await bench.hear(received(), approval)
    await bench.run_jobs()
    said = await bench.said()
    command = only(said, m.SendCommand)
    only(said, m.DispatchCleared)
    clearance = RING.open(command.clearance_seal, seal.CLEARANCE, seal.ClearanceSeal)
    assert clearance.approval_sha256 == seal.fingerprint(approval.seal)
    assert command.snapshot == approval.snapshot
    await bench.hear(approval)
    await bench.run_jobs(all=True)
    assert await bench.said() == []


async def test_a_newer_message_of_the_customer_refuses_the_dispatch(bench: Bench) -> None:
    await bench.hear(received(), received(revision=2), approved(revision=1))
    await bench.run_jobs()
    said = await bench.said()
    assert only(said, m.DispatchRefused).code == "context_changed"
    assert not [one for one in said if isinstance(one, m.SendCommand)]


async def test_an_opted_out_contact_gets_nothing_even_approved(bench: Bench) -> None:
    await bench.hear(received("PARAR", opt_out="opt_out"))
    assert only(await bench.said(), m.ConsentChanged).state == "opted_out"
    await bench.hear(approved())
    await bench.run_jobs()
    assert only(await bench.said(), m.DispatchRefused).code == "contact_blocked"


async def test_a_merged_contact_keeps_the_wish_to_be_left_alone(bench: Bench) -> None:
    other = uuid4()
    async with bench.db.transaction() as tx:
        await tx.execute("insert into contact (contact_id, tenant, opted_out_at) values ($1, $2, now())", other, TENANT)
    await bench.hear(
        received(),
        m.ContactSeen(
            tenant=TENANT, contact_id=CONTACT, channel_id=CHANNEL, name="Ana", has_phone=True, is_new=False,
            merged_contact_ids=(other,),
        ),
    )  # fmt: skip
    await bench.hear(approved())
    await bench.run_jobs()
    assert only(await bench.said(), m.DispatchRefused).code == "contact_blocked"


async def test_a_revoked_approval_never_leaves(bench: Bench) -> None:
    approval = approved()
    await bench.hear(received(), approval)
    await bench.hear(ended(approval.snapshot))
    await bench.run_jobs(all=True)
    assert not [one for one in await bench.said() if isinstance(one, m.SendCommand)]


async def test_a_clearance_that_ran_out_after_its_approval_was_revoked_is_not_renewed(bench: Bench) -> None:
    snapshot = (approval := approved()).snapshot
    await bench.hear(received(), approval)
    await bench.run_jobs()
    only(await bench.said(), m.SendCommand)
    await bench.hear(ended(snapshot))
    await bench.hear(
        m.SendRefused(
            tenant=TENANT, decision_id=snapshot.decision_id, obligation_id=snapshot.obligation_id, conversation_id=TALK,
            channel_id=CHANNEL, at=NOW, code="clearance_expired", detail="",
        )
    )  # fmt: skip
    await bench.run_jobs(all=True)
    assert await bench.said() == []
    assert await bench.value("select state from quota") == "released"


def ended(snapshot: m.Snapshot) -> m.ApprovalEnded:
    return m.ApprovalEnded(
        tenant=TENANT,
        obligation_id=snapshot.obligation_id,
        epoch=1,
        decision_id=snapshot.decision_id,
        draft_id=uuid4(),
        turn_id=None,
        conversation_id=TALK,
        how="invalidated",
        reason="the customer wrote again",
        at=NOW,
    )


async def test_outside_hours_the_text_waits_and_leaves_later(bench: Bench) -> None:
    closed = await hours_from_now(bench, 2, 3)
    await set_window(bench, closed)
    await bench.hear(received(), approved(minutes=600))
    await bench.run_jobs()
    deferred = only(await bench.said(), m.DispatchDeferred)
    assert (deferred.gate, deferred.code) == ("pacing", "outside_window")
    await set_window(bench, None)
    await bench.run_jobs(all=True)
    only(await bench.said(), m.SendCommand)


async def test_a_deferral_past_send_by_is_a_refusal(bench: Bench) -> None:
    await set_window(bench, await hours_from_now(bench, 2, 3))
    await bench.hear(received(), approved(minutes=30))
    await bench.run_jobs()
    assert only(await bench.said(), m.DispatchRefused).code == "send_by_passed"


async def test_a_session_that_is_down_defers_and_its_return_hurries(bench: Bench) -> None:
    await bench.hear(received(), status(is_ready=False), approved())
    await bench.run_jobs()
    assert only(await bench.said(), m.DispatchDeferred).code == "session_not_ready"
    await bench.hear(status(is_ready=True))
    await bench.run_jobs()
    only(await bench.said(), m.SendCommand)


async def test_a_taken_over_conversation_keeps_the_agents_draft(bench: Bench) -> None:
    await bench.hear(received())
    await bench.hear(
        m.OwnershipChanged(tenant=TENANT, conversation_id=TALK, owner="person", person="maria", version=1, at=NOW),
        proposed(),
    )
    vetoed = only(await bench.said(), m.DraftVetoed)
    assert (vetoed.gate, vetoed.ends_turn) == ("stop", True)


@pytest.mark.parametrize("has_case", [True, False])
async def test_a_take_over_that_comes_before_the_conversation_keeps_the_agents_draft(
    bench: Bench, *, has_case: bool
) -> None:
    if has_case:
        await bench.hear(case_opened())
    await bench.hear(
        m.OwnershipChanged(tenant=TENANT, conversation_id=TALK, owner="person", person="maria", version=1, at=NOW)
    )
    await bench.hear(phone_replied())
    row = (await bench.rows("select contact_id, channel_id from conversation"))[0]
    assert (row["contact_id"], row["channel_id"]) == (CONTACT, CHANNEL)
    await bench.hear(received(revision=2), proposed(revision=2))
    assert only(await bench.said(), m.DraftVetoed).code == "conversation_taken_over"


async def test_a_case_that_comes_before_the_conversation_is_open_in_it(bench: Bench) -> None:
    await bench.hear(case_opened())
    await bench.hear(received(), proposed("Vou verificar com a equipe e já te respondo."))
    only(await bench.said(), m.DraftCleared)


def case_opened() -> m.CaseOpened:
    return m.CaseOpened(
        tenant=TENANT, case_id=uuid4(), conversation_id=TALK, contact_id=CONTACT, subject="troca", opened_at=NOW
    )


async def test_a_handoff_that_nobody_accepted_stops_no_text(bench: Bench) -> None:
    await bench.hear(received())
    await bench.hear(
        m.OwnershipChanged(tenant=TENANT, conversation_id=TALK, owner="person", version=1, at=NOW, is_handoff=True),
        approved(),
    )
    await bench.run_jobs()
    only(await bench.said(), m.SendCommand)


async def test_the_warm_up_cap_counts_what_was_cleared(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        await tx.execute("update channel set activated_at = now(), daily_cap = 300")
    texts = [" ".join(chr(97 + number) * length for length in range(4, 9)) for number in range(21)]
    await bench.hear(received(), *(approved(text, minutes=60 * 30) for text in texts))
    await bench.run_jobs()
    said = await bench.said()
    assert len([one for one in said if isinstance(one, m.SendCommand)]) == 20
    assert only(said, m.DispatchDeferred).code == "warmup_cap"


OFFER = "Oi! Chegou a coleção nova de pães e a loja abre mais cedo no sábado."


async def test_copies_that_are_on_their_way_count_before_any_of_them_is_sent(bench: Bench) -> None:
    await bench.hear(received(), *(approved(OFFER) for _ in range(6)))
    await bench.run_jobs()
    said = await bench.said()
    assert len([one for one in said if isinstance(one, m.SendCommand)]) == 2
    assert [one.code for one in said if isinstance(one, m.DispatchRefused)] == ["mass_identical"] * 4


@pytest.mark.parametrize("kind", [m.SendFailed, m.SendRefused, m.SendUncertain])
async def test_a_copy_that_did_not_leave_counts_no_more(
    bench: Bench, kind: type[m.SendFailed | m.SendRefused | m.SendUncertain]
) -> None:
    first = [approved(OFFER).snapshot for _ in range(2)]
    await bench.hear(received(), *(msgspec.structs.replace(approved(OFFER), snapshot=one) for one in first))
    await bench.run_jobs()
    await bench.said()
    for one in first:
        await bench.hear(
            kind(
                tenant=TENANT, decision_id=one.decision_id, obligation_id=one.obligation_id, conversation_id=TALK,
                channel_id=CHANNEL, at=NOW, code="400", detail="",
            )
        )  # fmt: skip
    await bench.hear(approved(OFFER))
    await bench.run_jobs()
    left = [one for one in await bench.said() if isinstance(one, m.SendCommand)]
    assert len(left) == (0 if kind is m.SendUncertain else 1)


def status(*, is_ready: bool) -> m.ChannelStatusChanged:
    return m.ChannelStatusChanged(
        tenant=TENANT, channel_id=CHANNEL, status="WORKING" if is_ready else "STOPPED", is_ready=is_ready, at=NOW
    )


async def hours_from_now(bench: Bench, opens: int, closes: int) -> dict[str, str]:
    local = await bench.value("select clock_timestamp() at time zone 'America/Sao_Paulo'")
    at = [(local + timedelta(hours=hours)).time().replace(microsecond=0) for hours in (opens, closes)]
    return {"opens": at[0].isoformat(), "closes": at[1].isoformat()}


async def set_window(bench: Bench, window: dict[str, str] | None) -> None:
    async with bench.db.transaction() as tx:
        await tx.execute(
            "insert into rules (tenant, version, rules) select $1, max(version) + 1, $2 from rules",
            TENANT,
            msgspec.json.encode({"reply_window": window}).decode(),
        )
