"""Each law of the bus, and its absence: the same blows to the real bus, which keeps every effect once and in order, and
to a bus without the law, which the same judges find out.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tests.faults.checker import Findings
from tests.faults.mutants import MUTANTS, REAL
from tests.faults.wire import Wire, dead, said_all, started, stopped, wire_of
from tests.servers import NatsServerFactory, PostgresServer

FROZEN_SECONDS = 4.0
"""Twice as long as it takes to be thought dead, and to be swept."""
AT_ONCE = 4
GOES = 8

Blows = Callable[[Wire, str], Awaitable[Findings]]


class Ring:
    """Tries the bus, real or not, several at once: most of a try is waiting."""

    def __init__(self, postgres: PostgresServer, nats: NatsServerFactory, folder: Path) -> None:
        self._servers = postgres, nats
        self._folder = folder
        self._free = asyncio.Semaphore(AT_ONCE)
        self._opening = asyncio.Lock()

    async def found(self, mutant: str, blows: Blows, name: str) -> Findings:
        async with self._free:
            folder = self._folder / name.replace(" ", "-")
            folder.mkdir()
            async with AsyncExitStack() as stack:
                async with self._opening:
                    wire = await stack.enter_async_context(wire_of(*self._servers, folder))
                return await blows(wire, mutant)


@pytest.fixture
def ring(postgres_server: PostgresServer, nats_server_factory: NatsServerFactory, tmp_path: Path) -> Ring:
    return Ring(postgres_server, nats_server_factory, tmp_path)


# ---------------------------------------------------------------------------------------------------------- the blows


def hearing_dies_at(*points: str) -> Blows:
    """A pod dies at each point, then one lives."""

    async def blows(wire: Wire, mutant: str) -> Findings:
        await said_all(wire.teller(REAL, "says"))
        for point in points:
            await dead(wire.hearer(mutant, dies_at=point))
        await started(wire.hearer(mutant))
        return await wire.judged(mutant)

    return blows


async def a_pod_beside_dies(wire: Wire, mutant: str) -> Findings:
    """One of two pods dies with what it had taken: the other one hears what comes behind it first."""
    dying = await started(wire.hearer(mutant, dies_at="inbox.before_commit@2"))
    await started(wire.hearer(mutant))
    await said_all(wire.teller(REAL, "talks"))
    await dead(dying)
    return await wire.judged(mutant)


async def two_pods_hear(wire: Wire, mutant: str) -> Findings:
    """Two pods share a consumer, and take longer than a lane's next message needs to come."""
    for _ in range(2):
        await started(wire.hearer(mutant, handles="lingering"))

    async def talk() -> Findings:
        await said_all(wire.teller(REAL, "talks"))
        return await wire.judged(mutant)

    return await until_they_meet(mutant, talk)


async def a_zombie_finishes(wire: Wire, mutant: str) -> Findings:
    """A pod stops in the middle of slow work, loses its lease to another, and wakes."""
    zombie = await started(wire.hearer(mutant, handles="slow"))
    await said_all(wire.teller(REAL, "greets"))
    await stopped(zombie)
    wire.hearer(mutant, handles="slow")
    assert not await wire.judged(REAL), "the other pod takes over"
    zombie.resume()
    return await wire.judged(mutant)


async def two_pods_say(wire: Wire, mutant: str) -> Findings:
    """Two pods say things in the same lanes."""
    await started(wire.hearer(REAL))

    async def say() -> Findings:
        for teller in [wire.teller(mutant, "says") for _ in range(2)]:
            await said_all(teller)
        return await wire.judged(mutant)

    return await until_they_meet(mutant, say)


async def until_they_meet(mutant: str, act: Callable[[], Awaitable[Findings]]) -> Findings:
    """Two pods without a lock go wrong only when both are at one lane at once: a busy machine may need more goes."""
    found = await act()
    for _ in range(GOES - 1 if mutant != REAL else 0):
        if found:
            break
        found = await act()
    return found


def saying_dies(what: str) -> Blows:
    """A pod dies just after, or just before, its commit; another one takes over what it left."""

    async def blows(wire: Wire, mutant: str) -> Findings:
        await said_all(wire.teller(mutant, "sweeps"))
        await started(wire.hearer(REAL))
        await dead(wire.teller(mutant, what, dies_at="teller.end"))
        return await wire.judged(mutant)

    return blows


def saying_is_frozen(what: str) -> Blows:
    """A pod stops, is thought dead and swept by another, wakes, says something, and dies."""

    async def blows(wire: Wire, mutant: str) -> Findings:
        await said_all(wire.teller(mutant, "sweeps"))
        await started(wire.hearer(REAL))
        frozen = wire.teller(mutant, what, dies_at="teller.end")
        await stopped(frozen)
        await asyncio.sleep(FROZEN_SECONDS)
        frozen.resume()
        await dead(frozen)
        return await wire.judged(mutant)

    return blows


async def all_of_saying_at_once(wire: Wire, mutant: str) -> Findings:
    await said_all(wire.teller(mutant, "sweeps"))
    await started(wire.hearer(REAL))
    frozen = [wire.teller(mutant, what, dies_at="teller.end") for what in ("frozen", "awakes")]
    dying = [wire.teller(mutant, what, dies_at="teller.end") for what in ("late", "aborts")]
    for teller in frozen:
        await stopped(teller)
    await asyncio.sleep(FROZEN_SECONDS)
    for teller in frozen:
        teller.resume()
    for teller in (*frozen, *dying):
        await dead(teller)
    return await wire.judged(mutant)


# ----------------------------------------------------------------------------------------------------------- the laws

BOUNDARIES = ("inbox.after_commit_before_ack", "inbox.acked_before_drain", "inbox.before_commit")
REAL_BLOWS: dict[str, Blows] = {
    # only what came again is stored, and drained
    "hearing dies at every boundary": hearing_dies_at(*BOUNDARIES, "inbox.drain_before_commit"),
    "a pod beside dies": a_pod_beside_dies,
    "two pods hear": two_pods_hear,
    "a zombie finishes": a_zombie_finishes,
    "two pods say": two_pods_say,
    "saying dies and is frozen": all_of_saying_at_once,
}
LAWS: dict[str, tuple[str, Blows, str]] = {
    "effects_after": ("what is heard and its effects are one transaction", hearing_dies_at("mutant.between"), "lost"),
    "effects_before": ("what is heard and its effects are one transaction", hearing_dies_at("mutant.between"), "twice"),
    "no_positions": ("a position is heard once", hearing_dies_at("inbox.after_commit_before_ack"), "twice"),
    "ack_first": ("the stream is told last", hearing_dies_at("inbox.before_commit"), "lost"),
    "gaps_run_over": ("a gap is waited for", a_pod_beside_dies, "lost"),
    "no_lane_lock": ("a lane is moved by one pod at a time", two_pods_hear, "lost or twice"),
    "zombie_finishes": ("who lost a lease finishes nothing", a_zombie_finishes, "twice"),
    "positions_without_lock": ("positions are given out under the lane's lock", two_pods_say, "lost or twice"),
    "mark_is_the_highest": ("the mark stays below what is open", saying_dies("late"), "lost"),
    "published_early": ("what is not committed is not published", saying_dies("aborts"), "invented"),
    "closes_without_waiting": ("a writer is closed when nothing of it is open", saying_is_frozen("frozen"), "lost"),
    "closed_writer_goes_on": ("a closed writer writes no more", saying_is_frozen("awakes"), "lost"),
}
"""Mutant → the law that it lacks, the blows that show it, and what the judges say."""


async def test_the_real_bus_keeps_every_effect_once_and_in_order(ring: Ring) -> None:
    judged = await asyncio.gather(*(ring.found(REAL, blows, name) for name, blows in REAL_BLOWS.items()))
    for name, found in zip(REAL_BLOWS, judged, strict=True):
        assert not found, f"{name}: {found.told()}"


async def test_a_bus_without_one_of_its_laws_is_found_out(ring: Ring) -> None:
    assert LAWS.keys() == MUTANTS.keys()
    judged = await asyncio.gather(*(ring.found(mutant, blows, mutant) for mutant, (_, blows, _) in LAWS.items()))
    for (mutant, (law, _, kinds)), found in zip(LAWS.items(), judged, strict=True):
        assert any(found.counts()[kind] for kind in kinds.split(" or ")), (
            f"{mutant}: without the law that {law}, nothing was noticed: {found}"
        )
