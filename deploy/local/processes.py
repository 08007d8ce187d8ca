"""Child processes of the local stack: each in its own session, its output in a file, dying with the parent.

Laws: a stop asks first (SIGTERM), waits the grace, then kills; a pause never blocks a stop; when the parent dies, even
by kill -9, the kernel signals every child (see leash.py). To the kernel the parent is the *thread* that started the
child: start children from a thread that lives as long as they should.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from deploy.local.ports import wait_until
from deploy.local.unprivileged import Account

_LEASH = Path(__file__).with_name("leash.py")
_GRACE_SECONDS = 10.0
_KILLED_WITHIN_SECONDS = 10.0


@dataclass(frozen=True)
class Command:
    """What to run, as whom, where its output goes, and the signal that it gets when we die."""

    arguments: Sequence[str]
    log_file: Path
    env: Mapping[str, str] | None = None
    directory: Path | None = None
    account: Account | None = None
    death_signal: signal.Signals = signal.SIGKILL


class Child:
    def __init__(self, name: str, command: Command) -> None:
        self.name = name
        self.command = command
        self._running = self._launch()

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; minus the signal's number when a signal ended it."""
        return self._running.poll()

    def is_running(self) -> bool:
        return self.exit_code is None

    def log_tail(self, lines: int = 15) -> str:
        """The end of what it wrote since its last start."""
        with self.command.log_file.open(errors="replace") as log:
            log.seek(self._log_start)
            return "".join(log.readlines()[-lines:]).rstrip()

    def ask_to_stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        if self._running.returncode is None:
            self._signal(how)
            self._signal(signal.SIGCONT)  # a paused child hears the first only once it goes on

    def stop(self, how: signal.Signals = signal.SIGTERM, grace_seconds: float = _GRACE_SECONDS) -> int:
        self.ask_to_stop(how)
        return self.finish(grace_seconds)

    def finish(self, grace_seconds: float) -> int:
        """Wait for the end that was asked for; past the grace, kill."""
        if self._running.returncode is not None:  # its pid may be another program's by now
            return self._running.returncode
        try:
            code = self._running.wait(grace_seconds)
        except subprocess.TimeoutExpired:
            return self.kill()
        self._signal_group(signal.SIGKILL)  # what it started and left behind
        return code

    def kill(self) -> int:
        """End it by kill -9, with what it started."""
        if self._running.returncode is None:
            self._signal_group(signal.SIGKILL)
        return self._running.wait(_KILLED_WITHIN_SECONDS)

    def pause(self) -> None:
        self._signal_group(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal_group(signal.SIGCONT)

    def start_again(self) -> None:
        if self.is_running():
            raise RuntimeError(f"{self.name} still runs (pid {self.pid}): stop it before starting it again")
        self._running = self._launch()

    def _launch(self) -> subprocess.Popen[bytes]:
        command = self.command
        command.log_file.parent.mkdir(parents=True, exist_ok=True)
        on_leash, to_close = os.pipe()
        with os.fdopen(on_leash, "rb") as leashed, command.log_file.open("ab") as log:
            self._log_start = log.tell()
            try:
                running = subprocess.Popen(
                    [*_leash(command, to_close), *command.arguments],
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    env=None if command.env is None else dict(command.env),
                    cwd=command.directory,
                    start_new_session=True,  # Ctrl-C in the terminal is ours to pass on
                    pass_fds=(to_close,),
                )
            finally:
                os.close(to_close)
            leashed.read()  # until it has become the command, or failed
        return running

    def _signal(self, which: signal.Signals) -> None:
        """Without looking whether it has ended, as `Popen.send_signal` does: that reaps it, and what it started and
        left behind would be out of reach.
        """
        with suppress(ProcessLookupError):
            os.kill(self.pid, which)

    def _signal_group(self, which: signal.Signals) -> None:
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of a group of zombies
            os.killpg(self.pid, which)


def _leash(command: Command, pipe: int) -> list[str]:
    account = command.account
    whom = f"{account.uid}:{account.gid}" if account else "-"
    return [sys.executable, "-I", "-S", str(_LEASH), str(os.getpid()), str(int(command.death_signal)), str(pipe), whom]


class Processes:
    """Named children. As a context manager, leaving it stops them all."""

    def __init__(self, grace_seconds: float = _GRACE_SECONDS) -> None:
        self._grace_seconds = grace_seconds
        self._children: dict[str, Child] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop_all()

    def __getitem__(self, name: str) -> Child:
        try:
            return self._children[name]
        except KeyError:
            raise KeyError(f"no process {name!r}; there are {', '.join(self._children) or 'none'}") from None

    def names(self) -> list[str]:
        return list(self._children)

    def start(self, name: str, command: Command) -> Child:
        known = self._children.get(name)
        if known is not None and known.is_running():
            raise ValueError(f"{name} already runs (pid {known.pid})")
        self._children[name] = Child(name, command)
        return self._children[name]

    def stop(self, name: str) -> int:
        return self[name].stop(grace_seconds=self._grace_seconds)

    def kill(self, name: str) -> int:
        return self[name].kill()

    def pause(self, name: str) -> None:
        self[name].pause()

    def resume(self, name: str) -> None:
        self[name].resume()

    def restart(self, name: str) -> Child:
        """Stop it if it runs, and start the same command again."""
        self.stop(name)
        self[name].start_again()
        return self[name]

    def exit_codes(self) -> dict[str, int | None]:
        return {name: child.exit_code for name, child in self._children.items()}

    def ended(self) -> dict[str, int]:
        """Those that no longer run, with their exit codes."""
        return {name: code for name, code in self.exit_codes().items() if code is not None}

    def wait_for_an_end(self, deadline_seconds: float) -> dict[str, int]:
        return wait_until(self.ended, deadline_seconds, "one of the processes ends")

    def stop_all(self) -> dict[str, int]:
        """Ask all at once, last started first, give them one common grace, kill the rest; their exit codes."""
        for child in reversed(self._children.values()):
            child.ask_to_stop()
        give_up_at = time.monotonic() + self._grace_seconds
        return {name: child.finish(max(0.0, give_up_at - time.monotonic())) for name, child in self._children.items()}
