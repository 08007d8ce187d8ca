"""What pages show beside the queue: what was decided last."""

from collections.abc import Sequence
from typing import Any

import msgspec

from services.approval.facts import Banner
from services.approval.store.views import PREVIEW_CHARACTERS, QueueItem
from shared.db import Tx

_RECENT = """
select o.id, o.conversation_id, coalesce(c.name, '') as contact_name, o.kind, o.state, o.epoch, v.commitment,
  v.summary, left(v.body, $2) as preview, o.opened_at, o.expires_at, o.updated_at, o.delivery, o.leaves_at,
  o.decided_by, o.banners,  false as has_customer_written_since, true as is_channel_ready
from obligation o join version v on v.obligation_id = o.id and v.epoch = o.epoch
  left join contact c on c.id = o.contact_id
where o.decided_at is not null and o.state not in ('open', 'waiting_agent') order by o.decided_at desc, o.id limit $1
"""


async def recent(tx: Tx, limit: int = 6) -> Sequence[QueueItem]:
    """The newest decisions first."""
    found = await tx.rows(_RECENT, limit, PREVIEW_CHARACTERS)
    return [_item(row) for row in found]


def _item(row: Any) -> QueueItem:
    columns = dict[str, Any](row.items())
    columns["banners"] = msgspec.json.decode(row["banners"], type=tuple[Banner, ...])
    return QueueItem(**columns)
