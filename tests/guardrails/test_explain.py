"""Why a text left or did not: real runs of the service's own handlers, told by the command."""

import asyncio
import json
from typing import Any
from uuid import UUID, uuid4

import pytest
from typer.testing import CliRunner, Result

from contracts import messages as m
from deploy.cli import app
from services.guardrails.chain import CHAIN, CHAIN_VERSION, chain_hash
from tests.guardrails.test_service import bench
from tests.guardrails.world import CONTACT, NOW, TALK, TENANT, approved, only, proposed, received
from tests.harness import Bench

__all__ = ["bench"]  # the fixture

BODY = "Abrimos das 8h às 18h."


def filed(draft_id: UUID, obligation_id: UUID, *, epoch: int = 1) -> m.DraftFiled:
    return m.DraftFiled(
        tenant=TENANT, obligation_id=obligation_id, epoch=epoch, draft_id=draft_id, turn_id=None, conversation_id=TALK,
        expires_at=NOW,
    )  # fmt: skip


async def explain(bench: Bench, about: object, *words: str) -> Result:
    return await asyncio.to_thread(
        CliRunner().invoke, app, ["gates", "explain", str(about), "--database-url", bench.url, *words]
    )


async def story(bench: Bench, about: object) -> dict[str, Any]:
    result = await explain(bench, about, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


async def test_a_decision_a_draft_and_an_obligation_tell_the_same_story(bench: Bench) -> None:
    draft, approval = proposed(BODY), approved(BODY)
    snapshot = approval.snapshot
    await bench.hear(received(), draft, filed(draft.draft_id, snapshot.obligation_id), approval)
    await bench.run_jobs()
    command = only(await bench.said(), m.SendCommand)
    found = await story(bench, snapshot.decision_id)
    for other in (draft.draft_id, snapshot.obligation_id):
        assert (await story(bench, other))["runs"] == found["runs"]
    assert [(run["phase"], run["outcome"], run["text"]) for run in found["runs"]] == [
        ("filing", "cleared", BODY),
        ("dispatch", "cleared", BODY),
    ]
    assert [run["draft_id"] for run in found["runs"]] == [str(draft.draft_id), str(snapshot.obligation_id)]
    assert [run["decision_id"] for run in found["runs"]] == [None, str(snapshot.decision_id)]
    assert [(one["decision_id"], one["state"]) for one in found["decisions"]] == [
        (str(snapshot.decision_id), "cleared")
    ]
    dispatch = found["runs"][1]
    assert [one["gate"] for one in dispatch["verdicts"]] == [gate.name for gate in CHAIN]
    assert (dispatch["chain_version"], dispatch["chain_hash"]) == (CHAIN_VERSION, chain_hash())
    assert dispatch["facts_digest"].encode() in _payload(command)
    assert await bench.value("select count(*) from run_text") == 1


def _payload(command: m.SendCommand) -> bytes:
    return command.clearance_seal.payload


async def test_a_veto_is_told_with_its_words_its_instruction_and_its_facts(bench: Bench) -> None:
    draft = proposed("Rodei search_knowledge e o webhook voltou null.")
    await bench.hear(received(), draft)
    (run,) = (await story(bench, draft.draft_id))["runs"]
    assert (run["outcome"], run["gate"], run["code"]) == ("vetoed", "internal_vocabulary", "internal_vocabulary_leak")
    veto = next(one for one in run["verdicts"] if one["gate"] == "internal_vocabulary")
    assert "webhook" in {spot["words"] for spot in veto["spans"]}
    assert [draft.body[spot["start"] : spot["end"]] for spot in veto["spans"]] == [
        spot["words"] for spot in veto["spans"]
    ]
    assert "search_knowledge" in veto["facts"]["operations"]
    assert next(one for one in run["verdicts"] if one["gate"] == "stop")["facts"]["contact"]["is_blocked"] is False
    told = (await explain(bench, draft.draft_id)).stdout
    assert f"told: {veto['instruction']}" in told
    assert "“webhook”" in told
    assert f"text: {draft.body}" in told


async def test_each_dispatch_of_a_text_that_waited_is_told(bench: Bench) -> None:
    async with bench.db.transaction() as tx:
        await tx.execute("update channel set activated_at = now(), daily_cap = 1")
        await tx.execute(
            """insert into quota (decision_id, tenant, channel_id, day, state)
               select gen_random_uuid(), tenant, channel_id, (now() at time zone time_zone)::date, 'confirmed'
               from channel, generate_series(1, 20)"""
        )
    approval = approved(BODY, minutes=60 * 48)
    await bench.hear(received(), approval)
    await bench.run_jobs()
    async with bench.db.transaction() as tx:
        await tx.execute("delete from quota")
    await bench.run_jobs(all=True)
    found = await story(bench, approval.snapshot.decision_id)
    assert [run["outcome"] for run in found["runs"]] == ["deferred", "cleared"]
    assert found["runs"][0]["verdicts"][2]["retry_at"] is not None
    assert await bench.value("select count(*) from run_text") == 1


async def test_without_its_words_a_run_still_says_what_was_found(bench: Bench) -> None:
    draft = proposed("O webhook falhou.")
    await bench.hear(received(), draft)
    await asyncio.to_thread(
        CliRunner().invoke, app, ["gates", "erase", str(CONTACT), "--yes", "--database-url", bench.url]
    )
    (run,) = (await story(bench, draft.draft_id))["runs"]
    assert run["text"] is None
    veto = next(one for one in run["verdicts"] if one["code"] == "internal_vocabulary_leak")
    assert [spot["words"] for spot in veto["spans"]] == [""]
    assert "text: gone" in (await explain(bench, draft.draft_id)).stdout


async def test_a_run_that_cannot_be_read_is_named_and_not_hidden(bench: Bench) -> None:
    draft = proposed(BODY)
    await bench.hear(received(), draft)
    async with bench.db.transaction() as tx:
        await tx.execute("update run set facts = '{}'")
    (run,) = (await story(bench, draft.draft_id))["runs"]
    assert "missing required field" in run["unreadable"]
    assert "cannot be read: " in (await explain(bench, draft.draft_id)).stdout


async def test_nothing_found_says_what_was_looked_for(bench: Bench) -> None:
    asked = uuid4()
    result = await explain(bench, asked)
    assert result.exit_code == 1
    for word in (str(asked), "draft", "obligation", "decision", "90 days"):
        assert word in result.stderr


@pytest.mark.parametrize("about", ["7", "webhook"])
async def test_what_is_no_id_is_wrong_use(bench: Bench, about: str) -> None:
    result = await explain(bench, about)
    assert result.exit_code == 2
    assert "is not an id" in result.stderr
