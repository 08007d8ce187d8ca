"""The way of one authentic webhook through one transaction: claim the fact, read what is known, decide, write."""

import hashlib
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never
from uuid import UUID

from contracts.channel import (
    Acked,
    ChannelEvent,
    Edited,
    FromMe,
    Ignored,
    Inbound,
    Malformed,
    Reacted,
    Rejected,
    Revoked,
    SessionChanged,
)
from contracts.channels import waha
from services.ingest import early, echo, hearing
from services.ingest.config import Channel, Config
from services.ingest.hearing import Decision, Known
from services.ingest.store import heard, people, sends
from services.ingest.store.heard import Target
from services.ingest.store.people import Place, Who
from shared.bus import NOTHING, Effects
from shared.db import Tx, Write
from shared.ids import derived_id, new_id
from shared.runtime import Context


def cause_of(channel: Channel, event: ChannelEvent) -> UUID:
    """The same for every copy of one fact; events that name none get one each."""
    if event.dedup_key is None:
        return new_id()
    named = hashlib.sha256("\0".join(event.dedup_key).encode()).hexdigest()
    return derived_id(channel.channel_id, named)


async def hear(context: Context[Config], channel: Channel, event: ChannelEvent, raw: bytes, cause: UUID) -> Decision:
    """Make a webhook true, or find that it already is.

    Raises:
        shared.db.TRANSIENT: the database did not take it; nothing happened.
    """
    if isinstance(event, Ignored):
        return Decision("ignore", NOTHING)
    async with context.bus.unit(tenant=channel.tenant, cause=cause) as unit:
        if event.dedup_key is not None and not await heard.claim(unit.tx, channel, event.dedup_key):
            return Decision("duplicate", NOTHING)
        known = Known(channel, cause, unit.now, echo_hold_seconds=context.config.echo_hold_seconds)
        known = await _look_up(unit.tx, context.config, event, known)
        decision = hearing.decide(event, known)
        if isinstance(event, Inbound | FromMe):
            decision = replace(decision, effects=decision.effects + await _overtaken(unit.tx, event, known))
        kept = await _kept(unit.tx, event, known, decision, raw)
        await unit.perform(decision.effects + Effects(writes=[kept]))
        return decision


async def _kept(tx: Tx, event: hearing.Event, known: Known, decision: Decision, raw: bytes) -> Write:
    """The raw event, where the erasure of its contact finds it."""
    conversation_id = known.place.conversation_id if known.place else await _conversation(tx, known.channel, event)
    return heard.raw(
        known.channel,
        raw,
        raw_id=known.cause,
        conversation_id=conversation_id,
        action=decision.action,
        quarantine_reason=decision.quarantine_reason,
        awaits_stanza_id=event.target_stanza_id if isinstance(event, Edited | Revoked) else None,
        at=known.now,
    )


async def _overtaken(tx: Tx, event: Inbound | FromMe, known: Known) -> Effects:
    """What came before its message follows it now. What our people changed is never the customer's message."""
    channel, place = known.channel, known.place
    assert place is not None
    is_ours = isinstance(event, FromMe)
    changes = [
        early.Change(raw_id, change)
        for raw_id, arrived_at, body in await heard.awaiting(tx, channel.channel_id, event.stanza_id)
        if isinstance(change := _read_again(channel, body, arrived_at), Edited | Revoked)
        and (is_ours or not change.is_from_me)
    ]
    message_id = hearing.ours(channel.channel_id, event.stanza_id) if is_ours else hearing.theirs(known.cause)
    target = Target(message_id, place.conversation_id, is_ours=is_ours)
    revision = place.context_revision + (0 if is_ours else 1)
    after = replace(place, context_revision=revision, has_news=False)
    return early.settle(changes, replace(known, place=after), target)


def _read_again(channel: Channel, body: bytes, arrived_at: datetime) -> ChannelEvent | Rejected:
    return waha.parse(body, sessions={channel.session}, arrived_at=arrived_at, freshness=timedelta.max)


async def _look_up(tx: Tx, config: Config, event: hearing.Event, known: Known) -> Known:
    channel = known.channel
    match event:
        case Malformed():
            return known
        case SessionChanged():
            return replace(known, status_at=await heard.status_at(tx, channel.channel_id))
        case Edited() | Revoked():
            await heard.lock_stanza(tx, channel.channel_id, event.target_stanza_id)
            target = await _target(tx, channel, event)
            place = None if target is None else await people.locked(tx, target.conversation_id)
            return replace(known, target=target, place=place)
        case FromMe():
            await heard.lock_stanza(tx, channel.channel_id, event.stanza_id)
            place = await _place(tx, config, channel, event)
            return await _with_send(tx, config, event, replace(known, place=place))
        case Inbound() | Reacted() | Acked():
            if isinstance(event, Inbound):
                await heard.lock_stanza(tx, channel.channel_id, event.stanza_id)
            target = await _target(tx, channel, event) if isinstance(event, Reacted) else None
            return replace(known, target=target, place=await _place(tx, config, channel, event))
        case _:
            assert_never(event)


async def _target(tx: Tx, channel: Channel, event: Edited | Revoked | Reacted) -> Target | None:
    return await heard.target(tx, channel.channel_id, event.target_stanza_id, is_from_me=event.is_from_me)


async def _place(tx: Tx, config: Config, channel: Channel, event: Inbound | FromMe | Reacted | Acked) -> Place:
    """Where the event belongs. A message of ours belongs where we sent it, under whatever chat id it comes back."""
    who = Who(chat=event.chat)
    if isinstance(event, FromMe | Acked):
        who = replace(who, known_conversation=await sends.conversation_of(tx, channel.channel_id, event.stanza_id))
    if isinstance(event, Inbound | FromMe):
        who = replace(who, phone=event.phone, lid=event.lid)
    if isinstance(event, Inbound):
        who = replace(who, name=event.sender_name)
    return await people.find_or_open(tx, channel, who, config.default_language)


async def _with_send(tx: Tx, config: Config, event: FromMe, known: Known) -> Known:
    assert known.place is not None
    chats = [event.chat, f"{event.phone}@c.us" if event.phone else event.chat, event.lid or event.chat]
    chats += await people.chats_of(tx, known.place.conversation_id)
    digests = echo.digests(chats, event.text)
    candidates = await sends.candidates(tx, known.channel.channel_id, event.stanza_id, digests)
    send = echo.match(event.stanza_id, candidates, now=known.now, copy_seconds=config.echo_copy_seconds)
    return replace(known, digests=digests, send=send)


async def _conversation(tx: Tx, channel: Channel, event: ChannelEvent) -> UUID | None:
    chat = getattr(event, "chat", None)
    return None if chat is None else await people.conversation_of(tx, channel.channel_id, chat)
