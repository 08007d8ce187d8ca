"""The audit chain as the database holds it, for the check that `audit.py` makes."""

from collections.abc import Sequence
from uuid import UUID

from services.approval.audit import Broken, Link, Whole, verify
from shared.db import Tx


async def links(tx: Tx, tenant: UUID) -> Sequence[Link]:
    found = await tx.rows(
        """select l.seq, a.entry, l.previous, l.hash from audit_link l join audit a on a.id = l.audit_id
           where l.tenant = $1 order by l.seq""",
        tenant,
    )
    return [Link(row["seq"], row["entry"], row["previous"], row["hash"]) for row in found]


async def check(tx: Tx, tenant: UUID) -> Whole | Broken:
    """Walk the tenant's chain; an entry that no link holds is found too."""
    loose = await tx.value(
        """select count(*) from audit a where tenant = $1
             and not exists (select 1 from audit_link l where l.audit_id = a.id)""",
        tenant,
    )
    if loose:
        return Broken(0, f"{loose} entries are outside the chain")
    return verify(tenant, await links(tx, tenant))
