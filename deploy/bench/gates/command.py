"""The command: measure, print."""

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from deploy.bench.gates.run import PEERS, Figures, Report, run

MUST = {"p50_us": 100, "p99_us": 200, "per_second": 10_000, "text_100kb_ms": 5}
"""`04-gates.md`, Evidence of speed. `per_second` is at least, the others at most."""


def main(*, quick: bool, json: bool, interpreters: Sequence[Path], save: Path | None, console: Console) -> int:
    """Exit code 0: what was measured is told, and a missed target or a missing peer with it."""
    aside = Console(stderr=True, highlight=False)
    report = run(quick=quick, interpreters=interpreters, say=lambda what: aside.print(what, style="dim"))
    if json:
        sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
    else:
        show(report, console)
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    return 0


def show(report: Report, console: Console) -> None:
    table = Table("", "p50 µs", "p99 µs", "messages/s", "100 KB ms", title="CPU of one message")
    bounds = (f"{'≥' if name == 'per_second' else '≤'} {bound:,}" for name, bound in MUST.items())
    table.add_row("must be", *bounds, style="dim")
    for name in ("ours", *PEERS):
        figures: Figures | None = getattr(report, name)
        if figures is not None:
            table.add_row(name, *(f"{getattr(figures, value):,.0f}" for value in MUST))
    console.print(table)
    if report.ours is not None:
        slowest = ", ".join(f"{kind} {value:.1f}" for kind, value in list(report.ours.long_texts_ms.items())[:6])
        console.print(f"our slowest long texts, ms: {slowest}", style="dim")
    told = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    console.print(f"import {report.import_seconds:.2f} s; {told}; {report.seconds:.0f} s", style="dim")
    for name, why in report.missing.items():
        console.print(f"{name}: {why} (in an environment of its own: --peers PYTHON)", style="yellow", markup=False)
