"""CPU seconds of processes, from /proc; zero on systems that have none."""

import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def of_process(pid: int) -> float:
    """User and system time of one process so far."""
    fields = _stat(pid)
    return (int(fields[11]) + int(fields[12])) / _TICKS if fields else 0.0


def of_family(pid: int) -> float:
    """Of a process, its children that live, and its children that ended: a PostgreSQL server with its sessions."""
    fields = _stat(pid)
    if not fields:
        return 0.0
    own = sum(int(fields[index]) for index in (11, 12, 13, 14)) / _TICKS
    return own + sum(of_process(child) for child in _children(pid))


def resident_bytes(pid: int) -> int:
    fields = _stat(pid)
    return int(fields[21]) * os.sysconf("SC_PAGE_SIZE") if fields else 0


def _children(pid: int) -> list[int]:
    found: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(one) for one in thread.read_text().split()]
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the program's name; state is the first."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
