"""What a service taken over by somebody else would try with its own credentials, as raw protocol.

Every attack aims at something foreign: a subject, a consumer, an inbox, the server's own API. What the service may do
to its own streams and consumers is not an attack.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import uuid4

from contracts import topology
from contracts.topology import SERVICES, STREAMS, TOPICS
from tests.rights.wire import publish_line
from tests.rights.world import CONSUMERS, TRAP, hearer_of, owners_of

LOOT = b"bytes of the attacker"
ACKS = (b"+ACK", b"-NAK", b"+TERM", b"+WPI", b"+NXT", b'+NXT {"batch":5}')
PULLS = (b"", b'{"batch":2,"no_wait":true}', b'{"batch":2,"expires":50000000}')
Held = Mapping[tuple[str, str], Sequence[str]]


@dataclass(frozen=True)
class Attack:
    """Bytes to send; `breaks_connection` ones need a connection of their own."""

    name: str
    raw: bytes
    breaks_connection: bool = False


@dataclass(frozen=True)
class Attacker:
    """A service, what it owns and what is foreign to it. `held`: acknowledgement subjects, known to the worst case."""

    service: str
    held: Held
    marker_ids: Sequence[str]
    """Message ids that other services are about to use."""

    def own_subjects(self) -> list[str]:
        return [topology.subject(topic, uuid4()) for topic in topology.said_by(self.service)]

    def foreign_subjects(self) -> list[str]:
        return [topology.subject(topic, uuid4()) for topic in TOPICS if topic.said_by != self.service]

    def foreign_streams(self) -> list[str]:
        return [stream for stream in STREAMS if self.service not in owners_of(stream)]

    def own_consumers(self) -> list[tuple[str, str]]:
        return [pair for pair in CONSUMERS if hearer_of(pair[1]) == self.service]

    def foreign_consumers(self) -> list[tuple[str, str]]:
        return [pair for pair in CONSUMERS if hearer_of(pair[1]) != self.service]

    @property
    def inbox(self) -> str:
        return f"_INBOX_{self.service}.{TRAP}"

    def targets(self) -> list[str]:
        """Where the answer to something allowed must never arrive."""
        inboxes = [f"_INBOX_{one}.{TRAP}" for one in (*SERVICES, "admin", "auditor") if one != self.service]
        acks = [self.held[pair][0] for pair in self.foreign_consumers()]
        pulls = [f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{durable}" for stream, durable in self.foreign_consumers()]
        purges = [f"$JS.API.STREAM.PURGE.{stream}" for stream in self.foreign_streams()]
        return [*self.foreign_subjects(), *inboxes, *acks, *pulls, *purges]


def all_attacks(me: Attacker) -> list[Attack]:
    kinds = (direct, server_api, reply_tricks, foreign_acks, look_alike_acks, header_tricks, eavesdropping, malformed)
    return [attack for kind in kinds for attack in kind(me)]


def direct(me: Attacker) -> Iterator[Attack]:
    for subject in me.foreign_subjects():
        yield Attack(f"publish to {subject}", publish_line(subject, LOOT, reply=me.inbox))
        yield Attack(f"with headers to {subject}", publish_line(subject, LOOT, headers=("Lane: x", "Lane-Seq: 0")))
    for subject in (
        "_INBOX_guardrails.attack",
        "$SYS.REQ.SERVER.PING",
        "$JS.EVENT.ADVISORY.API",
        "$SYS.SERVER.x.LAMEDUCK",
    ):
        if not subject.startswith(f"_INBOX_{me.service}."):
            yield Attack(f"publish to {subject}", publish_line(subject, LOOT, reply=me.inbox))


def server_api(me: Attacker) -> Iterator[Attack]:
    """Under the usual name, and under the name that questions bear inside an account."""
    for prefix in ("$JS.API.", "$JS.BUS.API.", "$JS.BUS.API.$JS.API."):
        for verb, body in _requests(me):
            yield Attack(f"{prefix}{verb}", publish_line(prefix + verb, json.dumps(body).encode(), reply=me.inbox))
            yield Attack(f"{prefix}{verb}, empty", publish_line(prefix + verb, reply=me.inbox))


def _requests(me: Attacker) -> Iterator[tuple[str, object]]:
    victim = topology.subject(topology.BY_ROOT["send.cmd"], uuid4())
    evil = {"name": "EVIL", "subjects": ["evil.>"], "storage": "memory", "retention": "limits"}
    yield "STREAM.CREATE.EVIL", {**evil, "republish": {"src": ">", "dest": victim}}
    yield "STREAM.CREATE.EVIL", {**evil, "subjects": [], "sources": [{"name": stream} for stream in STREAMS]}
    yield "CONSUMER.PAUSE.SEND.delivery", {"pause_until": "2100-01-01T00:00:00Z"}
    for stream in me.foreign_streams():
        yield f"STREAM.UPDATE.{stream}", {"name": stream, "subjects": ["nothing.here"], "storage": "file"}
        for verb in ("DELETE", "PURGE", "INFO", "SNAPSHOT", "LEADER.STEPDOWN"):
            yield f"STREAM.{verb}.{stream}", {}
        yield f"STREAM.MSG.DELETE.{stream}", {"seq": 1}
        if (me.service, stream) != ("delivery", "SEND"):  # all of it is said to delivery
            yield f"STREAM.MSG.GET.{stream}", {"seq": 1}
            yield f"STREAM.MSG.GET.{stream}", {"last_by_subj": ">"}
        yield f"DIRECT.GET.{stream}", {"seq": 1}
        yield from _new_consumers(stream, (victim, me.inbox))
    for stream, durable in me.foreign_consumers():
        for verb in ("DELETE", "INFO", "UNPIN", "LEADER.STEPDOWN"):
            yield f"CONSUMER.{verb}.{stream}.{durable}", {}
        yield f"CONSUMER.MSG.NEXT.{stream}.{durable}", {"batch": 5, "no_wait": True}


def _new_consumers(stream: str, destinations: Sequence[str]) -> Iterator[tuple[str, object]]:
    for destination in destinations:
        config = {"deliver_subject": destination, "ack_policy": "none", "durable_name": "evil", "deliver_policy": "all"}
        body = {"stream_name": stream, "config": config}
        for verb in (
            f"CREATE.{stream}",
            f"CREATE.{stream}.evil",
            f"CREATE.{stream}.evil.>",
            f"DURABLE.CREATE.{stream}.evil",
        ):
            yield f"CONSUMER.{verb}", body


def reply_tricks(me: Attacker) -> Iterator[Attack]:
    """Something allowed, whose answer the server would deliver somewhere forbidden."""
    for target in me.targets():
        for subject, payload in _answered(me):
            yield Attack(f"{subject} {payload!r} answers to {target}", publish_line(subject, payload, reply=target))


def _answered(me: Attacker) -> Iterator[tuple[str, bytes]]:
    yield me.own_subjects()[0], LOOT
    for stream in STREAMS:
        if topology.may_read_back(me.service, stream):
            yield f"$JS.API.STREAM.MSG.GET.{stream}", b'{"seq":1}'
    for stream, durable in me.own_consumers():
        pair = f"{stream}.{durable}"
        yield from ((f"$JS.API.CONSUMER.MSG.NEXT.{pair}", pull) for pull in PULLS)
        yield f"$JS.API.CONSUMER.INFO.{pair}", b""
        own = me.held[stream, durable][0]
        yield from ((own, ack) for ack in ACKS)
        yield from ((f"$JS.ACK._.x.{pair}.1.1.1.1.0", ack) for ack in ACKS)


def question_tricks(me: Attacker) -> Iterator[Attack]:
    """What the auditor and the admin may ask, answered where they may not write."""
    for target in (*me.targets(), *(f"$JS.API.STREAM.DELETE.{stream}" for stream in STREAMS)):
        for stream, durable in me.foreign_consumers():
            pair = f"{stream}.{durable}"
            for verb in (f"STREAM.INFO.{stream}", "STREAM.NAMES", f"CONSUMER.NAMES.{stream}", f"CONSUMER.INFO.{pair}"):
                for prefix in ("$JS.API.", "$JS.BUS.API."):
                    yield Attack(f"{verb} answers to {target}", publish_line(prefix + verb, reply=target))


def foreign_acks(me: Attacker) -> Iterator[Attack]:
    for pair in me.foreign_consumers():
        made_up = [f"$JS.ACK.{'.'.join(pair)}.1.1.1.1.0", f"$JS.ACK._.x.{'.'.join(pair)}.1.1.1.1.0"]
        for subject in (*me.held[pair], *made_up):
            for ack in ACKS:
                yield Attack(f"{ack!r} on {subject}", publish_line(subject, ack, reply=me.inbox))


def look_alike_acks(me: Attacker) -> Iterator[Attack]:
    """Own names where the other form of acknowledgement has free tokens: `$JS.ACK.<victim>.<own>` and the reverse."""
    for stream, durable in me.own_consumers():
        for victim in me.foreign_consumers():
            theirs, ours = ".".join(victim), f"{stream}.{durable}"
            numbers = ".".join(me.held[victim][0].split(".")[-5:])
            for subject in (
                f"$JS.ACK.{theirs}.{ours}.1.1.1",
                f"$JS.ACK.{theirs}.{ours}.{numbers}",
                f"$JS.ACK.{ours}.{theirs}.{numbers}",
                f"$JS.ACK.{ours}.{theirs}.1.1.1",
            ):
                for ack in ACKS:
                    yield Attack(f"{ack!r} on {subject}", publish_line(subject, ack, reply=me.inbox))


def header_tricks(me: Attacker) -> Iterator[Attack]:
    for own in me.own_subjects():
        for victim in me.foreign_subjects():
            for headers in _aimed_headers(victim):
                yield Attack(f"{headers} on {own}", publish_line(own, LOOT, headers=headers))
        for number, headers in enumerate(_header_sets(me)):
            yield Attack(f"{headers} on {own}", publish_line(own, LOOT + str(number).encode(), headers=headers))
    forged = ('Nats-Request-Info: {"acc":"BUS","svc":"BUS","kind":"Client"}',)
    for stream in me.foreign_streams():
        for verb in ("PURGE", "DELETE"):
            yield Attack(
                f"forged {verb}", publish_line(f"$JS.API.STREAM.{verb}.{stream}", headers=forged, reply=me.inbox)
            )


def _aimed_headers(victim: str) -> Iterator[tuple[str, ...]]:
    yield ("Nats-Schedule: @at 2020-01-01T00:00:00Z", f"Nats-Schedule-Target: {victim}")
    yield ("Nats-Schedule: @every 1s", f"Nats-Schedule-Target: {victim}", "Nats-Schedule-TTL: 5m")
    yield (f"Nats-Trace-Dest: {victim}",)
    yield (f"Nats-Trace-Dest: {victim}", "Nats-Trace-Only: true")
    yield (f"Nats-Expected-Last-Subject-Sequence-Subject: {victim}", "Nats-Expected-Last-Subject-Sequence: 0")


def _header_sets(me: Attacker) -> Iterator[tuple[str, ...]]:
    yield ("Nats-Rollup: all",)
    yield ("Nats-Rollup: sub",)
    yield ("Nats-TTL: 1s",)
    yield ("Nats-Marker-Reason: Purge", "Nats-Incr: +1")
    yield ("Nats-Batch-Id: b", "Nats-Batch-Sequence: 1", "Nats-Batch-Commit: 1")
    for stream in me.foreign_streams():
        yield (f"Nats-Expected-Stream: {stream}", "Nats-Expected-Last-Sequence: 0", "Nats-Expected-Last-Msg-Id: x")
    yield from ((f"Nats-Msg-Id: {one}",) for one in me.marker_ids)


def eavesdropping(me: Attacker) -> Iterator[Attack]:
    foreign = [f"{topic.root}.>" for topic in TOPICS if topic.said_by != me.service]
    inboxes = [f"_INBOX_{one}.>" for one in (*SERVICES, "admin", "auditor") if one != me.service]
    broad = (
        ">",
        "*",
        "*.>",
        "*.*.*.*",
        "send.>",
        "send.*.*.*",
        "$JS.>",
        "$JS.ACK.>",
        "$JS.API.>",
        "$SYS.>",
        "_INBOX.>",
    )
    for number, subject in enumerate((*foreign, *inboxes, *broad, "$JS.EVENT.>", "_R_.>", "*.*.*.*.*", "$JS.BUS.>")):
        yield Attack(f"subscribe {subject}", f"SUB {subject} stolen{number}\r\n".encode())
        yield Attack(f"subscribe {subject} as a queue", f"SUB {subject} delivery queue{number}\r\n".encode())


def malformed(me: Attacker) -> Iterator[Attack]:
    own = me.own_subjects()[0]
    for victim in me.foreign_subjects():
        inner = f"PUB {victim} {len(LOOT)}\r\n".encode() + LOOT + b"\r\n"
        block = b"NATS/1.0\r\nX: y\r\n\r\n" + inner
        for name, raw in {
            "line break in a subject": f"PUB {own}\r\n{victim} 1\r\nx\r\n".encode(),
            "three subjects": f"PUB {own} {victim} {victim} 1\r\nx\r\n".encode(),
            "tab in a subject": f"PUB {own}\t{victim} 1\r\nx\r\n".encode(),
            "NUL in a subject": f"PUB {own}\x00{victim} 1\r\nx\r\n".encode(),
            "another subject after a space": f"PUB  {victim}  1\r\nx\r\n".encode(),
            "payload longer than told": f"PUB {own} 1\r\nx".encode() + inner,
            "payload of a negative length": f"PUB {own} -1\r\n".encode() + inner,
            "payload that is a command": f"PUB {own} {len(inner)}\r\n".encode() + inner + b"\r\n",
            "header that is a command": f"HPUB {own} {len(block)} {len(block)}\r\n".encode() + block + b"\r\n",
            "header longer than all": f"HPUB {own} {len(block) + 9} {len(block)}\r\n".encode() + block + b"\r\n",
            "header of no length": f"HPUB {own} 0 {len(inner)}\r\n".encode() + inner + b"\r\n",
            "routed publish": f"RMSG BUS {victim} 1\r\nx\r\n".encode(),
            "leaf publish": f"LMSG {victim} 1\r\nx\r\n".encode(),
            "a second sign-in": b'CONNECT {"account":"BUS","user":"admin"}\r\n' + inner,
            "new account": b'CONNECT {"account":"BUS","new_account":true}\r\n' + inner,
        }.items():
            yield Attack(f"{name}: {victim}", raw, breaks_connection=True)
        for wild in (victim.rsplit(".", 1)[0] + ".*", victim.split(".")[0] + ".>", victim.split(".")[0] + ".*.*.*"):
            yield Attack(f"publish to {wild}", publish_line(wild, LOOT))
    yield Attack("oversized", publish_line(own, b"x" * 300_000), breaks_connection=True)
    yield Attack("oversized line", b"PUB " + b"a" * 10_000 + b" 1\r\nx\r\n", breaks_connection=True)
