"""What was said in a conversation, and what else is known about it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple
from uuid import UUID

from msgspec import Struct

from contracts.messages import (
    CaseClosed,
    CaseOpened,
    FactRecorded,
    FollowUpScheduled,
    MessageEdited,
    MessageReceived,
    MessageRevoked,
    PhoneReplied,
    SendAccepted,
)
from services.conversador.context import SHOWN_ENTRIES, Entry
from services.conversador.store.scenes import Conversation, Scene, load_scenes
from services.conversador.tools import SaidEarlier
from shared.bus import Heard
from shared.db import Tx, Write

_ADD = """
insert into history (tenant, conversation_id, entry_id, author, text, media_kind, is_draftable, at, obligation_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (conversation_id, entry_id) do nothing
"""
_ENTRIES = """
select author, text, media_kind, is_edited, revoked_at from history
where conversation_id = $1 order by seq desc limit $2 offset $3
"""


class Changed(NamedTuple):
    """An edit's or a revocation's facts: which messages of the customer still wait for an answer."""

    scene: Scene
    unanswered: frozenset[UUID]


class Due(Struct, frozen=True):
    """Payload of a follow-up's timer."""

    follow_up_id: UUID
    conversation_id: UUID


class Known(NamedTuple):
    """What is on record beside the conversation."""

    facts: tuple[tuple[str, str], ...]
    case_subject: str


def add_received(message: MessageReceived) -> Write:
    return Write(
        _ADD,
        (
            message.tenant,
            message.conversation_id,
            message.message_id,
            "customer",
            message.text,
            message.media_kind,
            message.is_draftable,
            message.received_at,
            None,
        ),
    )


def add_sent(message: SendAccepted) -> Write:
    return _ours(message, message.decision_id, "us", message.body, message.at, message.obligation_id)


def add_reply(message: PhoneReplied, entry_id: UUID) -> Write:
    return _ours(message, entry_id, "person", message.text, message.sent_at)


def _ours(  # noqa: PLR0917 - the entry's columns
    message: SendAccepted | PhoneReplied,
    entry_id: UUID,
    author: Literal["us", "person"],
    text: str,
    at: datetime,
    obligation_id: UUID | None = None,
) -> Write:
    return Write(
        _ADD, (message.tenant, message.conversation_id, entry_id, author, text, None, False, at, obligation_id)
    )


def edit(message: MessageEdited) -> Write:
    return Write(
        """update history set text = $3, is_edited = true
           where conversation_id = $1 and entry_id = $2 and revoked_at is null""",
        (message.conversation_id, message.message_id, message.text),
    )


def revoke(message: MessageRevoked) -> Write:
    return Write(
        "update history set text = '', revoked_at = $3 where conversation_id = $1 and entry_id = $2",
        (message.conversation_id, message.message_id, message.revoked_at),
    )


async def load_changed(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[Changed]:
    scenes = await load_scenes(tx, heard)
    rows = await tx.rows(
        """select h.conversation_id, h.entry_id from history h
           where h.conversation_id = any($1) and h.author = 'customer' and h.is_draftable and h.revoked_at is null
             and h.seq > coalesce((select max(o.seq) from history o
               where o.conversation_id = h.conversation_id and o.author <> 'customer'), 0)""",
        [one.message.conversation_id for one in heard],
    )
    return [
        Changed(
            scene,
            frozenset(row["entry_id"] for row in rows if row["conversation_id"] == one.message.conversation_id),
        )
        for one, scene in zip(heard, scenes, strict=True)
    ]


async def recent_entries(tx: Tx, conversation_id: UUID) -> tuple[Entry, ...]:
    """The latest messages, oldest first."""
    rows = await tx.rows(_ENTRIES, conversation_id, SHOWN_ENTRIES, 0)
    return tuple(
        Entry(
            author=row["author"],
            text=row["text"],
            media_kind=row["media_kind"],
            is_edited=row["is_edited"],
            is_revoked=row["revoked_at"] is not None,
        )
        for row in reversed(rows)
    )


async def earlier_entries(tx: Tx, conversation_id: UUID, limit: int) -> list[SaidEarlier]:
    """What was said before the messages that every prompt shows."""
    rows = await tx.rows(_ENTRIES, conversation_id, limit, SHOWN_ENTRIES)
    return [
        SaidEarlier("customer" if row["author"] == "customer" else "house", row["text"])
        for row in reversed(rows)
        if row["text"]
    ]


async def known_about(tx: Tx, conversation: Conversation) -> Known:
    facts = await tx.rows(
        """select subject, value from fact where contact_id = $1 and kind in ('preference', 'identity', 'other')
           order by observed_at desc limit 10""",
        conversation.contact_id,
    )
    subject = await tx.value(
        """select subject from open_case where conversation_id = $1 and closed_at is null
           order by opened_at desc limit 1""",
        conversation.conversation_id,
    )
    return Known(tuple((row["subject"], row["value"]) for row in facts), subject or "")


async def has_open_case(tx: Tx, conversation_id: UUID) -> bool:
    return await tx.value(
        "select exists (select 1 from open_case where conversation_id = $1 and closed_at is null)", conversation_id
    )


def save_fact(message: FactRecorded) -> Write:
    return Write(
        """insert into fact (fact_id, tenant, contact_id, kind, subject, value, observed_at)
           values ($1, $2, $3, $4, $5, $6, $7) on conflict (fact_id) do nothing""",
        (
            message.fact_id,
            message.tenant,
            message.contact_id,
            message.kind,
            message.subject,
            message.value,
            message.observed_at,
        ),
    )


def open_case(message: CaseOpened) -> Write:
    return Write(
        """insert into open_case (case_id, tenant, conversation_id, subject, opened_at) values ($1, $2, $3, $4, $5)
           on conflict (case_id) do nothing""",
        (message.case_id, message.tenant, message.conversation_id, message.subject, message.opened_at),
    )


def close_case(message: CaseClosed) -> Write:
    return Write("update open_case set closed_at = $2 where case_id = $1", (message.case_id, message.closed_at))


def save_follow_up(message: FollowUpScheduled) -> Write:
    return Write(
        """insert into follow_up (follow_up_id, tenant, conversation_id, due_at, reason) values ($1, $2, $3, $4, $5)
           on conflict (follow_up_id) do update set due_at = excluded.due_at, reason = excluded.reason
           where follow_up.state = 'waiting'""",
        (message.follow_up_id, message.tenant, message.conversation_id, message.due_at, message.reason),
    )


def cancel_follow_ups(conversation_id: UUID) -> Write:
    return Write(
        "update follow_up set state = 'cancelled' where conversation_id = $1 and state = 'waiting'", (conversation_id,)
    )


async def take_follow_up(tx: Tx, follow_up_id: UUID) -> str | None:
    """The reason of a follow-up that still waits, now begun; None when the customer was faster, or at a repeat."""
    return await tx.value(
        "update follow_up set state = 'begun' where follow_up_id = $1 and state = 'waiting' returning reason",
        follow_up_id,
    )
