"""`chancela bus join` and `chancela bus leave`: a service that begins, or ceases, to hear a topic while others go on.

The map comes first: the release in which the service hears the topic is there, with its handler. Then, in this order,
so that no message falls between two of the steps, whatever is said meanwhile and wherever this is killed:

1. the hearer's lanes get the positions at which it begins: the next to be said, or with history the first that the
   producer's outbox still holds. A lane that it has already stays as it is;
2. its consumer is made. It begins with the oldest message of the stream, and swallows what is before a lane's position;
3. with history, what the outbox holds is said again: a stream holds less. Who has heard it, swallows it.

Every step may be done again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from contracts.topology import Consumer, Topic
from shared.bus.setup import Setup, SetupError

if TYPE_CHECKING:
    import asyncpg

NOT_FOUND = 404
_POSITIONS = """
with position as (
  select concat_ws(':', topic, generation, key) as lane, next_seq as seq from {producer}.lane_out where topic = $1
  union all
  select lane, min(lane_seq) from {producer}.outbox where $2 and split_part(lane, ':', 1) = $1 group by lane)
insert into {hearer}.lane_in (lane, next_seq) select lane, min(seq) from position group by lane
on conflict (lane) do nothing
"""
_SAY_AGAIN = """
insert into {producer}.outbox_again (writer, batch, item)
select o.writer, o.batch, o.item from {producer}.outbox o join {hearer}.lane_in i using (lane)
where split_part(o.lane, ':', 1) = $1 and o.lane_seq >= i.next_seq
on conflict do nothing
"""
_FORGET = """
with stored as (delete from {hearer}.inbox where split_part(lane, ':', 1) = $1 returning 1),
  lanes as (delete from {hearer}.lane_in where split_part(lane, ':', 1) = $1 returning 1)
select (select count(*) from lanes) as lanes, (select count(*) from stored) as stored
"""


class JoinError(Exception):
    """It cannot be joined or left; the message says what to do first."""


class Joined(msgspec.Struct, frozen=True):
    """What `join` did."""

    lanes: int
    """Lanes that got a position."""
    consumer: list[str]
    """What was changed in NATS."""
    said_again: int


class Left(msgspec.Struct, frozen=True):
    """What `leave` did."""

    consumer: list[str]
    lanes: int
    not_run: int
    """Messages that waited in the inbox; they went with their lanes."""


async def join(
    setup: Setup, database: "asyncpg.Connection[Any]", service: str, topic: Topic, *, with_history: bool
) -> Joined:
    """See the module.

    Args:
        setup: NATS, as the admin.
        database: of the six services, as a superuser: positions cross from one schema to another.
        service: who begins to hear.
        topic: what, by this release's map.
        with_history: begin with the oldest message that the outbox holds, 30 days; else with what is said from now on.

    Raises:
        JoinError: the map does not say so, or NATS refuses.
    """
    if service not in topic.heard_by:
        raise JoinError(f"by the map {service} does not hear {topic.root}: change contracts/topology.py first")
    names = {"producer": topic.said_by, "hearer": service}
    tag = await database.execute(_POSITIONS.format(**names), topic.root, with_history)
    changed = await made(setup, Consumer(service, topic))
    again = await database.execute(_SAY_AGAIN.format(**names), topic.root) if with_history else "0"
    return Joined(_rows(tag), changed, _rows(again))


async def leave(setup: Setup, database: "asyncpg.Connection[Any]", service: str, topic: Topic) -> Left:
    """Its consumer goes first, then its lanes: joined again later, it begins anew.

    Raises:
        JoinError: by the map it still hears the topic, or NATS refuses.
    """
    if service in topic.heard_by:
        raise JoinError(f"by the map {service} hears {topic.root}: change contracts/topology.py first")
    changed = await deleted(setup, Consumer(service, topic))
    async with database.transaction():
        row = await database.fetchrow(_FORGET.format(hearer=service), topic.root)
    assert row is not None
    return Left(changed, row["lanes"], row["stored"])


async def made(setup: Setup, one: Consumer) -> list[str]:
    """Make a consumer as the map says; returns what was changed.

    Raises:
        JoinError: the server refuses.
    """
    name = f"consumer {one.stream}/{one.durable}"
    outcome = await setup.apply()
    if left := [drift for drift in outcome.left if drift.what == name]:
        raise JoinError(f"{left[0]}; nothing is lost: mend it and run this again")
    return [str(drift) for drift in outcome.repaired if drift.what == name]


async def deleted(setup: Setup, one: Consumer) -> list[str]:
    """Delete a consumer, if it is there; returns what was changed.

    Raises:
        SetupError: the server refuses.
    """
    name = f"consumer {one.stream}/{one.durable}"
    answer: Mapping[str, Any] = await setup.request(f"$JS.API.CONSUMER.DELETE.{one.stream}.{one.durable}", {})
    error = answer.get("error")
    if error is None:
        return [f"{name}: deleted"]
    if error.get("code") == NOT_FOUND:  # a second run
        return []
    raise SetupError(f"{name} cannot be deleted: {error.get('description')}")


def _rows(tag: str) -> int:
    return int(tag.rsplit(" ", 1)[-1])
