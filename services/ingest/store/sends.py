"""Our own sends, as delivery tells them, and what came from our account without a known send."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from services.ingest.echo import OwnSend
from shared.db import Row, Tx, Write


@dataclass(frozen=True, slots=True)
class Held:
    """A message from our own account that nobody has claimed yet."""

    held_id: UUID
    tenant: UUID
    channel_id: UUID
    conversation_id: UUID
    stanza_id: str
    chat: str
    digests: tuple[str, ...]
    text: str
    sent_at: datetime
    held_at: datetime


async def candidates(tx: Tx, channel_id: UUID, stanza_id: str, digests: Sequence[str]) -> Sequence[OwnSend]:
    """Sends that share the stanza, or chat and text."""
    rows = await tx.rows(
        """select decision_id, conversation_id, stanza_id, begun_at, echoed_at is not null as is_echoed, text_digest
           from own_send
           where channel_id = $1 and (stanza_id = $2 or text_digest = any($3)) order by begun_at, decision_id""",
        *(channel_id, stanza_id, list(digests)),
    )
    return [OwnSend(**row) for row in rows]


async def conversation_of(tx: Tx, channel_id: UUID, stanza_id: str) -> UUID | None:
    """Where a message of ours belongs, by its stanza."""
    return await tx.value(
        """select conversation_id from own_send where channel_id = $1 and stanza_id = $2
           union all
           select conversation_id from message where channel_id = $1 and stanza_id = $2 and is_ours limit 1""",
        *(channel_id, stanza_id),
    )


async def held_for(tx: Tx, channel_id: UUID, stanza_id: str | None, digest: str | None) -> Held | None:
    """What waits for this send, locked: by its stanza first, else by chat and text."""
    row = await tx.row(
        """select * from held_reply where channel_id = $1 and (stanza_id = $2 or digests @> array[$3]::text[])
           order by (stanza_id = $2) desc nulls last, held_at, held_id limit 1 for update""",
        *(channel_id, stanza_id, digest),
    )
    return _held(row)


async def held_elsewhere(tx: Tx, channel_id: UUID, stanza_id: str, conversation_id: UUID) -> Held | None:
    """What waits for this send in another conversation than the send's; not locked."""
    return _held(
        await tx.row(
            "select * from held_reply where channel_id = $1 and stanza_id = $2 and conversation_id <> $3",
            *(channel_id, stanza_id, conversation_id),
        )
    )


async def peek(tx: Tx, held_id: UUID) -> Held | None:
    """Not locked."""
    return _held(await tx.row("select * from held_reply where held_id = $1", held_id))


async def held(tx: Tx, held_id: UUID) -> Held | None:
    return _held(await tx.row("select * from held_reply where held_id = $1 for update", held_id))


def _held(row: Row | None) -> Held | None:
    if row is None:
        return None
    fields: dict[str, Any] = {name: row[name] for name in Held.__dataclass_fields__}
    fields["digests"] = tuple(fields["digests"])
    return Held(**fields)


def hold(one: Held) -> Write:
    return Write(
        """insert into held_reply
             (held_id, tenant, channel_id, conversation_id, stanza_id, chat, digests, text, sent_at, held_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)""",
        (
            *(one.held_id, one.tenant, one.channel_id, one.conversation_id, one.stanza_id, one.chat),
            *(list(one.digests), one.text, one.sent_at, one.held_at),
        ),
    )


def release(held_id: UUID) -> Write:
    return Write("delete from held_reply where held_id = $1", (held_id,))


def begun(
    decision_id: UUID,
    tenant: UUID,
    *,
    channel_id: UUID,
    conversation_id: UUID,
    chat: str,
    text_digest: str,
    stanza_id: str | None,
    at: datetime,
) -> Write:
    return Write(
        """insert into own_send
             (decision_id, tenant, channel_id, conversation_id, chat, text_digest, stanza_id, begun_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8)
           on conflict (decision_id) do update set chat = excluded.chat, text_digest = excluded.text_digest,
             stanza_id = coalesce(excluded.stanza_id, own_send.stanza_id), begun_at = excluded.begun_at""",
        (decision_id, tenant, channel_id, conversation_id, chat, text_digest, stanza_id, at),
    )


def accepted(
    decision_id: UUID, tenant: UUID, *, channel_id: UUID, conversation_id: UUID, stanza_id: str, at: datetime
) -> Write:
    return Write(
        """insert into own_send (decision_id, tenant, channel_id, conversation_id, stanza_id, begun_at)
           values ($1, $2, $3, $4, $5, $6) on conflict (decision_id) do update set stanza_id = excluded.stanza_id""",
        (decision_id, tenant, channel_id, conversation_id, stanza_id, at),
    )


def echoed(decision_id: UUID, stanza_id: str, at: datetime) -> Write:
    """The echo was seen; its stanza is the send's where none is known yet."""
    return Write(
        """update own_send set echoed_at = coalesce(echoed_at, $3), stanza_id = coalesce(stanza_id, $2)
           where decision_id = $1""",
        (decision_id, stanza_id, at),
    )
