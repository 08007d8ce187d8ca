"""How often one address may fail to sign in: what somebody tries by the thousand costs the provider and us little."""

from collections import OrderedDict, deque
from typing import Final

FAILURES: Final = 20
WINDOW_SECONDS: Final = 60.0
ADDRESSES: Final = 2_000
"""Remembered at once; the one that failed longest ago is forgotten first."""


class Failures:
    """The newest failures of each address. Behind a proxy that is not trusted, all people have one address."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, deque[float]] = OrderedDict()

    def are_too_many(self, address: str, now: float) -> bool:
        times = self._of.get(address)
        return times is not None and len(times) == FAILURES and now - times[0] < WINDOW_SECONDS

    def add(self, address: str, now: float) -> None:
        self._of.setdefault(address, deque(maxlen=FAILURES)).append(now)
        self._of.move_to_end(address)
        if len(self._of) > ADDRESSES:
            self._of.popitem(last=False)
