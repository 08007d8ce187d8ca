"""Carries out a plan: kill -9, SIGTERM, SIGSTOP, full disks, lost stores, moved leaders, failovers, wrong clocks.

Runs in the thread that started the installation: the children of a thread die with it.
"""

import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from deploy.local.ports import wait_until
from shared import crash
from tests.faults import disks
from tests.faults.greed import all_connections_of
from tests.faults.installation import Installation
from tests.faults.plan import POINTS, Blow, Kind, service_of

CRASH_SECONDS = 60.0
STOPS_WITHIN_SECONDS = 40.0
"""Of a SIGTERM: as much as our manifests give (terminationGracePeriodSeconds, stop_grace_period)."""
COMPLETE_WITHIN_SECONDS = 60.0
ROOM_BYTES = 2_000
"""What a full stream has left: a message or two."""
INTERRUPTS_CALLS: frozenset[Kind] = frozenset(
    {"kill_postgres", "stop_postgres_at_once", "freeze_standby", "fail_over", "fill_postgres"}
)
"""What delivery was doing meanwhile may have been a call whose end it could not write down."""
_WATCH_SECONDS = 0.25


@dataclass
class Nemesis:
    """What it did, and what ended otherwise than it should."""

    installation: Installation
    whole_round: bool = True
    kills: Counter[str] = field(default_factory=Counter[str])
    """kill -9, by pod or server."""
    crashes: Counter[str] = field(default_factory=Counter[str])
    """kill -9 at a named point, by pod and point."""
    others: Counter[str] = field(default_factory=Counter[str])
    """Blows that kill nobody, by kind."""
    missed: list[str] = field(default_factory=list[str])
    """Points that nobody passed."""
    ungraceful: list[str] = field(default_factory=list[str])
    """Pods that did not end with code 0 when they were asked to stop."""
    ended_alone: Counter[str] = field(default_factory=Counter[str])
    done: list[str] = field(default_factory=list[str])
    """Each blow, with the second of the run at which it fell."""
    struck: set[Kind] = field(default_factory=set[Kind])
    calls_interrupted: int = 0
    _points: set[str] = field(default_factory=set[str])
    _armed: dict[str, str] = field(default_factory=dict[str, str])
    _wakes_at: dict[str, float] = field(default_factory=dict[str, float])
    _began: float = field(default_factory=time.monotonic)

    def carry_out(self, blows: Iterable[Blow], until: Callable[[], bool]) -> None:
        """One after the other until it is enough; then what is armed gets its last chance.

        In a whole round every kind and every point has its turn, however long it takes.
        """
        for blow in blows:
            if until() and (self.has_tried_all or not self.whole_round):
                break
            self.watch(blow.pause_seconds)
            self.done.append(f"{time.monotonic() - self._began:6.1f} {blow}")
            self._strike(blow)
            self.struck.add(blow.kind)
        self.watch(max([at - time.monotonic() for at in self._wakes_at.values()], default=0.0))
        self._disarm()

    @property
    def has_tried_all(self) -> bool:
        return self.struck >= self.installation.can and self._points >= POINTS.keys()

    @property
    def killed(self) -> int:
        return self.kills.total() + self.crashes.total()

    @property
    def delivery_kills(self) -> int:
        """A death of delivery may leave the call without an end that it was making."""
        return sum(number for name, number in self.crashes.items() if service_of(name.split(" ")[0]) == "delivery")

    def watch(self, seconds: float) -> None:
        """Let time pass; whatever ended by itself is started again, as a cluster would."""
        until = time.monotonic() + seconds
        while True:
            self._wake()
            self._start_what_ended()
            left = until - time.monotonic()
            if left <= 0:
                return
            time.sleep(min(left, _WATCH_SECONDS))

    def __str__(self) -> str:
        told = Counter({service_of(name): 0 for name in self.kills})
        for name, number in self.kills.items():
            told[service_of(name)] += number
        parts = [f"{name} {number}" for name, number in sorted(told.items())]
        if self.crashes:
            parts.append(f"at {len(self.crashes)} points {self.crashes.total()}")
        rest = ", ".join(f"{kind} {number}" for kind, number in sorted(self.others.items()))
        return f"{', '.join(parts) or 'none'} · other blows {rest or 'none'}"

    # ------------------------------------------------------------------------------------------------------- blows

    def _strike(self, blow: Blow) -> None:
        if blow.kind in INTERRUPTS_CALLS or service_of(blow.target.split(" ")[0]) == "delivery":
            self.calls_interrupted += 1
        if blow.kind in {"kill_leader", "roll", "lose_store", "fill_node"}:
            self._wait_complete()
        self._strikes[blow.kind](blow)

    @cached_property
    def _strikes(self) -> Mapping[Kind, Callable[[Blow], None]]:
        return {
            "kill": self._kill,
            "terminate": self._terminate,
            "freeze": self._freeze,
            "coma": self._coma,
            "crash": self._arm,
            "jump": self._jump,
            "cut": self._cut,
            "half_open": self._half_open,
            "slow": self._slow,
            "exhaust": self._exhaust,
            "kill_leader": self._kill_leader,
            "step_down": self._step_down,
            "roll": self._roll,
            "freeze_node": self._freeze_node,
            "lose_store": self._lose_store,
            "blackout": self._blackout,
            "fill_stream": self._fill_stream,
            "fill_node": self._fill_node,
            "kill_postgres": self._kill_postgres,
            "stop_postgres_at_once": self._stop_postgres_at_once,
            "freeze_standby": self._freeze_standby,
            "fail_over": self._fail_over,
            "fill_postgres": self._fill_postgres,
        }

    def _kill(self, blow: Blow) -> None:
        self.kills[blow.target] += 1
        self.installation.processes.kill(blow.target)
        time.sleep(blow.lasts_seconds)
        self._start(blow.target)

    def _terminate(self, blow: Blow) -> None:
        self._count(blow)
        self._stop(blow.target)
        self._start(blow.target)

    def _freeze(self, blow: Blow) -> None:
        """SIGSTOP: it holds its leases, locks and connections, and comes back in the middle of what it did."""
        self._count(blow)
        self.installation.processes.pause(blow.target)
        self.watch(blow.lasts_seconds)
        self.installation.processes.resume(blow.target)

    def _coma(self, blow: Blow) -> None:
        """As `freeze`, until everybody thinks it dead; meanwhile other blows fall."""
        self._count(blow)
        self.installation.processes.pause(blow.target)
        self._wakes_at[blow.target] = time.monotonic() + blow.lasts_seconds

    def _arm(self, blow: Blow) -> None:
        """Start it anew so that it dies at the n-th pass of a point; `watch` sees it die."""
        pod, point = blow.target.split(" ")
        if pod in self._armed:
            self._disarm(pod)
        child = self.installation.processes[pod]
        plain = child.command
        child.kill()
        self.kills[pod] += 1
        planned = {**(plain.env or {}), crash.VARIABLE: f"{point}@{blow.number}"}
        self.installation.processes.start(pod, replace(plain, env=planned))
        self._armed[pod] = point
        self._points.add(point)

    def _jump(self, blow: Blow) -> None:
        """The wall clock of one pod is wrong for a while; its monotonic clock is not."""
        self._count(blow)
        self.installation.clock_file.write_text(f"{blow.number:+}\n")
        self.watch(blow.lasts_seconds)
        self.installation.clock_file.write_text("+0\n")

    def _cut(self, blow: Blow) -> None:
        """Every connection of a pod is reset, and soon again."""
        self._count(blow)
        self.installation.links.cut()
        self._meanwhile(blow)
        self.installation.links.cut()

    def _half_open(self, blow: Blow) -> None:
        self._count(blow)
        self.installation.links.freeze()
        self._meanwhile(blow)
        self.installation.links.thaw()

    def _slow(self, blow: Blow) -> None:
        self._count(blow)
        self.installation.links.slow()
        self.watch(blow.lasts_seconds)
        self.installation.links.fast()

    def _exhaust(self, blow: Blow) -> None:
        """Other sessions take every connection that the service's role may have."""
        self._count(blow)
        service = service_of(blow.target)
        with all_connections_of(self.installation, service):
            self._meanwhile(blow)

    def _kill_leader(self, blow: Blow) -> None:
        node = self.installation.cluster.leader_of(blow.target)
        self.kills[node.name] += 1
        node.server.kill()
        self.watch(blow.lasts_seconds)
        node.server.restart()

    def _step_down(self, blow: Blow) -> None:
        self._count(blow)
        self.installation.streams.step_down(blow.target)

    def _roll(self, blow: Blow) -> None:
        """One node's part of a rolling restart: an orderly stop and a start."""
        self._count(blow)
        self.installation.cluster.nodes[blow.target].server.restart()

    def _freeze_node(self, blow: Blow) -> None:
        """Half-open: its clients' connections stand, and nobody answers."""
        self._count(blow)
        server = self.installation.cluster.nodes[blow.target].server
        server.pause()
        try:
            self._meanwhile(blow)
        finally:
            server.resume()

    def _lose_store(self, blow: Blow) -> None:
        self._count(blow)
        self.kills[blow.target] += 1
        self.installation.cluster.lose_store(blow.target)
        self.installation.cluster.nodes[blow.target].server.restart()

    def _blackout(self, blow: Blow) -> None:
        cluster = self.installation.cluster
        self.kills.update([*cluster.nodes])
        cluster.kill()
        self._meanwhile(blow)
        cluster.restart()

    def _fill_stream(self, blow: Blow) -> None:
        self._count(blow)
        streams = self.installation.streams
        usual = streams.fill(blow.target, ROOM_BYTES)
        self._meanwhile(blow)
        streams.limit(blow.target, usual)

    def _fill_node(self, blow: Blow) -> None:
        self._count(blow)
        node = self.installation.cluster.nodes[blow.target]
        disks.fill(node.store.parent)
        self.watch(blow.lasts_seconds)
        disks.free(node.store.parent)
        node.server.restart()  # a node without room switches its streams off until it is started again

    def _kill_postgres(self, blow: Blow) -> None:
        self.kills["postgres"] += 1
        self.installation.pair.primary.kill()
        self._meanwhile(blow)
        self.installation.pair.primary.restart()

    def _stop_postgres_at_once(self, blow: Blow) -> None:
        self._count(blow)
        self.installation.pair.stop_at_once()
        self.installation.pair.primary.restart()

    def _freeze_standby(self, blow: Blow) -> None:
        """Nobody confirms: commits hang, and end when it is back."""
        self._count(blow)
        with self.installation.pair.standby_frozen():
            self.watch(blow.lasts_seconds)

    def _fail_over(self, blow: Blow) -> None:
        self._count(blow)
        self.kills["postgres"] += 1
        self.installation.pair.fail_over()
        self.watch(blow.lasts_seconds)
        self.installation.pair.follow()

    def _fill_postgres(self, blow: Blow) -> None:
        self._count(blow)
        disk = self.installation.disks.postgres
        assert disk is not None
        disks.fill(disk)
        self.watch(blow.lasts_seconds)
        disks.free(disk)
        self.installation.pair.revive()

    # ------------------------------------------------------------------------------------------------------- pieces

    def _meanwhile(self, blow: Blow) -> None:
        """The time that an outage lasts: a pod is stopped and started in the middle of it."""
        self.watch(blow.lasts_seconds / 2)
        if blow.stops:
            self._stop(blow.stops)
            self._start(blow.stops)
        self.watch(blow.lasts_seconds / 2)

    def _stop(self, pod: str) -> None:
        if service_of(pod) == "delivery":
            self.calls_interrupted += 1
        began = time.monotonic()
        child = self.installation.processes[pod]
        if not child.is_running():
            return
        code = child.stop(signal.SIGTERM, STOPS_WITHIN_SECONDS)
        if code == -signal.SIGTERM and not child.log_tail(1):
            return  # before it could listen to signals it had not begun anything
        if code and not self._died_at_its_point(pod, code):
            seconds = time.monotonic() - began
            self.ungraceful.append(f"{pod} ended with code {code} after {seconds:.0f} s: {child.log_tail(5)}")

    def _start(self, pod: str) -> None:
        if not self.installation.processes[pod].is_running():
            self.installation.processes[pod].start_again()

    def _start_what_ended(self) -> None:
        for name, code in self.installation.processes.ended().items():
            if not self._died_at_its_point(name, code):
                self.ended_alone[f"{name} with code {code}"] += 1
                self.calls_interrupted += service_of(name) == "delivery"
            self._start(name)

    def _wake(self) -> None:
        for pod in [pod for pod, at in self._wakes_at.items() if time.monotonic() > at]:
            del self._wakes_at[pod]
            self.installation.processes.resume(pod)

    def _died_at_its_point(self, pod: str, code: int) -> bool:
        if code != -signal.SIGKILL or pod not in self._armed:
            return False
        self.crashes[f"{pod} {self._armed.pop(pod)}"] += 1
        self._forget_point(pod)
        return True

    def _disarm(self, *pods: str) -> None:
        """What was never passed until now is waited for, then told as missed."""
        for pod in pods or tuple(self._armed):
            try:
                wait_until(lambda pod=pod: self._is_unarmed(pod), CRASH_SECONDS, f"{pod} dies at its point")
            except TimeoutError:
                self.missed.append(f"{pod} {self._armed.pop(pod)}")
                self.installation.processes[pod].kill()
                self._forget_point(pod)
                self._start(pod)

    def _is_unarmed(self, pod: str) -> bool:
        self._wake()
        self._start_what_ended()
        return pod not in self._armed

    def _forget_point(self, pod: str) -> None:
        command = self.installation.processes[pod].command
        plain = {name: value for name, value in (command.env or {}).items() if name != crash.VARIABLE}
        self.installation.processes.start(pod, replace(command, env=plain))

    def _wait_complete(self) -> None:
        until = time.monotonic() + COMPLETE_WITHIN_SECONDS
        while lacking := self.installation.cluster.lacking():
            if time.monotonic() > until:
                raise TimeoutError(f"{', '.join(lacking)} did not catch up in {COMPLETE_WITHIN_SECONDS:.0f} s")
            self.watch(_WATCH_SECONDS)

    def _count(self, blow: Blow) -> None:
        self.others[blow.kind] += 1
