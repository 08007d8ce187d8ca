"""What a service said in the part of its past that its database has lost, taken from its streams into the database.

Laws
- A place of a lane belongs to the id that stands there first in the stream: that one the hearers took.
- The next position to say is beyond what the stream holds. What was said since the restore into places that were taken
  goes behind it, in its order, and is published again; under another id if it was published, as its own was put aside
  by the hearers. What the stream holds at another place was said before and goes.
- Ids that the stream has and the outbox has not are remembered, so that what is heard once more says nothing twice.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from shared.bus.reading import Stored
from shared.db import Tx

_TABLE = """
create temp table said (
  place bigint, lane text, topic text, generation integer, key uuid, seq bigint, msg_id uuid, schema text
) on commit drop
"""
_COLUMNS = ("place", "lane", "topic", "generation", "key", "seq", "msg_id", "schema")
_HOLDER = """
create temp table holder on commit drop as select distinct on (lane, seq) * from said order by lane, seq, place
"""
_ANALYZE = "analyze said; analyze holder"
_POSITIONS = """
with last as (
  select distinct on (topic, key) topic, key, generation, seq + 1 as next_seq from holder
  order by topic, key, generation desc, seq desc)
insert into lane_out as o (topic, key, generation, next_seq) select topic, key, generation, next_seq from last
on conflict (topic, key) do update
set generation = excluded.generation, next_seq = excluded.next_seq, used_on = current_date
where (excluded.generation, excluded.next_seq) > (o.generation, o.next_seq)
"""
_MISPLACED = """
create temp table misplaced on commit drop as
select o.lane, min(o.lane_seq) as first from outbox o
where exists (select from holder h where h.lane = o.lane and h.seq = o.lane_seq and h.msg_id <> o.msg_id)
  or exists (select from holder h where h.msg_id = o.msg_id and (h.lane, h.seq) <> (o.lane, o.lane_seq))
group by o.lane
"""
_GONE = """
delete from outbox o using misplaced p
where o.lane = p.lane and exists (
  select from holder h where h.msg_id = o.msg_id and (h.lane, h.seq) <> (o.lane, o.lane_seq))
"""
_BEHIND = """
with moved as (
  select o.writer, o.batch, o.item,
    (select coalesce(max(h.seq), p.first - 1) from holder h where h.lane = o.lane)
      + row_number() over (partition by o.lane order by o.lane_seq) as seq,
    exists (select from said s where s.msg_id = o.msg_id) as is_known
  from outbox o join misplaced p using (lane)
  where o.lane_seq >= p.first and not exists (select from holder h where h.msg_id = o.msg_id)),
again as (insert into outbox_again (writer, batch, item) select writer, batch, item from moved on conflict do nothing)
update outbox o set lane_seq = m.seq, msg_id = case when m.is_known then gen_random_uuid() else o.msg_id end
from moved m where o.writer = m.writer and o.batch = m.batch and o.item = m.item
"""
_BEYOND = """
update lane_out o set next_seq = 1 + greatest(
  (select max(h.seq) from holder h where h.lane = p.lane), (select max(x.lane_seq) from outbox x where x.lane = p.lane))
from misplaced p where p.lane = concat_ws(':', o.topic, o.generation, o.key)
"""
_REMEMBER = """
insert into said_before (msg_id, schema)
select distinct on (msg_id) msg_id, schema from holder h
where not exists (select from outbox o where o.msg_id = h.msg_id)
on conflict do nothing
"""


class Taken(NamedTuple):
    """What was changed."""

    lanes: int
    """Whose next position was behind the stream."""
    misplaced: int
    """Messages that were said into places that were taken."""
    remembered: int
    """Ids that the outbox has lost."""


NOTHING = Taken(0, 0, 0)


async def take(tx: Tx, stored: Sequence[Stored]) -> Taken:
    """See the module. `tx` is of the service's schema, as a role that may do everything there."""
    await tx.execute("lock table lane_out in exclusive mode")
    await tx.execute(_TABLE)
    await tx.copy("said", _COLUMNS, [row for row in map(_row, stored) if row is not None])
    await tx.execute(_HOLDER)
    await tx.execute(_ANALYZE)
    lanes = await tx.execute(_POSITIONS)
    remembered = await tx.execute(_REMEMBER)
    await tx.execute(_MISPLACED)
    twice = await tx.execute(_GONE)
    behind = await tx.execute(_BEHIND)
    await tx.execute(_BEYOND)
    return Taken(lanes, behind + twice, remembered)


def _row(one: Stored) -> tuple[int, str, str, int, UUID, int, UUID, str] | None:
    """None for what has no lane headers of ours: nobody hears it, hearers put it aside."""
    try:
        lane = one.headers["Lane"]
        topic, generation, key = lane.split(":")
        seq, msg_id = int(one.headers["Lane-Seq"]), UUID(one.headers["Nats-Msg-Id"])
        return one.seq, lane, topic, int(generation), UUID(key), seq, msg_id, one.headers.get("Schema", "")
    except (KeyError, ValueError):
        return None
