"""Drift of a running installation: found and named; repaired where that harms nobody, else left to a person.

Each case makes the difference on the real server by hand, with the admin's or the superuser's own connection.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import asyncpg
import msgspec
import pytest
from typer.testing import CliRunner

from contracts import generate, topology
from contracts.topology import SERVICES
from deploy.cli import app
from deploy.drift import database_drift
from deploy.keys import create_keys, read_key
from deploy.local.bus import server_config, wanted_streams
from deploy.local.database import create_roles
from shared.bus.setup import Drift, Setup
from shared.migrate import migrate
from tests.servers import NatsServer, NatsServerFactory, PostgresServer, running_postgres

ROOT = Path(__file__).parents[2]
DAY = 24 * 3600 * 10**9


# ---------------------------------------------------------------------------------------------------------------- NATS


@pytest.fixture
def nats(nats_server_factory: NatsServerFactory, tmp_path: Path) -> NatsServer:
    create_keys(tmp_path)
    return nats_server_factory(server_config(tmp_path))


@pytest.fixture
async def setup(nats: NatsServer, tmp_path: Path) -> AsyncIterator[Setup]:
    opened = await Setup.open(nats.url, read_key(tmp_path, "admin.nk"), wanted_streams())
    await opened.apply()
    yield opened
    await opened.close()


def stream(name: str, **changes: Any) -> dict[str, Any]:
    streams: Sequence[Mapping[str, Any]] = msgspec.convert(wanted_streams()["streams"], Sequence[Mapping[str, Any]])
    (found,) = (one for one in streams if one["name"] == name)
    return {**found, **changes}


def consumer(stream_name: str, durable: str, **changes: Any) -> dict[str, Any]:
    listed: Sequence[Mapping[str, Any]] = msgspec.convert(wanted_streams()["consumers"], Sequence[Mapping[str, Any]])
    (found,) = (one for one in listed if (one["stream"], one["durable_name"]) == (stream_name, durable))
    return {key: value for key, value in {**found, **changes}.items() if key != "stream"}


async def change(setup: Setup, subject: str, body: Mapping[str, Any]) -> None:
    answer = await setup.request(f"$JS.API.{subject}", body)
    assert "error" not in answer, answer


async def held(setup: Setup, address: str) -> Mapping[str, Any]:
    return (await setup.request(f"$JS.API.{address}", {}))["config"]


def said(drift: Sequence[Drift]) -> list[str]:
    return [str(one) for one in drift]


async def test_a_fresh_server_gets_everything_and_a_second_run_finds_nothing_to_do(
    nats: NatsServer, tmp_path: Path
) -> None:
    setup = await Setup.open(nats.url, read_key(tmp_path, "admin.nk"), wanted_streams())
    first, second = await setup.apply(), await setup.apply()
    assert len(first.repaired) == len(topology.STREAMS) + len(list(topology.consumers()))
    assert all(one.found == "missing" for one in first.repaired)
    assert (first.left, second.repaired, second.left, await setup.drift()) == ([], [], [], [])
    await setup.close()


async def test_two_setup_jobs_at_once_do_no_harm(nats: NatsServer, tmp_path: Path) -> None:
    jobs = [await Setup.open(nats.url, read_key(tmp_path, "admin.nk"), wanted_streams()) for _ in range(2)]
    outcomes = await asyncio.gather(*(job.apply() for job in jobs))
    assert [outcome.left for outcome in outcomes] == [[], []]
    assert await jobs[0].drift() == []
    for job in jobs:
        await job.close()


REPAIRED: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "a smaller store": ("STREAM.UPDATE.SEND", stream("SEND", max_bytes=10**9), "max_bytes is 1000000000"),
    "a shorter memory": ("STREAM.UPDATE.SEND", stream("SEND", max_age=DAY), "max_age is "),
    "old messages give way": ("STREAM.UPDATE.SEND", stream("SEND", discard="old"), "discard is 'old'"),
    "a shorter window": ("STREAM.UPDATE.SEND", stream("SEND", duplicate_window=10**9), "duplicate_window is"),
    "reads past the consumers": (
        "STREAM.UPDATE.SEND",
        stream("SEND", allow_direct=True),
        "allow_direct is True, should be False",
    ),
    "copies sent elsewhere": (
        "STREAM.UPDATE.SEND",
        stream("SEND", republish={"src": ">", "dest": "leak.>"}),
        "republish is {'src': '>', 'dest': 'leak.>'}, should not be set",
    ),
    "one message a subject": (
        "STREAM.UPDATE.SEND",
        stream("SEND", max_msgs_per_subject=1),
        "max_msgs_per_subject is 1",
    ),
    "an end of patience": (
        "CONSUMER.DURABLE.CREATE.SEND.delivery",
        {"stream_name": "SEND", "config": consumer("SEND", "delivery", max_deliver=3)},
        "consumer SEND/delivery: max_deliver is 3, should be -1",
    ),
    "a hurry": (
        "CONSUMER.DURABLE.CREATE.SEND.delivery",
        {"stream_name": "SEND", "config": consumer("SEND", "delivery", ack_wait=10**9)},
        "ack_wait is 1000000000",
    ),
    "a consumer less": ("CONSUMER.DELETE.SEND.delivery", {}, "consumer SEND/delivery: missing"),
}


@pytest.mark.parametrize(("subject", "body", "words"), REPAIRED.values(), ids=REPAIRED)
async def test_what_harms_nobody_is_told_and_repaired(
    setup: Setup, subject: str, body: Mapping[str, Any], words: str
) -> None:
    await change(setup, subject, body)
    assert any(words in line for line in said(await setup.drift()))
    outcome = await setup.apply()
    assert any(words in line for line in said(outcome.repaired))
    assert outcome.left == []
    assert await setup.drift() == []


LEFT: Mapping[str, tuple[str, Mapping[str, Any], str, str]] = {
    "a service hears less": (
        "CONSUMER.DURABLE.CREATE.INGEST_CONTACTS.delivery",
        {
            "stream_name": "INGEST_CONTACTS",
            "config": consumer("INGEST_CONTACTS", "delivery", filter_subject="ingest.contacts.1.*"),
        },
        "consumer INGEST_CONTACTS/delivery filter_subject",
        "CONSUMER.INFO.INGEST_CONTACTS.delivery",
    ),
    "half a topic": (
        "STREAM.UPDATE.INGEST_CONTACTS",
        stream("INGEST_CONTACTS", subjects=["ingest.contacts.1.*"]),
        "stream INGEST_CONTACTS subjects",
        "STREAM.INFO.INGEST_CONTACTS",
    ),
    "heard messages go": (
        "STREAM.UPDATE.SEND",
        stream("SEND", retention="interest"),
        "stream SEND retention",
        "STREAM.INFO.SEND",
    ),
    "a larger store": (
        "STREAM.UPDATE.SEND",
        stream("SEND", max_bytes=3 * 1024**3),
        "stream SEND max_bytes",
        "STREAM.INFO.SEND",
    ),
    "a longer memory": (
        "STREAM.UPDATE.SEND",
        stream("SEND", max_age=30 * DAY),
        "stream SEND max_age",
        "STREAM.INFO.SEND",
    ),
    "a topic more": (
        "STREAM.UPDATE.SEND",
        stream("SEND", subjects=["send.cmd.*.*", "send.old.*.*"]),
        "stream SEND subjects",
        "STREAM.INFO.SEND",
    ),
}


@pytest.mark.parametrize(("subject", "body", "name", "info"), LEFT.values(), ids=LEFT)
async def test_what_may_lose_messages_is_named_and_left_until_a_person_accepts_it(
    setup: Setup, subject: str, body: Mapping[str, Any], name: str, info: str
) -> None:
    await change(setup, subject, body)
    as_found = await held(setup, info)
    outcome = await setup.apply()
    assert [one.name for one in outcome.left] == [name]
    assert f"--accept '{name}'" in str(outcome.left[0])
    assert outcome.repaired == []
    assert await held(setup, info) == as_found
    accepted = await setup.apply([name])
    assert ([one.name for one in accepted.repaired], accepted.left) == ([name], [])
    assert await setup.drift() == []


async def test_a_harmless_repair_leaves_the_harmful_difference_beside_it_as_it_is(setup: Setup) -> None:
    await change(setup, "STREAM.UPDATE.SEND", stream("SEND", discard="old", max_age=30 * DAY))
    outcome = await setup.apply()
    assert ([one.field for one in outcome.repaired], [one.field for one in outcome.left]) == (["discard"], ["max_age"])
    config = await held(setup, "STREAM.INFO.SEND")
    assert (config["discard"], config["max_age"]) == ("new", 30 * DAY)


async def test_fewer_replicas_than_wanted_are_for_a_person(nats: NatsServer, setup: Setup, tmp_path: Path) -> None:
    """The variable forgotten on a cluster, or a stream made before there was one: either way copies are at stake."""
    wanting = await Setup.open(nats.url, read_key(tmp_path, "admin.nk"), wanted_streams(), replicas=3)
    outcome = await wanting.apply()
    assert {one.field for one in outcome.left} == {"num_replicas"}
    assert len(outcome.left) == len(topology.STREAMS)
    assert outcome.repaired == []
    refused = await wanting.apply(["stream SEND *"])
    assert any("the server refuses" in line for line in said(refused.left))  # one node cannot hold three copies
    await wanting.close()


async def test_what_the_map_does_not_know_is_named_and_not_touched(setup: Setup) -> None:
    await change(setup, "STREAM.CREATE.MINE", {"name": "MINE", "subjects": ["mine.>"], "storage": "file"})
    config = {"durable_name": "spy", "ack_policy": "explicit"}
    await change(setup, "CONSUMER.DURABLE.CREATE.SEND.spy", {"stream_name": "SEND", "config": config})
    for drift in (await setup.drift(), (await setup.apply()).left):
        assert [one.what for one in drift] == ["stream MINE", "consumer SEND/spy"]
    assert (await held(setup, "CONSUMER.INFO.SEND.spy"))["durable_name"] == "spy"


def test_the_command_says_by_its_exit_code_whether_anything_differs(
    nats: NatsServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CHANCELA_NATS_URL", nats.url)
    monkeypatch.setenv("CHANCELA_NATS_ADMIN_SEED_FILE", str(tmp_path / "admin.nk"))
    run = CliRunner().invoke
    assert run(app, ["bus", "check"]).exit_code == 1
    assert run(app, ["bus", "apply"]).exit_code == 0
    assert run(app, ["bus", "check"]).exit_code == 0
    monkeypatch.setenv("CHANCELA_NATS_REPLICAS", "3")
    applied = run(app, ["bus", "apply", "--json"])
    assert applied.exit_code == 1
    assert len(msgspec.json.decode(applied.stdout)["left"]) == len(topology.STREAMS)


# ------------------------------------------------------------------------------------------------------------ profiles


def configured(name: str) -> str:
    text = (ROOT / "deploy" / "nats" / "nats.conf").read_text(encoding="utf-8")
    (value,) = re.findall(rf"^\s*{name}: \"?([^\"\s]+)", text, re.MULTILINE)
    return value


def test_all_streams_full_fit_the_configured_store() -> None:
    streams = msgspec.json.decode(generate.streams())["streams"]
    assert configured("max_file") == "40G"
    assert sum(one["max_bytes"] for one in streams) <= 40 * 10**9
    assert all(one["discard"] == "new" and one["max_msg_size"] <= int(configured("max_payload")) for one in streams)


async def test_a_store_that_cannot_hold_the_streams_is_told_when_they_are_made(
    nats_server_factory: NatsServerFactory, tmp_path: Path
) -> None:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path).replace("max_file: 40G", "max_file: 8G"))
    setup = await Setup.open(server.url, read_key(tmp_path, "admin.nk"), wanted_streams())
    left = said((await setup.apply()).left)
    assert any("the server refuses: insufficient storage resources" in line for line in left), left
    await setup.close()


@pytest.mark.parametrize("profile", ["10s", "always"])
async def test_both_profiles_of_the_disk_take_the_streams(
    nats_server_factory: NatsServerFactory, tmp_path: Path, profile: str
) -> None:
    create_keys(tmp_path)
    server = nats_server_factory(server_config(tmp_path, sync_interval=profile))
    setup = await Setup.open(server.url, read_key(tmp_path, "admin.nk"), wanted_streams())
    assert (await setup.apply()).left == []
    await setup.close()


def test_the_profile_is_the_one_that_the_publishers_memory_covers() -> None:
    """What a power cut may take is younger than `sync_interval`; publishers send the last minute again."""
    assert configured("sync_interval") == "10s"


# ------------------------------------------------------------------------------------------------------------ Postgres


@pytest.fixture(scope="module")
def postgres() -> Iterator[PostgresServer]:
    """A server of its own: roles belong to the whole server."""
    with running_postgres("embedded") as server:
        yield server


@pytest.fixture(scope="module")
def database_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    create_keys(folder)
    return folder


@pytest.fixture(scope="module")
async def database(postgres: PostgresServer, database_keys: Path) -> AsyncIterator[str]:
    await execute(postgres.admin_url, "create database installed")
    url = postgres.dsn("installed")
    await create_roles(url, "installed", database_keys)
    for service in SERVICES:
        password = read_key(database_keys, f"{service}_owner.password")
        await migrate(postgres.dsn("installed", f"{service}_owner", password), service)
    yield url
    await execute(postgres.admin_url, "drop database installed with (force)")


async def execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


WRONG: Sequence[tuple[str, str, str]] = (
    # what is done, what is said, what mends it
    (
        "alter table operator.lead disable row level security",
        "missing: row-level security is forced on operator.lead",
        "alter table operator.lead enable row level security",
    ),
    (
        "alter table operator.fact no force row level security",
        "missing: row-level security is forced on operator.fact",
        "alter table operator.fact force row level security",
    ),
    (
        "create policy open on operator.lead to operator_web using (true)",
        "not ours: row-level security on operator.lead: policy open",
        "drop policy open on operator.lead",
    ),
    (
        "revoke insert on operator.lead from operator_bus",
        "missing: operator_bus may INSERT on operator.lead",
        "grant insert on operator.lead to operator_bus",
    ),
    (
        "grant select on operator.lead to delivery_bus",
        "not ours: delivery_bus may SELECT on operator.lead",
        "revoke select on operator.lead from delivery_bus",
    ),
    (
        "grant select (payload) on operator.outbox to operator_web",
        "not ours: operator_web may SELECT on operator.outbox (payload)",
        "revoke select (payload) on operator.outbox from operator_web",
    ),
    (
        "grant usage on schema operator to public",
        "not ours: everybody may USAGE on schema operator",
        "revoke usage on schema operator from public",
    ),
    (
        "alter table operator.timeline owner to delivery_owner",
        "not ours: operator.timeline belongs to delivery_owner",
        "alter table operator.timeline owner to operator_owner",
    ),
    (
        "create function operator.peek() returns int language sql security definer as 'select 1'",
        "runs with its owner's rights",
        "drop function operator.peek()",
    ),
    ("alter table operator.lead add column extra int", "has the column extra", "alter table operator.lead drop extra"),
    (
        "grant create on database installed to operator_bus",
        "role operator_bus may CREATE on this database",
        "revoke create on database installed from operator_bus",
    ),
    (
        "grant connect on database installed to public",
        "everybody may CONNECT on this database",
        "revoke connect on database installed from public",
    ),
)
WRONG_LOGINS: Sequence[tuple[str, str, str]] = (
    (
        "alter role operator_web bypassrls",
        "role operator_web has the power bypassrls",
        "alter role operator_web nobypassrls",
    ),
    ("grant delivery_bus to operator_bus", "is a member of delivery_bus", "revoke delivery_bus from operator_bus"),
    ("alter role operator_bus nologin", "operator_bus has no login that can enter", "alter role operator_bus login"),
    (
        "alter role operator_bus valid until 'yesterday'",
        "has a password that has expired",
        "alter role operator_bus valid until 'infinity'",
    ),
)


async def test_each_difference_in_the_database_is_found_and_gone_when_mended(database: str) -> None:
    """All at once: each look costs a yardstick."""
    assert await database_drift(database) == []
    await execute(database, *(wrong for wrong, _, _ in WRONG))
    found = await database_drift(database)
    assert [words for _, words, _ in WRONG if not any(words in line for line in found)] == [], found
    await execute(database, *(mended for _, _, mended in reversed(WRONG)))
    assert await database_drift(database) == []


@pytest.mark.parametrize(("wrong", "words", "mended"), WRONG_LOGINS)
async def test_a_login_with_too_much_or_too_little_is_found(database: str, wrong: str, words: str, mended: str) -> None:
    await execute(database, wrong)
    found = await database_drift(database)
    await execute(database, mended)
    (line,) = found
    assert words in line


async def test_looking_leaves_no_database_behind(postgres: PostgresServer, database: str) -> None:
    await database_drift(database)
    connection = await asyncpg.connect(postgres.admin_url)
    assert await connection.fetchval("select count(*) from pg_database where datname like 'chancela_yardstick%'") == 0
    await connection.close()


async def test_a_role_that_is_missing_is_named_before_anything_else() -> None:
    with running_postgres("embedded") as empty:
        found = await database_drift(empty.admin_url)
    assert found[0] == "role ingest_owner is missing: run `python -m deploy.roles`"


async def test_the_command_reports_the_database(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHANCELA_DATABASE_SUPERUSER_URL", database)
    assert (await asyncio.to_thread(CliRunner().invoke, app, ["database", "check"])).exit_code == 0
    await execute(database, "alter table operator.lead disable row level security")
    checked = await asyncio.to_thread(CliRunner().invoke, app, ["database", "check", "--json"])
    assert checked.exit_code == 1
    await execute(database, "alter table operator.lead enable row level security")
    (line,) = msgspec.json.decode(checked.stdout)["drift"]
    assert line == "missing: row-level security is forced on operator.lead"
