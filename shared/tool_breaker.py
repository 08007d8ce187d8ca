"""Stops a model that runs against a wall, in either role.

Laws
- The same call (tool and arguments) failing: a warning at 2, at 5 it is open and no longer tried.
- The same tool failing, whatever the arguments: a warning at 3, at 8 the turn stops.
- Calls in a row that worked and changed nothing, or brought what was known: a warning at 3, at 5 the turn stops.
- A call that changed something closes its tool and ends the row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Final, Literal

from shared import metrics

Result = Literal["changed", "unchanged", "failed"]

SAME_CALL_WARNS: Final = 2
SAME_CALL_OPENS: Final = 5
SAME_TOOL_WARNS: Final = 3
SAME_TOOL_STOPS: Final = 8
NO_PROGRESS_WARNS: Final = 3
NO_PROGRESS_STOPS: Final = 5


class BreakerState(IntEnum):
    CLOSED = 0
    WARNED = 1
    OPEN = 2


@dataclass(frozen=True, slots=True)
class Call:
    tool: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Breaker:
    """The failures of one turn so far."""

    by_call: Mapping[Call, int] = field(default_factory=dict[Call, int])
    by_tool: Mapping[str, int] = field(default_factory=dict[str, int])
    without_progress: int = 0

    def after(self, call: Call, result: Result) -> "Breaker":
        if result == "unchanged":
            return replace(self, without_progress=self.without_progress + 1)
        if result == "changed":
            kept = {one: count for one, count in self.by_call.items() if one.tool != call.tool}
            return Breaker(kept, {**self.by_tool, call.tool: 0})
        return replace(
            self,
            by_call={**self.by_call, call: self.by_call.get(call, 0) + 1},
            by_tool={**self.by_tool, call.tool: self.by_tool.get(call.tool, 0) + 1},
        )

    def is_open(self, call: Call) -> bool:
        return self.by_call.get(call, 0) >= SAME_CALL_OPENS

    def warning(self, call: Call) -> str:
        """What to tell the model beside this call's result; empty while all is well."""
        if self.by_call.get(call, 0) >= SAME_CALL_WARNS:
            return "this exact call keeps failing: change the arguments or leave it"
        if self.by_tool.get(call.tool, 0) >= SAME_TOOL_WARNS:
            return f"{call.tool} keeps failing: do something else or end the turn"
        if self.without_progress >= NO_PROGRESS_WARNS:
            return "the last calls changed nothing: end the turn if nothing is left to do"
        return ""

    def why_stop(self) -> str:
        """Why the turn must end here; empty while it may go on."""
        failing = sorted(tool for tool, count in self.by_tool.items() if count >= SAME_TOOL_STOPS)
        if failing:
            return f"{failing[0]} failed {SAME_TOOL_STOPS} times"
        if self.without_progress >= NO_PROGRESS_STOPS:
            return f"{NO_PROGRESS_STOPS} calls in a row changed nothing"
        return ""

    def state_of(self, tool: str) -> BreakerState:
        failures = self.by_tool.get(tool, 0)
        if failures >= SAME_TOOL_STOPS or any(one.tool == tool and self.is_open(one) for one in self.by_call):
            return BreakerState.OPEN
        worst = max((count for one, count in self.by_call.items() if one.tool == tool), default=0)
        is_warned = failures >= SAME_TOOL_WARNS or worst >= SAME_CALL_WARNS
        return BreakerState.WARNED if is_warned else BreakerState.CLOSED


def show_breaker(breaker: Breaker, tools: Iterable[str]) -> None:
    """How a model stands with its tools, for those who watch."""
    for name in tools:
        metrics.TOOL_BREAKER.labels(name).set(breaker.state_of(name))
