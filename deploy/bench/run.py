"""One run: every bench in turn, again and again, so that a slow minute of the machine meets all of them alike."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple, cast

import msgspec
import uvloop

from contracts.topology import SERVICES
from deploy.bench import growth, latency, pipeline
from deploy.bench.machine import machine, versions
from deploy.bench.rates import Rates, Values
from deploy.bench.servers import Producer, Servers, Watch, running
from deploy.bench.sizes import FULL, QUICK, Sizes
from deploy.bench.targets import TARGETS, Target, ratios

OUT_OF_TIME = "it was not done when its time was over: the machine is too busy, or something stands still"
Say = Callable[[str], None]


class Bench(NamedTuple):
    """One thing that is measured once a round. `needs` is a package that may be missing."""

    name: str
    what: str
    run: Callable[[], Awaitable[Values]]
    needs: str = ""


class Report(msgspec.Struct):
    """What `--json` prints; every number of a bench is the median over its rounds."""

    ratios: dict[str, float | None]
    """None where it was not measured."""
    more_ratios: dict[str, float | None]
    targets: dict[str, dict[str, Any]]
    medians: dict[str, Values]
    rounds: dict[str, list[Values]]
    failed: dict[str, str]
    not_installed: list[str]
    versions: dict[str, str]
    machine: dict[str, str | int]
    is_quick: bool
    seconds: float


NAMES = (
    "latency", "fetch", "hop", "without_lanes", "naive", "publish", "commit",
    "faststream", "faststream_16", "pgqueuer", "procrastinate", "growth", "pipeline",
)  # fmt: skip


def run(*, quick: bool, only: Sequence[str], stored: int | None, profile: Path | None, say: Say) -> Report:
    """Start servers, measure, stop; a bench that fails is told in the report and does not stop the others."""
    sizes = QUICK if quick else FULL
    if stored is not None:
        sizes = sizes._replace(stored=stored)
    began = time.monotonic()
    report = Report({}, {}, {}, {}, {}, {}, [], versions(), machine(), quick, 0.0)
    wanted = only or NAMES
    if profile is not None or set(wanted) - {"pipeline"}:
        with running() as servers, _loop() as runner:
            runner.run(_measure(servers, sizes, wanted, profile, report, began, say))
    if "pipeline" in wanted:
        _pipeline(sizes, report, began + sizes.pipeline_ends_seconds, say)
    report.medians = {name: _medians(values) for name, values in report.rounds.items() if values}
    found = ratios(report.medians)
    report.targets = {one.name: _target(one, found[one.name]) for one in TARGETS}
    report.ratios = {one.name: found[one.name] for one in TARGETS if not one.is_extra}
    report.more_ratios = {one.name: found[one.name] for one in TARGETS if one.is_extra}
    report.seconds = round(time.monotonic() - began, 1)
    return report


def _pipeline(sizes: Sizes, report: Report, ends_at: float, say: Say) -> None:
    """A system of its own: all six services run."""
    say("pipeline: starting six services")
    try:
        with (
            running(pipeline.ManyNumbers, services=SERVICES, overrides=pipeline.SETTINGS) as servers,
            _loop() as runner,
        ):
            rounds, memory = runner.run(pipeline.measure(servers, sizes, ends_at, say))
    except TimeoutError:
        report.failed["pipeline"] = OUT_OF_TIME
    except Exception as error:  # noqa: BLE001 - as in `_attempt`
        report.failed["pipeline"] = _told(error)
    else:
        report.rounds |= {"pipeline": rounds, "memory": memory}


def _loop() -> asyncio.Runner:
    return asyncio.Runner(loop_factory=uvloop.new_event_loop)


def _target(target: Target, value: float | None) -> dict[str, Any]:
    is_met = None if value is None else target.is_met(value)
    return {"what": target.what, "at": target.is_at, "must": target.must, "goal": target.goal, "is_met": is_met}


def _medians(rounds: Sequence[Mapping[str, float]]) -> Values:
    return {name: median(one[name] for one in rounds) for name in rounds[0]}


async def _measure(  # noqa: PLR0917 - private, called once
    servers: Servers, sizes: Sizes, only: Sequence[str], profile: Path | None, report: Report, began: float, say: Say
) -> None:
    async with AsyncExitStack() as open_:
        watch = await open_.enter_async_context(Watch.open(servers))
        producer = await open_.enter_async_context(Producer.open(servers, watch))
        rates = Rates(servers, watch, producer)
        wanted = [one for one in _benches(rates, sizes) if one.name in only]
        report.not_installed = sorted({one.needs for one in wanted if not _is_there(one.needs)})
        await _rounds([one for one in wanted if _is_there(one.needs)], sizes, report, began, say)
        if "growth" in only:
            say("growth: few and many stored messages, one and many lanes")
            await _attempt("growth", lambda: growth.measure(rates, sizes), report, began + sizes.growth_ends_seconds)
        if profile is not None:
            say("our hop once more, under cProfile (its rate does not count)")
            await rates.hop(sizes.batched, profile=profile)


async def _rounds(benches: Sequence[Bench], sizes: Sizes, report: Report, began: float, say: Say) -> None:
    """Rounds that end too late do not count: their first benches would be compared with nothing of that minute."""
    for number in range(sizes.rounds):
        if number and time.monotonic() > began + sizes.rounds_within_seconds:
            say(f"no time for more than {number} of {sizes.rounds} rounds")
            return
        for bench in (one for one in benches if one.name not in report.failed):
            say(f"round {number + 1} of {sizes.rounds}: {bench.what}")
            await _attempt(bench.name, bench.run, report, began + sizes.rounds_end_seconds)
        if number and time.monotonic() > began + sizes.rounds_end_seconds:
            say(f"round {number + 1} was not done in time and does not count")
            report.rounds |= {name: values[:number] for name, values in report.rounds.items()}


async def _attempt(name: str, run_once: Callable[[], Awaitable[Values]], report: Report, ends_at: float) -> None:
    """Once more, if there is time; only a bench without any result has failed when its time is over."""
    rounds = report.rounds.setdefault(name, [])
    try:
        async with asyncio.timeout(max(ends_at - time.monotonic(), 0)):
            rounds.append(await run_once())
    except TimeoutError:
        if not rounds:
            report.failed[name] = OUT_OF_TIME
    except Exception as error:  # noqa: BLE001 - a bench may break in any way; the others are measured
        report.failed[name] = _told(error)


def _told(error: Exception) -> str:
    """The first cause: groups say nothing by themselves."""
    if isinstance(error, ExceptionGroup):
        return _told(cast("ExceptionGroup[Exception]", error).exceptions[0])
    return f"{type(error).__name__}: {error}"


def _is_there(package: str) -> bool:
    return not package or find_spec(package) is not None


def _benches(rates: Rates, sizes: Sizes) -> list[Bench]:
    def peer(name: str, what: str, load: Any, worker: str = "", *extra: str, needs: str = "") -> Bench:
        return Bench(name, what, lambda: rates.peer(worker or name, load, *extra), needs)

    def queue(name: str) -> Bench:
        return Bench(name, name, lambda: rates.queue(f"{name}_hop", sizes.queues), name)

    plain = "FastStream's plain hop"
    return [
        Bench("latency", "latency at 10/s", lambda: latency.measure(rates.servers, sizes.latencies)),
        peer("fetch", "nats-py fetch(256) + ack", sizes.batched),
        Bench("hop", "our hop", lambda: rates.hop(sizes.batched)),
        peer("without_lanes", "the batched hop without lanes", sizes.batched),
        peer("naive", "one transaction per message", sizes.single),
        peer("publish", "nats-py publish", sizes.batched),
        peer("commit", "PostgreSQL insert + commit", sizes.single),
        peer("faststream", plain, sizes.single, "faststream_hop", needs="faststream"),
        peer("faststream_16", f"{plain}, 16 workers", sizes.single, "faststream_hop", "16", needs="faststream"),
        queue("pgqueuer"),
        queue("procrastinate"),
    ]
