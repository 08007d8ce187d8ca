"""Whose turn it is: a few slots, many tenants, and some of them with a long backlog.

Laws
- The next slot goes to the tenant that has the fewest running, among those to the one whose last turn was longest ago.
- A tenant holds at most its share of the slots.
- A job whose process ended twice while it ran is a suspect: of those one runs at a time, so that the deadly one does
  not take the innocent ones beside it along until all of them are parked.
- Looking costs one index probe for each (kind, tenant) that has a job, whatever the backlog; of more tenants than
  `LOOKED_AT` it looks at so many and goes on there the next time.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from shared.bus.breaker import Breaker
from shared.bus.inbox import BACKOFF_SECONDS
from shared.clock import monotonic
from shared.db import Row

LOOKED_AT = 200
"""Tenants of one kind looked at in one go."""
REMEMBERED = 10_000
"""Tenants whose last turn is known; forgetting makes them equal once."""
_FIRST = UUID(int=0)

_SECONDS = f"(array{list(BACKOFF_SECONDS)}::float8[])[least(lost + 1, {len(BACKOFF_SECONDS)})]"

# A lease that ran out was a process that ended, or a long pause: the more often, the later the next try.
UNLEASED = f"""(leased_until is null
      or leased_until < clock_timestamp() - make_interval(secs => {_SECONDS}))"""
FREE = f"parked_at is null and not is_behind and lost = 0 and {UNLEASED}"

# The job due first of each (kind, tenant), found by jumping from tenant to tenant in the index `job_turn`.
HEADS = f"""
with recursive head as (
  select kinds.kind, one.tenant, one.due_at, 1 as number
  from unnest($1::text[]) as kinds(kind) cross join lateral (
    select tenant, due_at from job where kind = kinds.kind and tenant >= $2 and {FREE}
    order by tenant, due_at, seq limit 1) as one
  union all
  select head.kind, one.tenant, one.due_at, head.number + 1
  from head cross join lateral (
    select tenant, due_at from job where kind = head.kind and tenant > head.tenant and {FREE}
    order by tenant, due_at, seq limit 1) as one
  where head.number < $3)
select kind, tenant, extract(epoch from due_at - clock_timestamp())::float8 as due_in, number from head
"""  # noqa: S608 - only constants of this file

# Its process ended twice while it ran, and its neighbours' with it: it runs with no other such beside it (`lost` is
# counted when a job is taken again, so this is the second time).
SUSPECT = f"""
select id from job
where parked_at is null and not is_behind and lost > 0 and {UNLEASED} and due_at <= statement_timestamp()
  and kind = any($2)
order by due_at limit 1 for update skip locked
"""  # noqa: S608 - as above


class Turn(NamedTuple):
    """So many jobs of this kind and tenant may begin."""

    kind: str
    tenant: UUID
    number: int


class Turns:
    """The slots for some kinds of jobs in one process."""

    def __init__(self, kinds: Sequence[str], slots: int, per_tenant: int, breaker: Breaker) -> None:
        self._kinds = list(kinds)
        self._free = slots
        self._per_tenant = per_tenant
        self._breaker = breaker
        self._running: Counter[UUID] = Counter()
        self._served: dict[object, int] = {}
        self._turns = 0
        self._from = _FIRST
        self.look_at = 0.0
        """When to look again, on the monotonic clock; 0 at once."""

    @property
    def is_idle(self) -> bool:
        """Nothing could begin, or there is nothing that ever begins."""
        return self._free <= 0 or not self._kinds

    def is_of(self, kinds: set[str]) -> bool:
        """Whether any of these is begun here."""
        return not kinds.isdisjoint(self._kinds)

    def ask(self) -> None:
        """Something may be due: look at once."""
        self.look_at = 0.0

    @property
    def look(self) -> tuple[list[str], UUID, int]:
        """Arguments of `HEADS`."""
        return self._kinds, self._from, LOOKED_AT

    @property
    def unbroken(self) -> list[str]:
        """Kinds that are not stopped for being parked again and again."""
        return [kind for kind in self._kinds if self._breaker.may_run(kind)]

    def choose(self, heads: Sequence[Row]) -> list[Turn]:
        """Share the free slots out."""
        last = [row["tenant"].int for row in heads if row["number"] == LOOKED_AT]
        self._from = UUID(int=min(last) + 1) if last else _FIRST
        later = [row["due_in"] for row in heads if row["due_in"] > 0]
        self.look_at = min(self.look_at, monotonic() + min(later, default=math.inf))
        if last:
            self.ask()
        due = [row for row in heads if row["due_in"] <= 0]
        probes = {kind for kind in self._kinds if self._breaker.may_run(kind) is None}
        due = [row for row in due if self._breaker.may_run(row["kind"]) is not False]
        chosen: Counter[tuple[str, UUID]] = Counter()
        held = self._running.copy()
        for _ in range(self._free):
            able = [row for row in due if held[row["tenant"]] < self._per_tenant]
            if not able:
                break
            one = min(able, key=lambda row: self._order(row, held))
            kind, tenant = one["kind"], one["tenant"]
            chosen[kind, tenant] += 1
            held[tenant] += 1
            self._serve(kind, tenant)
            if kind in probes:
                self._breaker.probed(kind)
                due = [row for row in due if row["kind"] != kind]
        return [Turn(kind, tenant, number) for (kind, tenant), number in chosen.items()]

    def _order(self, row: Row, held: Counter[UUID]) -> tuple[int, int, int, float]:
        kind, tenant = row["kind"], row["tenant"]
        return held[tenant], self._served.get(tenant, 0), self._served.get((kind, tenant), 0), row["due_in"]

    def _serve(self, kind: str, tenant: UUID) -> None:
        if len(self._served) > REMEMBERED:
            self._served.clear()
        self._turns += 1
        self._served[tenant] = self._served[kind, tenant] = self._turns

    def begun(self, tenant: UUID) -> None:
        self._free -= 1
        self._running[tenant] += 1

    def ended(self, tenant: UUID) -> None:
        self.ask()
        self._free += 1
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
