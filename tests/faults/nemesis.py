"""Kills, seeded: kill -9 of services, of NATS, of Postgres, and of a service at a named point of its work."""

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from contracts.topology import SERVICES
from deploy.local.ports import wait_until
from deploy.local.stack import Stack
from shared import crash

SERVERS = ("nats", "postgres")
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
INTERRUPTS_CALLS = ("delivery", "postgres")
"""What these were doing when they were killed may have been a call."""
CRASH_SECONDS = 15.0
_WATCH_SECONDS = 0.25


@dataclass
class Nemesis:
    """Runs in the thread that started the stack: the children of a thread die with it."""

    stack: Stack
    chance: random.Random
    kills: Counter[str] = field(default_factory=Counter[str])
    crashes: Counter[str] = field(default_factory=Counter[str])
    missed: list[str] = field(default_factory=list[str])
    ended_alone: Counter[str] = field(default_factory=Counter[str])

    @property
    def blows(self) -> int:
        """How often a call may have been left without an end."""
        at_points = sum(number for name, number in self.crashes.items() if name.startswith("delivery "))
        alone = sum(number for name, number in self.ended_alone.items() if name.startswith("delivery "))
        return sum(self.kills[one] for one in INTERRUPTS_CALLS) + at_points + alone

    def watch(self, seconds: float) -> None:
        """Let time pass; whatever ended by itself is started again, as a cluster would."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self.start_what_ended()
            time.sleep(_WATCH_SECONDS)

    def start_what_ended(self) -> None:
        for name, code in self.stack.processes.ended().items():
            self.ended_alone[f"{name} with code {code}"] += 1
            self.stack.processes.restart(name)

    def kill(self, what: str) -> None:
        """Kill -9, a moment without it, and start it again."""
        self.kills[what] += 1
        server = {"nats": self.stack.nats, "postgres": self.stack.postgres}.get(what)
        if server is None:
            self.stack.processes.kill(what)
        else:
            server.kill()
        time.sleep(self.chance.uniform(0, 0.7))
        if server is None:
            self.stack.processes.restart(what)
        else:
            server.restart()

    def crash(self, service: str, point: str, number: int = 1) -> None:
        """Start a service that dies at the n-th pass of a point; when it has, start it as it was."""
        child = self.stack.processes[service]
        plain = child.command
        planned = {**(plain.env or {}), crash.VARIABLE: f"{point}@{number}"}
        child.kill()
        child = self.stack.processes.start(service, replace(plain, env=planned))
        try:
            wait_until(lambda: not child.is_running(), CRASH_SECONDS, f"{service} dies at {point}")
            self.crashes[f"{service} {point}"] += 1
        except TimeoutError:
            self.missed.append(f"{service} {point}")
            child.kill()
        self.stack.processes.start(service, plain)

    def __str__(self) -> str:
        told = {**self.kills, **self.crashes}
        return ", ".join(f"{name} {number}" for name, number in sorted(told.items()))


def every_victim(chance: random.Random) -> Iterator[str]:
    """Rounds of everything that can be killed, each round in another order."""
    while True:
        round_ = [*SERVICES, *SERVERS]
        chance.shuffle(round_)
        yield from round_
