"""Judges one attacker's turn by sets: attack, let everybody do one rightful thing, compare all that is foreign.

The rightful things are barriers too: the server takes the messages of a stream, and the acknowledgements and pulls of a
consumer, each in order; what an attack put there before is visible once they are answered.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from contracts import topology
from contracts.topology import SERVICES, TOPICS, Topic
from tests.rights.attacks import Attack, Attacker
from tests.rights.wire import Wire
from tests.rights.world import MARKER_KEY, TRAP, State, World, hearer_of, secret_of

GROWS = ("messages", "last_seq", "bytes")
Attacks = Callable[[Attacker], Iterable[Attack]]


class Turn:
    """`damage` is what the attacks changed or stole, a line each; empty when they did nothing."""

    def __init__(self, world: World, identity: str) -> None:
        self._world = world
        foreign = [_marker_id("later", topic) for topic in TOPICS if topic.said_by != identity]
        self._me = Attacker(identity, world.held, foreign)
        self._thieves: list[Wire] = []
        self.tried = 0

    async def damage(self, attacks: Attacks) -> list[str]:
        await self._world.fill()
        empty = await self._world.state()
        await self._say_markers("first")
        before = await self._world.state()
        try:
            await self._attack(list(attacks(self._me)))
            await self._world.state()  # the server answers questions in order too: those of the attack come first
            await self._say_markers("later")
            starved = [line for pair in self._me.foreign_consumers() for line in await self._touch(*pair)]
            stolen = [*starved, *await self._stolen(), *await self._trapped()]
        finally:
            for thief in self._thieves:
                await thief.close()
        return [*stolen, *_changes(self._me, empty, before, await self._world.state())]

    async def _attack(self, attacks: list[Attack]) -> None:
        self.tried += len(attacks)
        thief = await self._new_thief()
        for attack in attacks:
            if attack.breaks_connection:
                other = await self._new_thief()
                other.send(attack.raw)
                await other.flush()
            else:
                thief.send(attack.raw)
        await thief.flush()
        assert not thief.is_closed, "the attacks that follow one which broke the connection were never tried"

    async def _new_thief(self) -> Wire:
        thief = await self._world.connect(self._me.service)
        thief.subscribe(f"_INBOX_{self._me.service}.>")
        self._thieves.append(thief)
        return thief

    async def _say_markers(self, name: str) -> None:
        for topic in TOPICS:
            await self._world.say(topic, MARKER_KEY, _marker_id(name, topic))

    async def _touch(self, stream: str, durable: str) -> list[str]:
        """The rightful consumer prolongs a lease and takes one message."""
        await self._world.wires[hearer_of(durable)].ask(self._world.held[stream, durable][0], b"+WPI")
        message = await self._world.pull(stream, durable)
        return [] if message.reply else [f"consumer {stream}/{durable} had nothing left: {message.headers}"]

    async def _stolen(self) -> list[str]:
        known = {topic.root for topic in (*topology.said_by(self._me.service), *topology.heard_by(self._me.service))}
        secrets = [secret_of(topic) for topic in TOPICS if topic.root not in known]
        found: list[str] = []
        for thief in self._thieves:
            await thief.flush()
            for one in thief.deliveries:
                own = one.subscription == f"_INBOX_{self._me.service}.>"
                answers = self._me.service in SERVICES and b"io.nats.jetstream.api" in one.payload
                leaks = answers or any(secret in one.payload for secret in secrets)
                if leaks or not own:
                    found.append(f"stolen: {one}")
        return found

    async def _trapped(self) -> list[str]:
        others = [wire for identity, wire in self._world.wires.items() if identity != self._me.service]
        for wire in others:
            await wire.flush()
        return [f"reached {one}" for wire in others for one in wire.heard_on(f"_INBOX_{wire.identity}.{TRAP}")]


def _marker_id(name: str, topic: Topic) -> str:
    """Both rounds' names have five letters: their markers weigh the same."""
    return f"{name}-{topic.root}"


def _changes(me: Attacker, empty: State, before: State, after: State) -> list[str]:
    streams = [line for one in me.foreign_streams() for line in _stream_damage(one, empty, before, after)]
    consumers = [line for pair in me.foreign_consumers() for line in _consumer_damage(pair, before, after)]
    names = [] if before.names == after.names else [f"other streams or consumers: {after.names}"]
    return [*streams, *consumers, *names, *_own_loss(me, before, after)]


def _stream_damage(stream: str, empty: State, before: State, after: State) -> list[str]:
    """Two equal rounds of markers, one without attacks and one with, must grow a stream equally."""
    was, now = before.streams[stream], after.streams[stream]
    grown = {name: was[name] + was[name] - empty.streams[stream][name] for name in GROWS}
    return _differences(f"stream {stream}", {**was, **grown}, now)


def _consumer_damage(pair: tuple[str, str], before: State, after: State) -> list[str]:
    was = before.consumers[pair]
    one_more = {name: was[name] + 1 for name in ("delivered", "num_ack_pending")}
    return _differences(f"consumer {'/'.join(pair)}", {**was, **one_more}, after.consumers[pair])


def _own_loss(me: Attacker, before: State, after: State) -> list[str]:
    """Nobody can take back what was said, not even on an own stream."""
    own = set(before.streams) - set(me.foreign_streams())
    kept = ("first_seq", "num_deleted", "config", "created")
    return [
        line
        for stream in own
        for line in _differences(
            f"own {stream}", {name: before.streams[stream][name] for name in kept}, after.streams[stream]
        )
    ]


def _differences(what: str, expected: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    return [f"{what}: {name} is {found[name]}, not {value}" for name, value in expected.items() if found[name] != value]
