"""What the inbox does with deliveries that no honest producer sends, and with handlers that break."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any
from uuid import UUID, uuid4

import pytest

from contracts import topology
from contracts.messages import ContactSeen, Message, Redacted
from shared.bus import Effects, Heard, Quick, Reject, no_facts
from shared.bus.handling import Handling
from shared.bus.inbox import Delivered, Inbox
from shared.bus.outbox import Outbox
from shared.db import Database, Write
from tests.shared.world import TENANT, hearing, one_value, parked_lanes, quarantined, said, values, write_effect

CONTACTS = topology.BY_MESSAGE[ContactSeen]


def inbox(db: Database, decide: Callable[[Heard[Any], Any], Effects] = write_effect) -> Inbox:
    handling = Handling("operator", hearing("operator", Quick(ContactSeen, no_facts, decide)))
    return Inbox(db, handling, Outbox(db), b"d", 3)


def delivered(
    message: Message,
    seq: int | str,
    *,
    id: UUID | None = None,
    again: bool = False,
    headers: Mapping[str, str] = MappingProxyType({}),
) -> Delivered:
    key = message.contact_id if isinstance(message, ContactSeen) else UUID(int=1)
    named = {
        "Lane": topology.lane(CONTACTS, key),
        "Lane-Seq": str(seq),
        "Nats-Msg-Id": str(id or uuid4()),
        "Tenant": str(TENANT),
        **headers,
    }
    return Delivered(topology.subject(CONTACTS, key), named, topology.encode(message), 1, again)


@pytest.mark.parametrize(
    "write",
    [
        Write("insert into effect (lane, value) values ($1, $2)", ("lane", 7)),
        Write("insert into effect (lane, value) values ($1, $2)", ("lane",)),
        Write("insert into effect (lane, value) values ($1, $2)", ("lane", "\0")),
        Write("insert into no_such_table values ($1)", (1,)),
    ],
    ids=["a wrong type", "too few arguments", "a text that cannot be stored", "no such table"],
)
async def test_a_statement_that_can_never_run_costs_only_its_own_lane(operator_db: Database, write: Write) -> None:
    def decide(heard: Heard[Any], facts: None) -> Effects:
        return Effects(writes=[write]) if heard.message.name == "bad" else write_effect(heard, facts)

    good, bad = uuid4(), uuid4()
    lanes = await inbox(operator_db, decide).take([delivered(said(bad, "bad"), 0), delivered(said(good, "a"), 0)])
    for lane in lanes:
        await inbox(operator_db, decide).drain(lane)
    assert await values(operator_db) == ["a"]


@pytest.mark.parametrize(
    "headers",
    [
        {"Lane-Seq": str(2**63)},
        {"Lane-Seq": "-1"},
        {"Lane-Seq": "first"},
        {"Lane": topology.lane(CONTACTS, UUID(int=5))},
        {"Lane": f"{CONTACTS.root}:\0:{UUID(int=4)}"},
        {"Lane": "contacts"},
        {"Nats-Msg-Id": "\0"},
    ],
)
async def test_a_position_that_cannot_be_is_quarantined_and_the_rest_goes_on(
    operator_db: Database, headers: dict[str, str]
) -> None:
    good = uuid4()
    await inbox(operator_db).take(
        [delivered(said(UUID(int=4), "bad"), 0, headers=headers), delivered(said(good, "a"), 0)]
    )
    assert await values(operator_db) == ["a"]
    assert await quarantined(operator_db) == 1


async def test_a_header_that_postgres_cannot_keep_holds_up_nothing(operator_db: Database) -> None:
    lane = uuid4()
    waits = delivered(said(lane, "b"), 1, headers={"traceparent": "\0\ud800"})
    await inbox(operator_db).take([waits])
    lanes = await inbox(operator_db).take([delivered(said(lane, "a"), 0)])
    for name in lanes:
        await inbox(operator_db).drain(name)
    assert await values(operator_db) == ["a", "b"]


@pytest.mark.parametrize("position", [0, 5])
async def test_two_claims_of_a_position_in_one_batch_are_seen(operator_db: Database, position: int) -> None:
    lane = uuid4()
    await inbox(operator_db).take([delivered(said(lane, "true"), position), delivered(said(lane, "other"), position)])
    assert await quarantined(operator_db) == 1
    assert (
        await one_value(
            operator_db, "select (select count(*) from inbox) + (select count(*) from heard where entries <> '')"
        )
        == 1
    )


async def test_a_message_twice_in_a_batch_is_no_conflict(operator_db: Database) -> None:
    lane, id = uuid4(), uuid4()
    one = said(lane, "a")
    await inbox(operator_db).take([delivered(one, 0, id=id), delivered(one, 0, id=id, again=True)])
    assert await values(operator_db) == ["a"]
    assert await quarantined(operator_db) == 0


async def test_a_message_sent_again_after_its_erasure_is_no_conflict(operator_db: Database) -> None:
    lane, id = uuid4(), uuid4()
    first = delivered(said(lane, "a"), 0, id=id)
    await inbox(operator_db).take([first])
    await inbox(operator_db).take([first._replace(payload=topology.encode(Redacted(tenant=TENANT, cause="erasure")))])
    assert await quarantined(operator_db) == 0


async def test_a_redelivery_runs_its_handler_once(operator_db: Database) -> None:
    lane = uuid4()
    one = delivered(said(lane, "a"), 0, again=True)
    for _ in range(2):
        lanes = await inbox(operator_db).take([one])
        for name in lanes:
            await inbox(operator_db).drain(name)
    assert await values(operator_db) == ["a"]


async def test_a_rejection_parks_its_lane_whatever_its_words(operator_db: Database) -> None:
    def reject(heard: Heard[Any], facts: None) -> Effects:
        del heard, facts
        raise Reject("unknown name \0\ud800")

    lanes = await inbox(operator_db, reject).take([delivered(said(uuid4(), "a"), 0)])
    await inbox(operator_db, reject).drain(lanes[0])
    assert await parked_lanes(operator_db) == 1


async def test_a_parked_lane_keeps_what_arrives_and_runs_none_of_it(operator_db: Database) -> None:
    lane = uuid4()
    await inbox(operator_db).take([delivered(said(lane, "a"), 1)])
    async with operator_db.autocommit() as tx:
        await tx.execute("update lane_in set parked_at = now()")
    lanes = await inbox(operator_db).take([delivered(said(lane, "first"), 0)])
    for name in lanes:
        await inbox(operator_db).drain(name)
    assert await values(operator_db) == []
    assert await one_value(operator_db, "select count(*) from inbox") == 2


async def test_a_lane_that_has_caught_up_does_not_count_as_waiting_since_then(operator_db: Database) -> None:
    lane = uuid4()
    lanes = await inbox(operator_db).take([delivered(said(lane, "a"), 0, again=True)])
    await inbox(operator_db).drain(lanes[0])
    assert await one_value(operator_db, "select waiting_since from lane_in") is None


async def test_a_long_lane_is_drained_in_turns(operator_db: Database) -> None:
    lane = uuid4()
    await inbox(operator_db).take([delivered(said(lane, str(seq)), seq) for seq in range(1, 151)])
    lanes = await inbox(operator_db).take([delivered(said(lane, "0"), 0)])
    await inbox(operator_db).drain(lanes[0])
    assert 0 < len(await values(operator_db)) < 151
    await inbox(operator_db).drain(lanes[0])
    assert await values(operator_db) == [str(number) for number in range(151)]


async def test_a_handler_is_tried_so_often_and_then_its_lane_is_parked(operator_db: Database) -> None:
    def fail(heard: Heard[Any], facts: None) -> Effects:
        del heard, facts
        raise ZeroDivisionError

    lanes = await inbox(operator_db, fail).take([delivered(said(uuid4(), "a"), 0)])
    for _ in range(3):
        assert await parked_lanes(operator_db) == 0
        await inbox(operator_db, fail).drain(lanes[0])
        async with operator_db.autocommit() as tx:
            await tx.execute("update inbox set not_before = now()")
    assert await parked_lanes(operator_db) == 1
