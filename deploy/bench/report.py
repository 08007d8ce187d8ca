"""A report as people read it."""

import pstats
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.table import Table

from deploy.bench.run import Report

PROFILE_LINES = 40
BUSY_SHARE = 0.5


def show(report: Report, console: Console) -> None:
    console.print(_medians(report))
    console.print(_ratios(report))
    machine = ", ".join(f"{name} {value}" for name, value in report.machine.items())
    versions = ", ".join(f"{name} {value}" for name, value in report.versions.items())
    console.print(f"{machine}\n{versions}\n{report.seconds:.0f} s", style="dim")
    if float(report.machine.get("load_at_start", 0)) > BUSY_SHARE * float(report.machine.get("cores", 1)):
        console.print("the machine was busy with something else: measure again when it is not", style="bold yellow")
    for name in report.not_installed:
        console.print(f"{name}: not installed (dependency group `bench`)", style="yellow")
    for name, why in report.failed.items():
        console.print(f"{name} could not run: {why}", style="red", markup=False)


def _medians(report: Report) -> Table:
    table = Table("bench", "what", "median", "rounds", title="Medians")
    for bench, values in report.medians.items():
        for name, value in values.items():
            rounds = " ".join(_number(one[name]) for one in report.rounds[bench])
            table.add_row(bench, name, _number(value), rounds)
    return table


def _ratios(report: Report) -> Table:
    table = Table("ratio", "what", "measured", "must be", "goal", "met", title="Ratios")
    for name, value in (report.ratios | report.more_ratios).items():
        target = report.targets[name]
        sign = "≥" if target["at"] == "least" else "≤"
        met = {None: "not measured", True: "yes", False: "NO"}[target["is_met"]]
        style = {None: "dim", True: "", False: "bold red"}[target["is_met"]]
        measured = "–" if value is None else _number(value)
        bounds = f"{sign} {target['must']:g}", f"{target['goal']:g}"
        table.add_row(name, target["what"], measured, *bounds, met, style=style)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def top(profile: Path) -> str:
    """Where our hop spends its CPU: the functions with the most time of their own."""
    text = StringIO()
    pstats.Stats(str(profile), stream=text).strip_dirs().sort_stats("tottime").print_stats(PROFILE_LINES)
    return text.getvalue()
