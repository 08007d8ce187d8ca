"""News of the channel: echoes, acks and lookups settle what was uncertain; levels only go forward."""

import asyncio
from datetime import timedelta
from itertools import permutations
from typing import Any
from uuid import uuid4

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import messages as m
from contracts.channel import Level
from services.delivery import calls, settling
from services.delivery.facts import Claim, Report
from shared import seal
from shared.clock import utc_now
from tests.delivery.waha_double import Behaviour, Reply, taken
from tests.delivery.world import CHAT, KEYS, STANZA, World
from tests.shared.world import until

ORDER = ["pending", "sent", "delivered", "read", "played"]
RESERVED = "3EB0RESERVED0000000001"


async def _uncertain(world: World) -> m.SendCommand:
    world.waha.script = ["reset"]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    assert await world.said() == ["SendBegun", "SendUncertain"]
    return command


async def test_an_echo_of_the_text_settles_an_uncertain_send_with_evidence(world: World) -> None:
    command = await _uncertain(world)
    await world.bench.hear(world.echo())
    assert await world.said() == ["SendAccepted"]
    evidence = await world.bench.value("select evidence from claim")
    assert (await world.state(command.snapshot), evidence) == ("accepted", f"echo {STANZA}")
    assert await world.bench.value("select count(*) from receipt") == 1


async def test_an_echo_of_another_text_or_from_before_the_send_proves_nothing(world: World) -> None:
    command = await _uncertain(world)
    await world.bench.hear(world.echo(body="Outra coisa."))
    await world.bench.hear(world.echo("3EB0OTHER000000000001", at=utc_now() - timedelta(minutes=5)))
    assert await world.state(command.snapshot) == "uncertain"
    assert await world.said() == []


async def test_one_echo_settles_one_send(world: World) -> None:
    first, second = await _uncertain(world), await _uncertain(world)
    await world.bench.hear(world.echo())
    await world.bench.hear(world.echo())
    states = sorted([await world.state(first.snapshot) or "", await world.state(second.snapshot) or ""])
    assert states == ["accepted", "uncertain"]


async def test_an_echo_that_comes_before_the_call_breaks_settles_it(world: World) -> None:
    """The echo is heard while the call is under way; the connection breaks afterwards."""
    world.waha.script = ["reset"]
    command = world.command()
    await world.bench.hear(command)
    await world.begin()
    await world.bench.hear(world.echo())
    assert await world.state(command.snapshot) == "dispatching"
    await world.run()
    assert await world.said() == ["SendBegun", "SendAccepted"]


@pytest.mark.parametrize("reply", ["reset", taken(STANZA)], ids=["its call broke", "its call was answered"])
async def test_news_that_come_while_a_call_ends_are_not_lost(
    world: World, reply: Behaviour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The end of the call has looked for early news and found none; before it commits, the news are heard."""
    world.waha.script = [reply]
    news = world.echo() if reply == "reset" else world.status("device")
    hearing: list[asyncio.Task[None]] = []
    look = calls._early  # pyright: ignore[reportPrivateUsage] - the moment that is raced

    async def look_and_hear(*args: Any) -> Report | None:
        found = await look(*args)
        hearing.append(asyncio.create_task(world.bench.hear(news)))
        await until(lambda: _is_over_or_waits(world, hearing[0]))
        return found

    monkeypatch.setattr(calls, "_early", look_and_hear)
    await world.bench.hear(world.command())
    await world.run()
    await hearing[0]
    expected = ["SendUncertain", "SendAccepted"] if reply == "reset" else ["SendAccepted", "SendStatusChanged"]
    assert await world.said() == ["SendBegun", *expected]


async def _is_over_or_waits(world: World, task: asyncio.Task[None]) -> bool:
    waiting = """select count(*) from pg_stat_activity
                 where datname = current_database() and wait_event_type = 'Lock' and wait_event = 'advisory'"""
    return task.done() or await world.bench.value(waiting) > 0


async def test_an_echo_heard_during_a_dispatch_whose_end_was_lost_settles_it(world: World) -> None:
    """The pod dies in the call: the watchdog finds the echo that came meanwhile."""
    command = world.command()
    await world.bench.hear(command)
    await world.begin()
    await world.prepare_call()
    await world.bench.hear(world.echo())
    await world.bench.rows("delete from job where kind = 'call'")
    await world.run_later()
    assert await world.state(command.snapshot) == "accepted"
    assert await world.said() == ["SendBegun", "SendAccepted"]


OTHER = "3EB0FFFFFFFFFFFFFFFFF2"
ENDS: dict[str, tuple[Behaviour, str, str]] = {
    "answered with its id": (taken(STANZA), "uncertain", "accepted"),
    "answered with another id": (taken(OTHER), "accepted", "accepted"),
    "broke": ("reset", "uncertain", "accepted"),
    "was refused": (Reply(400), "accepted", "failed"),
    "may be made again": (Reply(422), "accepted", "claimed"),
}
"""How the call of a text sent again ends → what becomes of the first send and of the second."""


@pytest.mark.parametrize("end", ENDS)
async def test_an_echo_that_comes_while_the_text_is_sent_again_waits_for_the_end_of_that_call(
    world: World, end: str
) -> None:
    first, second = await _uncertain(world), world.command()
    reply, *become = ENDS[end]
    world.waha.script = [reply]
    await world.bench.hear(second)
    await world.begin()
    await world.bench.hear(world.echo())
    assert await world.states(first, second) == ["uncertain", "dispatching"]
    await world.run()
    assert await world.states(first, second) == become
    assert await world.bench.value("select count(*) from receipt") == become.count("accepted")
    assert await world.bench.rows("select from attempt where code = 'interrupted'") == []


@pytest.mark.parametrize(("is_called", "become"), [(True, ["uncertain", "accepted"]), (False, ["accepted", "claimed"])])
async def test_an_echo_that_waits_for_a_call_that_vanished_is_not_lost(
    world: World, is_called: bool, become: list[str]
) -> None:
    first, second = await _uncertain(world), world.command()
    await world.bench.hear(second)
    await world.begin()
    if is_called:
        await world.prepare_call()
    await world.bench.hear(world.echo())
    await world.bench.rows("delete from job where kind = 'call'")
    await world.bench.rows("update job set due_at = clock_timestamp() where kind = 'overdue'")
    await world.run()
    assert await world.states(first, second) == become


async def test_of_two_echoes_that_wait_for_a_call_each_settles_one_send(world: World) -> None:
    first, second = await _uncertain(world), world.command()
    world.waha.script = ["reset"]
    await world.bench.hear(second)
    await world.begin()
    await world.bench.hear(world.echo())
    await world.bench.hear(world.echo(OTHER))
    await world.bench.hear(world.status("device", OTHER))
    await world.run()
    assert await world.states(first, second) == ["accepted", "accepted"]
    assert await world.bench.value("select level from claim where provider_id = $1", OTHER) == "delivered"


async def test_an_echo_from_before_the_text_was_sent_again_is_of_the_first_send(world: World) -> None:
    first, second = await _uncertain(world), world.command()
    await world.bench.hear(second)
    await world.begin()
    await world.bench.rows("update claim set begun_at = begun_at - interval '1 minute' where state = 'uncertain'")
    await world.bench.hear(world.echo(at=utc_now() - timedelta(seconds=30)))
    assert await world.states(first, second) == ["accepted", "dispatching"]


async def test_a_level_that_came_before_the_echo_that_settles_is_not_lost(world: World) -> None:
    await _uncertain(world)
    await world.bench.hear(world.status("device"))
    await world.bench.hear(world.echo())
    assert await world.said() == ["SendAccepted", "SendStatusChanged"]
    assert await world.bench.value("select level from claim") == "delivered"


async def test_a_status_that_comes_before_its_send_returns_is_not_lost(world: World) -> None:
    world.waha.script = [taken(STANZA)]
    await world.bench.hear(world.command())
    await world.begin()
    await world.bench.hear(world.status("device"))
    await world.bench.hear(world.status("server"))
    await world.run()
    said = await world.bench.said()
    assert isinstance(said[-1], m.SendStatusChanged)
    assert said[-1].level == "device"


@pytest.mark.parametrize("order", list(permutations(["server", "device", "read"])))
async def test_statuses_in_any_order_end_at_the_furthest(world: World, order: tuple[str, ...]) -> None:
    world.waha.script = [taken(STANZA)]
    await world.bench.hear(world.command())
    await world.run()
    await world.bench.said()
    for level in order:
        await world.bench.hear(world.status(level))
    assert await world.bench.value("select level from claim") == "read"
    levels = [one.level for one in await world.bench.said() if isinstance(one, m.SendStatusChanged)]
    assert levels == sorted(set(levels), key=["server", "device", "read"].index)


async def test_an_error_after_acceptance_is_said_once_and_is_the_end(world: World) -> None:
    world.waha.script = [taken(STANZA)]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    await world.bench.said()
    await world.bench.hear(world.status("error", error_code="131026"))
    await world.bench.hear(world.status("read"))
    await world.bench.hear(world.status("error", error_code="131026"))
    assert await world.codes() == ["provider_131026"]
    assert await world.state(command.snapshot) == "accepted"
    assert await world.bench.value("select level from claim") == "failed"


async def test_an_error_after_a_device_has_it_changes_nothing(world: World) -> None:
    world.waha.script = [taken(STANZA)]
    await world.bench.hear(world.command())
    await world.run()
    await world.bench.hear(world.status("device"))
    await world.bench.hear(world.status("error"))
    assert await world.bench.value("select level from claim") == "delivered"
    assert await world.codes() == []


async def test_a_restriction_reported_by_an_ack_pauses_first_contacts(world: World) -> None:
    await world.bench.hear(world.status("error", error_code="463"))
    world.conversation_id = uuid4()
    await world.bench.hear(world.command())
    assert await world.codes() == ["first_contacts_paused"]


# ------------------------------------------------------------------------------------------------------- reserved ids


async def test_a_reserved_id_is_said_before_the_call_and_sent_with_it(reserving: World) -> None:
    await reserving.bench.hear(reserving.command())
    await reserving.run()
    begun = (await reserving.bench.said())[0]
    assert isinstance(begun, m.SendBegun)
    assert begun.provider_id == RESERVED
    assert reserving.waha.sends[0].json["id"] == RESERVED


async def test_a_channel_that_cannot_reserve_ids_sends_all_the_same(reserving: World) -> None:
    reserving.waha.reserved_id = None
    await reserving.bench.hear(reserving.command())
    await reserving.run()
    assert len(reserving.waha.sends) == 1
    assert "id" not in reserving.waha.sends[0].json


@pytest.mark.parametrize("level", ["server", "device", "read", "played"])
async def test_a_status_of_the_reserved_id_settles_an_uncertain_send(reserving: World, level: str) -> None:
    command = await _uncertain(reserving)
    await reserving.bench.hear(reserving.status("pending", RESERVED))
    assert await reserving.state(command.snapshot) == "uncertain"
    await reserving.bench.hear(reserving.status(level, RESERVED))
    assert await reserving.said() == ["SendAccepted", "SendStatusChanged"]


async def test_an_echo_under_another_id_than_the_reserved_one_proves_nothing(reserving: World) -> None:
    command = await _uncertain(reserving)
    await reserving.bench.hear(reserving.echo(STANZA))
    assert await reserving.state(command.snapshot) == "uncertain"


async def test_a_lookup_that_finds_the_message_settles_it(reserving: World) -> None:
    command = await _uncertain(reserving)
    reserving.waha.lookup = taken(RESERVED)
    await reserving.run_later()
    assert await reserving.state(command.snapshot) == "accepted"
    lookups = [one for one in reserving.waha.requests if "/messages/" in one.path]
    assert [(one.method, one.path.endswith(RESERVED)) for one in lookups] == [("GET", True)]


async def test_a_lookup_that_finds_nothing_only_leaves_a_note_and_ends_after_some_tries(reserving: World) -> None:
    command = await _uncertain(reserving)
    reserving.waha.lookup = Reply(404)
    for _ in range(10):
        await reserving.run_later()
    assert await reserving.state(command.snapshot) == "uncertain"
    assert await reserving.bench.value("select absent_at is not null from claim")
    assert len([one for one in reserving.waha.requests if "/messages/" in one.path]) == 6
    assert len(reserving.waha.sends) == 1


# --------------------------------------------------------------------------------------------------------------- pure


def _claim(**changes: Any) -> Claim:
    now = utc_now()
    made = Claim(
        decision_id=uuid4(), tenant=uuid4(), obligation_id=uuid4(), conversation_id=uuid4(), channel_id=uuid4(),
        epoch=1, state="accepted", command=b"", chat=CHAT, text_digest="", decided_at=now, send_by=now, attempts=1,
        message_id=None, token=uuid4(), begun_at=now, call_before=now, provider_id=STANZA, stanza_id=STANZA,
        level="pending",
    )  # fmt: skip
    return msgspec.structs.replace(made, **changes)


_SIGNER = seal.Signer(KEYS.private[seal.RECEIPT], seal.RECEIPT)


@given(st.lists(st.sampled_from([*ORDER, "failed", None]), max_size=12))
def test_no_order_of_reports_lowers_a_level(levels: list[Level | None]) -> None:
    claim = _claim()
    for level in levels:
        before = claim.level
        report = Report(provider_id=STANZA, level=level, source="status")
        effects = settling.of_report(claim, report, signer=_SIGNER, now=utc_now())
        assert len(effects.says) <= 1
        for write in effects.writes:
            claim = msgspec.structs.replace(claim, level=write.args[1])
        assert before is not None
        assert claim.level is not None
        if before == "failed":
            assert claim.level == "failed"
            assert effects.says == ()
        elif claim.level == "failed":
            assert ORDER.index(before) < ORDER.index("delivered")
        else:
            assert ORDER.index(claim.level) >= ORDER.index(before)
    if "failed" not in levels:
        assert claim.level == max((level for level in (*levels, "pending") if level), key=ORDER.index)
