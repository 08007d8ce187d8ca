"""Whether the model runs against a wall with its tools, read from the transcript: it outlives steps and crashes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from services.conversador.projection import Shown
from services.conversador.tools import REFUSAL, Refusal
from shared.tool_breaker import Breaker, Call

_NO_LONGER = Refusal(
    ("This exact request failed too often in this conversation.",), "Do something else, or write the message."
)
_REFUSED = REFUSAL.show(Refusal((), "")).text.partition(",")[0]
"""How every refusal begins."""


@dataclass(slots=True)
class Wall:
    """The calls of a turn so far, and what the breaker says of the next."""

    breaker: Breaker = field(default_factory=Breaker)
    _brought: dict[Call, str] = field(default_factory=dict[Call, str])

    @classmethod
    def of(cls, transcript: Sequence[dict[str, Any]]) -> "Wall":
        wall = cls()
        asked: dict[str, Call] = {}
        for message in transcript:
            for call in message.get("tool_calls") or ():
                asked[call["id"]] = Call(call["function"]["name"], call["function"]["arguments"])
            if message["role"] == "tool" and message["tool_call_id"] in asked:
                result, _, _warning_of_then = message["content"].partition("\n")
                wall._count(asked[message["tool_call_id"]], result)
        return wall

    def refuses(self, call: Call) -> Shown | None:
        """What the model is told instead of being served once more."""
        return REFUSAL.show(_NO_LONGER) if self.breaker.is_open(call) else None

    def noted(self, call: Call, shown: Shown) -> Shown:
        """Count a result; returns it as the model reads it, with a warning where it keeps running against the wall."""
        self._count(call, shown.text)
        warning = self.breaker.warning(call)
        return shown.beside(f"({warning})") if warning else shown

    def _count(self, call: Call, content: str) -> None:
        known = self._brought.get(call)
        self._brought[call] = content
        if content.startswith(_REFUSED):
            self.breaker = self.breaker.after(call, "failed")
        else:
            self.breaker = self.breaker.after(call, "unchanged" if known == content else "changed")

    @property
    def is_hit(self) -> bool:
        return bool(self.breaker.why_stop())
