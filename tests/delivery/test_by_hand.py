"""`chancela sends`: a person who looked settles what no proof reaches. Run as a command, against a delivery at work."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

import pytest
from typer.testing import CliRunner, Result

from contracts import messages as m
from deploy import sends
from deploy.cli import app
from tests.delivery.world import STANZA, World
from tests.harness import PASSWORD
from tests.servers import PostgresServer
from tests.shared.world import until

LONG_AGO = "update claim set begun_at = begun_at - interval '11 minutes'"


class Desk:
    """A person at a terminal."""

    def __init__(self, world: World, url: str) -> None:
        self._world = world
        self._url = url

    async def says(self, *words: str) -> Result:
        """Run the command while delivery works."""
        async with self._delivery_at_work():
            return await self.asks(*words)

    async def asks(self, *words: str) -> Result:
        return await asyncio.to_thread(CliRunner().invoke, app, ["sends", *words, "--database-url", self._url])

    @asynccontextmanager
    async def _delivery_at_work(self) -> AsyncGenerator[None]:
        async def work() -> None:
            while True:
                await self._world.bench.run_jobs()
                await asyncio.sleep(0.02)

        task = asyncio.create_task(work())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task


@pytest.fixture
async def desk(world: World, postgres_server: PostgresServer) -> Desk:
    name = await world.bench.value("select current_database()")
    return Desk(world, postgres_server.dsn(name, "delivery_bus", PASSWORD))


@pytest.fixture
async def uncertain(world: World) -> str:
    """The decision of a send whose call broke."""
    world.waha.script = ["reset"]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    await world.said()
    return str(command.snapshot.decision_id)


async def test_uncertain_sends_are_told_without_their_texts(world: World, desk: Desk, uncertain: str) -> None:
    told = json.loads((await desk.asks("list", "--json")).stdout)
    assert [(one["decision_id"], one["code"] != "") for one in told] == [(uncertain, True)]
    assert world.command().snapshot.body not in json.dumps(told)
    assert uncertain in (await desk.asks("list")).stdout


async def test_what_arrived_is_accepted_with_a_receipt_and_the_persons_words_as_evidence(
    world: World, desk: Desk, uncertain: str
) -> None:
    await world.bench.hear(world.status("device", provider_id="3EB0SEEN"))
    answer = await desk.says(
        "settle", uncertain, "--arrived", "3EB0SEEN", "--reason", "seen on the phone", "--who", "ana"
    )
    assert (answer.exit_code, answer.stdout.strip()) == (0, f"{uncertain}: accepted")
    assert await world.bench.value("select evidence from claim") == "ana: seen on the phone"
    assert await world.bench.value("select count(*) from receipt") == 1
    accepted, level = await world.bench.said()
    assert isinstance(accepted, m.SendAccepted)
    assert isinstance(level, m.SendStatusChanged), "what was reported of it before is not lost"


async def test_what_did_not_leave_fails_and_may_be_approved_again_but_not_before_ten_minutes(
    world: World, desk: Desk, uncertain: str
) -> None:
    words = ("settle", uncertain, "--not-sent", "--reason", "the phone shows nothing")
    early = await desk.says(*words)
    assert (early.exit_code, "10 minutes" in early.stderr) == (1, True)
    await world.bench.rows(LONG_AGO)
    assert (await desk.says(*words)).exit_code == 0
    assert await world.codes() == ["settled_by_person"]
    assert len(world.waha.requests) == 1


async def test_a_proof_that_is_faster_counts(world: World, desk: Desk, uncertain: str) -> None:
    await world.bench.rows(LONG_AGO)
    asking = asyncio.create_task(desk.asks("settle", uncertain, "--not-sent", "--reason", "nothing there"))
    await until(lambda: world.bench.value("select count(*) from job where kind = 'by_hand'"))
    await world.bench.hear(world.echo())
    await world.bench.run_jobs()
    assert (await asking).stdout.strip() == f"{uncertain}: accepted"
    assert await world.bench.value("select evidence from claim") == f"echo {STANZA}"


async def test_a_word_that_nobody_took_up_is_told_and_kept(
    world: World, desk: Desk, uncertain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sends, "LOOKS", 2)
    answer = await desk.asks("settle", uncertain, "--arrived", "3EB0SEEN", "--reason", "seen")
    assert (answer.exit_code, "has not taken it up yet" in answer.stderr) == (1, True)
    await world.run()
    assert await world.bench.value("select state from claim") == "accepted"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--reason", "x"), 2, "either"),
        (("--reason", "x", "--not-sent", "--arrived", "A"), 2, "either"),
        (("--reason", " ", "--not-sent"), 2, "--reason is empty"),
    ],
)
async def test_wrong_use_is_told(desk: Desk, uncertain: str, words: tuple[str, ...], code: int, told: str) -> None:
    answer = await desk.asks("settle", uncertain, *words)
    assert (answer.exit_code, told in answer.stderr) == (code, True)


async def test_what_is_settled_or_unknown_cannot_be_settled(world: World, desk: Desk, uncertain: str) -> None:
    await world.bench.hear(world.echo())
    words = ("--arrived", "A", "--reason", "x")
    settled = await desk.says("settle", uncertain, *words)
    assert (settled.exit_code, "accepted, not uncertain" in settled.stderr) == (1, True)
    unknown = await desk.says("settle", "00000000-0000-4000-8000-000000000000", *words)
    assert (unknown.exit_code, "There is no send" in unknown.stderr) == (1, True)
