"""From a good command to its end: every fate, and at most one call."""

import asyncio
import contextlib
import json
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import asyncpg
import pytest

from contracts import messages as m
from shared import seal
from shared.clock import utc_now
from shared.seal import KeyRing, ReceiptSeal
from tests.delivery.waha_double import Reply, WahaDouble, refused_url, taken
from tests.delivery.world import BODY, CHAT, KEYS, STANZA, World, new_world
from tests.harness import BenchFactory, within

WHOLE = f"true_{CHAT}_{STANZA}"
SHAPES = {
    "flat": json.dumps({"id": WHOLE, "ack": 0}),
    "key": json.dumps({"key": {"remoteJid": "5511900001234@s.whatsapp.net", "fromMe": True, "id": STANZA}}),
    "serialised": json.dumps({"_data": {}, "id": {"fromMe": True, "remote": CHAT, "id": STANZA, "_serialized": WHOLE}}),
}


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_answer_with_an_id_is_accepted_with_a_receipt_that_verifies(world: World, shape: str) -> None:
    world.waha.script = [Reply(201, SHAPES[shape])]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    begun, accepted = await world.bench.said()
    assert isinstance(begun, m.SendBegun)
    assert (begun.chat, begun.text_digest) == (CHAT, seal.text_digest(CHAT, BODY))
    assert isinstance(accepted, m.SendAccepted)
    assert (accepted.provider_id, accepted.body) == (STANZA, BODY)
    receipt = KeyRing({key.key_id: key for key in KEYS.public}).open(accepted.receipt, seal.RECEIPT, ReceiptSeal)
    assert receipt.commitment == command.snapshot.commitment
    assert receipt.approval_sha256 == seal.fingerprint(command.approval_seal)
    assert receipt.clearance_sha256 == seal.fingerprint(command.clearance_seal)
    assert await world.state(command.snapshot) == "accepted"


async def test_exactly_the_approved_text_goes_to_exactly_the_approved_chat_with_the_channels_key(world: World) -> None:
    await world.bench.hear(world.command())
    await world.run()
    (request,) = world.waha.sends
    assert (request.json["text"], request.json["chatId"], request.json["session"]) == (BODY, CHAT, "atendimento")
    assert request.headers["x-api-key"] == "secret-of-the-number"


async def test_begun_is_said_before_the_channel_hears_anything(world: World) -> None:
    world.waha.script = ["silent"]
    await world.bench.hear(world.command())
    running = asyncio.create_task(world.bench.run_jobs())
    await within(world.waha.arrived.wait(), 10)
    assert await world.said() == ["SendBegun"]
    await running


UNCERTAIN: dict[str, Any] = {
    "timed_out": "silent",
    "connection_broken": "reset",
    "http_500": Reply(500, json.dumps({"statusCode": 500, "exception": {"message": "boom"}})),
    "http_502": Reply(502, "<html>bad gateway</html>"),
    "http_302": Reply(302, headers=(("Location", "/api/sendText"),)),
    "id_unknown": Reply(201),
}


@pytest.mark.parametrize("code", UNCERTAIN)
async def test_what_may_have_been_taken_is_uncertain_and_never_sent_again(world: World, code: str) -> None:
    world.waha.script = [UNCERTAIN[code]]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    assert await world.codes() == [code]
    await world.run_later()
    await world.bench.hear(command)
    await world.run_later()
    assert await world.state(command.snapshot) == "uncertain"
    assert len(world.waha.sends) == 1


async def test_an_answer_that_cannot_be_read_is_uncertain(world: World) -> None:
    world.waha.script = [Reply(201, "not json")]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    assert await world.state(command.snapshot) == "uncertain"


@pytest.mark.parametrize("status", [400, 401, 403, 404])
async def test_a_clear_refusal_is_failed_and_burns_the_decision(world: World, status: int) -> None:
    world.waha.script = [Reply(status, json.dumps({"statusCode": status, "message": BODY}))]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    said = await world.bench.said()
    assert isinstance(said[-1], m.SendFailed)
    assert said[-1].code == f"http_{status}"
    assert BODY not in said[-1].detail
    await world.bench.hear(command)
    await world.run_later()
    assert len(world.waha.sends) == 1


@pytest.mark.parametrize("status", [422, 429])
async def test_a_proven_refusal_is_tried_again_as_an_attempt_of_its_own(world: World, status: int) -> None:
    world.waha.script = [Reply(status, "{}")]
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    assert await world.state(command.snapshot) == "claimed"
    await world.run_later()
    assert await world.state(command.snapshot) == "accepted"
    attempts = await world.bench.rows("select number, result from attempt order by number")
    assert [tuple(row) for row in attempts] == [(1, "try_again"), (2, "accepted")]
    assert await world.said() == ["SendBegun", "SendBegun", "SendAccepted"]


async def test_a_number_that_was_asked_to_wait_rests_for_every_send(world: World) -> None:
    world.waha.script = [Reply(429, "{}", (("Retry-After", "600"),))]
    await world.bench.hear(world.command())
    await world.run()
    await world.bench.hear(world.command())
    await world.bench.run_jobs(all=True)
    assert len(world.waha.sends) == 1
    await world.run_later()
    await world.run_later()
    assert len(world.waha.sends) == 3


async def test_a_refused_connection_is_tried_again(bench_of: BenchFactory, tmp_path: Path, waha: WahaDouble) -> None:
    world = await new_world(bench_of, tmp_path, waha, url=refused_url())
    command = world.command()
    await world.bench.hear(command)
    await world.run()
    assert await world.state(command.snapshot) == "claimed"
    assert await world.bench.value("select code from attempt") == "connection_refused"


async def test_a_proven_refusal_that_asks_to_wait_past_send_by_is_failed(world: World) -> None:
    world.waha.script = [Reply(429, "{}", (("Retry-After", "4000"),))]
    command = world.command(send_by=utc_now() + timedelta(minutes=60))
    await world.bench.hear(command)
    await world.run()
    assert await world.codes() == ["send_by_passed"]
    assert await world.state(command.snapshot) == "failed"


async def test_a_restricted_number_fails_the_send_and_pauses_first_contacts_only(world: World) -> None:
    error = {"statusCode": 500, "exception": {"message": "2 UNKNOWN: server returned error 463", "code": 2}}
    world.waha.script = [Reply(500, json.dumps(error))]
    await world.bench.hear(world.command())
    await world.run()
    assert await world.codes() == ["account_restricted"]
    known, world.conversation_id = world.conversation_id, uuid4()  # nobody ever wrote there
    await world.bench.hear(world.command())
    assert await world.codes() == ["first_contacts_paused"]
    world.conversation_id = known
    await world.bench.hear(world.command())
    await world.run()
    assert len(world.waha.sends) == 2


# ------------------------------------------------------------------------------------------------------ at most once


async def test_the_same_command_twice_calls_once(world: World) -> None:
    command = world.command()
    await world.bench.hear(command)
    await world.bench.hear(command)
    await world.run()
    await world.bench.hear(command)
    await world.run_later()
    assert len(world.waha.sends) == 1
    assert await world.said() == ["SendBegun", "SendAccepted"]


async def test_a_second_decision_of_an_obligation_under_way_is_refused(world: World) -> None:
    first = world.command()
    await world.bench.hear(first)
    await world.bench.hear(world.command(obligation_id=first.snapshot.obligation_id))
    assert await world.codes() == ["obligation_busy"]
    await world.run()
    assert len(world.waha.sends) == 1


async def test_a_second_decision_of_an_obligation_that_was_sent_is_refused(world: World) -> None:
    first = world.command()
    await world.bench.hear(first)
    await world.run()
    await world.bench.hear(world.command(obligation_id=first.snapshot.obligation_id))
    await world.run()
    assert await world.codes() == ["already_sent"]
    assert len(world.waha.sends) == 1


async def test_a_call_whose_process_died_after_its_preparation_calls_no_more(world: World) -> None:
    command = world.command()
    await world.bench.hear(command)
    await world.begin()
    await world.prepare_call()
    await world.expire_leases()
    await world.run()
    assert await world.codes() == ["interrupted"]
    assert await world.state(command.snapshot) == "uncertain"
    assert world.waha.sends == []


async def test_a_call_whose_process_died_during_the_request_is_never_made_again(world: World) -> None:
    world.waha.script = ["silent"]
    command = world.command()
    await world.bench.hear(command)
    running = asyncio.create_task(world.bench.run_jobs())
    await within(world.waha.arrived.wait(), 10)
    calling = [task for task in asyncio.all_tasks() if "Jobs._run" in repr(task.get_coro())]
    for task in (running, *calling):
        task.cancel()
    for task in (running, *calling):
        with contextlib.suppress(asyncio.CancelledError):
            await task
    await world.expire_leases()
    await world.run()
    await world.run_later()
    assert await world.state(command.snapshot) == "uncertain"
    assert len(world.waha.sends) == 1


async def test_a_call_that_never_began_goes_back_into_the_queue_by_the_watchdog(world: World) -> None:
    command = world.command()
    await world.bench.hear(command)
    await world.begin()
    await world.bench.rows("delete from job where kind = 'call'")
    await world.run_later()
    await world.run_later()
    assert await world.state(command.snapshot) == "accepted"
    assert len(world.waha.sends) == 1


async def test_a_call_that_began_and_vanished_becomes_uncertain_by_the_watchdog(world: World) -> None:
    command = world.command()
    await world.bench.hear(command)
    await world.begin()
    await world.prepare_call()
    await world.bench.rows("delete from job where kind = 'call'")
    await world.run_later()
    assert await world.codes() == ["no_result"]
    assert world.waha.sends == []


async def test_a_call_past_its_deadline_writes_no_byte_and_is_no_loss(world: World) -> None:
    command = world.command()
    await world.bench.hear(command)
    await world.begin()
    await world.bench.rows("update claim set call_before = clock_timestamp() - interval '1 second'")
    await world.run()
    assert world.waha.sends == []
    assert await world.state(command.snapshot) == "claimed"
    await world.run_later()
    assert len(world.waha.sends) == 1


async def test_a_number_makes_one_call_at_a_time(world: World) -> None:
    world.waha.script = ["silent"]
    await world.bench.hear(world.command())
    await world.bench.hear(world.command())
    running = asyncio.create_task(world.bench.run_jobs())
    await within(world.waha.arrived.wait(), 10)
    states = await world.bench.rows("select state from claim order by state")
    assert [row["state"] for row in states] == ["claimed", "dispatching"]
    await running
    await world.run_later()
    assert len(world.waha.sends) == 2


# ---------------------------------------------------------------------------------------------------------- the table

ENDS = ("accepted", "failed", "cancelled")


@pytest.mark.parametrize(
    "becomes", ["claimed", "dispatching", "lapsed", "uncertain", "accepted", "failed", "cancelled"]
)
async def test_the_database_refuses_to_leave_an_end(world: World, becomes: str) -> None:
    endings = {"accepted": taken(), "failed": Reply(400)}
    for end in ENDS:
        command = world.command()
        if end in endings:
            world.waha.script = [taken(f"3EB0{end.encode().hex().upper():0<18}") if end == "accepted" else Reply(400)]
        await world.bench.hear(command)
        if end == "cancelled":
            await world.bench.hear(world.ended(command.snapshot))
        await world.run()
        assert await world.state(command.snapshot) == end
        if becomes != end:
            with pytest.raises(asyncpg.CheckViolationError):
                await world.bench.rows(
                    "update claim set state = $1, code = 'x' where decision_id = $2",
                    becomes,
                    command.snapshot.decision_id,
                )


async def test_the_database_refuses_a_second_coordinate(world: World) -> None:
    await world.bench.hear(world.command())
    await world.run()
    with pytest.raises(asyncpg.CheckViolationError):
        await world.bench.rows("update claim set stanza_id = 'OTHER', provider_id = 'OTHER'")
