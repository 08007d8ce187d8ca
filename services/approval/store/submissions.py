"""Submitted drafts, as their callers may see them."""

from typing import NamedTuple
from uuid import UUID

from shared.db import Tx


class Submitted(NamedTuple):
    """Where a draft is."""

    id: UUID
    author: str
    status: str
    code: str
    detail: str
    obligation_id: UUID | None
    obligation_state: str | None


async def submitted(tx: Tx, draft_id: UUID) -> Submitted | None:
    row = await tx.row(
        """select s.id, s.author, s.status, s.code, s.detail, s.obligation_id, o.state as obligation_state
           from submitted s left join obligation o on o.id = s.obligation_id where s.id = $1""",
        draft_id,
    )
    return Submitted(*row.values()) if row else None
