from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from contracts.messages import (
    ApprovalEnded,
    Destination,
    DraftFiled,
    DraftSubmitted,
    DraftVetoed,
    Evidence,
    FactRecorded,
    FilingRefused,
    ObligationRef,
)
from services.approval import filing
from services.approval.baseline import Available, Unavailable, judge, markers
from services.approval.deciding import Decided
from services.approval.facts import Baseline, Conversation, Fact
from services.approval.problems import Problem
from services.approval.store.idempotency import Attempt
from services.approval.store.keys import ApiKey
from services.approval.submitting import Submission
from tests.approval.office import ADA, NOW, PEOPLE, TENANT, Office

EMAIL = Destination(channel_id=uuid4(), account="loja", chat="carla@example.com", thread="t1")
CONTRACT = Fact(kind="contract_signed", subject="Contrato 7", value="assinado", source="crm", observed_at=NOW)
COLOUR = Fact(kind="preference", subject="cor", value="azul", source="crm", observed_at=NOW)
KEY = ApiKey(TENANT, uuid4(), "crm", ("file",), is_internal=False)


# ------------------------------------------------------------------------------------------------------- cleaning


def test_control_characters_go_and_are_remembered_but_line_ends_and_tabs_stay() -> None:
    kept, removed = filing.clean_text("draft", "a\x00b\r\nc\rd\te\nf\x85g\x7f\x07\x07")
    assert kept == "ab\r\ncd\te\nfg"
    assert [(one.what, one.count) for one in removed] == [
        ("U+0000", 1), ("U+0007", 2), ("U+000D", 1), ("U+007F", 1), ("U+0085", 1)
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["e\u0301", "é", "👩\u200d🚀", "\ufeffa", "a\u202eb", "a  b \n\n c "])
def test_a_body_is_never_normalised(text: str) -> None:
    assert filing.clean_text("draft", text) == (text, ())


def test_a_single_line_has_no_line_ends_and_no_runs_of_space() -> None:
    assert filing.clean_line("summary", "  a\r\n\tb \u00a0 c\x07 ")[0] == "a b c"


@pytest.mark.parametrize("size", [12_000, 12_001])
def test_a_draft_of_12_001_characters_is_refused_with_field_limit_and_size(size: int) -> None:
    fits = filing.clean_body("x" * size, EMAIL)
    assert fits == (("x" * 12_000, ()) if size == 12_000 else filing.Unfit("draft", 12_000, 12_001))


def test_whatsapp_takes_4_096_characters_after_cleaning() -> None:
    whatsapp = Destination(channel_id=uuid4(), account="loja", chat="5511900000001@c.us")
    assert filing.clean_body("x" * 4096 + "\x00", whatsapp) != filing.Unfit("draft", 4096, 4097)
    assert filing.clean_body("x" * 4097, whatsapp) == filing.Unfit("draft", 4096, 4097)


@pytest.mark.parametrize("text", ["", " \n\t ", "\x00\x07", "\u200b\u200d", "\u2800\u3164"])
def test_a_text_that_nobody_can_see_is_empty(text: str) -> None:
    assert filing.clean_body(text, EMAIL) == filing.Unfit("draft", 12_000, 0)


@pytest.mark.parametrize("text", ["👍", ".", "?", "。"])
def test_a_sign_alone_is_a_text(text: str) -> None:
    assert filing.clean_body(text, EMAIL) == (text, ())


# ---------------------------------------------------------------------------------------------------- the decision


def a_draft(**changed: object) -> filing.Draft:
    known = filing.Draft(
        tenant=TENANT, draft_id=uuid4(), turn_id=None, origin="agent", author="agent", conversation_id=uuid4(),
        contact_id=uuid4(), destination=EMAIL, kind="reply", body="Oi", drafted_body="Oi", language="pt-BR",
        context_revision=1,
    )  # fmt: skip
    return replace(known, **changed)  # pyright: ignore[reportArgumentType] - fields of the struct


def facts(draft: filing.Draft, **changed: object) -> filing.Facts:
    conversation = Conversation(
        tenant=TENANT, id=draft.conversation_id, contact_id=draft.contact_id, channel_id=None, destination=None,
        language="pt-BR", context_revision=1, owner_state="agent", owner_person="", owner_version=0,
    )  # fmt: skip
    known = filing.Facts(
        conversation=conversation, standing=None, leaving=None, named=None, uncertain=None, baseline=Available(()),
        salt=b"s" * 32,
    )  # fmt: skip
    return replace(known, **changed)  # pyright: ignore[reportArgumentType] - as above


@pytest.mark.parametrize(("field", "limit"), [("context", 4_000), ("summary", 280), ("counterparty", 200)])
def test_every_field_has_its_limit(field: str, limit: int) -> None:
    fits, too_long = a_draft(**{field: "x" * limit}), a_draft(**{field: "x" * (limit + 1)})
    assert isinstance(filing.file(fits, facts(fits), NOW), filing.Filed)
    refused = filing.file(too_long, facts(too_long), NOW)
    assert isinstance(refused, filing.Refused)
    assert (field in refused.detail, str(limit) in refused.detail, str(limit + 1) in refused.detail) == (
        True,
        True,
        True,
    )


def test_the_commitment_is_over_the_cleaned_bytes() -> None:
    dirty, clean = a_draft(body="O\x07i"), a_draft(body="Oi")
    first, second = filing.file(dirty, facts(dirty), NOW), filing.file(clean, facts(clean), NOW)
    assert isinstance(first, filing.Filed)
    assert isinstance(second, filing.Filed)
    assert (first.version.body, first.version.commitment) == ("Oi", second.version.commitment)
    assert first.version.basis.removed[0].what == "U+0007"


# -------------------------------------------------------------------------------------------------------- baseline


def test_a_contract_on_record_refuses_with_evidence_and_a_recommendation() -> None:
    draft = a_draft()
    refused = filing.file(draft, facts(draft, baseline=Available((CONTRACT, COLOUR))), NOW)
    assert isinstance(refused, filing.Refused)
    assert (refused.code, refused.evidence[0].title) == ("contract_on_record", "Contrato 7")
    assert refused.recommendation


def test_an_override_files_and_says_so() -> None:
    draft = a_draft(override_by=ADA)
    filed = filing.file(draft, facts(draft, baseline=Available((CONTRACT,))), NOW)
    assert isinstance(filed, filing.Filed)
    assert "[BASELINE_OVERRIDE_SIGNED_CONTRACT]" in filed.version.context
    assert filed.version.basis.baseline.override_by == ADA


def test_a_source_that_is_down_never_switches_the_gate_off_silently() -> None:
    draft = a_draft()
    filed = filing.file(draft, facts(draft, baseline=Unavailable("timeout")), NOW)
    assert isinstance(filed, filing.Filed)
    assert filed.version.context == "[BASELINE_CHECK_UNAVAILABLE]"


def test_the_newest_facts_are_attached() -> None:
    many = tuple(replace_fact(COLOUR, subject=f"fato {n}", days=n) for n in range(9))
    baseline = judge(Available(many), "Oi", "")
    assert isinstance(baseline, Baseline)
    assert [one.subject for one in baseline.facts] == [f"fato {n}" for n in range(5)]
    assert markers(baseline).startswith("[BASELINE FACTS: fato 0 = azul (2026-03-02); ")


def replace_fact(fact: Fact, *, subject: str, days: int) -> Fact:
    return Fact(
        kind=fact.kind, subject=subject, value=fact.value, source=fact.source, observed_at=NOW - timedelta(days=days)
    )


def test_asking_for_what_is_on_record_gives_advice() -> None:
    asks = judge(Available((COLOUR,)), "Qual COR você prefere?", "")
    tells = judge(Available((COLOUR,)), "A cor é azul. Certo?", "")
    assert isinstance(asks, Baseline)
    assert isinstance(tells, Baseline)
    assert asks.advice == ("already on record: cor = azul",)
    assert tells.advice == ()


async def test_a_fact_of_the_crm_tightens_the_gate(office: Office) -> None:
    await office.bench.hear(
        FactRecorded(
            tenant=TENANT, fact_id=uuid4(), contact_id=office.contact, kind="contract_signed", subject="Contrato 7",
            value="assinado", source="crm", observed_at=NOW,
        )
    )  # fmt: skip
    await office.bench.hear(office.draft())
    refused = await office.said(FilingRefused)
    assert (refused.code, refused.evidence[0].source) == ("contract_on_record", "crm")
    assert await office.bench.value("select count(*) from obligation") == 0
    assert await office.bench.value("select kind from alert") == "filing_refused"


# ---------------------------------------------------------------------------------------------------------- upsert


async def test_filing_says_that_a_text_waits(office: Office) -> None:
    draft = office.draft()
    await office.bench.hear(draft)
    said = await office.said(DraftFiled)
    assert (said.draft_id, said.epoch) == (draft.draft_id, 1)
    assert (await office.standing()).version.body == draft.body


async def test_a_draft_may_come_before_its_conversation_s_first_message(office: Office) -> None:
    elsewhere = uuid4()
    await office.bench.hear(office.draft(conversation_id=elsewhere, revision=3))
    assert await office.bench.value("select context_revision from conversation where id = $1", elsewhere) == 0
    assert (await office.said(DraftFiled)).conversation_id == elsewhere


async def test_the_same_filing_keeps_its_epoch(office: Office) -> None:
    first = await office.file()
    again = await office.file()
    assert (again.id, again.epoch, again.version.commitment) == (first.id, 1, first.version.commitment)


@pytest.mark.parametrize(
    "changed",
    [
        {"body": "Outro"},
        {"revision": 2},
        {"reason": "another reason"},
        {"evidence": (Evidence(source="catalogue", title="Azul"),)},
        {"destination": Destination(channel_id=uuid4(), account="loja", chat="5511900000002@c.us")},
    ],
    ids=["text", "revision", "context", "evidence", "destination"],
)
async def test_whatever_a_decision_rests_on_advances_the_epoch(office: Office, changed: dict[str, Any]) -> None:
    first = await office.file()
    await office.bench.hear(office.draft(**changed))
    again = await office.standing()
    assert (again.id, again.epoch) == (first.id, 2)
    assert again.version.commitment != first.version.commitment


async def test_a_draft_that_knows_less_than_we_heard_is_never_shown(office: Office) -> None:
    await office.bench.hear(office.received("e verde?", 2))
    await office.bench.hear(office.draft(revision=1))
    ended = await office.said(ApprovalEnded)
    assert ended.how == "superseded"
    assert (await office.obligation(ended.obligation_id)).state == "superseded"


async def test_a_stale_draft_leaves_the_open_one_alone(office: Office) -> None:
    await office.bench.hear(office.received("e verde?", 2))
    standing = await office.file("Verde também.", revision=2)
    await office.bench.hear(office.draft("Só azul.", revision=1))
    assert (await office.obligation(standing.id)) == standing


async def test_a_text_filed_after_the_old_one_expired_is_a_new_obligation(office: Office) -> None:
    old = await office.file()
    async with office.bench.db.transaction() as tx:
        await tx.execute("update obligation set expires_at = clock_timestamp()")
    new = await office.file("Ainda temos.")
    assert new.id != old.id
    assert (await office.obligation(old.id)).state == "expired"


async def test_a_redraft_of_what_a_person_has_edited_since_is_refused(office: Office) -> None:
    standing = await office.file()
    await office.decide(standing, "send_back", reason="mais curto")
    await office.decide(standing, "edit", edited_text="Temos.")
    await office.bench.said()
    await office.bench.hear(office.draft("Sim.", redraft_of=ObligationRef(obligation_id=standing.id, epoch=1)))
    assert (await office.said(FilingRefused)).code == "stale_redraft"
    assert (await office.standing()).version.body == "Temos."


async def test_a_redraft_of_what_is_over_is_refused(office: Office) -> None:
    standing = await office.file()
    await office.decide(standing, "reject")
    await office.bench.said()
    await office.bench.hear(office.draft("Sim.", redraft_of=ObligationRef(obligation_id=standing.id, epoch=1)))
    assert (await office.said(FilingRefused)).code == "obligation_ended"


# ------------------------------------------------------------------------------------------------- drafts of others


def attempt(key: str = "k") -> Attempt:
    return Attempt(f"key:{KEY.id}", key, b"digest")


async def test_a_draft_of_an_outside_agent_takes_the_gates_and_waits_for_people(office: Office) -> None:
    asked = Submission(conversation_id=office.conversation, body="Seu pedido\x07 saiu.", summary="pedido", origin="dm")
    answer = await office.desk.submit(KEY, asked, attempt())
    assert not isinstance(answer, Problem)
    said = await office.said(DraftSubmitted)
    assert (said.draft_id, said.body, said.origin, said.context_revision) == (
        answer.id,
        "Seu pedido saiu.",
        "outside",
        1,
    )
    assert await office.bench.value("select receipt from submitted") == "quiet"
    await office.bench.hear(office.draft(said.body, draft_id=said.draft_id, origin="outside"))
    standing = await office.standing()
    assert (standing.version.author, standing.version.summary) == (f"key:{KEY.id}", "pedido")
    assert isinstance(await office.decide(standing), Decided)


async def test_a_veto_is_told_to_the_caller_as_refused(office: Office) -> None:
    answer = await office.desk.submit(KEY, Submission(conversation_id=office.conversation, body="Oi"), attempt())
    assert not isinstance(answer, Problem)
    await office.bench.hear(
        DraftVetoed(
            tenant=TENANT, draft_id=answer.id, turn_id=None, conversation_id=office.conversation,
            contact_id=office.contact, gate="stop", code="x", instruction="", verdicts=(), chain_version="1",
            chain_hash="h",
        )
    )  # fmt: skip
    assert await office.bench.value("select status from submitted") == "refused"


async def test_only_a_person_with_the_right_overrides_the_baseline(office: Office) -> None:
    asked = Submission(conversation_id=office.conversation, body="Oi", force_despite_signed_contract=True)
    greedy = KEY._replace(scopes=("file", "override_baseline"))
    refused = Problem("no-right", {"right": "override_baseline"})
    assert await office.desk.submit(greedy, asked, attempt()) == refused
    assert await office.desk.submit(PEOPLE[0], asked, attempt("k2")) == refused
    answer = await office.desk.submit(PEOPLE[3], asked, attempt("k3"))
    assert not isinstance(answer, Problem)
    assert await office.bench.value("select override_by from submitted") == f"key:{KEY.id}"


async def test_a_nul_in_what_others_wrote_stops_no_filing(office: Office) -> None:
    nul = 'a\x00b \\u0000 \\\x00 "\x00'
    await office.bench.hear(office.received(nul, 2, sender_name=nul))
    evidence = (Evidence(source="catalogue", title=nul, excerpt=nul),)
    await office.bench.hear(office.draft(f"Oi{nul}", revision=2, reason=nul, evidence=evidence))
    standing = await office.standing()
    assert standing.version.body == f"Oi{nul}".replace("\x00", "")
    assert standing.version.basis.evidence[0].title == nul.replace("\x00", "\ufffd")
