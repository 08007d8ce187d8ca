"""Starting a bench's worker as a process: its command line, its files, and the wait until it is ready."""

import asyncio
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from deploy.bench import cpu
from deploy.bench.servers import Servers
from deploy.local.processes import Child, Command

READY_WITHIN_SECONDS = 30.0
STOPPED_WITHIN_SECONDS = 15.0
IDLE_LOOKS = 2
IDLE_LOOK_SECONDS = 0.3
IDLE_SHARE = 0.1


def command(
    worker: str, arguments: Sequence[str], log_file: Path, environment: Mapping[str, str] | None = None
) -> Command:
    """`python -m deploy.bench.workers.<worker> ARGUMENTS`."""
    program = [sys.executable, "-m", f"deploy.bench.workers.{worker}"]
    return Command([*program, *arguments], log_file=log_file, env=environment)


@asynccontextmanager
async def serving(servers: Servers, tally_file: Path, profile: Path | None = None) -> AsyncGenerator[Child]:
    """Our hop's process, ready and waiting for messages; its files are written when it was stopped, at the end.

    Raises:
        RuntimeError: it did not get ready, or did not stop in good order; with the end of its log.
    """
    environment = servers.environment("operator")
    arguments = [str(tally_file), *([str(profile)] if profile else [])]
    child = Child("our hop", command("hop", arguments, servers.file("hop.log"), environment))
    try:
        await _ready(child, f"http://127.0.0.1:{environment['CHANCELA_HEALTH_PORT']}/readyz")
        yield child
        if await stopped(child) != 0:
            raise RuntimeError(f"{child.name} ended with code {child.exit_code}:\n{child.log_tail()}")
    finally:
        child.kill()


async def stopped(child: Child) -> int:
    """Ask it to stop, gracefully; its exit code."""
    child.ask_to_stop()
    return await asyncio.to_thread(child.finish, STOPPED_WITHIN_SECONDS)


async def until_idle(child: Child) -> None:
    """Until it uses next to no CPU any more: what a start brings with it is over. Where /proc is missing, a moment."""
    quiet, give_up_at = 0, time.monotonic() + READY_WITHIN_SECONDS
    while quiet < IDLE_LOOKS and time.monotonic() < give_up_at:
        before = cpu.of_process(child.pid)
        await asyncio.sleep(IDLE_LOOK_SECONDS)
        quiet = quiet + 1 if cpu.of_process(child.pid) - before <= IDLE_SHARE * IDLE_LOOK_SECONDS else 0


async def _ready(child: Child, url: str) -> None:
    give_up_at = time.monotonic() + READY_WITHIN_SECONDS
    while not await asyncio.to_thread(_answers, url):
        if not child.is_running() or time.monotonic() > give_up_at:
            raise RuntimeError(f"{child.name} does not get ready (exit code {child.exit_code}):\n{child.log_tail()}")
        await asyncio.sleep(0.05)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - our own loopback address
            return answer.status < 400
    except (urllib.error.URLError, OSError):
        return False
