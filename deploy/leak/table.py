"""The report on the console."""

from collections.abc import Iterator

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from deploy.leak import wording
from deploy.leak.doors import DOORS
from deploy.leak.report import Report

MOST_LEAKS = 20


def show(report: Report, console: Console) -> None:
    for part in _parts(report):
        console.print(part)


def _parts(report: Report) -> Iterator[RenderableType]:
    yield Text(wording.measured(report.asked))
    yield _arms(report)
    yield from (Text(wording.refusal_of(one), style="red") for one in report.arms if one.refused)
    if report.reasons:
        yield _reasons(report)
    if report.pairings:
        yield _pairings(report)
    if report.doors:
        yield _doors(report)
        yield _leaks(report)
    yield from (Text(note, style="dim") for note in wording.NOTES)


def _table(title: str, *columns: str) -> Table:
    """Columns whose name begins with `>` hold numbers."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column.removeprefix(">"), justify="right" if column.startswith(">") else "left")
    return table


def _row(table: Table, *cells: object) -> None:
    table.add_row(*(Text(str(cell)) for cell in cells))  # brackets are data


def _arms(report: Report) -> Table:
    table = _table(
        "Leaks per turn", "prompt", ">planned", ">did not run", ">silent", ">judged", ">leaked", ">rate", ">95 %",
        ">scenarios leaked",
    )  # fmt: skip
    for one in report.arms:
        _row(
            table, one.arm, one.planned, one.failed, one.silent, one.judged, one.leaked, wording.share_of(one.rate),
            wording.interval_of(one.rate), one.scenarios_leaked,
        )  # fmt: skip
    return table


def _reasons(report: Report) -> Table:
    table = _table("Turns without a text to judge", "prompt", "turn", ">turns", "why")
    for one in report.reasons:
        _row(table, one.arm, one.ended, one.turns, one.why)
    return table


def _pairings(report: Report) -> Table:
    table = _table("Pairs", "a", "b", ">pairs", ">both leaked", ">only a", ">only b", ">neither", ">p")
    for one in report.pairings:
        _row(
            table, one.first, one.second, one.pairs, one.both, one.only_first, one.only_second, one.neither,
            wording.p_of(one),
        )  # fmt: skip
    return table


def _doors(report: Report) -> Table:
    table = _table("Doors of the leaked spans", "prompt", "door", ">spans", ">only here")
    for one in report.doors:
        _row(table, one.arm, DOORS[one.door], one.spans, one.only_here)
    return table


def _leaks(report: Report) -> Table:
    rows = [(turn, span) for turn in report.leaks for span in turn.spans]
    more = f"; {len(rows) - MOST_LEAKS} more with --json or --html" if len(rows) > MOST_LEAKS else ""
    table = _table(f"Leaked spans{more}", "prompt", "scenario", ">repeat", "span", "kind", "doors")
    for turn, span in rows[:MOST_LEAKS]:
        kinds, doors = ", ".join(span.categories), ", ".join(span.doors)
        _row(table, turn.arm, turn.scenario, turn.repeat, span.text, kinds, doors)
    return table
