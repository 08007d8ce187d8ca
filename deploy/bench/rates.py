"""Messages per second of a worker: a stream is filled, the worker starts, and the time runs once it is warm."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from deploy.bench import cpu, tally, worker
from deploy.bench.servers import Producer, Servers, Watch, preload_peers
from deploy.bench.sizes import LANES, Load
from deploy.local.processes import Child

LOOK_EVERY_SECONDS = 0.01
DONE_WITHIN_SECONDS = 90.0
MICRO = 1e6

Values = dict[str, float]
Done = Callable[[], Awaitable[bool]]


@dataclass(frozen=True)
class Rates:
    """Runs workers one after another and says for each:

    `per_second`: messages after the warm-up ÷ the time until all of them are committed, published and acknowledged;
    `worker_us`, `nats_us`, `postgres_us`: CPU microseconds per message (0 where /proc does not exist);
    `wal_bytes`: write-ahead log per message, over the whole run;
    `worker_mb`: resident memory of our hop's process when it was done.
    """

    servers: Servers
    watch: Watch
    producer: Producer

    async def hop(self, load: Load, *, lanes: int = LANES, profile: Path | None = None) -> Values:
        """The exactly-once hop of `shared.bus`, in a service's process of its own.

        A process that starts first says again what it said in its last minute: that is over, and the process stopped
        (SIGSTOP), before the messages are made; the time runs from when it may go on.
        """
        tally_file = self.servers.file("tally.json")
        async with worker.serving(self.servers, tally_file, profile) as child:
            await worker.until_idle(child)
            child.pause()
            try:
                await self.producer.preload(load.messages, lanes)
                is_done = await self._hop_is_done(load)
                used = self._used(self.servers.nats.pid)
                wal = await self.watch.wal_position()
            finally:
                child.resume()
            ended_at, worker_cpu = await _until_done(child, is_done)
            used = [now - before for now, before in zip(self._used(self.servers.nats.pid), used, strict=True)]
            wal = await self.watch.wal_position() - wal
            resident = cpu.resident_bytes(child.pid)
        marks = tally.read(tally_file)
        return {
            **_rate(marks, load, ended_at, worker_cpu),
            **_servers_share(used, wal, load),
            "worker_mb": resident / 2**20,
        }

    async def _hop_is_done(self, load: Load) -> Done:
        """Everything acknowledged, published and committed, seen from what there is now."""
        facts = await self.watch.stored("OPERATOR_FACTS") + load.messages
        effects = await self.watch.value("select count(*) from operator.bench_effect") + load.messages

        async def is_done() -> bool:
            if (
                await self.watch.outstanding("INGEST_CONTACTS", "operator")
                or await self.watch.stored("OPERATOR_FACTS") < facts
            ):
                return False
            return await self.watch.value("select count(*) from operator.bench_effect") >= effects

        return is_done

    def _used(self, nats_pid: int) -> list[float]:
        """CPU seconds of both servers so far."""
        return [cpu.of_process(nats_pid), cpu.of_family(self.servers.postgres_pid)]

    async def peer(self, name: str, load: Load, *extra: str) -> Values:
        """A worker on the plain NATS, which ends by itself when it has done its messages."""
        await self.watch.empty_peer_tables()
        await preload_peers(self.servers.peers.url, load.messages, LANES)
        return await self._alone(name, load, *extra)

    async def queue(self, name: str, load: Load) -> Values:
        """A worker with a queue of its own in the database, which it fills first."""
        values = await self._alone(name, load)
        return {name: values[name] for name in ("per_second", "worker_us")}  # the rest holds the filling too

    async def _alone(self, name: str, load: Load, *extra: str) -> Values:
        """Run a worker to its end. Raises RuntimeError with the end of its log when it fails or takes too long."""
        tally_file = self.servers.file("tally.json")
        arguments = [self.servers.peers.url, self.servers.database_url, str(load.messages), str(tally_file), *extra]
        wal, used = await self.watch.wal_position(), self._used(self.servers.peers.pid)
        child = Child(name, worker.command(name, arguments, self.servers.file(f"{name}.log")))
        try:
            await _until_done(child, None)
        finally:
            child.kill()
        used = [now - before for now, before in zip(self._used(self.servers.peers.pid), used, strict=True)]
        wal = await self.watch.wal_position() - wal
        marks = tally.read(tally_file)
        return _rate(marks, load, marks[-1].at, marks[-1].cpu_seconds) | _servers_share(used, wal, load)


def _rate(marks: Sequence[tally.Mark], load: Load, ended_at: float, worker_cpu: float) -> Values:
    begin = next((mark for mark in marks if mark.begun >= load.warm), marks[0])
    counted = load.messages - begin.begun
    return {
        "per_second": counted / (ended_at - begin.at),
        "worker_us": (worker_cpu - begin.cpu_seconds) / counted * MICRO,
    }


def _servers_share(used: Sequence[float], wal: int, load: Load) -> Values:
    nats, postgres = (one / load.messages * MICRO for one in used)
    return {"nats_us": nats, "postgres_us": postgres, "wal_bytes": wal / load.messages}


async def _until_done(child: Child, is_done: Done | None) -> tuple[float, float]:
    """When everything was done, and the CPU seconds that the process had used by then."""
    give_up_at = time.monotonic() + DONE_WITHIN_SECONDS
    while time.monotonic() < give_up_at:
        if not child.is_running():
            if child.exit_code == 0 and is_done is None:
                return time.monotonic(), 0.0
            raise RuntimeError(f"{child.name} ended with code {child.exit_code}:\n{child.log_tail()}")
        if is_done is not None and await is_done():
            return time.monotonic(), cpu.of_process(child.pid)
        await asyncio.sleep(LOOK_EVERY_SECONDS)
    raise RuntimeError(f"{child.name} was not done within {DONE_WITHIN_SECONDS:g} s:\n{child.log_tail()}")
