"""What becomes of an authentic webhook: the event and what is known in, rows and messages out. Pure.

Laws
- `context_revision` grows by one for an inbound message, an edit, a revocation, a phone-side reply; for nothing else.
- What comes from our own account is never inbound: it is our echo, or it is held until it counts as a person's reply.
- An edit or a revocation of a message that is not known goes to quarantine: there is nothing to change.
- Acks never make a message; they speak of one.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, TypedDict, assert_never
from uuid import UUID

import msgspec

from contracts import messages as m
from contracts.channel import (
    Acked,
    Action,
    Edited,
    FromMe,
    Inbound,
    Level,
    Malformed,
    Reacted,
    Revoked,
    SessionChanged,
    decide_action,
)
from services.ingest import language, optout, outbound
from services.ingest.config import Channel
from services.ingest.echo import OwnSend
from services.ingest.store import heard, people, sends
from services.ingest.store.heard import Target
from services.ingest.store.people import Number, Place
from services.ingest.store.sends import Held
from shared.bus import NOTHING, CancelJobs, Effects, StartJob
from shared.db import Write
from shared.ids import derived_id

ECHO_HOLD: Final = "echo_hold"
LONGEST_WIRE_BYTES: Final = 150_000
"""A message's text as JSON: the bus takes 200 KiB, and controls grow sixfold when they are escaped."""

Event = Inbound | FromMe | Edited | Revoked | Reacted | Acked | SessionChanged | Malformed


@dataclass(frozen=True, slots=True)
class Known:
    """What the store adds to an event. `cause` names the webhook's fact; everything that follows is derived from it."""

    channel: Channel
    cause: UUID
    now: datetime
    place: Place | None = None
    target: Target | None = None
    send: OwnSend | None = None
    digests: tuple[str, ...] = ()
    status_at: datetime | None = None
    echo_hold_seconds: float = 15.0


@dataclass(frozen=True, slots=True)
class Decision:
    """The action that answers the webhook, and what becomes true."""

    action: Action
    effects: Effects
    quarantine_reason: str | None = None
    opt_out: m.OptOutSignal = "none"


def decide(event: Event, known: Known) -> Decision:
    action = decide_action(event, is_target_known=known.target is not None)
    match event:
        case Malformed():
            return Decision(action, NOTHING, quarantine_reason=event.reason)
        case SessionChanged():
            return Decision(action, _session(event, known))
        case Edited() | Revoked() if known.target is None:
            return Decision(action, NOTHING, quarantine_reason="target_unknown")
        case _:
            assert known.place is not None, "every event of a chat has its place"
            decided = _in_place(event, known, known.place)
            return replace(decided, action=action, effects=news(known.channel, known.place) + decided.effects)


def _in_place(event: Event, known: Known, place: Place) -> Decision:
    match event:
        case Inbound():
            return _inbound(event, known, place)
        case Edited():
            return _edited(event, known, place)
        case FromMe():
            effects = _from_me(event, known, place)
        case Revoked():
            effects = _revoked(event, known, place)
        case Reacted():
            effects = _reacted(event, known, place)
        case Acked():
            effects = _acked(event, known, place)
        case Malformed() | SessionChanged():
            effects = NOTHING
        case _:
            assert_never(event)
    return Decision("ignore", effects)


def news(number: Number, place: Place) -> Effects:
    """What was learned about the person, once."""
    if not place.has_news:
        return NOTHING
    seen = m.ContactSeen(
        tenant=number.tenant,
        contact_id=place.contact_id,
        channel_id=number.channel_id,
        name=place.name,
        has_phone=place.has_phone,
        is_new=place.is_new,
        merged_contact_ids=place.merged,
    )
    return Effects(writes=[people.rename(place.contact_id, place.name)], says=[seen])


# ------------------------------------------------------------------------------------------------- what customers do


def _inbound(event: Inbound, known: Known, place: Place) -> Decision:
    channel, text = known.channel, carried(event.text)
    signal, spoken = _signal(text, place), language.guess(text, place.language)
    message_id, revision = theirs(known.cause), place.context_revision + 1
    said = m.MessageReceived(
        tenant=channel.tenant,
        **_where(channel, place, revision),
        message_id=message_id,
        destination=m.Destination(channel_id=channel.channel_id, account=channel.session, chat=event.chat),
        sender_name=event.sender_name,
        text=text,
        is_draftable=event.is_draftable,
        media_kind=event.media_kind,
        opt_out=signal,
        language=spoken,
        sent_at=min(event.sent_at, known.now),
        received_at=known.now,
    )
    writes = [
        heard.revision(place.conversation_id, revision),
        _message(known, place, event.stanza_id, message_id, is_ours=False),
    ]
    if spoken != place.language:
        writes.append(heard.language(place.conversation_id, spoken))
    return Decision("inbound", Effects(writes=writes, says=[said]), opt_out=signal)


def _edited(event: Edited, known: Known, place: Place) -> Decision:
    """The latest edit wins: one that comes after a later one, or after the revocation, changes nothing."""
    target, text, at = known.target, carried(event.text), min(event.sent_at, known.now)
    assert target is not None
    if target.is_revoked or (target.edited_at is not None and at < target.edited_at):
        return Decision("edit_update", NOTHING)
    signal: m.OptOutSignal = "none" if target.is_ours else _signal(text, place)
    where = _where(known.channel, place, place.context_revision + 1)
    said: m.Message
    if target.is_ours:
        said = m.PhoneReplied(tenant=known.channel.tenant, **where, text=text, sent_at=at)
    else:
        said = m.MessageEdited(
            tenant=known.channel.tenant,
            **where,
            message_id=target.message_id,
            text=text,
            opt_out=signal,
            edited_at=at,
        )
    writes = [heard.revision(place.conversation_id, place.context_revision + 1), heard.edited(target.message_id, at)]
    return Decision("edit_update", Effects(writes=writes, says=[said]), opt_out=signal)


def _revoked(event: Revoked, known: Known, place: Place) -> Effects:
    target, revision = known.target, place.context_revision + 1
    assert target is not None
    at = min(event.occurred_at, known.now)
    said = m.MessageRevoked(
        tenant=known.channel.tenant,
        **_where(known.channel, place, revision),
        message_id=target.message_id,
        is_ours=target.is_ours,
        revoked_at=at,
    )
    return Effects(
        writes=[heard.revision(place.conversation_id, revision), heard.revoked(target.message_id, at)], says=[said]
    )


def _reacted(event: Reacted, known: Known, place: Place) -> Effects:
    """`target` is our id of the message, or its stanza when it is not known."""
    target = str(known.target.message_id) if known.target else event.target_stanza_id
    said = m.MessageReacted(
        tenant=known.channel.tenant,
        conversation_id=place.conversation_id,
        channel_id=known.channel.channel_id,
        target=target,
        emoji=event.emoji,
    )
    return Effects(says=[said])


class _Where(TypedDict):
    conversation_id: UUID
    contact_id: UUID
    channel_id: UUID
    context_revision: int


def _where(channel: Channel, place: Place, revision: int) -> _Where:
    return _Where(
        conversation_id=place.conversation_id,
        contact_id=place.contact_id,
        channel_id=channel.channel_id,
        context_revision=revision,
    )


def _message(known: Known, place: Place, stanza_id: str, message_id: UUID, *, is_ours: bool) -> Write:
    return heard.message(
        known.channel.channel_id,
        known.channel.tenant,
        message_id=message_id,
        conversation_id=place.conversation_id,
        stanza_id=stanza_id,
        is_ours=is_ours,
    )


def _signal(text: str, place: Place) -> m.OptOutSignal:
    signal = optout.detect(text, last_outbound_kind=place.last_outbound, is_opted_out=place.is_opted_out)
    return signal.value


def carried(text: str) -> str:
    """The text as the bus can carry it: invisible controls go when their escapes would make it too long."""
    if len(text) * 6 <= LONGEST_WIRE_BYTES or len(msgspec.json.encode(text)) <= LONGEST_WIRE_BYTES:
        return text
    return "".join(character for character in text if character >= " " or character in "\n\t")


# --------------------------------------------------------------------------------------------- what our account does


def _from_me(event: FromMe, known: Known, place: Place) -> Effects:
    kept = Effects(
        writes=[_message(known, place, event.stanza_id, ours(known.channel.channel_id, event.stanza_id), is_ours=True)]
    )
    held = Held(
        held_id=derived_id(known.cause, "held"),
        tenant=known.channel.tenant,
        channel_id=known.channel.channel_id,
        conversation_id=place.conversation_id,
        stanza_id=event.stanza_id,
        chat=event.chat,
        digests=known.digests,
        text=carried(event.text),
        sent_at=min(event.sent_at, known.now),
        held_at=known.now,
    )
    if known.send is not None:
        return kept + echo(held, known.send, known.now)
    timer = StartJob(id=held.held_id, kind=ECHO_HOLD, key=str(held.held_id), after_seconds=known.echo_hold_seconds)
    return kept + Effects(writes=[sends.hold(held)], jobs=[timer])


def echo(held: Held, send: OwnSend, now: datetime) -> Effects:
    """Our own words came back: said to those who wait for proof, and no reason to ask anybody anew."""
    seen = m.EchoSeen(
        tenant=held.tenant,
        conversation_id=send.conversation_id,
        channel_id=held.channel_id,
        provider_id=held.stanza_id,
        chat=held.chat,
        text_digest=send.text_digest or held.digests[0],
        at=held.sent_at,
    )
    return Effects(writes=[sends.echoed(send.decision_id, held.stanza_id, now)], says=[seen])


def claimed(held: Held, send: OwnSend, now: datetime) -> Effects:
    """A held message found its send."""
    return echo(held, send, now) + Effects(
        writes=[sends.release(held.held_id)], cancels=[CancelJobs(ECHO_HOLD, str(held.held_id))]
    )


def phone_reply(held: Held, place: Place) -> Effects:
    """Nobody claimed it: a person of ours answered on the phone."""
    revision = place.context_revision + 1
    said = m.PhoneReplied(
        tenant=held.tenant,
        conversation_id=place.conversation_id,
        contact_id=place.contact_id,
        channel_id=held.channel_id,
        context_revision=revision,
        text=held.text,
        sent_at=held.sent_at,
    )
    writes = [
        sends.release(held.held_id),
        heard.revision(place.conversation_id, revision),
        heard.last_outbound(place.conversation_id, outbound.kind(held.text)),
    ]
    return Effects(writes=writes, says=[said])


def changed_meanwhile(held: Held) -> Effects:
    """Nobody claimed it, and a person of ours changed it while it was held: the new words have been said, or that it
    was deleted; the old ones are nobody's any more.
    """
    return Effects(writes=[sends.release(held.held_id)])


def theirs(cause: UUID) -> UUID:
    """The id of the message that a webhook brought."""
    return derived_id(cause, "message")


def ours(channel_id: UUID, stanza_id: str) -> UUID:
    """The id of a message of ours, whichever way it becomes known first."""
    return derived_id(channel_id, f"ours:{stanza_id}")


_Reported = Literal["error", "pending", "server", "device", "read", "played", "unknown"]
_LEVELS: Final[dict[Level | None, _Reported]] = {
    None: "unknown",
    "pending": "pending",
    "sent": "server",
    "delivered": "device",
    "read": "read",
    "played": "played",
    "failed": "error",
}


def _acked(event: Acked, known: Known, place: Place) -> Effects:
    error = event.error
    said = m.StatusReported(
        tenant=known.channel.tenant,
        conversation_id=place.conversation_id,
        channel_id=known.channel.channel_id,
        provider_id=event.stanza_id,
        level=_LEVELS[event.level],
        error_code=error.code if error else "",
        error_detail=error.reason if error else "",
        restricted_until=error.until if error else None,
        at=min(event.occurred_at, known.now),
    )
    return Effects(says=[said])


def _session(event: SessionChanged, known: Known) -> Effects:
    """The newest status stands; webhooks come in any order."""
    at = min(event.occurred_at, known.now)
    if known.status_at is not None and at < known.status_at:
        return NOTHING
    said = m.ChannelStatusChanged(
        tenant=known.channel.tenant,
        channel_id=known.channel.channel_id,
        status=event.status,
        is_ready=event.is_ready,
        at=at,
    )
    return Effects(
        writes=[heard.status(known.channel.channel_id, event.status, is_ready=event.is_ready, at=at)], says=[said]
    )
