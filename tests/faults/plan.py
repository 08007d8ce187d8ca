"""What goes wrong in a run, and in which order: a pure function of the seed and of what the installation lets us do.

A round begins with one blow of every kind, in an order of its own, and goes on with more of the frequent ones; a run is
as many rounds as fit, the last one cut.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from contracts.topology import SERVICES, STREAMS

Kind = Literal[
    "kill",
    "terminate",
    "freeze",
    "coma",
    "crash",
    "jump",
    "cut",
    "half_open",
    "slow",
    "exhaust",
    "kill_leader",
    "step_down",
    "roll",
    "freeze_node",
    "lose_store",
    "blackout",
    "fill_stream",
    "fill_node",
    "kill_postgres",
    "stop_postgres_at_once",
    "freeze_standby",
    "fail_over",
    "fill_postgres",
]
KINDS: frozenset[Kind] = frozenset(get_args(Kind))
NODES = ("nats-1", "nats-2", "nats-3")
TWINNED = ("conversador", "guardrails", "delivery", "operator")
"""Services that may run twice on one machine: they listen to nobody but probes."""
TWINS = 2
OUTAGES: tuple[Kind, ...] = ("blackout", "kill_postgres", "fill_stream", "exhaust", "freeze_node", "cut", "half_open")
"""While one of these lasts, a pod is asked to stop, and must do so with exit code 0."""
JUMPS_SECONDS = (-3600, 3600, -7, 7)

POINTS: dict[str, tuple[str, ...]] = {
    "inbox.before_commit": SERVICES,
    "inbox.after_commit_before_ack": SERVICES,
    "inbox.acked_before_drain": SERVICES,
    "outbox.published_before_mark": SERVICES,
    "job.taken": ("conversador", "delivery", "operator"),
    "job.before_commit": ("conversador", "delivery", "operator"),
    "job.after_commit_before_publish": ("conversador", "delivery", "operator"),
    "unit.before_commit": ("ingest", "approval"),
    "unit.after_commit_before_publish": ("ingest", "approval"),
    "delivery.claimed": ("delivery",),
    "delivery.begun": ("delivery",),
    "delivery.before_call": ("delivery",),
    "delivery.answered": ("delivery",),
}
"""Where a service can be told to die, and the services that pass there."""


@dataclass(frozen=True)
class Blow:
    """One thing that goes wrong."""

    kind: Kind
    target: str = ""
    """A pod, a stream, a nats-server, or a point of a pod's work (`pod point`)."""
    pause_seconds: float = 0.0
    """Peace before it."""
    lasts_seconds: float = 0.0
    stops: str = ""
    """The pod that is asked to stop meanwhile."""
    number: int = 0
    """Of a crash: at which pass of the point. Of a jump: by how many seconds."""

    def __str__(self) -> str:
        number = f" {self.number:+}" if self.kind == "jump" else f"@{self.number}" if self.number else ""
        stops = f", SIGTERM to {self.stops}" if self.stops else ""
        return f"{self.kind} {self.target}{number} for {self.lasts_seconds:.1f} s{stops}"


@dataclass(frozen=True)
class Cast:
    """Who takes part in a run, chosen by its seed."""

    twins: tuple[str, ...]
    """Services that run as two pods."""
    jumper: str
    """The pod whose clock can jump."""
    linked: str
    """The pod whose links to NATS and Postgres run through a proxy."""

    @property
    def pods(self) -> tuple[str, ...]:
        return (*SERVICES, *(f"{one}-2" for one in self.twins))


def service_of(pod: str) -> str:
    return pod.removesuffix("-2")


def cast_of(seed: int) -> Cast:
    chance = random.Random(f"cast-{seed}")
    twins = tuple(sorted(chance.sample(TWINNED, TWINS)))
    jumper, linked = chance.sample(SERVICES, 2)
    return Cast(twins, jumper, linked)


def plan(seed: int, *, can: frozenset[Kind]) -> Iterator[Blow]:
    """Blows without an end, round after round; whoever carries them out stops when the time is over.

    Args:
        seed: of the run.
        can: the kinds that this machine and this installation allow.
    """
    chance = random.Random(f"plan-{seed}")
    cast = cast_of(seed)
    while True:
        yield from round_of(chance, cast, can)


def round_of(chance: random.Random, cast: Cast, can: frozenset[Kind]) -> Sequence[Blow]:
    """First one blow of each kind, and every service dies at some point of its work; then the rest of the round."""
    first = [*_deaths(chance), *_pods(chance, cast), *_bus(chance), *_database(chance)]
    rest = [
        *(Blow("kill", pod) for pod in cast.pods),
        *_pods(chance, cast),
        *(Blow("roll", node) for node in NODES),
        *(Blow("kill_leader", stream, lasts_seconds=chance.uniform(0, 2)) for stream in chance.sample(STREAMS, 2)),
    ]
    chance.shuffle(first)
    chance.shuffle(rest)
    return [_dressed(blow, chance, cast) for blow in (*first, *rest) if blow.kind in can]


def _deaths(chance: random.Random) -> Iterator[Blow]:
    """Each point of work is died at once, by each service at least once."""
    points = sorted(POINTS, key=lambda point: (len(POINTS[point]), chance.random()))
    left = set(SERVICES)
    for point in points:
        pod = chance.choice(sorted(left & {*POINTS[point]}) or POINTS[point])
        left.discard(pod)
        yield Blow("crash", f"{pod} {point}", number=chance.randint(1, 2))


def _pods(chance: random.Random, cast: Cast) -> Iterator[Blow]:
    yield Blow("kill", chance.choice(cast.pods))
    yield Blow("terminate", chance.choice(cast.pods))
    yield Blow("freeze", chance.choice(cast.pods), lasts_seconds=chance.uniform(1, 2))
    yield Blow("coma", f"{chance.choice(cast.twins)}-2", lasts_seconds=chance.uniform(17, 25))
    yield Blow("jump", cast.jumper, lasts_seconds=2, number=chance.choice(JUMPS_SECONDS))
    yield Blow("exhaust", chance.choice(SERVICES), lasts_seconds=chance.uniform(2, 3))
    links: tuple[Kind, ...] = ("cut", "half_open", "slow")
    for kind in links:
        yield Blow(kind, cast.linked, lasts_seconds=chance.uniform(1, 3))


def _bus(chance: random.Random) -> Iterator[Blow]:
    yield Blow("kill_leader", chance.choice(STREAMS), lasts_seconds=chance.uniform(0, 2))
    yield Blow("step_down", chance.choice(STREAMS))
    yield Blow("roll", chance.choice(NODES))
    yield Blow("freeze_node", chance.choice(NODES), lasts_seconds=chance.uniform(2, 3))
    yield Blow("lose_store", chance.choice(NODES))
    yield Blow("blackout", lasts_seconds=chance.uniform(0, 1))
    yield Blow("fill_stream", chance.choice(STREAMS), lasts_seconds=chance.uniform(2, 3))
    yield Blow("fill_node", chance.choice(NODES), lasts_seconds=chance.uniform(1, 2))


def _database(chance: random.Random) -> Iterator[Blow]:
    yield Blow("kill_postgres", lasts_seconds=chance.uniform(0, 1))
    yield Blow("stop_postgres_at_once")
    yield Blow("freeze_standby", lasts_seconds=chance.uniform(1, 2))
    yield Blow("fail_over", lasts_seconds=chance.uniform(0, 1))
    yield Blow("fill_postgres", lasts_seconds=chance.uniform(1, 2))


def _dressed(blow: Blow, chance: random.Random, cast: Cast) -> Blow:
    """With its peace before, and with whom it finds stopping."""
    stops = chance.choice(cast.pods)
    return replace(blow, pause_seconds=chance.uniform(0.1, 0.8), stops=stops if blow.kind in OUTAGES else "")
