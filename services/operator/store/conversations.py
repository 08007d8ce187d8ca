"""What is said in a conversation and whose it is: projections of what others own."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from msgspec import Struct

from contracts.messages import Owner
from services.operator.state import Line
from shared.db import Tx, Write

_HEARD = """
insert into conversation (conversation_id, tenant, contact_id, language) values ($1, $2, $3, $4)
on conflict (conversation_id) do update set contact_id = excluded.contact_id, language = excluded.language
"""
_OWNED = """
insert into conversation (conversation_id, tenant, owner, owner_version) values ($1, $2, $3, $4)
on conflict (conversation_id) do update set owner = excluded.owner, owner_version = excluded.owner_version
where conversation.owner_version < excluded.owner_version
"""
_LINE = """
insert into line (line_id, tenant, conversation_id, by, text, at) values ($1, $2, $3, $4, $5, $6)
on conflict (line_id) do nothing
"""


class Holding(Struct, frozen=True, kw_only=True):
    """Who speaks here, in which language, with whom."""

    owner: Owner = "agent"
    language: str = "pt-BR"
    contact_id: UUID | None = None


def heard_from(tenant: UUID, conversation_id: UUID, contact_id: UUID, language: str) -> Write:
    return Write(_HEARD, (conversation_id, tenant, contact_id, language))


def owned_by(tenant: UUID, conversation_id: UUID, owner: Owner, version: int) -> Write:
    return Write(_OWNED, (conversation_id, tenant, owner, version))


def said(
    line_id: UUID, tenant: UUID, conversation_id: UUID, *, by: Literal["customer", "business"], text: str, at: datetime
) -> Write:
    return Write(_LINE, (line_id, tenant, conversation_id, by, text, at))


def changed_words(line_id: UUID, text: str) -> Write:
    return Write("update line set text = $2 where line_id = $1", (line_id, text))


def took_back(line_id: UUID) -> Write:
    return Write("delete from line where line_id = $1", (line_id,))


async def holding(tx: Tx, conversation_id: UUID) -> Holding:
    row = await tx.row(
        "select owner, language, contact_id from conversation where conversation_id = $1", conversation_id
    )
    if row is None:
        return Holding()
    return Holding(owner=row["owner"], language=row["language"], contact_id=row["contact_id"])


async def latest_lines(tx: Tx, conversation_id: UUID, limit: int) -> tuple[Line, ...]:
    """The latest lines, oldest first."""
    rows = await tx.rows(
        "select by, text, at from line where conversation_id = $1 order by at desc, line_id limit $2",
        conversation_id,
        limit,
    )
    return tuple(Line(by=row["by"], text=row["text"], at=row["at"]) for row in reversed(rows))
