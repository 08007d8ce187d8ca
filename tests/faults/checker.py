"""What a run did wrong, by sets: said against heard, approved against received. Pure; it never asks how it happened.

- lost: said and not heard (unless nobody promised it: a send that is held as uncertain may have arrived or not)
- twice: heard more often than said · invented: heard and never said · out_of_order: heard in another order than said
- unapproved: received, and filed, but nobody said yes · altered: received in place of what was approved
- hidden: an uncertain send that people cannot see, or that no blow explains · unfinished: work that stands still
- ungraceful: a pod that did not end with code 0 when it was asked to stop
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

Line = Hashable
"""One text or message id, in a lane or a chat."""


@dataclass(frozen=True)
class Findings:
    """Each thing that went wrong, in words, by kind."""

    lost: list[str] = field(default_factory=list[str])
    invented: list[str] = field(default_factory=list[str])
    twice: list[str] = field(default_factory=list[str])
    out_of_order: list[str] = field(default_factory=list[str])
    unapproved: list[str] = field(default_factory=list[str])
    altered: list[str] = field(default_factory=list[str])
    hidden: list[str] = field(default_factory=list[str])
    unfinished: list[str] = field(default_factory=list[str])
    ungraceful: list[str] = field(default_factory=list[str])

    def __add__(self, other: "Findings") -> "Findings":
        return Findings(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    def counts(self) -> dict[str, int]:
        return {one.name: len(getattr(self, one.name)) for one in fields(self)}

    def __bool__(self) -> bool:
        return any(self.counts().values())

    def __str__(self) -> str:
        return " · ".join(f"{name.replace('_', ' ')} {number}" for name, number in self.counts().items())

    def told(self, each: int = 5) -> str:
        """The first of each kind, a line each."""
        return "\n".join(f"{one.name}: {line}" for one in fields(self) for line in getattr(self, one.name)[:each])


def compare(
    said: Mapping[str, Sequence[Line]],
    heard: Mapping[str, Sequence[Line]],
    *,
    promised: Mapping[str, Sequence[Line]] | None = None,
    in_order: bool = True,
) -> Findings:
    """Lane by lane. `said` is all that may be heard, `promised` what must be; without it, everything said."""
    found = Findings()
    for lane in sorted({*said, *heard}):
        may, must = Counter(said.get(lane, ())), Counter((said if promised is None else promised).get(lane, ()))
        came = Counter(heard.get(lane, ()))
        found.lost.extend(f"{lane}: {line}" for line in (must - came).elements())
        found.twice.extend(f"{lane}: {line}" for line in (came - may).elements() if line in may)
        found.invented.extend(f"{lane}: {line}" for line in (came - may).elements() if line not in may)
        if in_order and not is_in_order(said.get(lane, ()), heard.get(lane, ())):
            found.out_of_order.append(f"{lane}: {list(heard[lane])}")
    return found


def is_in_order(said: Sequence[Line], heard: Sequence[Line]) -> bool:
    """Whether what was heard, each line at its first time, stands in the order of what was said."""
    places = {line: place for place, line in reversed(list(enumerate(said)))}
    order = [places[line] for line in dict.fromkeys(heard) if line in places]
    return order == sorted(order)


class Approval(NamedTuple):
    """A person's yes to one text for one chat, and what became of it (the messages about it, oldest first)."""

    decision_id: UUID
    chat: str
    text: str
    decided_at: datetime
    fates: tuple[str, ...] = ()

    @property
    def was_sent(self) -> bool:
        return "SendAccepted" in self.fates

    @property
    def was_uncertain(self) -> bool:
        return "SendUncertain" in self.fates

    @property
    def was_stopped(self) -> bool:
        """It ended, visibly, before anything left."""
        return bool(STOPS & set(self.fates)) and not self.was_sent and not self.was_uncertain


STOPS = frozenset({"SendRefused", "SendFailed", "DispatchRefused", "ApprovalEnded"})


@dataclass(frozen=True)
class Sends:
    """What the approvals promised and what the phone received."""

    approvals: Sequence[Approval]
    received: Sequence[tuple[str, str]]
    """(chat, text), in order of arrival."""
    filed: frozenset[tuple[str, str]]
    """(chat, text) of everything that was shown to people."""
    shown_uncertain: frozenset[UUID]
    """Decisions for which people were alerted."""
    blows: int
    """How often something was killed that can leave a call without an end."""


def judge_sends(run: Sends) -> Findings:
    """Approved and not stopped must arrive, once, as approved, in order; an uncertain one may, and must be seen."""
    live = sorted((one for one in run.approvals if not one.was_stopped), key=lambda one: one.decided_at)
    may = by_lane((one.chat, one.text) for one in live)
    must = by_lane((one.chat, one.text) for one in live if one.was_sent or not one.was_uncertain)
    came = by_lane(run.received)
    found = compare(may, came, promised=must)
    foreign = [(chat, text) for chat, text in run.received if text not in may[chat]]
    found.invented.clear()
    for chat, text in foreign:
        missing = Counter(may[chat]) - Counter(came[chat])
        kind = found.unapproved if (chat, text) in run.filed else found.altered if missing else found.invented
        kind.append(f"{chat}: {text}")
    return found + Findings(hidden=_hidden(run))


def _hidden(run: Sends) -> list[str]:
    uncertain = [one for one in run.approvals if one.was_uncertain]
    unseen = [
        f"nobody was alerted: {one.decision_id}" for one in uncertain if one.decision_id not in run.shown_uncertain
    ]
    if len(uncertain) > run.blows:
        unseen.append(f"{len(uncertain)} uncertain sends, and only {run.blows} kills can explain one each")
    return unseen


def by_lane(pairs: Iterable[tuple[str, Line]]) -> defaultdict[str, list[Line]]:
    lanes: defaultdict[str, list[Line]] = defaultdict(list)
    for lane, line in pairs:
        lanes[lane].append(line)
    return lanes
