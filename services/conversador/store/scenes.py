"""What a decision about a conversation needs, read under the conversation's lock."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

import msgspec
from msgspec import Struct

from contracts.messages import ConsentChanged, ContactSeen, Destination, DraftSentBack, Owner, OwnershipChanged
from services.conversador.store.turns import live_turns, turn_by_id
from services.conversador.turn import Turn
from shared.bus import Heard
from shared.db import Tx, Write

Consent = Literal["unknown", "opted_out", "opted_in", "paused", "erasure_requested"]


class Conversation(Struct, frozen=True, kw_only=True):
    """A conversation as conversador projects it."""

    conversation_id: UUID
    tenant: UUID
    contact_id: UUID
    channel_id: UUID
    destination: Destination
    language: str
    sender_name: str = ""
    context_revision: int = 0
    rolling_summary: str = ""


class Scene(Struct, frozen=True, kw_only=True):
    """A conversation at the moment of a decision; `conversation` is None before its first message was heard."""

    conversation: Conversation | None = None
    consent: Consent = "unknown"
    owner: Owner = "agent"
    live: Turn | None = None


class SentBack(Struct, frozen=True):
    """A text that a person sent back: the conversation, and the turn that wrote it when it was one of ours."""

    scene: Scene
    previous: Turn | None


async def load_scenes(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[Scene]:
    found = await scenes(tx, [one.message.conversation_id for one in heard])
    return [found[one.message.conversation_id] for one in heard]


async def hold(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[None]:
    """The conversations' rows alone, locked."""
    ids = [one.message.conversation_id for one in heard]
    await tx.rows("select from conversation where conversation_id = any($1) order by conversation_id for update", ids)
    return [None] * len(heard)


async def load_sent_back(tx: Tx, one: Heard[DraftSentBack]) -> SentBack:
    scene = await scene_of(tx, one.message.conversation_id)
    return SentBack(scene, await turn_by_id(tx, one.message.turn_id) if one.message.turn_id else None)


async def scene_of(tx: Tx, conversation_id: UUID) -> Scene:
    return (await scenes(tx, [conversation_id]))[conversation_id]


async def scenes(tx: Tx, ids: Sequence[UUID]) -> dict[UUID, Scene]:
    """Scenes by conversation; the conversations' rows stay locked until the transaction ends."""
    rows = await tx.rows(
        "select * from conversation where conversation_id = any($1) order by conversation_id for update", ids
    )
    conversations = {row["conversation_id"]: _conversation(row) for row in rows}
    consents = await tx.rows(
        "select contact_id, consent from contact where contact_id = any($1)",
        [one.contact_id for one in conversations.values()],
    )
    owners = await tx.rows("select conversation_id, owner from ownership where conversation_id = any($1)", ids)
    consent_of = {row["contact_id"]: row["consent"] for row in consents}
    owner_of = {row["conversation_id"]: row["owner"] for row in owners}
    live = await live_turns(tx, ids)
    return {
        id_: Scene(
            conversation=conversations.get(id_),
            consent=consent_of.get(conversations[id_].contact_id, "unknown") if id_ in conversations else "unknown",
            owner=owner_of.get(id_, "agent"),
            live=live.get(id_),
        )
        for id_ in ids
    }


def _conversation(row: Any) -> Conversation:
    values = {name: row[name] for name in Conversation.__struct_fields__}
    values["destination"] = msgspec.json.decode(values["destination"])
    return msgspec.convert(values, Conversation)


def save_conversation(one: Conversation) -> Write:
    return Write(
        """insert into conversation (conversation_id, tenant, contact_id, channel_id, destination, language,
             sender_name, context_revision, rolling_summary) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
           on conflict (conversation_id) do update set contact_id = excluded.contact_id,
             channel_id = excluded.channel_id, destination = excluded.destination, language = excluded.language,
             sender_name = excluded.sender_name, rolling_summary = excluded.rolling_summary,
             context_revision = greatest(conversation.context_revision, excluded.context_revision)""",
        (
            one.conversation_id,
            one.tenant,
            one.contact_id,
            one.channel_id,
            msgspec.json.encode(one.destination).decode(),
            one.language,
            one.sender_name,
            one.context_revision,
            one.rolling_summary,
        ),
    )


def save_contact(message: ContactSeen) -> Write:
    return Write(
        """insert into contact (contact_id, tenant, name) values ($1, $2, $3)
           on conflict (contact_id) do update set name = excluded.name where excluded.name <> ''""",
        (message.contact_id, message.tenant, message.name),
    )


def merge_contacts(message: ContactSeen) -> tuple[Write, ...]:
    """Several contacts turned out to be one: what is known moves, and the strictest word on consent holds."""
    args = (message.contact_id, list(message.merged_contact_ids))
    return (
        Write("update fact set contact_id = $1 where contact_id = any($2)", args),
        Write("update conversation set contact_id = $1 where contact_id = any($2)", args),
        Write(
            """update contact c set consent = m.consent, consent_at = m.consent_at from contact m
               where c.contact_id = $1 and m.contact_id = any($2) and m.consent in ('opted_out', 'erasure_requested')
                 and c.consent not in ('opted_out', 'erasure_requested')""",
            args,
        ),
    )


def save_consent(message: ConsentChanged) -> Write:
    return Write(
        """insert into contact (contact_id, tenant, consent, consent_at) values ($1, $2, $3, $4)
           on conflict (contact_id) do update set consent = excluded.consent, consent_at = excluded.consent_at
           where contact.consent_at is null or contact.consent_at <= excluded.consent_at""",
        (message.contact_id, message.tenant, message.state, message.at),
    )


def save_owner(message: OwnershipChanged) -> Write:
    """Only a newer word on who speaks counts."""
    return Write(
        """insert into ownership (conversation_id, tenant, owner, version) values ($1, $2, $3, $4)
           on conflict (conversation_id) do update set owner = excluded.owner, version = excluded.version
           where ownership.version < excluded.version""",
        (message.conversation_id, message.tenant, message.owner, message.version),
    )


def hold_for_person(conversation_id: UUID, tenant: UUID) -> Write:
    """A person was asked for: silent from now on, before anybody accepted. Version stays, so approval's word wins."""
    return Write(
        """insert into ownership (conversation_id, tenant, owner, version) values ($1, $2, 'person', 0)
           on conflict (conversation_id) do update set owner = 'person'""",
        (conversation_id, tenant),
    )
