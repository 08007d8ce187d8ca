"""Small disks of our own, so that they can be full: tmpfs, as root. Without them the run says why and goes on.

They are mounted in a namespace of this thread and of the processes that it starts: when the last of them is gone, even
by kill -9, so are the mounts.
A full disk is one file that takes what is left; freed, the file goes.
"""

import ctypes
import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.plan import NODES, Kind

NODE_MIB = 256
POSTGRES_MIB = 1536
FILLER = "filler"
_STEP_BYTES = 1 << 20
_CLONE_NEWNS = 0x00020000


@dataclass(frozen=True)
class Disks:
    """Folders that are disks of their own; none when this machine does not let us mount."""

    stores: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Of each nats-server."""
    postgres: Path | None = None
    """Of both PostgreSQL."""
    why_not: Sequence[str] = ()

    @property
    def can(self) -> frozenset[Kind]:
        return frozenset({"fill_node", "fill_postgres"}) if self.stores else frozenset()


@contextmanager
def small_disks(home: Path) -> Generator[Disks]:
    """Mounted below `home`, gone at the end."""
    mounted: list[Path] = []
    try:
        try:
            _leave_mounts_of_others()
            for name, mib in {**dict.fromkeys(NODES, NODE_MIB), "postgres": POSTGRES_MIB}.items():
                mounted.append(_mounted(home / "disks" / name, mib))
        except OSError as error:
            yield Disks(why_not=[f"no full disks: {error}"])
            return
        *stores, postgres = mounted
        yield Disks(dict(zip(NODES, (one / "jetstream" for one in stores), strict=True)), postgres)
    finally:
        for folder in mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False)


def _leave_mounts_of_others() -> None:
    if sys.platform != "linux" or os.geteuid() != 0:
        raise OSError("a tmpfs needs root on Linux")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_CLONE_NEWNS):
        raise OSError(ctypes.get_errno(), "no mounts of our own: unshare")
    _mount("--make-rprivate", "/")


def _mounted(folder: Path, mib: int) -> Path:
    folder.mkdir(parents=True)
    _mount("-t", "tmpfs", "-o", f"size={mib}m,mode=0711", "chancela-faults", str(folder))
    return folder


def _mount(*arguments: str) -> None:
    made = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if made.returncode:
        raise OSError(f"mount: {made.stderr.strip()}")


def fill(disk: Path) -> None:
    """Take everything that is left."""
    block = b"\0" * _STEP_BYTES
    with (disk / FILLER).open("wb", buffering=0) as file:
        while True:
            try:
                file.write(block)
            except OSError:
                if len(block) == 1:
                    return
                block = block[: max(1, len(block) // 16)]


def free(disk: Path) -> None:
    (disk / FILLER).unlink(missing_ok=True)
