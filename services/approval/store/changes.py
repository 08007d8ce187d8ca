"""The feed of what changed, in an order that misses nobody: a row is read only when every earlier writer has ended."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from shared.db import Tx

_SETTLED = "xid < pg_snapshot_xmin(pg_current_snapshot())"
READ_AT_ONCE = 1000


class Position(NamedTuple):
    """A place in the feed; as text, the id of a server-sent event."""

    xid: int
    seq: int

    def __str__(self) -> str:
        return f"{self.xid}-{self.seq}"

    @classmethod
    def parse(cls, text: str) -> "Position | None":
        """None when it is no position of ours."""
        xid, _, seq = text.partition("-")
        is_ours = xid.isdecimal() and seq.isdecimal() and xid.isascii() and seq.isascii() and len(text) < 40
        return cls(int(xid), int(seq)) if is_ours else None


class Change(NamedTuple):
    """A thing of a tenant is now at this version."""

    position: Position
    tenant: UUID
    kind: str
    id: UUID
    version: int


async def head(tx: Tx) -> Position:
    row = await tx.row(f"select xid::text, seq from change where {_SETTLED} order by change.xid desc, seq desc limit 1")  # noqa: S608 - a constant
    return Position(int(row["xid"]), row["seq"]) if row else Position(0, 0)


async def since(tx: Tx, position: Position) -> Sequence[Change]:
    found = await tx.rows(
        f"""select xid::text, seq, tenant, kind, id, version from change
            where {_SETTLED} and (change.xid, seq) > ($1::text::xid8, $2)
            order by change.xid, seq limit {READ_AT_ONCE}""",  # noqa: S608 - constants
        str(position.xid),
        position.seq,
    )
    return [Change(Position(int(r["xid"]), r["seq"]), r["tenant"], r["kind"], r["id"], r["version"]) for r in found]


async def is_kept(tx: Tx, position: Position) -> bool:
    """Whether the feed still holds all that came after a position; if not, the reader must look at everything anew."""
    return await tx.value("select exists (select 1 from change where seq = $1)", position.seq)
