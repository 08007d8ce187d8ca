"""ingest: what a channel's webhooks say becomes messages in order; our own echo is told from a person on the phone.

The way of a webhook is in `webhook.py` and `hearing.py`; here is what ingest hears from the others.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from uuid import UUID

from contracts import messages as m
from services.ingest import echo, hearing, http, metrics, outbound
from services.ingest.config import Channels, Config, load_channels
from services.ingest.hearing import ECHO_HOLD
from services.ingest.store import heard as heard_store
from services.ingest.store import people, sends
from services.ingest.store.people import Place
from services.ingest.store.sends import Held
from shared.bus import NOTHING, Effects, Handlers, Heard, Job, Load, Quick, Timer, each
from shared.config import ConfigError
from shared.db import Tx
from shared.retention import Class
from shared.runtime import Context, Service


def on_send_begun(heard: Heard[m.SendBegun], held: Held | None) -> Effects:
    """A send leaves: its echo is ours from now on, also one that came before this."""
    begun = heard.message
    stanza_id = echo.stanza_of(begun.provider_id) if begun.provider_id else None
    noted = sends.begun(
        begun.decision_id,
        begun.tenant,
        channel_id=begun.channel_id,
        conversation_id=begun.conversation_id,
        chat=begun.chat,
        text_digest=begun.text_digest,
        stanza_id=stanza_id,
        at=begun.at,
    )
    return Effects(writes=[noted]) + _claim(heard, held, stanza_id)


def on_send_accepted(heard: Heard[m.SendAccepted], held: Held | None) -> Effects:
    """The provider's id is known: reactions, revocations and echoes can name it."""
    accepted = heard.message
    stanza_id = echo.stanza_of(accepted.provider_id)
    where = {"channel_id": accepted.channel_id, "conversation_id": accepted.conversation_id}
    writes = [
        sends.accepted(accepted.decision_id, accepted.tenant, **where, stanza_id=stanza_id, at=accepted.at),
        heard_store.message(
            accepted.channel_id,
            accepted.tenant,
            message_id=hearing.ours(accepted.channel_id, stanza_id),
            conversation_id=accepted.conversation_id,
            stanza_id=stanza_id,
            is_ours=True,
        ),
        heard_store.last_outbound(accepted.conversation_id, outbound.kind(accepted.body)),
    ]
    return Effects(writes=writes) + _claim(heard, held, stanza_id)


def _claim(heard: Heard[m.SendBegun] | Heard[m.SendAccepted], held: Held | None, stanza_id: str | None) -> Effects:
    if held is None:
        return NOTHING
    message = heard.message
    send = echo.OwnSend(message.decision_id, message.conversation_id, stanza_id, message.at)
    return hearing.claimed(held, send, heard.now)


async def load_held_for_begun(tx: Tx, heard: Heard[m.SendBegun]) -> Held | None:
    begun = heard.message
    stanza_id = echo.stanza_of(begun.provider_id) if begun.provider_id else None
    return await sends.held_for(tx, begun.channel_id, stanza_id, begun.text_digest)


async def load_held_for_accepted(tx: Tx, heard: Heard[m.SendAccepted]) -> Held | None:
    return await sends.held_for(tx, heard.message.channel_id, echo.stanza_of(heard.message.provider_id), None)


def conversations_first(load_one: Callable[[Tx, Heard[Any]], Awaitable[Held | None]]) -> Load:
    """The conversations' rows before anything else, as a webhook takes them: in another order, the echo's webhook and
    what delivery says of the same send would each hold what the other needs.
    """
    load_each = each(load_one)

    async def load(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[Any]:
        await people.hold(tx, [one.message.conversation_id for one in heard])
        return await load_each(tx, heard)

    return load


async def load_survivor(tx: Tx, heard: Heard[m.ConsentChanged]) -> UUID | None:
    return await people.merged_into(tx, heard.message.contact_id)


def on_consent_changed(heard: Heard[m.ConsentChanged], survivor: UUID | None) -> Effects:
    """Only who is opted out can opt in again: the detector must know."""
    return Effects(writes=[people.consent(heard.message.contact_id, survivor, heard.message.state)])


def on_echo_hold_over(job: Job, facts: tuple[Held, Place, echo.OwnSend | None] | None) -> Effects:
    """Whose words were they? Our send's if one is known by now; else a person answered on the phone."""
    if facts is None:
        return NOTHING
    held, place, send = facts
    return hearing.phone_reply(held, place) if send is None else hearing.claimed(held, send, job.now)


def handlers(config: Config) -> Handlers:
    async def load_hold(tx: Tx, job: Job) -> tuple[Held, Place, echo.OwnSend | None] | None:
        conversation_id = await sends.conversation_of_held(tx, UUID(job.key))
        if conversation_id is None:
            return None
        place = await people.locked(tx, conversation_id)
        held = await sends.held(tx, UUID(job.key))
        if held is None:
            return None
        candidates = await sends.candidates(tx, held.channel_id, held.stanza_id, held.digests)
        send = echo.match(held.stanza_id, candidates, now=held.held_at, copy_seconds=config.echo_copy_seconds)
        return held, place, send

    return Handlers(
        quick=(
            Quick(m.SendBegun, conversations_first(load_held_for_begun), on_send_begun),
            Quick(m.SendAccepted, conversations_first(load_held_for_accepted), on_send_accepted),
            Quick(m.ConsentChanged, each(load_survivor), on_consent_changed),
        ),
        timers=(Timer(ECHO_HOLD, load_hold, on_echo_hold_over, after_hearing_seconds=config.echo_hearing_seconds),),
        ignores=(m.SendUncertain, m.SendFailed, m.SendRefused, m.SendStatusChanged),
    )


async def start(context: Context[Config]) -> None:
    """Note the configured channels; a channel never changes hands."""
    await note_channels(context, load_channels(context.config.channels_file))


async def note_channels(context: Context[Config], channels: Channels) -> None:
    async with context.db.transaction() as tx:
        known = await heard_store.tenants(tx, [one.channel_id for one in channels.all])
        for one in channels.all:
            if known.get(one.channel_id, one.tenant) != one.tenant:
                raise ConfigError(f"CHANCELA_CHANNELS_FILE: channel {one.channel_id} belongs to another tenant")
        await tx.write(heard_store.channels(channels.all))
    metrics.open_channels(one.slug for one in channels.all)


FORGETS = (Class("raw_event", "received_at", 30, "what a channel sent, for a person who looks into a fault"),)
SERVICE = Service("ingest", Config, handlers, app=http.app, start=start, forgets=FORGETS)
