"""`chancela dev`: the whole system on one laptop, supervised in the foreground, until Ctrl-C."""

import os
import shutil
import signal
import time
import webbrowser
from pathlib import Path

from rich.console import Console

from contracts.topology import SERVICES
from deploy.local.layout import Layout, Ports
from deploy.local.ports import PortTakenError
from deploy.local.postgres import erase_postgres
from deploy.local.stack import Stack
from shared.migrate import MigrationError

LOOK_EVERY_SECONDS = 0.5
ENDS_BEFORE_GIVING_UP = 5


def run(home: Path, *, fresh: bool, port: int, console: Console) -> int:
    """Start, watch, stop; returns the exit code."""
    home = home.absolute()
    if fresh:
        _forget(home)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    layout = Layout(home, _ports(port))
    stop = _Stop()
    began = time.monotonic()
    try:
        with Stack(layout, say=lambda what: console.print(f"[dim]starting {what} …[/]")) as stack:
            _welcome(layout, console, time.monotonic() - began)
            code = _watch(stack, stop, console)
            console.print("\n[dim]stopping …[/]")
    except PortTakenError as error:
        console.print(f"[red]{error}[/]\nChoose another with --port.")
        return 2
    except (RuntimeError, MigrationError) as error:
        console.print(f"[red]{error}[/]\nLogs: {home / 'logs'}")
        return 1
    except KeyboardInterrupt:
        code = 0
    console.print("Everything is stopped; the data is kept.")
    return code


class _Stop:
    """Ctrl-C or SIGTERM, once; while the stack starts, as an exception that stops it."""

    def __init__(self) -> None:
        self.is_asked = False
        signal.signal(signal.SIGTERM, self._ask)
        signal.signal(signal.SIGINT, self._ask)

    def _ask(self, *_: object) -> None:
        if self.is_asked:
            return
        self.is_asked = True
        raise KeyboardInterrupt


def _ports(first: int) -> Ports:
    if first == Ports().approval:
        return Ports()
    health = {service: first + 21 + index for index, service in enumerate(SERVICES)}
    return Ports(
        approval=first, ingest=first + 10, phone=first + 11, model=first + 12, gates=first + 13, health=health
    )  # fmt: skip


def _forget(home: Path) -> None:
    erase_postgres(home / "postgres")
    shutil.rmtree(home, ignore_errors=True)


def _welcome(layout: Layout, console: Console, seconds: float) -> None:
    console.print(f"\n[bold]Chancela[/] is up after {seconds:.1f} s: [bold]{layout.approval_url}[/]")
    console.print(f"What the gates veto, and their rules: [bold]{layout.gates_url}[/]")
    console.print("Write on the phone, approve with the key [bold]a[/]. Ctrl-C stops everything.\n")
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        webbrowser.open(layout.approval_url)


def _watch(stack: Stack, stop: _Stop, console: Console) -> int:
    """Until a stop is asked for. A service that ends is started again, a few times."""
    ends = 0
    while not stop.is_asked:
        try:
            time.sleep(LOOK_EVERY_SECONDS)
        except KeyboardInterrupt:
            return 0
        for name, code in stack.processes.ended().items():
            ends += 1
            console.print(f"[red]{name} ended with code {code}[/]; the end of its log:")
            console.print(stack.processes[name].log_tail(), markup=False)
            if ends > ENDS_BEFORE_GIVING_UP:
                return 1
            stack.processes.restart(name)
    return 0
