"""Stored runs judged again, on a real database, through the command that people use."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace as with_
from typer.testing import CliRunner, Result

from deploy import gates_report
from deploy.cli import app
from services.guardrails.chain import CHAIN
from services.guardrails.examples import NOON
from services.guardrails.facts import Draft, Facts, PromiseReview, Unknown
from services.guardrails.gate import Gate, OnMissing, Phase, Span, Verdict, defer, passed, veto
from services.guardrails.service import SERVICE
from services.guardrails.store import runs
from services.guardrails.store.reviews import Question, remembered
from services.guardrails.store.runs import Record, Window
from services.guardrails.words import Judged
from shared.db import Database
from shared.retention import forget_all
from tests.guardrails.kept import CONTACT, TALK, TENANT, keep_all, records
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import PostgresServer

EVER = Window(NOON - timedelta(days=1), NOON + timedelta(days=1))
BEFORE, AFTER = (at.isoformat() for at in EVER[:2])


@dataclass
class Kept:
    """A database of guardrails with runs in it. `url` is the bus role's: the one that reads."""

    db: Database
    url: str
    records: list[Record]

    async def rows(self, sql: str, *args: Any) -> Any:
        async with self.db.autocommit() as tx:
            return await tx.rows(sql, *args)

    async def do(self, sql: str, *args: Any) -> None:
        async with self.db.autocommit() as tx:
            await tx.execute(sql, *args)

    async def everything(self) -> str:
        tables = ("run", "run_text", "sent_text", "filed")
        sql = "select coalesce(jsonb_agg(to_jsonb(t) order by to_jsonb(t)::text), '[]')::text from {} t"
        return "".join([(await self.rows(sql.format(table)))[0][0] for table in tables])


@pytest.fixture
async def empty(postgres_server: PostgresServer) -> AsyncIterator[Kept]:
    name = await new_database(postgres_server, ["guardrails"])
    url = postgres_server.dsn(name, "guardrails_bus", PASSWORD)
    db = await Database.connect(url, schema="guardrails", name="guardrails")
    yield Kept(db, url, [])
    await db.close()
    await drop_database(postgres_server, name)


@pytest.fixture
async def kept(empty: Kept) -> Kept:
    some = list(records())
    async with empty.db.transaction() as tx:
        await keep_all(tx, some)
        await tx.execute(
            "insert into conversation (conversation_id, tenant, contact_id) values ($1, $2, $3)", TALK, TENANT, CONTACT
        )
    return Kept(empty.db, empty.url, some)


async def invoke(*words: str) -> Result:
    """In a thread: a command runs a loop of its own."""
    return await asyncio.to_thread(CliRunner().invoke, app, ["gates", *words])


async def command(kept: Kept, *words: str) -> Result:
    return await invoke(*words, "--database-url", kept.url)


async def replayed(kept: Kept, *words: str) -> dict[str, Any]:
    result = await command(kept, "replay", "--since", BEFORE, "--until", AFTER, "--json", *words)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def changes(gate: dict[str, Any]) -> dict[str, int]:
    kinds = ("newly_vetoed", "newly_passed", "newly_deferred", "other")
    return {kind: gate[kind] for kind in kinds if gate[kind]}


async def test_the_same_code_finds_the_same_in_all_runs(kept: Kept) -> None:
    """Every outcome in both phases, with facts that were not known."""
    outcomes = await kept.rows("select distinct phase, outcome from run")
    assert len(outcomes) == len(Phase) * 3
    assert any(isinstance(one.judged.facts.contact, Unknown) for one in kept.records)
    before = await kept.everything()
    found = await replayed(kept)
    total = len(kept.records)
    assert (found["runs"], found["replayed"], found["text_gone"], found["undecodable"]) == (total, total, 0, 0)
    assert [(one["gate"], one["same"], changes(one)) for one in found["gates"]] == [
        ("(run)", total, {}),
        *((gate.name, total, {}) for gate in CHAIN),
    ]
    assert await kept.everything() == before


async def test_what_is_read_again_is_what_was_judged(kept: Kept) -> None:
    async with kept.db.autocommit() as tx:
        rows = await runs.batch(tx, EVER, runs.Place(EVER.since, UUID(int=0)), 10_000)
    read = {row["run_id"]: runs.stored(row) for row in rows}
    for one in kept.records:
        stored = read[one.run_id]
        assert isinstance(stored, runs.Stored)
        assert stored.judged == one.judged


async def test_a_window_is_read_whole_in_batches_however_many_share_an_instant(
    kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gates_report, "BATCH", 7)
    told: list[tuple[int, int]] = []
    report = await gates_report.replay(kept.db, EVER, 3, lambda done, total: told.append((done, total)))
    total = len(kept.records)
    assert report.replayed == report.runs == total
    assert told[0] == (7, total)
    assert told[-1] == (total, total)
    assert len(told) == -(-total // 7)


async def test_a_batch_goes_by_the_index_whatever_the_planner_expects(kept: Kept) -> None:
    """Nobody has counted this table yet: the plan would sort the whole window for each batch."""
    await kept.do(
        """insert into run (run_id, tenant, draft_id, conversation_id, phase, outcome, verdicts, draft, facts,
             facts_digest, chain_version, chain_hash, at, text_id)
           select gen_random_uuid(), tenant, draft_id, conversation_id, phase, outcome, verdicts, draft, facts,
             facts_digest, chain_version, chain_hash, at + make_interval(secs => n), text_id
           from run, generate_series(1, 100) as n"""
    )
    async with kept.db.transaction() as tx:
        await tx.execute(runs.BY_INDEX)
        place = runs.Place(EVER.since, UUID(int=0))
        rows = await tx.rows(f"explain (analyze, format json) {runs.BATCH}", *EVER, *place, gates_report.BATCH)
        (plan,) = json.loads(rows[0][0])
    reads = [each for each in nodes(plan["Plan"]) if each.get("Relation Name") == "run"]
    assert [(each["Node Type"], each["Index Name"]) for each in reads] == [("Index Scan", "run_in_order")]


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    return [plan, *(each for inner in plan.get("Plans", ()) for each in nodes(inner))]


async def test_only_the_window_and_the_tenant_asked_for_are_read(kept: Kept) -> None:
    assert (await replayed(kept, "--tenant", str(TENANT)))["runs"] == len(kept.records)
    assert (await replayed(kept, "--tenant", str(uuid4())))["runs"] == 0
    at = (NOON + timedelta(days=2)).isoformat()
    assert json.loads((await command(kept, "replay", "--since", at, "--json")).stdout)["runs"] == 0


# ------------------------------------------------------------------------------------------------------ another chain


def changed(name: str, judge: Callable[[Draft, Facts], Verdict]) -> list[Gate]:
    return [replace(gate, judge=judge) if gate.name == name else gate for gate in CHAIN]


async def counted(kept: Kept, chain: list[Gate], examples: int = 3) -> dict[str, gates_report.Tally]:
    report = await gates_report.replay(kept.db, EVER, examples, lambda _done, _total: None, chain)
    return {one.gate: one for one in report.gates}


async def test_a_stricter_gate_is_counted_with_examples_and_the_words_it_points_at(kept: Kept) -> None:
    def judge(draft: Draft, _facts: Facts) -> Verdict:
        at = draft.body.find("8h")
        return veto("no_hours", "x", spans=(Span(at, at + 2, "8h"),)) if at >= 0 else passed()

    found = (await counted(kept, changed("case_promise", judge)))["case_promise"]
    assert found.newly_vetoed > 3
    example = next(one for one in found.examples if one.change == "newly_vetoed")
    assert (example.after, example.words) == ("veto no_hours", ("8h",))
    record = next(one for one in kept.records if UUID(one.judged.draft.id) == example.draft_id)
    assert example.before in {one.outcome.value for one in record.judged.verdicts if one.gate == "case_promise"}
    assert (example.at, example.phase) == (record.judged.facts.now, record.phase.value)
    assert sum(one.change == "newly_vetoed" for one in found.examples) == 3


async def test_a_looser_gate_lets_drafts_pass_and_the_words_are_those_of_before(kept: Kept) -> None:
    found = await counted(kept, changed("internal_vocabulary", lambda _draft, _facts: passed()), examples=1000)
    loosened = found["internal_vocabulary"]
    vetoed = await kept.rows(
        """select count(*) from run, jsonb_array_elements(verdicts) v
           where v ->> 'gate' = 'internal_vocabulary' and v ->> 'outcome' = 'veto'"""
    )
    assert loosened.newly_passed == vetoed[0][0]
    assert any("webhook" in words for one in loosened.examples for words in one.words)
    assert found["(run)"].newly_passed > 0
    assert found["stop"].same == len(kept.records)


async def test_new_deferrals_and_other_times_are_told_apart(kept: Kept) -> None:
    later = await counted(kept, changed("pacing", lambda _draft, facts: defer("later", facts.now + timedelta(days=9))))
    assert later["pacing"].newly_deferred > 0
    assert later["pacing"].other > 0  # deferred before, until another time
    assert later["pacing"].newly_vetoed == later["pacing"].newly_passed == 0


async def test_a_gate_that_is_new_or_gone_is_told(kept: Kept) -> None:
    eleventh = Gate(
        name="eleventh", judge=lambda _draft, _facts: veto("new", "x"), on_missing=OnMissing.CLOSED,
        judges_text=True, clear=(), stop=(),
    )  # fmt: skip
    found = await counted(kept, [*CHAIN[1:], eleventh])
    assert found["eleventh"].newly_vetoed == found["stop"].other == len(kept.records)
    assert found["eleventh"].examples[0].before == found["stop"].examples[0].after == "not in the chain"


# ------------------------------------------------------------------------------------------------ what cannot be read


async def test_a_run_that_cannot_be_decoded_is_told_and_the_others_go_on(kept: Kept) -> None:
    broken = [one.run_id for one in kept.records[:3]]
    await kept.do("update run set facts = facts - 'contact' where run_id = $1", broken[0])
    await kept.do("""update run set verdicts = '[{"outcome": "maybe"}]' where run_id = $1""", broken[1])
    await kept.do("update run set draft = null, facts = null where run_id = $1", broken[2])
    found = await replayed(kept)
    assert (found["runs"], found["replayed"], found["undecodable"]) == (len(kept.records), len(kept.records) - 3, 3)
    whys = {one["run_id"]: one["why"] for one in found["undecodable_examples"]}
    assert "missing required field `contact`" in whys[str(broken[0])]
    assert set(whys) == {str(one) for one in broken}
    assert (
        "3 not: this code cannot read them"
        in (await command(kept, "replay", "--since", BEFORE, "--until", AFTER)).stdout
    )


async def test_runs_whose_text_is_gone_are_counted(kept: Kept) -> None:
    await kept.do("update run_text set words = null, sha256 = null, redacted_at = now() where words ->> 'body' = $1",
                  kept.records[0].judged.draft.body)  # fmt: skip
    gone = sum(one.judged.draft.body == kept.records[0].judged.draft.body for one in kept.records)
    found = await replayed(kept)
    assert 0 < found["text_gone"] == found["runs"] - found["replayed"]
    assert found["text_gone"] <= gone  # other words, as an excerpt, are another row
    assert "their text is gone" in (await command(kept, "replay", "--since", BEFORE, "--until", AFTER)).stdout


async def test_a_text_is_stored_once_and_beside_the_run(kept: Kept) -> None:
    assert (await kept.rows("select count(*) from run_text"))[0][0] < len(kept.records) / 2
    long = next(one.judged.draft.body for one in kept.records if len(one.judged.draft.body) > 30)
    stays = await kept.rows("select count(*) from run r where strpos(to_jsonb(r)::text, $1) > 0", long)
    assert stays[0][0] == 0


# ------------------------------------------------------------------------------------------------------------ erasing


async def test_an_erased_contacts_words_are_nowhere_and_the_runs_stay(kept: Kept) -> None:
    texts = sorted({one.judged.draft.body for one in kept.records if len(one.judged.draft.body) > 30})
    before = await kept.everything()
    assert any(json.dumps(text, ensure_ascii=False) in before for text in texts)
    told = await command(kept, "erase", str(CONTACT))
    assert "nothing was changed" in told.stdout
    assert await kept.everything() == before
    assert (await command(kept, "erase", str(CONTACT), "--yes")).exit_code == 0
    after = await kept.everything()
    assert [text for text in texts if text in after] == []
    found = await replayed(kept)
    assert found["runs"] == found["text_gone"] == len(kept.records)
    assert (await kept.rows("select count(*) from run_text where sha256 is not null"))[0][0] == 0


async def test_what_the_classifier_read_in_an_erased_text_goes_too(kept: Kept) -> None:
    reads = [one for one in kept.records if isinstance(one.judged.facts.promise_review, PromiseReview)]
    async with kept.db.transaction() as tx:
        for one in reads:
            facts = one.judged.facts
            assert isinstance(facts.promise_review, PromiseReview)
            assert isinstance(facts.evidence, tuple)
            asked = Question(TENANT, one.judged.draft.body, facts.evidence)
            await tx.write([remembered(asked, facts.promise_review)])
        await tx.write([remembered(Question(TENANT, "another text", ()), PromiseReview("v1"))])
    before = (await kept.rows("select count(*) from review"))[0][0]
    assert before > 2
    assert (await command(kept, "erase", str(CONTACT), "--yes")).exit_code == 0
    assert (await kept.rows("select count(*) from review"))[0][0] == 1


async def test_another_contacts_runs_lose_only_the_texts_they_were_compared_with(kept: Kept) -> None:
    other = uuid4()
    await kept.do("update conversation set contact_id = $1", other)  # the runs are another's, the sent texts are not
    assert (await command(kept, "erase", str(CONTACT), "--yes")).exit_code == 0
    found = await replayed(kept)
    compared = sum(bool(one.recent) for one in kept.records)
    assert 0 < found["text_gone"] == compared
    assert (await kept.rows("select count(*) from run_text where words is null"))[0][0] == 0


async def test_the_same_words_after_an_erasure_are_stored_anew(kept: Kept) -> None:
    assert (await command(kept, "erase", str(CONTACT), "--yes")).exit_code == 0
    async with kept.db.transaction() as tx:
        await tx.write([runs.keep(kept.records[0]._replace(run_id=uuid4()))])
    assert (await replayed(kept))["replayed"] == 1


async def test_runs_and_words_stay_for_ninety_days_and_then_go(kept: Kept) -> None:
    (old,) = await kept.rows("update run set at = now() - interval '91 days' where run_id = $1 returning text_id",
                             kept.records[0].run_id)  # fmt: skip
    await kept.do("update run set at = now() - interval '89 days' where run_id <> $1", kept.records[0].run_id)
    await kept.do("update run_text set at = now() - interval '89 days'")
    await kept.do("update run_text set at = now() - interval '91 days' where text_id = $1", old["text_id"])
    gone = {one.table: await forget_all(kept.db, one) for one in SERVICE.forgets}
    assert gone == {"review": 0, "run": 1, "run_text": 1, "filed": 0, "sent_text": 0}


async def test_words_that_are_used_again_stay_longer(empty: Kept) -> None:
    first = next(records())
    later = NOON + timedelta(days=80)
    judged = Judged(first.judged.draft, with_(first.judged.facts, now=later), first.judged.verdicts)
    async with empty.db.transaction() as tx:
        await keep_all(tx, [first, first._replace(run_id=uuid4(), judged=judged)])
    assert [row["at"] for row in await empty.rows("select at from run_text")] == [later]


# --------------------------------------------------------------------------------------------------------- wrong use


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("replay", "--since", "yesterday"), "--since 'yesterday'"),
        (("replay", "--until", "7"), "--until '7'"),
        (("replay", "--chain", "main"), "there is no chain 'main'"),
        (("replay", "--tenant", "acme"), "--tenant 'acme' is not an id"),
        (("erase", "ana"), "CONTACT 'ana' is not an id"),
    ],
)
async def test_wrong_use_is_named(empty: Kept, words: tuple[str, ...], told: str) -> None:
    result = await command(empty, *words)
    assert result.exit_code == 2
    assert told in result.stderr


async def test_a_database_out_of_reach_is_named() -> None:
    result = await invoke("replay", "--database-url", "postgresql://x@127.0.0.1:1/x")
    assert result.exit_code == 3
    assert "the database of guardrails" in result.stderr
