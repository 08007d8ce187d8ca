"""A database of the release before is brought to this one: its runs stay, and their words stand apart."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest

from deploy import gates_report
from services.guardrails import judging
from services.guardrails.facts import Unknown
from services.guardrails.store import runs
from services.guardrails.store.runs import Record, Stored, TextGone
from shared.db import Database
from shared.migrate import BASELINE, migrate
from tests.guardrails.kept import CHANNEL, TENANT, keep_all, records, sent
from tests.guardrails.test_replay import EVER
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import PostgresServer

BEFORE = Path(__file__).with_name("schema_before_0001.sql")


@dataclass
class Installation:
    owner_url: str
    fresh_url: str
    db: Database

    async def migrate(self, phase: str) -> list[str]:
        return await migrate(self.owner_url, "guardrails", phase=phase)

    async def kept(self) -> dict[Any, Any]:
        async with self.db.autocommit() as tx:
            rows = await runs.batch(tx, EVER, runs.Place(EVER.since, TENANT), 10_000)
        return {row["run_id"]: runs.stored(row) for row in rows}


@pytest.fixture
async def installation(postgres_server: PostgresServer) -> AsyncIterator[Installation]:
    fresh = await new_database(postgres_server, ["guardrails"])
    name = await new_database(postgres_server, [])
    owner_url, fresh_url = (postgres_server.dsn(each, "guardrails_owner", PASSWORD) for each in (name, fresh))
    owner = await asyncpg.connect(owner_url, server_settings={"search_path": "guardrails"})
    await owner.execute(files("shared.bus").joinpath("tables.sql").read_text(encoding="utf-8"))
    await owner.execute(BEFORE.read_text(encoding="utf-8"))
    await owner.execute(
        "create table migration (name text primary key, sha256 text not null, at timestamptz not null default now())"
    )
    await owner.execute("insert into migration (name, sha256) values ($1, '')", BASELINE)
    await owner.execute("grant usage on schema guardrails to guardrails_bus")
    await owner.execute("grant select, insert, update, delete on all tables in schema guardrails to guardrails_bus")
    await owner.close()
    bus_url = postgres_server.dsn(name, "guardrails_bus", PASSWORD)
    db = await Database.connect(bus_url, schema="guardrails", name="guardrails")
    yield Installation(owner_url, fresh_url, db)
    await db.close()
    for each in (name, fresh):
        await drop_database(postgres_server, each)


async def keep_as_before(db: Database, some: Sequence[Record]) -> None:
    """As the release before wrote a run: with its words in it."""
    async with db.transaction() as tx:
        for one in some:
            await sent(tx, one)
            gate, code = judging.recorded(one.result)
            draft, facts, verdicts = (
                msgspec.json.encode(each, order="deterministic").decode()
                for each in (one.judged.draft, one.judged.facts, one.judged.verdicts)
            )
            await tx.execute(
                """insert into run (run_id, tenant, draft_id, conversation_id, phase, outcome, gate, code, verdicts,
                     draft, facts, facts_digest, chain_version, chain_hash, at)
                   values ($1, $2, ($9::jsonb ->> 'id')::uuid, ($9::jsonb ->> 'conversation')::uuid, $3, $4, $5, $6,
                     $7, $9, $8, $10, 1, 'before', $11)""",
                one.run_id, one.tenant, one.phase.value, judging.outcome(one.result), gate, code, verdicts, facts,
                draft, judging.digest(one.judged.facts), one.judged.facts.now,
            )  # fmt: skip


async def test_the_runs_of_the_release_before_are_judged_again_as_they_were(installation: Installation) -> None:
    some = list(records())
    await keep_as_before(installation.db, some)
    assert await installation.migrate("pre") == ["0001_pre_words_apart.sql"]
    late = list(records())[:9]
    await keep_as_before(installation.db, late)  # the old code still runs
    async with installation.db.transaction() as tx:
        await keep_all(tx, list(records())[:9])  # beside the new
    assert await installation.migrate("post") == ["0002_post_words_apart.sql"]
    kept = await installation.kept()
    for one in (*some, *late):
        stored = kept[one.run_id]
        assert isinstance(stored, Stored)
        assert stored.judged == one.judged
    report = await gates_report.replay(installation.db, EVER, 3, lambda _done, _total: None)
    assert report.replayed == report.runs == len(some) + 18
    assert [one.gate for one in report.gates if one.same != report.runs] == []


async def test_what_the_runs_hold_after_it_quotes_nobody(installation: Installation) -> None:
    some = list(records())
    await keep_as_before(installation.db, some)
    await installation.migrate("all")
    async with installation.db.autocommit() as tx:
        kept = await tx.value("select string_agg(to_jsonb(r)::text, '') from run r")
    texts = {one.judged.draft.body for one in some}
    texts |= {text for one in some for text in quoted(one)}
    assert [text for text in texts if len(text) > 12 and text in kept] == []


def quoted(record: Record) -> tuple[str, ...]:
    recent = record.judged.facts.recent_outbound
    return () if isinstance(recent, Unknown) else recent


async def test_a_quoted_text_that_is_nowhere_else_counts_as_gone(installation: Installation) -> None:
    one = next(each for each in records() if each.recent)
    await keep_as_before(installation.db, [one])
    async with installation.db.transaction() as tx:
        assert await tx.execute("delete from sent_text where channel_id = $1", CHANNEL) > 0
    await installation.migrate("all")
    assert isinstance((await installation.kept())[one.run_id], TextGone)


_CATALOGUE = """
select format('%s.%s %s %s %s', table_name, column_name, data_type, is_nullable, column_default)
  from information_schema.columns where table_schema = 'guardrails'
union all select indexdef from pg_indexes where schemaname = 'guardrails'
union all select format('%s %s', conrelid::regclass, pg_get_constraintdef(oid))
  from pg_constraint where connamespace = 'guardrails'::regnamespace
union all select format('%s %s %s', tablename, policyname, roles) from pg_policies where schemaname = 'guardrails'
union all select format('%s %s %s', table_name, grantee, privilege_type)
  from information_schema.role_table_grants where table_schema = 'guardrails'"""


async def test_an_older_database_becomes_what_a_new_one_is(installation: Installation) -> None:
    await installation.migrate("all")
    found: list[set[str]] = []
    for url in (installation.owner_url, installation.fresh_url):
        connection = await asyncpg.connect(url)
        found.append({row[0] for row in await connection.fetch(_CATALOGUE)})
        await connection.close()
    assert found[0] == found[1]
