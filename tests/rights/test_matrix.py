"""Identity × subject, cell by cell, by effect: a publish is answered or refused, a subscription delivers or is refused.

What is expected follows from the map alone; the generated configuration is never read.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Literal
from uuid import uuid4

from contracts import topology
from contracts.topology import STREAMS, TOPICS
from deploy.keys import read_key
from deploy.local.bus import wanted_streams
from shared.bus.setup import Drift, Setup
from tests.rights.wire import Wire
from tests.rights.world import ACK_WAIT_SECONDS, CONSUMERS, IDENTITIES, World, hearer_of

Outcome = Literal["answered", "refused", "silence"]

READS = ("STREAM.INFO.{s}", "STREAM.NAMES", "CONSUMER.NAMES.{s}", "CONSUMER.INFO.{s}.{d}")
"""Admin and auditor."""
MAKES = ("STREAM.CREATE.{s}", "STREAM.UPDATE.{s}", "CONSUMER.DURABLE.CREATE.{s}.{d}", "CONSUMER.DELETE.{s}.{d}")
"""Admin only."""
READS_BACK = "STREAM.MSG.GET.{s}"
"""A service, of what it said itself; delivery, of what it was told to send."""
READERS = {
    **{topic.stream: {topic.said_by} for topic in TOPICS},
    "SEND": {"guardrails", "delivery"},
}
NOBODY = (
    "INFO",
    "STREAM.LIST",
    "STREAM.DELETE.{s}",
    "STREAM.PURGE.{s}",
    "STREAM.MSG.DELETE.{s}",
    "STREAM.SNAPSHOT.{s}",
    "STREAM.RESTORE.{s}",
    "STREAM.LEADER.STEPDOWN.{s}",
    "STREAM.PEER.REMOVE.{s}",
    "DIRECT.GET.{s}",
    "DIRECT.GET.{s}.send.cmd.0.x",
    "CONSUMER.LIST.{s}",
    "CONSUMER.CREATE.{s}",
    "CONSUMER.CREATE.{s}.{d}",
    "CONSUMER.CREATE.{s}.{d}.send.cmd.0.x",
    "CONSUMER.PAUSE.{s}.{d}",
    "CONSUMER.UNPIN.{s}.{d}",
    "CONSUMER.LEADER.STEPDOWN.{s}.{d}",
    "META.LEADER.STEPDOWN",
    "SERVER.REMOVE",
    "ACCOUNT.PURGE.BUS",
)
SYSTEM = ("$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.BUS.JSZ", "$SYS.REQ.USER.INFO", "$SYS.ACCOUNT.BUS.CONNECT")
BODY = b'{"no_wait":true}'
"""Harmless for whoever may: a pull that does not wait, and no valid body of any change."""


# ------------------------------------------------------------------------------------------------ expected, by the map


def may_publish(identity: str, subject: str) -> bool:
    if (topic := topology.topic_of_subject(subject)) is not None:
        return topic.said_by == identity
    if subject in consumer_subjects(identity):
        return True
    if subject.startswith("$JS.API.STREAM.MSG.GET."):
        return identity in READERS[subject.rsplit(".", 1)[-1]]
    questions = {"auditor": READS, "admin": (*READS, *MAKES)}.get(identity, ())
    return subject in {one for question in questions for one in api_subjects(question)}


def consumer_subjects(identity: str) -> set[str]:
    return {
        subject for stream, name in CONSUMERS if hearer_of(name) == identity for subject in of_consumer(stream, name)
    }


def of_consumer(stream: str, durable: str) -> tuple[str, ...]:
    return (
        f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}",
        f"$JS.ACK.{stream}.{durable}.1.1.1.1.0",
        f"$JS.ACK._.hash.{stream}.{durable}.1.1.1.1.0",
        f"$JS.API.CONSUMER.INFO.{stream}.{durable}",
    )


def api_subjects(question: str) -> Iterator[str]:
    for stream, durable in CONSUMERS:
        yield "$JS.API." + question.format(s=stream, d=durable)


def may_subscribe(identity: str, subject: str) -> bool:
    return subject == f"_INBOX_{identity}.>" or (identity == "auditor" and subject == "$JS.EVENT.ADVISORY.>")


# ------------------------------------------------------------------------------------------------------ what is tried


def asked_cells() -> list[str]:
    consumers = [subject for pair in CONSUMERS for subject in of_consumer(*pair)]
    questions = [subject for one in (*READS, *MAKES, READS_BACK, *NOBODY) for subject in api_subjects(one)]
    return list(dict.fromkeys([*consumers, *questions, *SYSTEM]))


def said_cells() -> list[str]:
    return [topology.subject(topic, uuid4()) for topic in TOPICS]


def subscribed_cells() -> list[str]:
    data = [f"{topic.root}.>" for topic in TOPICS]
    broad = [">", "*.>", "*.*.*.*", "send.>", "$JS.>", "$JS.ACK.>", "$JS.API.>", "$JS.EVENT.ADVISORY.>", "$SYS.>"]
    return [*data, *broad, "_INBOX.>", "_R_.>", "$JSC.>", "$NRG.>", *(f"_INBOX_{one}.>" for one in IDENTITIES)]


REFUSED = re.compile(r'Permissions Violation for (Publish|Subscription) to "([^"]+)"')


def refused(wire: Wire, what: str) -> set[str]:
    found = (REFUSED.match(error) for error in wire.errors)
    return {match[2] for match in found if match and match[1] == what}


async def try_publishing(wire: Wire, subjects: list[str]) -> dict[str, Outcome]:
    """Outcome of each subject; the server tells refusals before it answers the flush, answers may come later."""
    replies = {f"_INBOX_{wire.identity}.{uuid4()}": subject for subject in subjects}
    for reply, subject in replies.items():
        wire.publish(subject, BODY, reply=reply)
    await wire.flush()
    denied = refused(wire, "Publish") & set(subjects)
    await wire.listen_until(lambda: len(answered(wire, replies)) + len(denied) >= len(subjects))
    heard = answered(wire, replies)
    return {one: "refused" if one in denied else "answered" if one in heard else "silence" for one in subjects}


def answered(wire: Wire, replies: Mapping[str, str]) -> set[str]:
    return {replies[one.subject] for one in wire.deliveries if one.subject in replies}


async def test_every_cell_is_as_the_map_says(world: World) -> None:
    subscriptions = subscribed_cells()
    for wire in world.wires.values():
        for subject in subscriptions:
            wire.subscribe(subject)
        await wire.flush()
    asked, said = asked_cells(), {identity: said_cells() for identity in IDENTITIES}
    for wire in world.wires.values():  # while the streams are empty: a pull's answer then names its inbox
        assert await unexpected(wire, asked) == {}
    for identity, wire in world.wires.items():
        assert await unexpected(wire, said[identity]) == {}
    stored = {one for identity, subjects in said.items() for one in subjects if may_publish(identity, one)}
    assert await subjects_in_streams(world) == stored
    for identity, wire in world.wires.items():
        await wire.flush()
        allowed = {one for one in subscriptions if may_subscribe(identity, one)}
        assert refused(wire, "Subscription") == set(subscriptions) - allowed, identity
        assert {one.subscription for one in wire.deliveries if ".ask" not in one.subscription} == allowed, identity
    assert len(IDENTITIES) * (len(asked) + len(TOPICS) + len(subscriptions)) > 3000
    assert await drift(world) == []


async def unexpected(wire: Wire, subjects: list[str]) -> dict[str, Outcome]:
    outcomes = await try_publishing(wire, subjects)
    expected = {one: "answered" if may_publish(wire.identity, one) else "refused" for one in subjects}
    return {f"{wire.identity}: {one}": outcome for one, outcome in outcomes.items() if outcome != expected[one]}


async def subjects_in_streams(world: World) -> set[str]:
    found: set[str] = set()
    for stream in STREAMS:
        answer = await world.wires["auditor"].ask(f"$JS.API.STREAM.INFO.{stream}", b'{"subjects_filter":">"}')
        found |= set(json.loads(answer.payload)["state"].get("subjects", {}))
    return found


async def drift(world: World) -> list[Drift]:
    """What an allowed but invalid request might have changed."""
    seed = read_key(world.keys, "admin.nk")
    setup = await Setup.open(world.server.url, seed, wanted_streams(), ack_wait_seconds=ACK_WAIT_SECONDS)
    try:
        return await setup.drift()
    finally:
        await setup.close()
