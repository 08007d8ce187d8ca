"""Repairs by hand: what is told, what a dry run leaves untouched, and that nothing is lost, doubled or unrecorded."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from typer.testing import CliRunner, Result

from contracts import topology
from contracts.messages import ContactSeen
from deploy.cli import app
from deploy.local.bus import apply_streams
from deploy.local.postgres import erase_postgres, running_dsn, start_postgres
from shared.bus import Effects, Heard, Quick, StartJob, no_facts
from shared.bus.repair import Repair, Unknown, hidden, show, standing
from shared.db import Database
from shared.health import Health
from shared.lanes_page import language
from tests.harness import PASSWORD, drop_database, new_database
from tests.servers import PostgresServer
from tests.shared.test_arrivals import delivered, inbox
from tests.shared.test_jobs import echo, jobs, start
from tests.shared.world import (
    World,
    all_is_published,
    has_effects,
    hearing,
    one_value,
    open_schema,
    quarantined,
    running,
    said,
    say,
    until,
    values,
    write_effect,
)

SECRET = "meu nome é segredo"
KEY = UUID(int=77)
LANE = topology.lane(topology.BY_MESSAGE[ContactSeen], KEY)


@dataclass
class Office:
    """An operator's schema with one parked lane, one gap and one parked job."""

    db: Database
    url: str
    is_mended: bool = False

    def decide(self, heard: Heard[Any], facts: None) -> Effects:
        if heard.message.name == SECRET and not self.is_mended:
            raise LookupError(f"cannot read {heard.message.name}")
        return write_effect(heard, facts)

    async def drain(self) -> None:
        """As the service does it: what waits and is due, until nothing is."""
        async with self.db.autocommit() as tx:
            await tx.execute("update inbox set not_before = now() where attempts > 0")
            rows = await tx.rows("select lane from lane_in where has_waiting and parked_at is null")
        for row in rows:
            await inbox(self.db, self.decide).drain(row["lane"])

    async def park(self) -> None:
        heard = inbox(self.db, self.decide)
        await heard.take([delivered(said(KEY, "before"), 0)])
        await heard.take([delivered(said(KEY, SECRET), 1), delivered(said(KEY, "after"), 2)])
        await heard.take([delivered(said(UUID(int=5), "behind a gap"), 4)])
        for _ in range(3):
            await self.drain()
        await start(self.db, *(StartJob(uuid4(), "work", "k", SECRET.encode(), is_ordered=True) for _ in range(2)))
        async with self.db.autocommit() as tx:
            await tx.execute(
                "update job set parked_at = now(), attempts = 3, last_error = $1 where not is_behind",
                f"ZeroDivisionError('{SECRET}')",
            )

    async def audited(self) -> list[tuple[str, str, str | None, str]]:
        async with self.db.autocommit() as tx:
            rows = await tx.rows("select who, what, lane, reason from repair order by id")
        return [(row["who"], row["what"], row["lane"], row["reason"]) for row in rows]

    async def contents(self) -> str:
        """Everything that a repair may touch, to be compared."""
        sql = "select coalesce(jsonb_agg(to_jsonb(t) order by to_jsonb(t)::text), '[]')::text from {} t"
        tables = ("lane_in", "inbox", "job", "quarantine", "repair", "outbox_again")
        return "".join([await one_value(self.db, sql.format(table)) for table in tables])


@pytest.fixture
async def office(postgres_server: PostgresServer) -> AsyncIterator[Office]:
    name = await new_database(postgres_server, [])
    db = await open_schema(postgres_server, name, "operator")
    one = Office(db, postgres_server.dsn(name, "operator_bus", PASSWORD))
    await one.park()
    yield one
    await db.close()
    await drop_database(postgres_server, name)


async def job_of(db: Database) -> UUID:
    return await one_value(db, "select id from job where parked_at is not null")


# ----------------------------------------------------------------------------------------------------------- looking


async def test_what_stands_still_is_told_with_why_and_without_texts(office: Office) -> None:
    found = await standing(office.db, "operator")
    parked, gap = found.lanes
    assert (parked.lane, parked.seq, parked.state, parked.attempts, parked.stored) == (LANE, 1, "parked", 3, 2)
    assert (gap.seq, gap.state, gap.stored) == (0, "gap", 1)
    assert [(one.kind, one.attempts, one.behind, one.why) for one in found.jobs] == [
        ("work", 3, 1, "ZeroDivisionError")
    ]
    assert parked.why == "LookupError"
    assert SECRET not in repr(found)


async def test_a_message_is_shown_without_its_texts_unless_they_are_asked_for(office: Office) -> None:
    cut = await show(office.db, LANE)
    assert (cut.seq, cut.attempts, cut.why) == (1, 3, "LookupError")
    assert cut.body["contact_id"] == str(KEY)
    assert cut.body["name"] == f"({len(SECRET)} characters)"
    assert SECRET not in repr(cut)
    whole = await show(office.db, LANE, reveal=True)
    assert whole.body["name"] == SECRET
    assert SECRET in whole.why


async def test_a_jobs_payload_is_shown_without_its_texts(office: Office) -> None:
    found = await show(office.db, str(await job_of(office.db)))
    assert SECRET not in repr(found)
    assert found.type == "work"


def test_words_of_a_closed_list_stay_and_free_texts_go() -> None:
    for subject, message in (
        (subject, topology.decode(topic, payload))
        for topic in topology.TOPICS
        for subject, payload in examples(topic.root)
    ):
        shown = hidden(message)
        assert shown["type"] == type(message).__name__, subject
        assert shown["tenant"] == str(message.tenant)
    assert hidden({"a": ["b", {"c": 7}]}) == {"a": ["(1 characters)", {"c": 7}]}


def examples(root: str) -> list[tuple[str, bytes]]:
    folder = files("contracts").joinpath("examples", root)
    return [(f.name, f.read_bytes()) for f in folder.iterdir()] if folder.is_dir() else []


@pytest.mark.parametrize("where", ["ingest.contacts:0:none", "3f0e9d1c-0000-4000-8000-000000000000", "job:7", ""])
async def test_what_is_not_there_is_named(office: Office, where: str) -> None:
    with pytest.raises(Unknown, match="there is no"):
        await show(office.db, where)
    with pytest.raises(Unknown, match="there is no"):
        await Repair(office.db, "me", is_dry=False).unpark(where)


# ---------------------------------------------------------------------------------------------------------- changing


async def test_a_dry_run_tells_the_change_and_leaves_everything_as_it_is(office: Office) -> None:
    before = await office.contents()
    dry, job = Repair(office.db, "me", is_dry=True), str(await job_of(office.db))
    told = [
        *await dry.unpark(LANE),
        *await dry.unpark_all(),
        *await dry.skip(LANE, "r"),
        *await dry.skip(job, "r"),
        *await dry.resume(),
    ]
    assert [one.what for one in told] == ["unpark", "unpark", "unpark", "skip", "skip", "resume"]
    assert await office.contents() == before


async def test_an_unparked_lane_runs_again_in_order(office: Office) -> None:
    office.is_mended = True
    await office.drain()
    assert await values(office.db, KEY) == ["before"]
    await Repair(office.db, "me", is_dry=False).unpark(LANE, "mended")
    await office.drain()
    assert await values(office.db, KEY) == ["before", SECRET, "after"]
    assert await office.audited() == [("me", "unpark", LANE, "mended")]


async def test_an_unparked_lane_whose_cause_is_not_mended_has_all_its_attempts_again(office: Office) -> None:
    await Repair(office.db, "me", is_dry=False).unpark(LANE)
    await office.drain()
    await office.drain()
    assert await one_value(office.db, "select parked_at is null from lane_in where lane = $1", LANE)
    await office.drain()
    assert await one_value(office.db, "select parked_at is not null from lane_in where lane = $1", LANE)
    assert await values(office.db, KEY) == ["before"]


async def test_a_skipped_message_never_runs_what_is_behind_it_does_and_its_payload_is_kept(office: Office) -> None:
    await Repair(office.db, "me", is_dry=False).skip(LANE, "a test contact")
    office.is_mended = True
    await office.drain()
    assert await values(office.db, KEY) == ["before", "after"]
    kept = await one_value(office.db, "select payload from quarantine")
    assert topology.decode(topology.BY_MESSAGE[ContactSeen], kept) == said_again(kept)
    assert SECRET.encode() in kept
    assert await office.audited() == [("me", "skip", LANE, "a test contact")]
    await inbox(office.db, office.decide).take([delivered(said(KEY, "next"), 3)])
    assert await values(office.db, KEY) == ["before", "after", "next"]


def said_again(payload: bytes) -> Any:
    return topology.decode(topology.BY_MESSAGE[ContactSeen], payload)


async def test_a_gap_is_skipped_position_by_position_and_what_comes_late_counts_as_heard(office: Office) -> None:
    gap = topology.lane(topology.BY_MESSAGE[ContactSeen], UUID(int=5))
    for _ in range(4):
        await Repair(office.db, "me", is_dry=False).skip(gap, "the stream lost it")
    await office.drain()
    assert await values(office.db, UUID(int=5)) == ["behind a gap"]
    await inbox(office.db, office.decide).take([delivered(said(UUID(int=5), "late"), 2)])
    await office.drain()
    assert await values(office.db, UUID(int=5)) == ["behind a gap"]
    with pytest.raises(Unknown, match="nothing waits"):
        await Repair(office.db, "me", is_dry=False).skip(gap, "once too often")


async def test_an_unparked_job_runs_and_then_the_one_behind_it(office: Office) -> None:
    await Repair(office.db, "me", is_dry=False).unpark(str(await job_of(office.db)))
    while await jobs(office.db, echo).run_due():
        continue
    assert (await values(office.db)).count("k") == 2
    with pytest.raises(Unknown, match="there is no job"):
        await Repair(office.db, "me", is_dry=False).unpark(str(uuid4()))


async def test_a_skipped_job_is_kept_aside_and_the_one_behind_it_runs(office: Office) -> None:
    job = await job_of(office.db)
    await Repair(office.db, "me", is_dry=False).skip(f"job:{job}", "nobody needs it")
    while await jobs(office.db, echo).run_due():
        continue
    assert (await values(office.db)).count("k") == 1
    assert await quarantined(office.db) == 1
    assert await office.audited() == [("me", "skip", f"job:{job}", "nobody needs it")]


async def test_only_what_is_parked_can_be_unparked_or_skipped(office: Office) -> None:
    repair = Repair(office.db, "me", is_dry=False)
    behind = await one_value(office.db, "select id from job where is_behind")
    for attempt in (repair.unpark(str(behind)), repair.skip(str(behind), "r")):
        with pytest.raises(Unknown, match="not parked"):
            await attempt
    gap = topology.lane(topology.BY_MESSAGE[ContactSeen], UUID(int=5))
    with pytest.raises(Unknown, match="not parked"):
        await repair.unpark(gap)
    assert await office.audited() == []


async def test_all_that_is_parked_is_unparked_at_once(office: Office) -> None:
    job = await job_of(office.db)
    changes = await Repair(office.db, "me", is_dry=False).unpark_all("rolled back")
    assert [one.where for one in changes] == [LANE, f"job:{job}"]
    assert await one_value(office.db, "select count(*) from job where parked_at is not null") == 0
    assert len(await office.audited()) == 2


async def test_what_a_stream_lost_is_published_again_from_the_outbox_and_heard_once_in_order(world: World) -> None:
    """The minute before the loss goes again by itself; what is older is a person's decision."""
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, db = await world.service("operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect)))
    async with running(ingest, ingest_db):
        await say(ingest, *(said(KEY, str(number)) for number in range(3)))
        await until(lambda: all_is_published(ingest_db))
        async with ingest_db.autocommit() as tx:
            await tx.execute("update outbox set created_at = created_at - interval '10 minutes'")
        await say(ingest, said(KEY, "3"))
        await until(lambda: all_is_published(ingest_db))
        await lose_streams(world)
        async with running(operator, db):
            await until(lambda: is_waiting(db), 40)
            assert [(one.seq, one.state) for one in (await standing(db, "operator")).lanes] == [(0, "gap")]
            lane = await one_value(db, "select lane from lane_in")
            (change,) = await Repair(ingest_db, "me", is_dry=False).replay(lane, 0, "the stream was wiped")
            assert "4 messages, positions 0 to 3" in change.says
            await until(lambda: has_effects(db, 4))
            await until(lambda: is_sent_again(ingest_db))
            assert await values(db, KEY) == ["0", "1", "2", "3"]
            with pytest.raises(Unknown, match="holds nothing"):
                await Repair(ingest_db, "me", is_dry=False).replay(lane, 4)


async def lose_streams(world: World) -> None:
    server = world.nats.local
    assert server is not None
    server.kill()
    shutil.rmtree(server.log_file.parent / "jetstream")
    await asyncio.to_thread(server.restart)
    await apply_streams(world.nats.url, world.keys, ack_wait_seconds=1.5)


async def is_waiting(db: Database) -> bool:
    return await one_value(db, "select exists (select from lane_in where has_waiting)")


async def is_sent_again(db: Database) -> bool:
    return await one_value(db, "select not exists (select from outbox_again)")


# -------------------------------------------------------------------------------------------------------- command line


def command(office: Office, *words: str) -> Result:
    return CliRunner().invoke(app, ["lanes", *words, "--database-url", office.url])


async def run(office: Office, *words: str) -> Result:
    """The command has an event loop of its own."""
    return await asyncio.to_thread(command, office, *words)


async def test_the_list_is_for_people_and_for_machines(office: Office) -> None:
    listed = await run(office, "list", "operator")
    assert listed.exit_code == 0, listed.output
    assert f"parked  {LANE}  at 1  " in listed.output
    assert "LookupError" in listed.output
    document = json.loads((await run(office, "list", "operator", "--json")).stdout)
    assert [one["state"] for one in document["lanes"]] == ["parked", "gap"]
    assert SECRET not in listed.output + repr(document)


async def test_a_change_is_only_told_until_it_is_confirmed(office: Office) -> None:
    before = await office.contents()
    for words in (("unpark", "operator", LANE), ("skip", "operator", LANE, "--reason", "r", "--dry-run")):
        told = await run(office, *words)
        assert told.exit_code == 0, told.output
        assert "nothing was changed; with --yes it is done" in told.output
    assert await office.contents() == before
    done = await run(office, "skip", "operator", LANE, "--reason", "a test", "--who", "ana", "--yes")
    assert done.output.endswith("the lane goes on at 2\ndone\n"), done.output
    assert await office.audited() == [("ana", "skip", LANE, "a test")]


async def test_a_resume_is_recorded_under_the_account_that_asked(office: Office) -> None:
    assert (await run(office, "resume", "operator", "--yes")).exit_code == 0
    ((who, what, lane, _),) = await office.audited()
    assert (what, lane) == ("resume", None)
    assert "@" in who


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (("show", "operator", "ingest.contacts:0:x"), 1, "there is no lane"),
        (("unpark", "operator"), 2, "name a lane or a job, or say --all"),
        (("unpark", "operator", LANE, "--all"), 2, "name a lane or a job, or say --all"),
        (("skip", "operator", LANE, "--reason", " "), 2, "--reason is empty"),
        (("list", "no_such"), 2, "there is no service 'no_such'"),
        (("list", "guardrails"), 3, "the database of guardrails"),
        (("replay", "operator", LANE, "--from", "0"), 1, "the outbox holds nothing"),
    ],
)
async def test_wrong_use_is_told_with_what_to_do(office: Office, words: tuple[str, ...], code: int, says: str) -> None:
    answer = await run(office, *words)
    assert answer.exit_code == code, answer.output
    assert says in answer.output
    assert await office.audited() == []


def test_without_an_installation_the_command_says_how_to_name_one(tmp_path: Any) -> None:
    answer = CliRunner().invoke(app, ["lanes", "list", "operator", "--home", str(tmp_path)])
    assert answer.exit_code == 2
    assert "--database-url" in answer.output


# ---------------------------------------------------------------------------------------------------------------- page


async def page(office: Office, **headers: str) -> httpx.Response:
    async def check() -> str:
        return ""

    health = Health(check, lambda: standing(office.db, "operator"))
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(health), base_url="http://pod") as client:
        return await client.get("/lanes", headers=named)


@pytest.mark.parametrize(
    ("asked", "title", "code"),
    [
        ("pt-BR,pt;q=0.9,en;q=0.8", "O que está parado em operator", "pt-BR"),
        ("es-AR", "Lo que está detenido en operator", "es"),
        ("fr", "What stands still in operator", "en"),
    ],
)
async def test_the_page_speaks_the_readers_language_and_quotes_nobody(
    office: Office, asked: str, title: str, code: str
) -> None:
    answer = await page(office, accept_language=asked)
    assert title in answer.text
    assert f'<html lang="{code}">' in answer.text
    assert LANE in answer.text
    assert str(await job_of(office.db)) in answer.text
    assert SECRET not in answer.text


async def test_the_page_is_json_for_who_asks_for_it(office: Office) -> None:
    answer = await page(office, accept="application/json")
    assert answer.headers["content-type"] == "application/json"
    assert [one["lane"] for one in answer.json()["lanes"] if one["state"] == "parked"] == [LANE]


async def test_names_on_the_page_are_not_markup(office: Office) -> None:
    async with office.db.autocommit() as tx:
        await tx.execute("update job set kind = '<script>alert(1)</script>'")
    assert "<script>" not in (await page(office)).text


async def test_the_page_of_a_process_that_starts_says_so() -> None:
    async def check() -> str:
        return ""

    async with httpx.AsyncClient(transport=httpx.ASGITransport(Health(check)), base_url="http://pod") as client:
        answer = await client.get("/lanes")
    assert (answer.status_code, answer.text) == (503, "starting")


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("", "en"),
        ("en;q=0.5,pt-BR;q=0.9", "pt"),
        ("es;q=x,en;q=0.1", "en"),
        ("*", "en"),
        ("PT", "pt"),
        ("es;q=0", "en"),
    ],
)
def test_a_language_is_chosen_by_its_weight(asked: str, found: str) -> None:
    assert language(asked) == found


def test_an_installation_is_found_by_its_folder_while_it_runs(tmp_path: Path) -> None:
    home = tmp_path / "postgres"
    assert running_dsn(home, "chancela", "operator_bus", "secret") is None
    server = start_postgres(home, settings={"fsync": "off"})
    try:
        dsn = server.dsn("chancela", "operator_bus", "secret")
        assert running_dsn(home, "chancela", "operator_bus", "secret") == dsn
    finally:
        server.stop()
    assert running_dsn(home, "chancela", "operator_bus", "secret") is None
    erase_postgres(home)
