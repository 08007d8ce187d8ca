"""Free ports, who holds a taken one, and waiting for a condition with a deadline."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

POLL_SECONDS = 0.01
LOOPBACK = "127.0.0.1"
Answer = TypeVar("Answer")
_LISTENING = "0A"  # TCP_LISTEN in the kernel's table of socket states


class PortTakenError(RuntimeError):
    """A port that a server of ours needs is held by somebody else."""


def free_port() -> int:
    """A port of the loopback that nobody listened on a moment ago; another program may still take it first."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def accepts_connections(port: int, host: str = LOOPBACK) -> bool:
    try:
        socket.create_connection((host, port), timeout=1).close()
    except OSError:
        return False
    return True


def require_free_port(port: int, wanted_for: str) -> None:
    """Refuse to go on, naming the holder, when `port` cannot be bound on the loopback."""
    with socket.socket() as probe:
        # as servers do: a connection in TIME_WAIT does not hold the port
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except PermissionError as error:
            raise PortTakenError(f"port {port} ({wanted_for}) needs root: choose one above 1023") from error
        except OSError as error:
            raise PortTakenError(
                f"port {port}, wanted for {wanted_for}, is held by {holder_of(port) or 'another program'}: "
                "stop that program or choose another port"
            ) from error


def holder_of(port: int) -> str | None:
    """Name and pid of the program listening on `port`; None when nobody does."""
    return _holder_from_kernel_tables(port) if sys.platform == "linux" else _holder_from_lsof(port)


def wait_until(predicate: Callable[[], Answer | None], deadline_seconds: float, what: str) -> Answer:
    """The first truthy answer of `predicate`, asked often until the deadline."""
    give_up_at = time.monotonic() + deadline_seconds
    while True:
        answer = predicate()
        if answer:
            return answer
        if time.monotonic() > give_up_at:
            raise TimeoutError(f"waited {deadline_seconds:g} s in vain until {what}")
        time.sleep(POLL_SECONDS)


def _holder_from_kernel_tables(port: int) -> str | None:
    inodes = {inode for table in ("tcp", "tcp6") for inode in _listening_inodes(Path("/proc/net", table), port)}
    if not inodes:
        return None
    sockets = {f"socket:[{inode}]" for inode in inodes}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _open_files(entry) & sockets:
            return f"{_program_name(entry)} (pid {entry.name})"
    return "a program of another user"


def _listening_inodes(table: Path, port: int) -> set[str]:
    if not table.exists():  # a kernel without IPv6
        return set()
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    return {row[9] for row in rows if row[3] == _LISTENING and int(row[1].rpartition(":")[2], 16) == port}


def _open_files(program: Path) -> set[str]:
    targets: set[str] = set()
    try:
        for descriptor in (program / "fd").iterdir():
            targets.add(str(descriptor.readlink()))
    except OSError:  # not ours to look into, or gone while looking
        pass
    return targets


def _program_name(program: Path) -> str:
    try:
        return (program / "comm").read_text().strip()
    except OSError:
        return "a program that just ended"


def _holder_from_lsof(port: int) -> str | None:
    try:
        found = subprocess.run(
            ["lsof", "-nP", f"-iTCP:{port}", "-sTCP:LISTEN", "-Fpc"], capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        return None
    fields = {line[0]: line[1:] for line in found.stdout.splitlines() if line}
    return f"{fields.get('c', 'a program')} (pid {fields['p']})" if "p" in fields else None
