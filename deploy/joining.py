"""`chancela bus join` and `chancela bus leave`: a service that begins, or ceases, to hear a topic while others go on.

The map comes first: the release in which the service hears the topic is there, with its handler. Then, in this order,
so that no message falls between two of the steps, whatever is said meanwhile and wherever this is killed:

1. the hearer's lanes get the positions at which it begins: the next to be said, or with history the first that the
   producer's outbox still holds. A lane that it has already stays as it is;
2. its consumer is made, or made anew with the topic: one that only took the topic too would go on from where it stands,
   past what was said since the first step. A new one begins with the oldest message, and what was heard is swallowed;
3. with history, what the outbox holds is said again: a stream holds less. Who has heard it, swallows it.

Every step may be done again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from contracts import topology
from contracts.topology import Topic
from shared.bus.setup import Setup, SetupError

if TYPE_CHECKING:
    import asyncpg

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
    changed = await _made_with(setup, service, topic)
    again = await database.execute(_SAY_AGAIN.format(**names), topic.root) if with_history else "0"
    return Joined(_rows(tag), changed, _rows(again))


async def leave(setup: Setup, database: "asyncpg.Connection[Any]", service: str, topic: Topic) -> Left:
    """Its consumer lets go of the topic first, then its lanes go: joined again later, it begins anew.

    Raises:
        JoinError: by the map it still hears the topic, or NATS refuses.
    """
    if service in topic.heard_by:
        raise JoinError(f"by the map {service} hears {topic.root}: change contracts/topology.py first")
    consumer = f"consumer {topic.stream}/{service}"
    if any(service in other.heard_by for other in topology.TOPICS if other.stream == topic.stream):
        changed = await _applied(setup, consumer)
    else:
        changed = await _delete(setup, topic.stream, service)
    async with database.transaction():
        row = await database.fetchrow(_FORGET.format(hearer=service), topic.root)
    assert row is not None
    return Left(changed, row["lanes"], row["stored"])


async def _made_with(setup: Setup, service: str, topic: Topic) -> list[str]:
    """The consumer hears the topic; nothing is changed when it does already."""
    consumer = f"consumer {topic.stream}/{service}"
    if any(one.what == consumer and one.field.startswith("filter_subject") for one in await setup.drift()):
        return [*await _delete(setup, topic.stream, service), *await _applied(setup, consumer)]
    return await _applied(setup, consumer)


async def _applied(setup: Setup, consumer: str) -> list[str]:
    outcome = await setup.apply((f"{consumer} filter_subject*",))
    if left := [one for one in outcome.left if one.what == consumer]:
        raise JoinError(f"{left[0]}; nothing is lost: mend it and run this again")
    return [str(one) for one in outcome.repaired if one.what == consumer]


async def _delete(setup: Setup, stream: str, service: str) -> list[str]:
    answer: Mapping[str, Any] = await setup.request(f"$JS.API.CONSUMER.DELETE.{stream}.{service}", {})
    error = answer.get("error")
    if error is None:
        return [f"consumer {stream}/{service}: deleted"]
    if error.get("code") == 404:
        return []
    raise SetupError(f"consumer {stream}/{service} cannot be deleted: {error.get('description')}")


def _rows(tag: str) -> int:
    return int(tag.rsplit(" ", 1)[-1])
