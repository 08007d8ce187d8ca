"""One run: a fresh system, a crowd that talks through it, a nemesis that kills its parts, and the judgement.

PostgreSQL runs with its own defaults here, fsync on; NATS with the stack's `sync_interval` of 10 s. A kill -9 leaves
the page cache of the machine alone: this is about processes that die, not about power.
"""

import asyncio
import random
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from contracts.topology import SERVICES
from deploy.demo.fresh import free_ports
from deploy.local.layout import Layout
from deploy.local.postgres import erase_postgres
from deploy.local.stack import Stack
from tests.faults.checker import Findings
from tests.faults.crowd import Crowd
from tests.faults.evidence import Evidence
from tests.faults.nemesis import POINTS, SERVERS, Nemesis, every_victim

ACK_WAIT_SECONDS = 2.5
SETTINGS = {
    # delivery being away for longer than the hold would look like a person's reply; a restart here takes seconds
    "ingest": {"ECHO_HOLD_SECONDS": "30", "ECHO_HEARING_SECONDS": "8"},
    "*": {"LEASE_SECONDS": "2", "POLL_SECONDS": "0.3", "PARKED_AFTER_ATTEMPTS": "30"},
    "conversador": {"BURST_DEBOUNCE_SECONDS": "0.05", "MODEL_BUDGET_SECONDS": "10"},
    "delivery": {"CALL_TIMEOUT_SECONDS": "5"},
}
DRAIN_SECONDS = 120.0
KEPT = Path("artefacts/faults")
Trouble = Callable[[Nemesis, Crowd], None]


@contextmanager
def system() -> Generator[Stack]:
    """All servers and services, with short leases and redeliveries, and a number that may send all day."""
    home = Path(tempfile.mkdtemp(prefix="chancela-faults-"))
    home.chmod(0o711)
    layout = Layout(home, free_ports(), overrides=SETTINGS, number_daily_cap=1_000_000)
    try:
        with Stack(layout, postgres_settings={"max_connections": "200"}, ack_wait_seconds=ACK_WAIT_SECONDS) as stack:
            yield stack
    finally:
        erase_postgres(home / "postgres")
        shutil.rmtree(home, ignore_errors=True)


@dataclass(frozen=True)
class Outcome:
    """What the judges found, and what happened."""

    findings: Findings
    crowd: Crowd
    nemesis: Nemesis
    uncertain: int
    seconds: float

    def __str__(self) -> str:
        told = f"{len({chat for chat, _ in self.crowd.written})} conversations, {len(self.crowd.written)} messages"
        decided = ", ".join(f"{number} {kind}" for kind, number in sorted(self.crowd.decided.items()))
        alone = f" · ended alone {dict(self.nemesis.ended_alone)}" if self.nemesis.ended_alone else ""
        return (
            f"{self.findings} · kills {str(self.nemesis) or 'none'} · {told} · {decided} · uncertain {self.uncertain}"
            f"{alone} · {self.seconds:.0f} s · seed {self.crowd.seed}"
        )


def run(*, chats: int, seconds: float, seed: int, trouble: Trouble) -> Outcome:
    """Let `chats` customers write over `seconds` while `trouble` happens, wait until all is drained, and judge."""
    with system() as stack:
        crowd = Crowd(stack.layout, chats, seconds, seed)
        nemesis = Nemesis(stack, random.Random(seed))
        began = time.monotonic()
        with talking(crowd) as talk:
            try:
                trouble(nemesis, crowd)
            finally:
                crowd.has_trouble = False
            while talk.is_writing():
                nemesis.watch(0.5)
            drain(stack, nemesis)
        seconds = time.monotonic() - began
        findings, uncertain = asyncio.run(_judge(stack, crowd, nemesis))
        if findings:
            asyncio.run(_keep(stack, crowd, findings))
            shutil.copytree(stack.logs, KEPT / f"seed-{seed}", dirs_exist_ok=True)
        return Outcome(findings, crowd, nemesis, uncertain, seconds)


def everything_once(nemesis: Nemesis, crowd: Crowd) -> None:
    """Kill each service, NATS and Postgres, and go on until enough customers have written."""
    for number, victim in enumerate(every_victim(nemesis.chance)):
        if number >= len(SERVICES) + len(SERVERS) and crowd.has_enough:
            return
        nemesis.watch(nemesis.chance.uniform(1.5, 4.5))
        nemesis.kill(victim)


def each_point_once(nemesis: Nemesis, _crowd: Crowd) -> None:
    """Each named point ends one service that passes it, while people talk."""
    for point, services in POINTS.items():
        nemesis.crash(nemesis.chance.choice(services), point, nemesis.chance.randint(1, 2))
        nemesis.watch(0.5)


class Talk(threading.Thread):
    """The crowd on an event loop of its own, beside the thread that kills."""

    def __init__(self, crowd: Crowd) -> None:
        super().__init__(name="crowd")
        self._crowd = crowd
        self._loop: asyncio.AbstractEventLoop | None = None
        self._failed: BaseException | None = None

    def run(self) -> None:
        try:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                runner.run(self._crowd.run())
        except BaseException as error:  # noqa: BLE001 - told in the other thread
            self._failed = error

    def is_writing(self) -> bool:
        """Whether customers still have something to say."""
        self._tell_failure()
        return not self._crowd.has_written_all

    def end(self) -> None:
        if self._loop is not None and self.is_alive():
            self._loop.call_soon_threadsafe(self._crowd.is_over.set)
        self.join(30)
        self._tell_failure()

    def _tell_failure(self) -> None:
        if self._failed is not None:
            raise RuntimeError("the crowd could not go on") from self._failed


@contextmanager
def talking(crowd: Crowd) -> Generator[Talk]:
    talk = Talk(crowd)
    talk.start()
    try:
        yield talk
    finally:
        talk.end()


def drain(stack: Stack, nemesis: Nemesis) -> None:
    """Until nothing is on its way, twice in a row; past the deadline the judges name what is left."""
    until, quiet = time.monotonic() + DRAIN_SECONDS, 0
    while quiet < 2 and time.monotonic() < until:
        nemesis.watch(1.0)
        quiet = quiet + 1 if not asyncio.run(_unfinished(stack)) else 0


async def _unfinished(stack: Stack) -> list[str]:
    try:
        evidence = await Evidence.open(stack)
    except (OSError, asyncpg.PostgresError) as error:
        return [f"Postgres does not answer: {error!r}"]
    try:
        return await evidence.unfinished()
    finally:
        await evidence.close()


async def _keep(stack: Stack, crowd: Crowd, findings: Findings) -> None:
    """Everything that was said about the conversations that a finding names, for whoever reads it."""
    evidence = await Evidence.open(stack)
    try:
        story = await evidence.story(findings.told(each=20))
    finally:
        await evidence.close()
    folder = KEPT / f"seed-{crowd.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    refused = "\n".join(f"{one}: {why}" for one, why in crowd.refused.items())
    (folder / "story.txt").write_text(f"{findings.told(each=100)}\n\n{refused}\n\n{story}\n", encoding="utf-8")


async def _judge(stack: Stack, crowd: Crowd, nemesis: Nemesis) -> tuple[Findings, int]:
    evidence = await Evidence.open(stack)
    try:
        found = await evidence.judge(crowd.written, nemesis.blows)
        return found + Findings(unfinished=[*crowd.unexpected]), await evidence.uncertain()
    finally:
        await evidence.close()
