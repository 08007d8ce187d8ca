"""When a worker began which message: kept in memory while it runs, written as one JSON file when it ends."""

import time
from pathlib import Path
from typing import NamedTuple

import msgspec


class Mark(NamedTuple):
    """So many messages had been begun at this time, with so much CPU used by this process."""

    at: float
    """`time.monotonic`, which on one machine all processes share."""
    begun: int
    cpu_seconds: float


class Tally:
    """A worker's own count. `note` costs under a microsecond and runs once a batch."""

    def __init__(self) -> None:
        self.marks: list[Mark] = []
        self._begun = 0

    def note(self, messages: int) -> None:
        """So many messages are about to be worked on."""
        self.marks.append(Mark(time.monotonic(), self._begun, time.process_time()))
        self._begun += messages

    def end(self) -> None:
        """Everything is done; the last mark."""
        self.note(0)

    def write(self, path: Path) -> None:
        path.write_bytes(msgspec.json.encode(self.marks))


def read(path: Path) -> list[Mark]:
    return msgspec.json.decode(path.read_bytes(), type=list[Mark])
