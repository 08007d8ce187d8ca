"""The bus between two services on a real nats-server and a real Postgres."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from contracts import topology
from contracts.messages import ContactSeen, MessageReacted
from shared.bus import CancelJobs, Effects, Handlers, Heard, Quick, StartJob, Timer, no_facts
from shared.bus.handling import Handling
from shared.db import Write
from tests.shared.world import (
    TENANT,
    World,
    all_is_published,
    has_effects,
    hearing,
    quarantined,
    running,
    said,
    say,
    until,
    values,
    write_effect,
)


async def test_messages_of_a_lane_arrive_once_and_in_order(world: World) -> None:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    lanes = [uuid4() for _ in range(20)]
    async with running(ingest, ingest_db), running(operator, operator_db):
        for number in range(10):
            await say(ingest, *(said(lane, str(number)) for lane in lanes))
        await until(lambda: has_effects(operator_db, 200))
        for lane in lanes:
            assert await values(operator_db, lane) == [str(number) for number in range(10)]
        await until(lambda: all_is_published(ingest_db))


async def test_a_restarted_server_loses_and_doubles_nothing(world: World) -> None:
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    lanes = [uuid4() for _ in range(10)]
    assert world.nats.local is not None
    async with running(ingest, ingest_db), running(operator, operator_db):
        for number in range(30):
            await say(ingest, *(said(lane, str(number)) for lane in lanes))
            if number == 10:
                world.nats.local.kill()
            if number == 15:
                await asyncio.to_thread(world.nats.local.restart)
        await until(lambda: has_effects(operator_db, 300), 40)
        for lane in lanes:
            assert await values(operator_db, lane) == [str(number) for number in range(30)]


async def test_a_failing_message_costs_only_its_own_lane(world: World) -> None:
    def fail_on_bad(heard: Heard[Any], facts: None) -> Effects:
        if heard.message.name == "bad":
            raise ZeroDivisionError
        return write_effect(heard, facts)

    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, fail_on_bad))
    )
    good, bad = uuid4(), uuid4()
    async with running(ingest, ingest_db), running(operator, operator_db):
        await say(ingest, said(bad, "first"), said(bad, "bad"), said(bad, "after"), said(good, "a"), said(good, "b"))
        await until(lambda: has_effects(operator_db, 3))
        assert await values(operator_db, good) == ["a", "b"]
        assert await values(operator_db, bad) == ["first"]


async def test_the_same_position_with_another_body_isquarantined(world: World) -> None:
    operator, operator_db = await world.service(
        "operator", hearing("operator", Quick(ContactSeen, no_facts, write_effect))
    )
    ingest, ingest_db = await world.service("ingest", hearing("ingest"))
    lane = uuid4()
    async with running(ingest, ingest_db), running(operator, operator_db):
        await say(ingest, said(lane, "true"))
        await until(lambda: has_effects(operator_db, 1))
        async with ingest_db.autocommit() as tx:  # a database restored from a backup says the same slot anew
            await tx.execute("update lane_out set next_seq = 0")
            await tx.execute("delete from outbox")
        await say(ingest, said(lane, "other"))
        await until(lambda: quarantined(operator_db))
        assert await values(operator_db) == ["true"]


async def test_a_timer_fires_once_and_a_cancelled_one_never(world: World) -> None:
    async def nothing(_tx: Any, _job: Any) -> None:
        return None

    timer = Timer(
        "note", nothing, lambda job, _: Effects(writes=[Write("insert into effect (value) values ($1)", (job.key,))])
    )
    operator, db = await world.service("operator", hearing("operator", timers=(timer,)))
    async with running(operator, db):
        async with operator.unit(tenant=TENANT, cause=uuid4()) as unit:
            await unit.perform(
                Effects(jobs=[StartJob(uuid4(), "note", "kept"), StartJob(uuid4(), "note", "gone", after_seconds=1)])
            )
        async with operator.unit(tenant=TENANT, cause=uuid4()) as unit:
            await unit.perform(
                Effects(
                    cancels=[CancelJobs("note", "gone")], jobs=[StartJob(uuid4(), "note", "later", after_seconds=1.2)]
                )
            )
        await until(lambda: has_effects(db, 2))
        assert await values(db) == ["kept", "later"]


def test_a_service_that_forgets_a_message_does_not_start() -> None:
    with pytest.raises(ValueError, match="MessageReacted"):
        Handling(
            "operator",
            Handlers(
                ignores=tuple(m for t in topology.heard_by("operator") for m in t.says if m is not MessageReacted)
            ),
        )
