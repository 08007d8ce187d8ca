"""Which messages lead to a turn, which end one, and which are only recorded."""

from contracts import messages as m
from tests.conversador.model_servers import ScriptedModel, notes, speaks
from tests.conversador.people import (
    CHANNEL,
    CONTACT,
    CONVERSATION,
    NOW,
    TENANT,
    Conversador,
    OpenConversador,
    accepted,
    cleared,
    consent,
    filed,
    ownership,
    vetoed,
)

Scripted = tuple[ScriptedModel, str]


async def test_several_messages_in_a_burst_are_one_turn_with_the_latest_revision(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url, burst_debounce_seconds=60.0, burst_cap_seconds=300.0)
    await one.customer_writes("Oi")
    await one.customer_writes("queria remarcar")
    await one.customer_writes("para sexta")
    await one.run_jobs()
    assert model.asked == []  # the burst is still open
    await one.run_jobs(all=True)
    assert [draft.context_revision for draft in await one.drafts()] == [3]
    assert [message["content"] for message in model.asked[0]["messages"][2:]] == ["Oi", "queria remarcar", "para sexta"]


async def test_a_burst_begins_at_its_cap_however_the_customer_goes_on(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    _, url = scripted
    one = await conversador_of(url, burst_debounce_seconds=60.0, burst_cap_seconds=90.0)
    await one.customer_writes("Oi")
    await one.customer_writes("olá?")
    row = (await one.rows("select j.due_at - t.started_at as wait from job j, turn t"))[0]
    assert 60 <= row["wait"].total_seconds() <= 90
    await one.rows("update turn set started_at = started_at - interval '50 seconds'")
    await one.customer_writes("alguém?")
    row = (await one.rows("select j.due_at - t.started_at as wait from job j, turn t"))[0]
    assert row["wait"].total_seconds() == 90
    assert await one.value("select count(*) from turn") == 1


async def test_a_message_after_the_model_was_asked_supersedes_the_turn(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    _, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    first = await one.draft()
    await one.customer_writes("na verdade, quero remarcar")
    second = await one.draft()
    assert second.turn_id != first.turn_id
    assert await one.states() == [("superseded", "superseded"), ("judging", "")]
    assert [(t.turn_id, t.outcome) for t in await one.closed()] == [(first.turn_id, "superseded")]


async def test_a_late_verdict_of_a_superseded_turn_moves_nothing(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    _, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    old = await one.draft()
    await one.customer_writes("espera")
    new = await one.draft()
    await one.hear(cleared(old), vetoed(old))
    assert await one.states() == [("superseded", "superseded"), ("judging", "")]
    await one.hear(cleared(new))
    assert (await one.states())[-1] == ("closing", "spoke")


async def test_a_model_result_that_comes_after_a_newer_message_is_recorded_and_ignored(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    interrupted: list[bool] = []

    def script(_: dict[str, object]) -> dict[str, object]:
        return speaks("Primeira" if len(model.asked) == 1 else "Segunda")

    model.script = script
    ask = one.model.ask

    async def ask_and_be_interrupted(**asking: object) -> object:
        answer = await ask(**asking)  # pyright: ignore[reportArgumentType] - handed through
        if not interrupted:
            interrupted.append(True)
            await one.customer_writes("mudei de ideia")
        return answer

    one.model.ask = ask_and_be_interrupted  # pyright: ignore[reportAttributeAccessIssue] - the moment matters, not the seam
    await one.run_jobs()
    assert [draft.body for draft in await one.drafts()] == ["Segunda"]
    assert await one.value("select count(*) from model_call") == 2


async def test_an_opt_out_ends_without_asking_a_model(scripted: Scripted, conversador_of: OpenConversador) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("não quero mais mensagens", opt_out="opt_out")
    await one.run_jobs(all=True)
    assert model.asked == []
    assert [(t.outcome, t.reason) for t in await one.closed()] == [("skipped", "contact_blocked")]


async def test_an_opt_out_outweighs_a_person_and_media(scripted: Scripted, conversador_of: OpenConversador) -> None:
    _, url = scripted
    one = await conversador_of(url)
    await one.hear(ownership("person", 1))
    await one.customer_writes("apague meus dados", opt_out="erasure_request", is_draftable=False)
    assert [t.reason for t in await one.closed()] == ["contact_blocked"]


async def test_a_contact_who_opted_out_earlier_gets_no_draft(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.hear(consent("opted_out"))  # between the message and the start of its turn
    await one.run_jobs()
    await one.customer_writes("quanto custa?")
    await one.run_jobs()
    assert model.asked == []
    assert [(t.outcome, t.reason) for t in await one.closed()] == [("skipped", "contact_blocked")] * 2


async def test_a_person_who_owns_the_conversation_keeps_the_agent_silent(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.hear(ownership("person", 1))
    await one.customer_writes("Oi")
    await one.run_jobs()
    assert model.asked == []
    assert [(t.outcome, t.reason) for t in await one.closed()] == [("skipped", "person_owns")]
    await one.hear(ownership("agent", 2))
    await one.customer_writes("Oi de novo")
    assert (await one.draft()).context_revision == 2


async def test_a_person_who_takes_over_ends_the_turn_that_was_being_written(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    _, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(ownership("person", 1))
    await one.hear(cleared(draft))
    await one.run_jobs()
    assert await one.states() == [("superseded", "superseded")]


async def test_media_alone_is_left_to_people_but_belongs_to_a_burst(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("", is_draftable=False, media_kind="audio")
    await one.run_jobs()
    assert [(t.outcome, t.reason) for t in await one.closed()] == [("skipped", "not_draftable")]
    await one.customer_writes("quanto custa?")
    await one.customer_writes("", is_draftable=False, media_kind="image")
    assert (await one.draft()).context_revision == 3
    assert [message["content"] for message in model.asked[0]["messages"][2:]] == [
        "(enviou um áudio)",
        "quanto custa?",
        "(enviou uma foto)",
    ]


async def test_an_edit_of_an_unanswered_message_is_answered_anew_and_an_old_one_is_not(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    message = await one.customer_writes("sexta")
    first = await one.draft()
    await one.hear(_edit(message, "quinta", one.next_revision()))
    second = await one.draft()
    assert second.turn_id != first.turn_id
    assert model.asked[-1]["messages"][2]["content"] == "quinta (a pessoa corrigiu esta mensagem)"
    await one.hear(cleared(second))
    model.script = lambda _: notes()
    await one.run_jobs()
    await one.hear(accepted(second.draft_id, second.body))
    await one.hear(_edit(message, "quarta", one.next_revision()))
    assert await one.value("select count(*) from turn") == 2


async def test_a_revoked_message_is_gone_from_the_prompt_and_ends_its_turn(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    kept = await one.customer_writes("quero remarcar")
    gone = await one.customer_writes("meu cpf é secreto")
    await one.draft()
    await one.hear(_revocation(gone, one.next_revision()))
    await one.draft()
    assert "secreto" not in str(model.asked[-1])
    await one.hear(_revocation(kept, one.next_revision()))
    await one.run_jobs()
    assert [state for state, _ in await one.states()] == ["superseded"] * 2
    assert (await one.closed())[-1].reason == "message_revoked"


async def test_a_persons_reply_on_the_phone_ends_the_turn_and_stands_in_the_history(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.draft()
    await one.hear(
        m.PhoneReplied(
            tenant=TENANT, conversation_id=CONVERSATION, contact_id=CONTACT, channel_id=CHANNEL,
            context_revision=one.next_revision(), text="Já te respondi por aqui", sent_at=NOW,
        )
    )  # fmt: skip
    assert await one.states() == [("superseded", "superseded")]
    await one.customer_writes("obrigada")
    await one.draft()
    assert {"role": "assistant", "content": "Já te respondi por aqui"} in model.asked[-1]["messages"]


async def test_history_shows_what_was_sent_never_the_draft(scripted: Scripted, conversador_of: OpenConversador) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Rascunho") if asked.get("tools") else notes(rolling_summary="Como rascunhado.")
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(cleared(draft), filed(draft, draft.draft_id))
    await one.run_jobs()
    await one.hear(accepted(draft.draft_id, "Texto de uma pessoa"))
    await one.customer_writes("certo")
    await one.draft()
    prompt = str(model.drafts_asked[-1]["messages"])
    assert "Texto de uma pessoa" in prompt
    assert "Rascunh" not in prompt
    assert "Como rascunhado" not in prompt  # noted of a text that did not leave


async def test_the_summary_of_a_text_that_left_as_drafted_is_remembered(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    model.script = lambda asked: speaks("Certo!") if asked.get("tools") else notes(rolling_summary="Ana quer sexta.")
    one = await conversador_of(url)
    await one.customer_writes("Oi")
    draft = await one.draft()
    await one.hear(cleared(draft), filed(draft, draft.draft_id))
    await one.run_jobs()
    await one.customer_writes("e então?")
    await one.draft()
    assert "Ana quer sexta" not in str(model.drafts_asked[-1])
    await one.hear(accepted(draft.draft_id, "Certo!"))
    await one.customer_writes("oi?")
    await one.draft()
    assert "Ana quer sexta" in str(model.drafts_asked[-1])


async def test_two_conversations_do_not_disturb_each_other(scripted: Scripted, conversador_of: OpenConversador) -> None:
    _, url = scripted
    one: Conversador = await conversador_of(url)
    await one.customer_writes("Oi")
    await one.customer_writes("Hi", conversation_id=TENANT, contact_id=TENANT, language="en")
    await one.run_jobs()
    assert {draft.conversation_id for draft in await one.drafts()} == {CONVERSATION, TENANT}


def _edit(message: m.MessageReceived, text: str, revision: int) -> m.MessageEdited:
    return m.MessageEdited(
        tenant=TENANT, conversation_id=CONVERSATION, contact_id=CONTACT, channel_id=CHANNEL, context_revision=revision,
        message_id=message.message_id, text=text, edited_at=NOW,
    )  # fmt: skip


def _revocation(message: m.MessageReceived, revision: int) -> m.MessageRevoked:
    return m.MessageRevoked(
        tenant=TENANT, conversation_id=CONVERSATION, contact_id=CONTACT, channel_id=CHANNEL, context_revision=revision,
        message_id=message.message_id, revoked_at=NOW,
    )  # fmt: skip
