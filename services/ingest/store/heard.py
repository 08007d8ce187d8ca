"""What was heard: the duplicate test, the messages that later events point at, revisions, the raw log, channels."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from contracts.channel import DedupKey
from services.ingest.config import Channel
from shared.db import Tx, Write


@dataclass(frozen=True, slots=True)
class Target:
    """The message that an edit, a revocation or a reaction points at."""

    message_id: UUID
    conversation_id: UUID
    is_ours: bool
    edited_at: datetime | None = None
    is_revoked: bool = False

    @property
    def is_changed(self) -> bool:
        return self.is_revoked or self.edited_at is not None


async def claim(tx: Tx, channel: Channel, key: DedupKey) -> bool:
    """Whether this transaction is the first to hear the fact; a concurrent one is waited for."""
    inserted = await tx.execute(
        """insert into heard_fact (tenant, channel_id, session, direction, fact) values ($1, $2, $3, $4, $5)
           on conflict do nothing""",
        *(channel.tenant, channel.channel_id, *key),
    )
    return inserted == 1


async def target(tx: Tx, channel_id: UUID, stanza_id: str, *, is_from_me: bool) -> Target | None:
    """The message of that stanza, whoever wrote it; the side that the event names comes first."""
    row = await tx.row(
        """select message_id, conversation_id, is_ours, edited_at, revoked_at is not null as is_revoked from message
           where channel_id = $1 and stanza_id = $2 order by (is_ours = $3) desc limit 1""",
        *(channel_id, stanza_id, is_from_me),
    )
    return None if row is None else Target(**row)


async def status_at(tx: Tx, channel_id: UUID) -> datetime | None:
    """Since when the channel's status stands; its row is locked."""
    return await tx.value("select status_at from channel where channel_id = $1 for update", channel_id)


def message(
    channel: UUID, tenant: UUID, *, message_id: UUID, conversation_id: UUID, stanza_id: str, is_ours: bool
) -> Write:
    return Write(
        """insert into message (message_id, tenant, channel_id, conversation_id, stanza_id, is_ours)
           values ($1, $2, $3, $4, $5, $6) on conflict do nothing""",
        (message_id, tenant, channel, conversation_id, stanza_id, is_ours),
    )


def edited(message_id: UUID, at: datetime) -> Write:
    return Write("update message set edited_at = $2 where message_id = $1", (message_id, at))


def revoked(message_id: UUID, at: datetime) -> Write:
    return Write("update message set revoked_at = $2 where message_id = $1", (message_id, at))


def revision(conversation_id: UUID, value: int) -> Write:
    """Only for a conversation whose row this transaction has locked."""
    return Write(
        "update conversation set context_revision = $2 where conversation_id = $1 and context_revision = $2 - 1",
        (conversation_id, value),
    )


def language(conversation_id: UUID, value: str) -> Write:
    return Write("update conversation set language = $2 where conversation_id = $1", (conversation_id, value))


def last_outbound(conversation_id: UUID, kind: str | None) -> Write:
    return Write("update conversation set last_outbound = $2 where conversation_id = $1", (conversation_id, kind))


def status(channel_id: UUID, status: str, *, is_ready: bool, at: datetime) -> Write:
    return Write(
        "update channel set status = $2, is_ready = $3, status_at = $4 where channel_id = $1",
        (channel_id, status, is_ready, at),
    )


def raw(
    channel: Channel,
    body: bytes,
    *,
    raw_id: UUID,
    conversation_id: UUID | None,
    action: str,
    quarantine_reason: str | None,
    awaits_stanza_id: str | None,
    at: datetime,
) -> Write:
    return Write(
        """insert into raw_event (raw_id, tenant, channel_id, conversation_id, action, quarantine_reason,
             awaits_stanza_id, received_at, body) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)""",
        (
            *(raw_id, channel.tenant, channel.channel_id, conversation_id, action, quarantine_reason),
            *(awaits_stanza_id, at, body),
        ),
    )


async def lock_stanza(tx: Tx, channel_id: UUID, stanza_id: str) -> None:
    """A message and what changes it take turns, whichever comes first."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended($1, 1))", f"{channel_id}:{stanza_id}")


async def awaiting(tx: Tx, channel_id: UUID, stanza_id: str) -> Sequence[tuple[UUID, datetime, bytes]]:
    """Raw events in quarantine that wait for this message, in the order in which they came."""
    rows = await tx.rows(
        """select raw_id, received_at, body from raw_event
           where channel_id = $1 and awaits_stanza_id = $2 and action = 'quarantine' and body is not null
           order by received_at, raw_id""",
        *(channel_id, stanza_id),
    )
    return [(row["raw_id"], row["received_at"], row["body"]) for row in rows]


def settled(raw_id: UUID, action: str) -> Write:
    """What waited has happened."""
    return Write("update raw_event set action = $2, quarantine_reason = null where raw_id = $1", (raw_id, action))


def channels(all_: Sequence[Channel]) -> Sequence[Write]:
    """The channels of the file; status and history of those that are there stay."""
    return [
        Write(
            """insert into channel (channel_id, tenant, slug, kind, session, name) values ($1, $2, $3, $4, $5, $6)
               on conflict (channel_id) do update set slug = excluded.slug, session = excluded.session,
                 name = excluded.name""",
            (one.channel_id, one.tenant, one.slug, one.kind, one.session, one.name),
        )
        for one in all_
    ]


async def tenants(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Whose the channels are that the database knows."""
    rows = await tx.rows("select channel_id, tenant from channel where channel_id = any($1)", list(ids))
    return {row["channel_id"]: row["tenant"] for row in rows}
