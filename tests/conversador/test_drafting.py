"""From a turn to a draft, and from vetoes to a rewrite or a person."""

import asyncio
import json
from typing import Any
from uuid import UUID

import pytest
from msgspec.structs import replace

from contracts import messages as m
from services.conversador import metrics
from services.conversador.knowledge import Piece
from services.conversador.store.knowledge import save_piece
from shared.ids import derived_id
from tests.conversador.model_servers import ScriptedModel, calls, completion, fails, notes, says, speaks
from tests.conversador.people import NOW, TENANT, Conversador, OpenConversador, cleared, filing_refused, vetoed

Scripted = tuple[ScriptedModel, str]


async def knows(one: Conversador, *pieces: Piece) -> None:
    async with one.bench.db.transaction() as tx:
        await tx.write(save_piece(TENANT, piece) for piece in pieces)


HOURS = Piece(title="Horário de funcionamento", body="Atendemos das 8h às 19h.", keywords="horário abre fecha")
PRICES = Piece(title="Preços", body="A limpeza custa R$ 180,00.", keywords="preço valor custa quanto limpeza")
ENGLISH = Piece(title="Prices", body="A cleaning costs R$ 180.00.", keywords="price cost cleaning", language="en")


async def test_a_customers_message_becomes_a_proposed_draft_to_where_it_came_from(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda _: speaks("  Claro, Ana! ", reason="saudação")
    one = await conversador_of(url)
    message = await one.customer_writes("Oi")
    draft = await one.draft()
    assert (draft.body, draft.kind, draft.reason, draft.language) == ("Claro, Ana!", "reply", "saudação", "pt-BR")
    assert (draft.destination, draft.context_revision) == (message.destination, 1)
    assert draft.opens_case is None
    assert await one.states() == [("judging", "")]


async def test_what_the_search_found_reaches_the_model_without_ids_and_travels_as_evidence(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await knows(one, HOURS, PRICES, ENGLISH)
    asks = iter([calls(("search_knowledge", {"query": "preco da limpeza"})), speaks("Custa R$ 180,00.")])
    model.script = lambda _: next(asks)
    await one.customer_writes("bom dia")
    draft = await one.draft()
    answer = json.loads(model.asked[1]["messages"][-1]["content"])
    assert answer["found"][0] == {"title": "Preços", "text": "A limpeza custa R$ 180,00."}
    assert (draft.evidence[0].source, draft.evidence[0].title, draft.evidence[0].excerpt) == (
        "knowledge",
        "Preços",
        PRICES.body,
    )
    assert draft.evidence[0].version == PRICES.version
    search = (await one.rows("select query, hits, top_score >= threshold as passes from knowledge_search"))[0]
    assert (search["query"], search["passes"]) == ("preco da limpeza", True)


async def test_a_question_brings_its_answer_along_and_another_does_not(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await knows(one, HOURS, PRICES)
    await one.customer_writes("Que horas vocês abrem?")
    draft = await one.draft()
    assert [piece.title for piece in draft.evidence] == ["Horário de funcionamento"]
    assert HOURS.body in model.asked[0]["messages"][1]["content"]
    assert PRICES.body not in str(model.asked[0])


async def test_loading_the_same_knowledge_twice_changes_nothing_and_a_new_text_replaces_it(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    one = await conversador_of(scripted[1])
    await knows(one, HOURS)
    await knows(one, HOURS)
    await knows(one, Piece(title=HOURS.title, body="Atendemos das 9h às 18h."))
    assert [row["body"] for row in await one.rows("select body from knowledge")] == ["Atendemos das 9h às 18h."]


async def test_loose_text_is_discarded_and_the_turn_closes_silent(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: says("Pensei em responder.") if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("ok")
    await one.run_jobs()
    assert await one.drafts() == []
    assert [(t.outcome, t.draft_id) for t in await one.closed()] == [("silent", None)]
    assert (await one.closed())[0].checkpoint is not None
    assert "Pensei" not in str(model.closings_asked)


async def test_text_beside_the_spoken_message_never_reaches_the_draft(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    spoken = speaks("Oi!")
    spoken["choices"][0]["message"]["content"] = "raciocínio solto"
    model.script = lambda _: spoken
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(vetoed(draft))
    await one.run_jobs()
    assert draft.body == "Oi!"
    assert "raciocínio" not in str(model.asked)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"text": "Oi", "needs_person": False, "needs_case": False, "reason": "", "channel": "x"}, "channel"),
        ({"text": "Oi", "needs_person": "no", "needs_case": False, "reason": ""}, "$.needs_person"),
        ({"text": "Oi", "needs_case": False, "reason": ""}, "needs_person"),
        ({"text": " ", "needs_person": False, "needs_case": False, "reason": ""}, "text"),
    ],
)
async def test_arguments_that_do_not_fit_are_refused_by_name_and_nothing_is_dropped(
    scripted: Scripted, conversador_of: OpenConversador, arguments: dict[str, Any], named: str
) -> None:
    model, url = scripted
    asks = iter([calls(("send_message", arguments)), speaks("Agora sim.")])
    model.script = lambda _: next(asks)
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    told = json.loads(model.asked[1]["messages"][-1]["content"])
    assert told["status"] == "refused"
    assert named in told["problems"][0]
    assert draft.body == "Agora sim."


async def test_a_model_that_never_gets_anywhere_ends_with_a_person(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: calls(("read_history", {})) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.run_jobs(rounds=80)
    assert len(model.drafts_asked) == 6
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["no_progress"]


async def test_a_veto_reaches_the_model_as_an_instruction_without_gates_or_codes(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    asks = iter([speaks("O webhook falhou."), speaks("Não consegui agora.")])
    model.script = lambda _: next(asks)
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    first = await one.draft()
    await one.hear(vetoed(first, "webhook"))
    second = await one.draft()
    *_, spoken, told = model.asked[1]["messages"]
    assert json.loads(told["content"]) == {
        "status": "refused",
        "problems": [{"phrase": "webhook"}],
        "instruction": "Reescreva em palavras do dia a dia.",
    }
    assert told["tool_call_id"] == spoken["tool_calls"][-1]["id"]
    for inside in ("internal_vocabulary", "leak_code", "inside reason", "for people"):
        assert inside not in str(model.asked[1]["messages"])
    assert (second.turn_id, second.rewrite_number, second.body) == (first.turn_id, 1, "Não consegui agora.")
    assert second.draft_id != first.draft_id


async def test_the_third_veto_hands_the_conversation_to_a_person(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    declaration = {
        "intents": [{"what": "quer preço", "evidence": "quanto?"}],
        "promises": [],
        "nothing_to_declare": False,
    }
    model.script = lambda asked: (
        speaks("O webhook.")
        if asked.get("tools")
        else notes(rolling_summary="Ana quer preço.", declaration=declaration)
    )
    one = await conversador_of(url)
    await one.customer_writes("quanto?")
    before = _recovered("handed_off")
    for _ in range(3):
        await one.hear(vetoed(await one.draft()))
    await one.run_jobs()
    assert len(await one.drafts()) == 3
    (handoff,) = await one.said(m.HandoffRequested)
    assert (handoff.reason, handoff.summary, handoff.wants) == ("drafts_refused", "Ana quer preço.", ("quer preço",))
    assert [(t.outcome, t.draft_id) for t in await one.closed()] == [("handed_off", None)]
    assert await one.states() == [("handed_off", "handed_off")]
    assert _recovered("handed_off") == before + 1
    await one.customer_writes("e aí?")
    await one.run_jobs()
    assert len(model.drafts_asked) == 3  # silent until it is returned


async def test_a_clean_rewrite_counts_as_a_recovery(scripted: Scripted, conversador_of: OpenConversador) -> None:
    one = await conversador_of(scripted[1])
    await one.customer_writes("Oi")
    before = _recovered("recovered")
    await one.hear(vetoed(await one.draft()))
    await one.hear(cleared(await one.draft()))
    assert _recovered("recovered") == before + 1


async def test_a_veto_that_ends_the_turn_ends_it_without_another_call(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.hear(vetoed(await one.draft(), gate="stop", code="contact_blocked", ends_turn=True))
    await one.run_jobs()
    assert len(model.asked) == 1
    assert [(t.outcome, t.reason, t.draft_id) for t in await one.closed()] == [("silent", "contact_blocked", None)]


async def test_the_same_verdict_twice_asks_for_one_rewrite(scripted: Scripted, conversador_of: OpenConversador) -> None:
    one = await conversador_of(scripted[1])
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(vetoed(draft))
    await one.hear(vetoed(draft))
    await one.run_jobs()
    assert [each.rewrite_number for each in await one.drafts()] == [0, 1]


async def test_a_veto_after_the_clearance_of_the_same_text_changes_nothing(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    one = await conversador_of(scripted[1])
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(cleared(draft), vetoed(draft))
    assert await one.states() == [("closing", "spoke")]


async def test_two_minutes_without_a_verdict_end_with_a_person_and_a_late_one_is_ignored(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Oi!") if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    wait = await one.value("select due_at - clock_timestamp() from job where kind = 'verdict_late'")
    assert 100 < wait.total_seconds() <= 120
    await one.run_jobs(all=True)
    await one.hear(cleared(draft))
    await one.run_jobs()
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["no_verdict"]
    assert [(t.outcome, t.draft_id) for t in await one.closed()] == [("handed_off", None)]


async def test_a_verdict_that_waits_in_the_stream_after_a_restart_is_not_missing(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    """Away for longer than a verdict may take: the timer is due before the stream has brought what was said."""
    model, url = scripted
    model.script = lambda asked: speaks("Oi!") if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    one.bench.heard_for = 1.0
    await one.run_jobs(all=True)
    await one.hear(cleared(draft))
    one.bench.heard_for = 60.0
    await one.run_jobs(all=True)
    await one.run_jobs(all=True)
    assert await one.said(m.HandoffRequested) == []
    assert await one.states() == [("closed", "spoke")]


async def test_a_verdict_in_time_leaves_nothing_to_the_timer(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Oi!") if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.hear(cleared(await one.draft()))
    await one.run_jobs(all=True)
    assert await one.said(m.HandoffRequested) == []
    assert await one.states() == [("closed", "spoke")]


async def test_a_refused_filing_is_written_anew_as_recommended_even_after_the_clearance(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(cleared(draft), filing_refused(draft, "Pergunte como foi a entrega."))
    second = await one.draft()
    told = json.loads(model.drafts_asked[-1]["messages"][-1]["content"])
    assert told["instruction"] == "Pergunte como foi a entrega."
    assert "contract" not in str(model.asked)
    assert second.rewrite_number == 1
    assert await one.closed() == []


async def test_a_refused_filing_without_a_recommendation_ends_the_turn(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    one = await conversador_of(scripted[1])
    await one.customer_writes("Oi")
    await one.hear(filing_refused(await one.draft()))
    assert [(t.outcome, t.reason, t.draft_id) for t in await one.closed()] == [("silent", "contract_signed", None)]


async def test_asking_for_a_person_with_words_drafts_them_and_falls_silent(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Já chamo alguém.", needs_person=True) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("quero uma pessoa")
    draft = await one.draft()
    await one.customer_writes("alô?")
    await one.run_jobs()
    assert len(model.drafts_asked) == 1
    await one.hear(cleared(draft))
    await one.run_jobs()
    (handoff,) = await one.said(m.HandoffRequested)
    assert (handoff.turn_id, handoff.reason) == (draft.turn_id, "asked_for_person")
    assert [(t.outcome, t.draft_id) for t in await one.closed()] == [("skipped", None), ("handed_off", draft.draft_id)]


async def test_asking_for_a_person_without_words_drafts_nothing(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("", needs_person=True) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("quero uma pessoa")
    await one.run_jobs()
    assert await one.drafts() == []
    assert len(await one.said(m.HandoffRequested)) == 1
    assert [t.outcome for t in await one.closed()] == ["handed_off"]


async def test_a_vetoed_farewell_is_not_rewritten_the_person_comes_anyway(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Já chamo.", needs_person=True) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("quero uma pessoa")
    await one.hear(vetoed(await one.draft()))
    await one.run_jobs()
    assert len(await one.drafts()) == 1
    assert [(t.outcome, t.draft_id) for t in await one.closed()] == [("handed_off", None)]
    assert len(await one.said(m.HandoffRequested)) == 1


def _case_vetoed(draft: m.DraftProposed, *also: str) -> m.DraftVetoed:
    gates = ("case_promise", *also)
    verdicts = tuple(m.GateVerdict(gate=gate, outcome="veto", code="x") for gate in gates)
    return replace(vetoed(draft, gate="case_promise", code="case_promise_without_case"), verdicts=verdicts)


async def test_a_model_that_counts_on_somebody_twice_gets_its_case_opened_and_its_text_judged_again(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    texts = iter(["Vou verificar com a equipe.", "A equipe vai te responder."])
    model.script = lambda asked: speaks(next(texts)) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("cadê meu pedido?")
    for _ in range(2):
        await one.hear(_case_vetoed(await one.draft()))
    await one.run_jobs()
    _, second, third = await one.drafts()
    assert (second.opens_case, third.body) == (None, second.body)
    assert third.opens_case is not None
    assert (third.draft_id != second.draft_id, third.rewrite_number) == (True, 2)
    assert len(model.drafts_asked) == 2
    await one.hear(cleared(third))
    await one.run_jobs()
    assert [(t.outcome, t.opens_case) for t in await one.closed()] == [("spoke", third.opens_case)]


async def test_a_case_that_does_not_help_ends_with_a_person_and_is_not_opened(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Vou verificar com a equipe.") if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("cadê meu pedido?")
    for _ in range(3):
        await one.hear(_case_vetoed(await one.draft()))
    await one.run_jobs()
    assert [(t.outcome, t.opens_case) for t in await one.closed()] == [("handed_off", None)]


async def test_a_case_is_not_opened_for_a_text_that_lacks_more_than_it(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    one = await conversador_of(scripted[1])
    await one.customer_writes("cadê meu pedido?")
    for _ in range(2):
        await one.hear(_case_vetoed(await one.draft(), "internal_vocabulary"))
    assert (await one.draft()).opens_case is None


async def test_needing_a_case_mints_its_id_once_and_an_open_one_needs_none(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Vou verificar.", needs_case=True) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("cadê meu pedido?")
    draft = await one.draft()
    assert draft.opens_case is not None
    await one.hear(cleared(draft))
    await one.run_jobs()
    assert (await one.closed())[0].opens_case == draft.opens_case
    await one.hear(
        m.CaseOpened(
            tenant=TENANT, case_id=draft.opens_case, conversation_id=draft.conversation_id,
            contact_id=draft.contact_id, subject="pedido atrasado", opened_at=NOW,
        )
    )  # fmt: skip
    await one.customer_writes("e aí?")
    assert (await one.draft()).opens_case is None
    assert "pedido atrasado" in model.drafts_asked[-1]["messages"][1]["content"]


@pytest.mark.parametrize("choices", [[], [{}], [{"index": 0, "finish_reason": "stop"}]])
async def test_an_answer_without_a_message_counts_as_none(
    scripted: Scripted, conversador_of: OpenConversador, choices: list[dict[str, Any]]
) -> None:
    model, url = scripted
    model.script = lambda _: {**says(""), "choices": choices}
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.run_jobs()
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["model_unavailable"]


async def test_a_failing_model_is_tried_again_and_then_a_person_gets_the_conversation(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda _: fails(500)
    one = await conversador_of(url, model_retries=1)
    await one.customer_writes("Oi")
    await one.run_jobs()
    assert len(model.asked) == 2
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["model_unavailable"]
    assert [(t.outcome, t.checkpoint, t.origin) for t in await one.closed()] == [("handed_off", None, "none")]
    assert [row["outcome"] for row in await one.rows("select outcome from model_call")] == ["unavailable"]


async def test_a_model_that_recovers_within_its_retries_is_not_noticed(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda _: fails(503) if len(model.asked) == 1 else speaks("Oi!")
    one = await conversador_of(url, model_retries=1)
    await one.customer_writes("Oi")
    assert (await one.draft()).body == "Oi!"


@pytest.mark.parametrize(
    "reply",
    [
        fails(400, code="content_filter"),
        completion({"content": "texto cortado"}, "content_filter"),
        completion({"content": None, "refusal": "texto da recusa"}),
    ],
)
async def test_a_content_block_is_recorded_without_its_text_and_a_person_comes(
    scripted: Scripted, conversador_of: OpenConversador, reply: Any
) -> None:
    model, url = scripted
    model.script = lambda _: reply
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.run_jobs()
    assert [row["outcome"] for row in await one.rows("select outcome from model_call")] == ["content_blocked"]
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["content_blocked"]
    stored = str(await one.rows("select to_jsonb(t)::text as t from turn t"))
    assert "texto da recusa" not in stored
    assert "texto cortado" not in stored


async def test_every_call_is_recorded_with_purpose_model_tokens_and_latency(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Oi!") if asked.get("tools") else notes()
    one = await conversador_of(url, checkpoint_model_name="cheap")
    await one.customer_writes("Oi")
    await one.hear(cleared(await one.draft()))
    await one.run_jobs()
    rows = await one.rows(
        "select purpose, model, outcome, tokens_in, tokens_out, latency_ms from model_call order by at"
    )
    assert [tuple(row)[:5] for row in rows] == [
        ("agent_turn", "speaker", "answered", 11, 7),
        ("checkpoint", "cheap", "answered", 11, 7),
    ]
    assert all(row["latency_ms"] >= 0 for row in rows)


async def test_a_run_repeated_after_a_crash_proposes_the_same_draft_once(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    """The process dies after the model answered and before the commit: another one takes the job over."""
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    died: list[asyncio.CancelledError] = []
    ask = one.model.ask

    async def ask_and_die(**asking: Any) -> Any:
        answer = await ask(**asking)
        if not died:
            died.append(asyncio.CancelledError())
            await one.rows("update job set leased_until = clock_timestamp() - interval '1 second'")
            raise died[0]
        return answer

    one.model.ask = ask_and_die  # pyright: ignore[reportAttributeAccessIssue] - the moment matters, not the seam
    with pytest.raises(asyncio.CancelledError):
        await one.run_jobs()
    assert await one.drafts() == []
    turn_id = await one.value("select id from turn")
    await one.rows("update job set leased_until = clock_timestamp() - interval '1 second'")
    draft = await one.draft()
    assert len(model.asked) == 2
    assert len(await one.drafts()) == 1
    assert draft.draft_id == _draft_id(turn_id)


async def test_a_zombie_and_its_successor_propose_one_draft(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    """The lease is lost while the model thinks: both runs end, one commits, the id is the same."""
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    ask = one.model.ask
    taken_over: list[bool] = []

    async def ask_and_be_taken_over(**asking: Any) -> Any:
        answer = await ask(**asking)
        if not taken_over:
            taken_over.append(True)
            await one.rows("update job set leased_until = clock_timestamp() - interval '1 second'")
            await one.run_jobs()
        return answer

    one.model.ask = ask_and_be_taken_over  # pyright: ignore[reportAttributeAccessIssue] - the moment matters, not the seam
    await one.run_jobs()
    assert len(model.asked) == 2
    assert [draft.draft_id for draft in await one.drafts()] == [_draft_id(await one.value("select id from turn"))]


async def test_the_local_model_answers_a_question_from_the_knowledge(
    local_url: str, conversador_of: OpenConversador
) -> None:
    one = await conversador_of(local_url)
    await knows(one, HOURS, PRICES)
    await one.customer_writes("Que horas vocês abrem?")
    draft = await one.draft()
    assert "8h às 19h" in draft.body
    assert draft.language == "pt-BR"
    await one.hear(cleared(draft))
    await one.run_jobs()
    (closed,) = await one.closed()
    assert (closed.outcome, closed.origin) == ("spoke", "agent_model")
    assert closed.checkpoint is not None
    assert closed.checkpoint.declaration is not None


async def test_the_local_models_rewrite_differs_from_what_was_refused(
    local_url: str, conversador_of: OpenConversador
) -> None:
    one = await conversador_of(local_url)
    await one.customer_writes("quero remarcar minha consulta #leak")
    first = await one.draft()
    await one.hear(vetoed(first, "webhook"))
    second = await one.draft()
    assert "webhook" in first.body
    assert "webhook" not in second.body


def _recovered(result: str) -> float:
    return metrics.RECOVERIES.labels("internal_vocabulary", result)._value.get()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType] - the client offers no reading


def _draft_id(turn_id: UUID) -> UUID:
    return derived_id(turn_id, "draft-0")


async def test_the_same_request_that_keeps_failing_is_warned_of_and_no_longer_tried(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    """Twelve in one answer: the fifth failure opens it, the eighth ends the turn with a person."""
    model, url = scripted
    model.script = lambda asked: (
        calls(*[("search_knowledge", {"words": "preço"})] * 12) if asked.get("tools") else notes()
    )
    one = await conversador_of(url)
    await one.customer_writes("quanto custa?")
    await one.run_jobs()
    assert len(model.drafts_asked) == 1
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["no_progress"]


async def test_what_failed_in_an_earlier_step_counts_in_the_next(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    wrong = calls(*[("search_knowledge", {"words": "preço"})] * 3)
    answers = iter([wrong, wrong, speaks("Oi!")])
    model.script = lambda asked: next(answers) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("quanto custa?")
    assert (await one.draft()).body == "Oi!"
    told = [each["content"] for each in model.drafts_asked[-1]["messages"] if each["role"] == "tool"]
    assert ["keeps failing" in each for each in told] == [False, True, True, True, True, True]
    assert ["failed too often" in each for each in told] == [False] * 5 + [True]


async def test_looking_the_same_up_again_and_again_ends_with_a_person(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: calls(*[("read_history", {"limit": 5})] * 6) if asked.get("tools") else notes()
    one = await conversador_of(url)
    await one.customer_writes("oi")
    await one.run_jobs()
    assert len(model.drafts_asked) == 1
    assert [h.reason for h in await one.said(m.HandoffRequested)] == ["no_progress"]
