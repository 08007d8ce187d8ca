"""The command: measure, print, keep."""

import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec
from rich.console import Console

from deploy.bench.report import show, top
from deploy.bench.run import run


def main(
    *,
    quick: bool,
    json: bool,
    only: Sequence[str],
    stored: int | None,
    profile: bool,
    save: Path | None,
    console: Console,
) -> int:
    """Exit code: 0 when everything ran (a missed target is told, not an error), 1 when a bench could not run."""
    signal.signal(signal.SIGTERM, _leave_in_order)
    aside = Console(stderr=True, highlight=False)
    with tempfile.TemporaryDirectory(prefix="chancela-profile-") as folder:
        file = Path(folder) / "hop.prof" if profile else None
        report = run(
            quick=quick, only=only, stored=stored, profile=file, say=lambda what: aside.print(what, style="dim")
        )
        if json:
            sys.stdout.write(msgspec.json.encode(report).decode() + "\n")
        else:
            show(report, _wide(console))
        if file is not None and file.exists():
            (aside if json else console).print(top(file), markup=False, soft_wrap=True)
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n")
    return 1 if report.failed else 0


def _leave_in_order(*_: object) -> NoReturn:
    """SIGTERM ends it as Ctrl-C does: servers stopped, folders removed."""
    raise KeyboardInterrupt


def _wide(console: Console) -> Console:
    """Into a file or a pipe, a table may be as wide as it wants."""
    return console if console.is_terminal else Console(highlight=False, width=140)
