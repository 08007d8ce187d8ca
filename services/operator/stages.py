"""The lead's state machine.

    new → contacted → qualifying → qualified → negotiating → won
    lost from any active stage

Laws
- A lead goes forward one step at a time: each step has its own evidence.
- Won and lost are ends; only a person leaves them.
"""

from typing import Final, Literal

Stage = Literal["new", "contacted", "qualifying", "qualified", "negotiating", "won", "lost"]

PATH: Final[tuple[Stage, ...]] = ("new", "contacted", "qualifying", "qualified", "negotiating", "won")
ENDS: Final[frozenset[Stage]] = frozenset(("won", "lost"))


def next_stages(current: Stage) -> tuple[Stage, ...]:
    """Where a lead may go from here; nothing when it stands at an end."""
    if current in ENDS:
        return ()
    return (PATH[PATH.index(current) + 1], "lost")


def why_not(current: Stage, wanted: Stage) -> str:
    """Empty when the move is allowed, else the reason in words that teach the caller."""
    allowed = next_stages(current)
    if wanted in allowed:
        return ""
    if not allowed:
        return f"the lead is {current}: only a person reopens it"
    return f"a lead goes from {current} to {' or '.join(allowed)}, one step at a time, not to {wanted}"
