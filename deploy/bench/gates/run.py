"""One run: ours and every peer in turn, round after round, so that a slow minute of the machine meets all alike."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any, Final, NamedTuple

import msgspec

from deploy.bench.gates.messages import long_texts, messages
from deploy.bench.machine import machine
from services.guardrails import leak_rules

HERE: Final = Path(__file__).parent
PEERS: Final = {
    "llm_guard": "llm-guard",
    "openai_guardrails": "openai-guardrails",
    "nemo_guardrails": "nemoguardrails",
}
"""Names as in `peer.py`, and the packages in which they come."""
LONG: Final = 100_000
Say = Callable[[str], None]


class Sizes(NamedTuple):
    rounds: int
    messages: int
    warm: int
    long_rounds: int


FULL: Final = Sizes(rounds=7, messages=1000, warm=2000, long_rounds=3)
QUICK: Final = Sizes(rounds=3, messages=1000, warm=1000, long_rounds=1)
PEERS_MESSAGES: Final = 100
"""Of a round's messages; a peer takes milliseconds for one."""


class Figures(msgspec.Struct):
    """Medians over the rounds, of CPU time. `text_100kb_ms` is of the slowest kind of long text."""

    p50_us: float
    p99_us: float
    per_second: float
    text_100kb_ms: float
    long_texts_ms: dict[str, float]


class Report(msgspec.Struct):
    """What `--json` prints. A peer that is not installed, or did not run, is None here and told in `missing`."""

    ours: Figures | None
    llm_guard: Figures | None
    openai_guardrails: Figures | None
    nemo_guardrails: Figures | None
    import_seconds: float
    """CPU of importing the chain."""
    calibration_ms: float
    """CPU of a fixed loop: how fast this machine was during the run."""
    missing: dict[str, str]
    versions: dict[str, dict[str, str]]
    machine: dict[str, str | int]
    is_quick: bool
    seconds: float


class Program:
    """A measured process; it answers a line for every line."""

    def __init__(self, process: "subprocess.Popen[str]", first: Mapping[str, Any] | None = None) -> None:
        self._process = process
        if first is not None:
            self._write(first)
        self.versions: dict[str, str] = self._read()["versions"]

    def cpu_us(self, texts: Sequence[tuple[str, str]]) -> list[float]:
        self._write({"texts": texts})
        return self._read()["cpu_us"]

    def _write(self, what: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()

    def _read(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ProgramError(f"it ended with code {self._process.wait()}")
        return json.loads(line)


class ProgramError(Exception):
    """A measured program did not answer."""


def run(*, quick: bool, interpreters: Sequence[Path], say: Say) -> Report:
    """`interpreters`: other Pythons in which peers are installed; this one is looked into as well."""
    began, sizes = time.monotonic(), QUICK if quick else FULL
    missing: dict[str, str] = {}
    with ExitStack() as open_:
        programs = {"ours": open_.enter_context(_started([sys.executable, "-m", "deploy.bench.gates.ours"], None))}
        for name, package in PEERS.items():
            say(f"{name}: starting")
            found = next((one for one in (Path(sys.executable), *interpreters) if _has(one, package)), None)
            if found is None:
                missing[name] = f"{package} is not installed"
                continue
            try:
                programs[name] = open_.enter_context(
                    _started([str(found), str(HERE / "peer.py"), name, package], _rules())
                )
            except ProgramError as error:
                missing[name] = str(error)
        figures, calibration = _measured(programs, sizes, say)
    return Report(
        **{name: figures.get(name) for name in ("ours", *PEERS)},
        import_seconds=round(_import_seconds(), 3),
        calibration_ms=calibration,
        missing=missing,
        versions={name: program.versions for name, program in programs.items()},
        machine=machine(),
        is_quick=quick,
        seconds=round(time.monotonic() - began, 1),
    )


def _rules() -> dict[str, Any]:
    words = sorted({*leak_rules.LOANWORDS, *leak_rules.ALWAYS})
    return {"words": words, "patterns": list(leak_rules.STRUCTURE.values())}


@contextmanager
def _started(command: Sequence[str], first: Mapping[str, Any] | None) -> Generator[Program]:
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        yield Program(process, first)
    finally:
        process.kill()
        process.communicate()


def _has(interpreter: Path, package: str) -> bool:
    asked = [str(interpreter), "-c", f"from importlib.metadata import version; version({package!r})"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


def _measured(programs: Mapping[str, Program], sizes: Sizes, say: Say) -> tuple[dict[str, Figures], float]:
    short: dict[str, list[list[float]]] = {name: [] for name in programs}
    long: dict[str, dict[str, list[float]]] = {name: {} for name in programs}
    loops: list[float] = []
    for name, program in programs.items():
        program.cpu_us(_part(messages(sizes.warm, seed=1), name))
    for number in range(sizes.rounds):
        say(f"round {number + 1} of {sizes.rounds}")
        texts = messages(sizes.messages, seed=100 + number)
        loops.append(_calibration())
        for name, program in programs.items():
            short[name].append(program.cpu_us(_part(texts, name)))
            if number < sizes.long_rounds:
                for kind, text in long_texts(LONG - number).items():
                    long[name].setdefault(kind, []).extend(program.cpu_us([("pt-BR", text)]))
    return {name: _figures(short[name], long[name]) for name in programs}, round(median(loops), 2)


def _part(texts: list[tuple[str, str]], name: str) -> list[tuple[str, str]]:
    return texts if name == "ours" else texts[:PEERS_MESSAGES]


def _figures(rounds: Sequence[Sequence[float]], long: Mapping[str, Sequence[float]]) -> Figures:
    kinds = {kind: round(median(values) / 1000, 2) for kind, values in long.items()}
    return Figures(
        p50_us=round(median(median(each) for each in rounds), 1),
        p99_us=round(median(quantiles(each, n=100)[98] for each in rounds), 1),
        per_second=round(median(1e6 / mean(each) for each in rounds)),
        text_100kb_ms=max(kinds.values()),
        long_texts_ms=dict(sorted(kinds.items(), key=lambda kind: -kind[1])),
    )


def _calibration() -> float:
    began = time.process_time_ns()
    sum(number * number % 7 for number in range(200_000))
    return (time.process_time_ns() - began) / 1e6


def _import_seconds() -> float:
    timed = "import time; began = time.process_time(); import {}; print(time.process_time() - began)"
    command = [sys.executable, "-c", timed.format("services.guardrails.chain")]
    said = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(5)]
    return median(map(float, said))
