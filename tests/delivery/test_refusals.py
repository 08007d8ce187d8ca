"""What may not leave does not: forged, altered, stale, expired, revoked. Each refusal has its own code."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from contracts import messages as m
from contracts import topology
from shared import seal
from shared.clock import utc_now
from tests.delivery.waha_double import Reply, WahaDouble
from tests.delivery.world import CHAT, KEYS, World, forger, new_world
from tests.harness import BenchFactory

replace = msgspec.structs.replace


def with_snapshot(command: m.SendCommand, **changes: Any) -> m.SendCommand:
    """The seals of one snapshot beside another."""
    return replace(command, snapshot=replace(command.snapshot, **changes))


def to(command: m.SendCommand, **changes: Any) -> m.SendCommand:
    return with_snapshot(command, destination=replace(command.snapshot.destination, **changes))


def _swapped(envelope: m.Envelope, old: bytes, new: bytes) -> m.Envelope:
    assert old in envelope.payload
    return replace(envelope, payload=envelope.payload.replace(old, new))


def _altered_seal(w: World) -> m.SendCommand:
    command = w.command()
    return replace(command, approval_seal=_swapped(command.approval_seal, b'"epoch":1', b'"epoch":2'))


def _clearance_of_another(w: World) -> m.SendCommand:
    return replace(w.command(), clearance_seal=w.command().clearance_seal)


def _approval_key_clears(w: World) -> m.SendCommand:
    command = w.command()
    signed = seal.Signer(KEYS.private[seal.APPROVAL], seal.CLEARANCE).sign(w.approval(command.snapshot), now=utc_now())
    return replace(command, clearance_seal=signed)


def _seal_of_another_shape(w: World) -> m.SendCommand:
    command = w.command()
    return replace(command, approval_seal=KEYS.sign(seal.APPROVAL, m.ObligationRef(obligation_id=uuid4(), epoch=1)))


def _other_text_with_its_own_commitment(w: World) -> m.SendCommand:
    """Body and commitment of the snapshot agree with each other; the sealed commitment is another."""
    command = w.command()
    forged = w.snapshot(
        decision_id=command.snapshot.decision_id, obligation_id=command.snapshot.obligation_id, body="x"
    )
    shared = {name: getattr(forged, name) for name in ("body", "salt", "commitment")}
    return with_snapshot(command, **shared)


def _group(w: World) -> m.SendCommand:
    chat = m.Destination(channel_id=w.channel_id, account="atendimento", chat="120363012345@g.us")
    return w.command(destination=chat)


BROKEN: dict[str, tuple[Callable[[World], m.SendCommand], str]] = {
    "forged seal 1": (lambda w: w.command(approval_key=forger(seal.APPROVAL)), "approval_seal_invalid"),
    "altered seal 1": (_altered_seal, "approval_seal_invalid"),
    "seal 1 of another shape": (_seal_of_another_shape, "approval_seal_invalid"),
    "forged seal 2": (lambda w: w.command(clearance_key=forger(seal.CLEARANCE)), "clearance_seal_invalid"),
    "approval's key as seal 2": (_approval_key_clears, "clearance_seal_invalid"),
    "seal 2 of another approval": (_clearance_of_another, "clearance_of_another_approval"),
    "altered body": (lambda w: with_snapshot(w.command(), body="Abrimos às 9h."), "commitment_mismatch"),
    "other text and commitment": (_other_text_with_its_own_commitment, "commitment_mismatch"),
    "swapped chat": (lambda w: to(w.command(), chat="5511900009999@c.us"), "commitment_mismatch"),
    "swapped reply": (lambda w: to(w.command(), reply_to="true_5511900001234@c.us_3A"), "commitment_mismatch"),
    "swapped account": (lambda w: to(w.command(), account="outra"), "commitment_mismatch"),
    "other salt": (lambda w: with_snapshot(w.command(), salt=seal.new_salt()), "commitment_mismatch"),
    "other tenant": (lambda w: replace(w.command(), tenant=uuid4()), "tenant_mismatch"),
    "other decision": (lambda w: with_snapshot(w.command(), decision_id=uuid4()), "decision_mismatch"),
    "other obligation": (lambda w: with_snapshot(w.command(), obligation_id=uuid4()), "obligation_mismatch"),
    "other epoch": (lambda w: with_snapshot(w.command(), epoch=2), "epoch_mismatch"),
    "other conversation": (lambda w: with_snapshot(w.command(), conversation_id=uuid4()), "conversation_mismatch"),
    "other contact": (lambda w: with_snapshot(w.command(), contact_id=uuid4()), "contact_mismatch"),
    "said to be a person's": (lambda w: with_snapshot(w.command(), origin="person"), "origin_mismatch"),
    "a tick nobody made": (
        lambda w: with_snapshot(w.command(), reply_after_opt_out=True),
        "reply_after_opt_out_mismatch",
    ),
    "newer revision claimed": (lambda w: with_snapshot(w.command(), context_revision=9), "context_revision_mismatch"),
    "longer send_by": (
        lambda w: with_snapshot(w.command(), send_by=utc_now() + timedelta(days=9)),
        "send_by_mismatch",
    ),
    "group": (_group, "group_chat"),
    "expired clearance": (
        lambda w: w.command(cleared_at=utc_now() - timedelta(minutes=5)),
        "clearance_expired",
    ),
    "clearance from the future": (
        lambda w: w.command(cleared_at=utc_now() + timedelta(seconds=30)),
        "clearance_from_future",
    ),
    "decision from the future": (
        lambda w: w.command(decided_at=utc_now() + timedelta(seconds=30)),
        "decision_from_future",
    ),
    "send_by passed": (lambda w: w.command(send_by=utc_now() - timedelta(seconds=1)), "send_by_passed"),
    "too early": (lambda w: w.command(not_before=utc_now() + timedelta(minutes=1)), "too_early"),
    "older context revision": (lambda w: w.command(context_revision=0), "context_moved"),
}


@pytest.mark.parametrize("case", BROKEN)
async def test_what_does_not_hold_is_refused_and_kept_and_never_sent(world: World, case: str) -> None:
    build, code = BROKEN[case]
    command = build(world)
    await world.bench.hear(command)
    await world.run_later()
    assert await world.codes() == [code]
    kept = await world.bench.rows("select code, decision_id from refused_command")
    assert [tuple(row) for row in kept] == [(code, command.snapshot.decision_id)]
    assert await world.bench.value("select count(*) from claim") == 0
    assert world.waha.requests == []


async def test_clocks_two_seconds_apart_refuse_nothing(world: World) -> None:
    await world.bench.hear(world.command(cleared_at=utc_now() + timedelta(seconds=1)))
    await world.run()
    assert len(world.waha.sends) == 1


@pytest.mark.parametrize("change", [{"account": "outra"}, {"channel_id": uuid4()}])
async def test_an_approved_destination_that_is_not_ours_is_refused(world: World, change: dict[str, Any]) -> None:
    destination = m.Destination(channel_id=world.channel_id, account="atendimento", chat=CHAT)
    await world.bench.hear(world.command(destination=replace(destination, **change)))
    assert await world.codes() == ["account_mismatch" if "account" in change else "channel_unknown"]
    assert world.waha.requests == []


async def test_a_channel_of_another_tenant_is_refused(world: World) -> None:
    world.tenant = uuid4()
    await world.bench.hear(world.command())
    assert await world.codes() == ["channel_of_another_tenant"]


async def test_a_stale_epoch_releases_nothing(world: World) -> None:
    snapshot = world.snapshot()
    await world.bench.hear(world.filed(snapshot, 1))
    await world.bench.hear(world.filed(snapshot, 2))
    await world.bench.hear(world.command(snapshot))
    await world.run()
    assert await world.codes() == ["stale_epoch"]
    assert world.waha.sends == []


async def test_a_forged_copy_of_a_decision_on_its_way_is_kept_and_says_nothing(world: World) -> None:
    command = world.command()
    await world.bench.hear(command)
    await world.bench.hear(with_snapshot(command, body="Outra coisa."))
    await world.run()
    assert await world.said() == ["SendBegun", "SendAccepted"]
    assert await world.bench.value("select code from refused_command") == "forged_copy"


async def test_an_expired_copy_of_a_decision_on_its_way_says_nothing(world: World) -> None:
    snapshot = world.snapshot()
    await world.bench.hear(world.command(snapshot))
    await world.bench.hear(world.command(snapshot, cleared_at=utc_now() - timedelta(minutes=5)))
    await world.run()
    assert await world.said() == ["SendBegun", "SendAccepted"]


# -------------------------------------------------------------------------------- between the claim and the call


async def _while_waiting(world: World, *messages: m.Message, snapshot: m.Snapshot | None = None) -> m.SendCommand:
    """A claim waits because its number is not ready, something is heard, and the number is ready again."""
    command = world.command(snapshot)
    await world.bench.hear(world.session(is_ready=False))
    await world.bench.hear(command)
    await world.run()
    assert await world.state(command.snapshot) == "claimed"
    for message in messages:
        await world.bench.hear(message)
    await world.bench.hear(world.session(is_ready=True))
    await world.run_later()
    return command


async def test_a_send_waits_for_its_number_and_is_not_lost(world: World) -> None:
    command = await _while_waiting(world)
    assert await world.state(command.snapshot) == "accepted"


@pytest.mark.parametrize("how", ["decision", "epoch"])
async def test_an_approval_that_ended_before_the_call_cancels_it(world: World, how: str) -> None:
    snapshot = world.snapshot()
    ended = world.ended(snapshot) if how == "decision" else world.ended(snapshot, decision_id=None)
    await _while_waiting(world, ended, snapshot=snapshot)
    assert await world.state(snapshot) == "cancelled"
    assert await world.codes() == ["revoked"]
    assert world.waha.sends == []


async def test_an_approval_that_ended_before_its_command_came_releases_nothing(world: World) -> None:
    snapshot = world.snapshot()
    await world.bench.hear(world.ended(snapshot))
    await world.bench.hear(world.command(snapshot))
    await world.run()
    assert await world.codes() == ["revoked"]
    assert world.waha.sends == []


async def test_the_end_of_an_older_decision_leaves_a_newer_one_alone(world: World) -> None:
    old = world.snapshot()
    new = world.snapshot(obligation_id=old.obligation_id, epoch=2)
    await world.bench.hear(world.ended(old, how="superseded"))
    await world.bench.hear(world.command(new))
    await world.run()
    assert await world.state(new) == "accepted"


async def test_a_takeover_cancels_the_agents_text(world: World) -> None:
    command = await _while_waiting(world, world.taken_over())
    assert await world.state(command.snapshot) == "cancelled"
    assert await world.codes() == ["taken_over"]
    assert world.waha.sends == []


async def test_a_handoff_that_nobody_accepted_takes_nothing_over(world: World) -> None:
    await world.bench.hear(replace(world.taken_over(), is_handoff=True))
    await world.bench.hear(world.command(filed_at=utc_now() - timedelta(minutes=1)))
    await world.run()
    assert len(world.waha.sends) == 1


async def test_a_takeover_heard_before_the_command_refuses_it(world: World) -> None:
    command = world.command()
    await world.bench.hear(world.taken_over())
    await world.bench.hear(command)
    assert await world.codes() == ["taken_over"]


async def test_a_persons_own_text_leaves_after_a_takeover(world: World) -> None:
    await world.bench.hear(world.taken_over())
    await world.bench.hear(world.command(origin="person"))
    await world.run()
    assert len(world.waha.sends) == 1


async def test_an_older_word_about_ownership_changes_nothing(world: World) -> None:
    await world.bench.hear(world.taken_over(version=3))
    await world.bench.hear(world.taken_over(version=2, owner="agent"))
    await world.bench.hear(world.command(filed_at=utc_now() - timedelta(minutes=1)))
    assert await world.codes() == ["taken_over"]


async def test_a_new_message_of_the_customer_stops_what_waits(world: World) -> None:
    command = world.command()
    await world.bench.hear(world.session(is_ready=False))
    await world.bench.hear(command)
    await world.customer_wrote(2)
    await world.bench.hear(world.session(is_ready=True))
    await world.run_later()
    assert await world.codes() == ["context_moved"]
    assert await world.state(command.snapshot) == "cancelled"


async def test_an_opt_out_stops_what_waits_unless_the_reply_to_it_was_ticked(world: World) -> None:
    await _while_waiting(world, world.consent("opted_out"))
    assert await world.codes() == ["opted_out"]
    await world.bench.hear(world.command(reply_after_opt_out=True))
    await world.run()
    assert len(world.waha.sends) == 1


async def test_a_conversation_with_something_unheard_waits(world: World) -> None:
    await world.bench.rows("update lane_in set has_waiting = true where lane like 'ingest.messages:%'")
    command = world.command()
    await world.bench.hear(command)
    await world.run_later()
    assert await world.state(command.snapshot) == "claimed"
    await world.bench.rows("update lane_in set has_waiting = false")
    await world.run_later()
    assert await world.state(command.snapshot) == "accepted"


async def test_a_tampered_claim_is_refused_when_it_would_begin(world: World) -> None:
    command = world.command()
    await world.bench.hear(world.session(is_ready=False))
    await world.bench.hear(command)
    other = with_snapshot(command, body="Outra coisa.")
    await world.bench.rows("update claim set command = $1", topology.encode(other))
    await world.bench.hear(world.session(is_ready=True))
    await world.run_later()
    assert await world.codes() == ["commitment_mismatch"]
    assert world.waha.sends == []


async def test_a_clearance_that_ran_out_while_waiting_may_be_given_afresh(world: World) -> None:
    snapshot = world.snapshot()
    await world.bench.hear(world.session(is_ready=False))
    await world.bench.hear(world.command(snapshot))
    expired = world.command(snapshot, cleared_at=utc_now() - timedelta(minutes=5))
    await world.bench.rows("update claim set command = $1", topology.encode(expired))  # as if five minutes had passed
    await world.run_later()
    assert await world.codes() == ["clearance_expired"]
    assert await world.state(snapshot) == "lapsed"
    await world.bench.hear(world.session(is_ready=True))
    await world.bench.hear(world.command(snapshot))
    await world.run_later()
    assert await world.state(snapshot) == "accepted"
    assert len(world.waha.sends) == 1


async def test_nothing_begins_that_could_not_be_given_a_receipt(
    bench_of: BenchFactory, tmp_path: Path, waha: WahaDouble
) -> None:
    private, _ = seal.new_key("old", seal.RECEIPT, sign_until=utc_now())
    world = await new_world(bench_of, tmp_path, waha, seal_key=msgspec.json.encode(private).decode())
    command = world.command()
    await world.bench.hear(command)
    await world.run_later()
    assert await world.state(command.snapshot) == "claimed"
    assert waha.sends == []


async def test_a_long_rest_of_the_number_does_not_hide_an_approval_that_ran_out(world: World) -> None:
    world.waha.script = [Reply(429, "{}", (("Retry-After", "600"),))]
    snapshot = world.snapshot()
    await world.bench.hear(world.command(snapshot))
    await world.run()
    waits = await world.bench.value(
        "select extract(epoch from due_at - clock_timestamp()) from job where kind = 'begin'"
    )
    assert waits <= 5
    expired = world.command(snapshot, cleared_at=utc_now() - timedelta(minutes=5))
    await world.bench.rows("update claim set command = $1", topology.encode(expired))  # as if five minutes had passed
    await world.bench.run_jobs(all=True)
    assert await world.codes() == ["clearance_expired"]
