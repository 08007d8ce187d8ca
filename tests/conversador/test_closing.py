"""The closing call: imposed, strict, corrected once, and honest about what nobody evaluated."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import permutations
from typing import Any
from uuid import uuid4

import pytest
from msgspec.structs import replace

from contracts import messages as m
from services.conversador.checkpoint import RESPONSE_FORMAT, Broken, correction, decode
from shared.bus.outbox import Outbox
from tests.conversador.model_servers import ScriptedModel, fails, notes, says, speaks
from tests.conversador.people import Conversador, OpenConversador, accepted, cleared, filed
from tests.shared.world import until

Scripted = tuple[ScriptedModel, str]
BROKEN = says('{"intencoes": [], "resumo": "..."}')


async def closed_after(one: Conversador, model: ScriptedModel, *closings: Any) -> m.TurnClosed:
    """A turn that spoke, closed with these answers."""
    answers = iter(closings)
    model.script = lambda asked: speaks("Combinado!") if asked.get("tools") else next(answers)
    await one.customer_writes("quero remarcar")
    await one.hear(cleared(await one.draft()))
    await one.run_jobs(all=True)
    await one.run_jobs(all=True)
    return (await one.closed())[-1]


async def test_a_turn_that_spoke_closes_with_its_declaration_and_waits_for_no_person(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    due = "2026-09-22T18:00:00-03:00"
    declaration = {
        "intents": [{"what": "quer remarcar", "evidence": "quero remarcar"}],
        "promises": [{"what": "retorno amanhã", "due": due}],
        "nothing_to_declare": False,
    }
    closed = await closed_after(one, model, notes(declaration=declaration))
    assert (closed.outcome, closed.origin, closed.draft_id) == (
        "spoke",
        "agent_model",
        (await one.drafts())[0].draft_id,
    )
    assert closed.checkpoint is not None
    assert closed.checkpoint.declaration is not None
    assert closed.checkpoint.declaration.intents[0].evidence == "quero remarcar"
    assert closed.checkpoint.declaration.promises[0].due is not None
    assert model.closings_asked[0]["response_format"]["json_schema"]["name"] == "checkpoint"
    assert model.closings_asked[0]["messages"][-2] == {"role": "assistant", "content": "Combinado!"}
    assert await one.states() == [("closed", "spoke")]
    assert await one.value("select transcript from turn") == "[]"


async def test_a_broken_closing_gets_one_correction_with_the_paths_and_the_exact_names(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    closed = await closed_after(await conversador_of(url), model, BROKEN, notes())
    *_, given, told = model.closings_asked[1]["messages"]
    assert given["content"] == BROKEN["choices"][0]["message"]["content"]
    assert "`intencoes`" in told["content"]
    assert "$.declaration.intents[] → what, evidence" in told["content"]
    assert closed.checkpoint is not None
    assert closed.origin == "agent_model"


async def test_after_one_correction_the_speaking_model_is_the_reserve_of_a_cheaper_one(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url, checkpoint_model_name="cheap")
    closed = await closed_after(one, model, BROKEN, BROKEN, notes())
    assert [asked["model"] for asked in model.closings_asked] == ["cheap", "cheap", "speaker"]
    assert closed.origin == "format_reserve"
    assert closed.checkpoint is not None


async def test_without_a_cheaper_model_there_is_no_reserve_and_the_closing_is_tried_again(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url, closing_attempts=2)
    closed = await closed_after(one, model, BROKEN, BROKEN, BROKEN, notes())
    assert len(model.closings_asked) == 4
    assert closed.checkpoint is not None


async def test_a_closing_that_never_fits_closes_with_nobodys_evaluation(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url, closing_attempts=2)
    closed = await closed_after(one, model, *[BROKEN] * 4)
    assert (closed.outcome, closed.checkpoint, closed.origin) == ("spoke", None, "none")
    assert len(await one.drafts()) == 1


async def test_a_model_that_fails_at_the_closing_is_not_corrected(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url, closing_attempts=1)
    closed = await closed_after(one, model, fails(500))
    assert closed.checkpoint is None
    assert len(model.closings_asked) == 1


async def test_a_null_declaration_stays_absent_and_an_empty_one_stays_empty(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    absent = await closed_after(one, model, notes(declaration=None))
    assert absent.checkpoint is not None
    assert absent.checkpoint.declaration is None
    empty = await closed_after(one, model, notes())
    assert empty.checkpoint is not None
    assert empty.checkpoint.declaration == m.Declaration(nothing_to_declare=True)


async def test_the_local_models_tricks_close_as_they_should(local_url: str, conversador_of: OpenConversador) -> None:
    one = await conversador_of(local_url, closing_attempts=1)
    for trick in ("#broken-closing", "#no-closing", "#silent"):
        await one.customer_writes(f"quero remarcar {trick}", conversation_id=uuid4())
        await one.run_jobs()
        if trick != "#silent":
            await one.hear(cleared((await one.drafts())[-1]))
            await one.run_jobs()
    broken, none, silent = await one.closed()
    assert broken.checkpoint is not None
    assert none.checkpoint is None
    assert (silent.outcome, silent.checkpoint is not None) == ("silent", True)


async def test_a_new_message_during_the_closing_begins_a_turn_that_covers_both(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    model, url = scripted
    one = await conversador_of(url)
    await one.customer_writes("quero remarcar")
    await one.hear(cleared(await one.draft()))
    await one.customer_writes("para sexta")
    await one.draft()
    assert [t.outcome for t in await one.closed()] == ["superseded"]
    assert [x["content"] for x in model.drafts_asked[-1]["messages"][2:]] == ["quero remarcar", "para sexta"]


SUMMARY = "Ana quer remarcar."


@pytest.mark.parametrize("order", list(permutations(("filed", "sent", "closed"))), ids=" ".join)
async def test_the_summary_is_remembered_whichever_is_known_last(
    scripted: Scripted, conversador_of: OpenConversador, order: tuple[str, ...]
) -> None:
    """That its text was filed, that it left as it was drafted, and what it meant come from three sides."""
    model, url = scripted
    model.script = lambda asked: speaks("Combinado!") if asked.get("tools") else notes(rolling_summary=SUMMARY)
    one = await conversador_of(url)
    await one.customer_writes("quero remarcar")
    draft, obligation = await one.draft(), uuid4()
    await one.hear(cleared(draft))
    for what in order:
        assert await _summary(one) == ""
        if what == "closed":
            await one.run_jobs()
        else:
            await one.hear(filed(draft, obligation) if what == "filed" else accepted(obligation, draft.body))
    assert await _summary(one) == SUMMARY


@pytest.mark.parametrize(("first", "beside"), [("sent", "closed"), ("filed", "sent")])
async def test_what_becomes_known_side_by_side_does_not_lose_the_summary(
    scripted: Scripted, conversador_of: OpenConversador, monkeypatch: pytest.MonkeyPatch, first: str, beside: str
) -> None:
    """The one is written and not committed when the other comes: each would miss what the other says."""
    model, url = scripted
    model.script = lambda asked: speaks("Combinado!") if asked.get("tools") else notes(rolling_summary=SUMMARY)
    one = await conversador_of(url)
    await one.customer_writes("quero remarcar")
    draft, obligation = await one.draft(), uuid4()
    await one.hear(cleared(draft))
    become: dict[str, Callable[[], Awaitable[Any]]] = {
        "filed": lambda: one.hear(filed(draft, obligation)),
        "sent": lambda: one.hear(accepted(obligation, draft.body)),
        "closed": one.run_jobs,
    }
    for before in become.keys() - {first, beside}:
        await become[before]()
    other: list[asyncio.Future[Any]] = []
    append = Outbox.append

    async def append_and_go_on(*args: Any) -> None:
        await append(*args)
        if not other:
            other.append(asyncio.ensure_future(become[beside]()))
            await until(lambda: _is_over_or_waits(one, other[0]))

    monkeypatch.setattr(Outbox, "append", append_and_go_on)
    await become[first]()
    await other[0]
    assert await one.states() == [("closed", "spoke")]
    assert await _summary(one) == SUMMARY


async def _is_over_or_waits(one: Conversador, task: "asyncio.Future[Any]") -> bool:
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    return task.done() or await one.value(waiting) > 0


async def _summary(one: Conversador) -> str:
    return await one.value("select rolling_summary from conversation")


async def test_an_older_text_that_is_filed_again_takes_no_newer_summary_away(
    scripted: Scripted, conversador_of: OpenConversador
) -> None:
    """The send of the first text failed after all, and people see it again."""
    model, url = scripted
    one = await conversador_of(url)
    texts = iter(("Combinado!", "Fica para sexta."))
    model.script = lambda asked: (
        speaks(next(texts)) if asked.get("tools") else notes(rolling_summary=f"nota {len(model.closings_asked)}")
    )
    first: m.DraftFiled | None = None
    for words in ("quero remarcar", "para sexta"):
        await one.customer_writes(words)
        draft, obligation = await one.draft(), uuid4()
        first = first or filed(draft, obligation)
        await one.hear(cleared(draft), filed(draft, obligation))
        await one.run_jobs()
        await one.hear(accepted(obligation, draft.body))
    newest = await _summary(one)
    assert first is not None
    await one.hear(replace(first, epoch=2))
    assert await _summary(one) == newest != "nota 1"


def test_the_imposed_schema_requires_every_field_and_explains_nothing_of_the_system() -> None:
    schema = RESPONSE_FORMAT["json_schema"]["schema"]
    objects: list[dict[str, Any]] = [schema, *schema["$defs"].values()]
    assert len(objects) == 4
    for one in objects:
        assert one["required"] == list(one["properties"])
        assert one["additionalProperties"] is False
        assert "description" not in one


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"declaration": {"intents": [{"what": "x"}]}}', "$.declaration.intents[0]"),
        ('{"declaration": {"promises": [{"what": "x", "due": "2026-09-22T18:00:00"}]}}', "promises[0].due"),
        ('{"declaration": {"nothing_to_declare": true, "promises": [{"what": "x"}]}}', "$.declaration"),
        ("não sei", "malformed"),
        ("", "truncated"),
    ],
)
def test_a_closing_outside_the_contract_is_broken_at_its_place(text: str, where: str) -> None:
    broken = decode(text)
    assert isinstance(broken, Broken)
    assert where in correction(broken, "pt-BR")


def test_empty_lists_alone_do_not_say_that_there_is_nothing() -> None:
    checkpoint = decode('{"declaration": {"intents": [], "promises": []}}')
    assert isinstance(checkpoint, m.Checkpoint)
    assert checkpoint.declaration is not None
    assert not checkpoint.declaration.nothing_to_declare
