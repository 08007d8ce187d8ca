"""One run: a fresh system, a crowd that talks through it, a nemesis that kills its parts, and the judgement.

PostgreSQL runs with its own defaults here, fsync on; NATS with the stack's `sync_interval` of 10 s. A kill -9 leaves
the page cache of the machine alone: this is about processes that die, not about power.
"""

import asyncio
import shutil
import tempfile
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from contracts.topology import SERVICES
from deploy.demo.fresh import free_ports
from deploy.local.layout import Layout
from tests.faults.checker import Findings
from tests.faults.crowd import Crowd
from tests.faults.disks import small_disks
from tests.faults.evidence import Evidence
from tests.faults.installation import Installation
from tests.faults.nemesis import Nemesis
from tests.faults.plan import POINTS, plan, service_of

ACK_WAIT_SECONDS = 2.5
SETTINGS = {
    # delivery being away for longer than the hold would look like a person's reply; an outage here takes seconds, and
    # what a killed pod had not published is swept after 15
    "ingest": {"ECHO_HOLD_SECONDS": "90", "ECHO_HEARING_SECONDS": "8"},
    "*": {"LEASE_SECONDS": "2", "POLL_SECONDS": "0.3", "PARKED_AFTER_ATTEMPTS": "30", "NATS_PING_SECONDS": "1"},
    "conversador": {"BURST_DEBOUNCE_SECONDS": "0.05", "MODEL_BUDGET_SECONDS": "10"},
    "delivery": {"CALL_TIMEOUT_SECONDS": "5"},
}
POSTGRES = {"max_connections": "200"}
STANDSTILL_SECONDS = 60.0
"""Longer than any pause of the system itself: leases, backoffs and redeliveries are seconds here."""
WEBHOOK_ATTEMPTS = 300
KEPT = Path("artefacts/faults")


class Patient(Layout):
    """A phone that brings its webhooks for longer than all outages together: what it gives up is lost before us."""

    def phone_arguments(self) -> list[str]:
        return [*super().phone_arguments(), "--retry-attempts", str(WEBHOOK_ATTEMPTS)]


@contextmanager
def system(seed: int) -> Generator[Installation]:
    """All servers and services, with short leases and redeliveries, and a number that may send all day."""
    home = Path(tempfile.mkdtemp(prefix="chancela-faults-"))
    home.chmod(0o711)
    layout = Patient(home, free_ports(), overrides=SETTINGS, number_daily_cap=1_000_000)
    try:
        with small_disks(home) as disks:
            installation = Installation(
                layout, seed, ack_wait_seconds=ACK_WAIT_SECONDS, postgres_settings=POSTGRES, disks=disks
            )
            with installation:
                yield installation
    finally:
        shutil.rmtree(home, ignore_errors=True)


@dataclass(frozen=True)
class Outcome:
    """What the judges found, and what happened."""

    findings: Findings
    crowd: Crowd
    nemesis: Nemesis
    uncertain: int
    seconds: float
    not_tried: Sequence[str]

    def told(self) -> str:
        """What happened, in a few lines."""
        crowd, nemesis = self.crowd, self.nemesis
        chats = len({chat for chat, _ in crowd.written})
        decided = ", ".join(f"{number} {kind}" for kind, number in sorted(crowd.decided.items()))
        lines = [
            f"{chats} conversations, {len(crowd.written)} messages · {decided} · uncertain {self.uncertain}",
            f"kill -9: {nemesis}",
            *(f"ended alone: {what} {number} times" for what, number in sorted(nemesis.ended_alone.items())),
            *self.not_tried,
        ]
        return "\n".join(lines)

    @property
    def unproven(self) -> Sequence[str]:
        """What a whole round should have tried and did not: points that nobody passed, blows that did not fall."""
        nemesis = self.nemesis
        passed = {name.split(" ")[1] for name in nemesis.crashes}
        points = {*nemesis.missed, *(point for point in POINTS if point not in passed)}
        services = {*SERVICES} - {service_of(name) for name in nemesis.kills | nemesis.crashes}
        kinds = nemesis.installation.can - nemesis.struck
        return [f"not tried: {what}" for what in sorted((*points, *services, *kinds))]

    def __str__(self) -> str:
        """The line that everything is judged by."""
        return f"{self.findings} · kills {self.nemesis.killed} · {self.seconds:.0f} s · seed {self.crowd.seed}"


def run(*, chats: int, seconds: float, seed: int, whole_round: bool = True) -> Outcome:
    """Let `chats` customers write over `seconds` while the seed's plan is carried out, wait until all is done, judge.

    With `whole_round` every kind of blow that the machine allows falls at least once, however long that takes.
    """
    with system(seed) as installation:
        crowd = Crowd(installation.layout, chats, seconds, seed)
        nemesis = Nemesis(installation, whole_round=whole_round)
        began = time.monotonic()
        with talking(crowd) as talk:
            try:
                nemesis.carry_out(plan(seed, can=installation.can), lambda: time.monotonic() - began > seconds)
            finally:
                crowd.has_trouble = False
            while talk.is_writing():
                nemesis.watch(0.5)
            findings, uncertain = settled(installation, crowd, nemesis)
        lasted = time.monotonic() - began
        outcome = Outcome(findings, crowd, nemesis, uncertain, lasted, installation.why_not)
        if findings:
            asyncio.run(_keep(installation, outcome))
            for log in installation.pair.logs:
                shutil.copy(log, installation.logs / f"{log.parent.name}.log")
            shutil.copytree(installation.logs, KEPT / f"seed-{seed}", dirs_exist_ok=True)
        return outcome


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


def settled(installation: Installation, crowd: Crowd, nemesis: Nemesis) -> tuple[Findings, int]:
    """Wait until nothing is on its way, or nothing moves any more, and judge that very moment of the database.

    Returns the findings and the number of uncertain sends.
    """
    known, moved_at = [""], time.monotonic()
    while True:
        nemesis.watch(1.0)
        is_last = time.monotonic() > moved_at + STANDSTILL_SECONDS
        try:
            left, judgement = asyncio.run(_look(installation, crowd, nemesis, is_last=is_last))
        except (OSError, asyncpg.PostgresError) as error:
            if is_last:
                raise
            left, judgement = [f"Postgres does not answer: {error!r}"], None
        if judgement is not None:
            return judgement
        if left != known:
            known, moved_at = left, time.monotonic()


async def _look(
    installation: Installation, crowd: Crowd, nemesis: Nemesis, *, is_last: bool
) -> tuple[list[str], tuple[Findings, int] | None]:
    evidence = await Evidence.open(installation)
    try:
        left = await evidence.unfinished()
        if left and not is_last:
            return left, None
        found = await evidence.judge(crowd.written, nemesis.calls_interrupted + nemesis.delivery_kills)
        found += Findings(unfinished=[*left, *crowd.unexpected], ungraceful=[*nemesis.ungraceful])
        return left, (found, await evidence.uncertain())
    finally:
        await evidence.close()


async def _keep(installation: Installation, outcome: Outcome) -> None:
    """Everything that was said about the conversations that a finding names, for whoever reads it."""
    evidence = await Evidence.open(installation)
    try:
        story = await evidence.story(outcome.findings.told(each=20))
    finally:
        await evidence.close()
    folder = KEPT / f"seed-{outcome.crowd.seed}"
    folder.mkdir(parents=True, exist_ok=True)
    refused = "\n".join(f"{one}: {why}" for one, why in outcome.crowd.refused.items())
    blows = "\n".join(outcome.nemesis.done)
    parts = [outcome.findings.told(each=100), outcome.told(), str(outcome), blows, refused, story]
    (folder / "story.txt").write_text("\n\n".join(parts), encoding="utf-8")
