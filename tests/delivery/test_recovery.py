"""What the stream says of a send, as the claim that it leads to; whatever the database still knows."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from contracts import messages as m
from services.delivery import recovery
from services.delivery.recovery import pasts
from services.delivery.store import claims, recovered
from shared import seal
from shared.clock import utc_now
from shared.db import Write
from tests.delivery.world import CHAT, KEYS, STANZA, World

Words = Sequence[str]


def said(command: m.SendCommand, *words: str) -> list[m.SendMessage]:
    """`begun`, `accepted`, `uncertain`, `failed`, `refused`, or a level."""
    return [_said(command, word) for word in words]


def _said(command: m.SendCommand, word: str) -> m.SendMessage:
    snapshot = command.snapshot
    about: dict[str, Any] = {
        name: getattr(snapshot, name) for name in ("decision_id", "obligation_id", "conversation_id")
    }
    about |= {"tenant": command.tenant, "channel_id": snapshot.destination.channel_id, "at": utc_now()}
    level: Any = word
    match word:
        case "begun":
            return m.SendBegun(**about, chat=CHAT, text_digest=seal.text_digest(CHAT, snapshot.body))
        case "accepted":
            receipt = KEYS.sign(seal.RECEIPT, m.ObligationRef(obligation_id=uuid4(), epoch=1))
            return m.SendAccepted(**about, provider_id=STANZA, receipt=receipt)
        case "uncertain":
            return m.SendUncertain(**about, code="timed_out", detail="No answer.")
        case "failed":
            return m.SendFailed(**about, code="http_400", detail="No.")
        case "refused":
            return m.SendRefused(**about, code="revoked", detail="No.")
        case _:
            return m.SendStatusChanged(**about, provider_id=STANZA, level=level)


LED_TO: dict[Words, tuple[str | None, str | None]] = {
    ("begun",): ("uncertain", None),
    ("begun", "uncertain"): ("uncertain", None),
    ("begun", "accepted"): ("accepted", "pending"),
    ("begun", "accepted", "device", "server"): ("accepted", "delivered"),
    ("begun", "accepted", "failed"): ("accepted", "failed"),
    ("begun", "uncertain", "accepted", "read"): ("accepted", "read"),
    ("begun", "uncertain", "failed"): ("failed", None),
    ("begun", "begun", "failed"): ("failed", None),
    ("begun", "refused"): (None, None),
    ("refused",): (None, None),
}
"""What was said → the claim's state and level; None: there is none, as nothing was sent."""


async def state_of(world: World, decision_id: UUID) -> tuple[str | None, str | None]:
    rows = await world.bench.rows("select state, level from claim where decision_id = $1", decision_id)
    return (rows[0]["state"], rows[0]["level"]) if rows else (None, None)


async def bring(world: World, command: m.SendCommand, words: Words) -> list[m.Message]:
    """As `chancela recover` does; returns what is said."""
    past = pasts(said(command, *words)).get(command.snapshot.decision_id)
    async with world.bench.unit(tenant=command.tenant, cause=uuid4()) as unit:
        before = await claims.locked(unit.tx, command.snapshot.decision_id)
        if before is not None:
            await unit.perform(recovery.moved(before, past, unit.now))
        elif past is not None:
            made = recovery.made(command, past)
            await unit.tx.write([made] if made else [])
            claim = await claims.locked(unit.tx, command.snapshot.decision_id)
            await unit.perform(recovery.after_it_was_made(claim, past, unit.now) if claim else recovery.NOTHING)
    return await world.bench.said()


@pytest.mark.parametrize("words", LED_TO, ids=" ".join)
async def test_a_claim_that_is_gone_is_made_as_it_ended(world: World, words: Words) -> None:
    command = world.command()
    told = await bring(world, command, words)
    assert await state_of(world, command.snapshot.decision_id) == LED_TO[words]
    assert [type(one) for one in told] == ([m.SendUncertain] if words == ("begun",) else [])
    assert await bring(world, command, words) == []
    assert await state_of(world, command.snapshot.decision_id) == LED_TO[words]
    await world.bench.hear(command)
    await world.run()
    is_free = LED_TO[words][0] is None
    assert len(world.waha.sends) == is_free


AS_IT_STOOD = {
    "claimed": "state = 'claimed'",
    "lapsed": "state = 'lapsed'",
    "dispatching": "state = 'dispatching', token = gen_random_uuid(), begun_at = now(), call_before = now()",
    "uncertain": "state = 'dispatching', token = gen_random_uuid(), begun_at = now(), call_before = now()",
}


@pytest.mark.parametrize("stood", AS_IT_STOOD)
@pytest.mark.parametrize("words", [one for one in LED_TO if one[0] == "begun"], ids=" ".join)
async def test_a_claim_of_before_is_brought_to_its_end(world: World, stood: str, words: Words) -> None:
    command = world.command()
    decision_id = command.snapshot.decision_id
    async with world.bench.unit(tenant=command.tenant, cause=uuid4()) as unit:
        await unit.tx.write(
            [
                claims.insert(command, utc_now()),
                Write(f"update claim set {AS_IT_STOOD[stood]} where decision_id = $1", (decision_id,)),
            ]
        )
        if stood == "uncertain":
            await unit.tx.execute(
                "update claim set state = 'uncertain', code = 'x' where decision_id = $1", decision_id
            )
    told = await bring(world, command, words)
    state, level = LED_TO[words]
    expected = ("uncertain" if stood == "uncertain" else "cancelled", None) if state is None else (state, level)
    assert await state_of(world, decision_id) == expected
    says_so = words == ("begun",) and stood != "uncertain"
    assert [type(one) for one in told] == ([m.SendUncertain] if says_so else [])
    assert await bring(world, command, words) == []


@pytest.mark.parametrize(("stood", "becomes"), [("dispatching", "uncertain"), ("claimed", "claimed")])
async def test_what_the_stream_does_not_know_is_uncertain_if_its_call_may_have_been_made(
    world: World, stood: str, becomes: str
) -> None:
    command = world.command()
    async with world.bench.unit(tenant=command.tenant, cause=uuid4()) as unit:
        sql = f"update claim set {AS_IT_STOOD[stood]} where decision_id = $1"
        await unit.tx.write([claims.insert(command, utc_now()), Write(sql, (command.snapshot.decision_id,))])
        assert await recovered.all_unsettled(unit.tx) == [command.snapshot.decision_id]
    await bring(world, command, ())
    assert (await state_of(world, command.snapshot.decision_id))[0] == becomes


@pytest.mark.parametrize("words", [(), ("begun",)], ids=["its call was under way", "its claim is gone"])
async def test_what_the_channel_said_before_the_claim_was_uncertain_settles_it(world: World, words: Words) -> None:
    command = world.command()
    if not words:
        async with world.bench.unit(tenant=command.tenant, cause=uuid4()) as unit:
            sql = f"update claim set {AS_IT_STOOD['dispatching']} where decision_id = $1"
            await unit.tx.write([claims.insert(command, utc_now()), Write(sql, (command.snapshot.decision_id,))])
    await world.bench.hear(world.echo(at=utc_now() + timedelta(minutes=1)))
    await world.bench.hear(world.status("device"))
    assert [type(one) for one in await bring(world, command, words)] == [m.SendUncertain]
    await world.run()
    assert await world.said() == ["SendAccepted", "SendStatusChanged"]
    assert await state_of(world, command.snapshot.decision_id) == ("accepted", "delivered")
    assert await world.bench.value("select count(*) from receipt") == 1


async def test_a_beginning_that_the_database_knows_is_not_doubted(world: World) -> None:
    """The channel proved that it took nothing, and it waits for its next try."""
    command = world.command()
    words = said(command, "begun")
    past = pasts(words)[command.snapshot.decision_id]
    async with world.bench.unit(tenant=command.tenant, cause=uuid4()) as unit:
        sql = "update claim set begun_at = $2 where decision_id = $1"
        await unit.tx.write([claims.insert(command, utc_now()), Write(sql, (command.snapshot.decision_id, past.at))])
        claim = await claims.locked(unit.tx, command.snapshot.decision_id)
        assert claim is not None
        assert recovery.moved(claim, past, unit.now) == recovery.NOTHING


async def test_what_ended_stays_and_a_level_only_goes_forward(world: World) -> None:
    command = world.command()
    await bring(world, command, ("begun", "accepted", "read"))
    assert await bring(world, command, ("begun", "accepted", "device")) == []
    assert await state_of(world, command.snapshot.decision_id) == ("accepted", "read")
    other = world.command()
    await bring(world, other, ("begun", "failed"))
    await bring(world, other, ("begun", "accepted"))
    assert await state_of(world, other.snapshot.decision_id) == ("failed", None)


def test_the_command_of_another_text_is_not_taken(world: World) -> None:
    command = world.command()
    past = pasts(said(command, "begun"))[command.snapshot.decision_id]
    assert recovery.is_of(command, past)
    assert not recovery.is_of(world.command(decision_id=command.snapshot.decision_id, body="x"), past)
