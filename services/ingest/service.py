"""ingest: what a channel's webhooks say becomes messages in order; our own echo is told from a person on the phone.

The way of a webhook is in `webhook.py` and `hearing.py`; here is what ingest hears from the others.
"""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from contracts import messages as m
from services.ingest import echo, hearing, http, metrics, outbound
from services.ingest.config import Channels, Config, load_channels
from services.ingest.hearing import ECHO_HOLD
from services.ingest.store import heard as heard_store
from services.ingest.store import people, sends
from services.ingest.store.heard import Target
from services.ingest.store.people import Place
from services.ingest.store.sends import Held
from shared.bus import NOTHING, Effects, Handlers, Heard, Job, Load, Quick, Timer, each
from shared.config import ConfigError
from shared.db import Tx
from shared.retention import Class
from shared.runtime import Context, Service

Sent = m.SendBegun | m.SendAccepted


class Waiting(NamedTuple):
    """What waits for a send."""

    held: Held | None
    joined: Place | None
    """The send's conversation, where it waited in another: the chat turned out to be that of the person we sent to."""


def on_send_begun(heard: Heard[m.SendBegun], waiting: Waiting) -> Effects:
    """A send leaves: its echo is ours from now on, also one that came before this."""
    begun = heard.message
    stanza_id = _stanza(begun)
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
    return Effects(writes=[noted]) + _claim(heard, waiting, stanza_id)


def on_send_accepted(heard: Heard[m.SendAccepted], waiting: Waiting) -> Effects:
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
    return Effects(writes=writes) + _claim(heard, waiting, stanza_id)


def _claim(heard: Heard[Sent], waiting: Waiting, stanza_id: str | None) -> Effects:
    message = heard.message
    known = hearing.news(message, waiting.joined) if waiting.joined else NOTHING
    if waiting.held is None:
        return known
    send = echo.OwnSend(message.decision_id, message.conversation_id, stanza_id, message.at)
    return known + hearing.claimed(waiting.held, send, heard.now)


def _stanza(message: Sent) -> str | None:
    return echo.stanza_of(message.provider_id) if message.provider_id else None


def load_waiting(config: Config) -> Load:
    """The conversations' rows before what waits in them, as a webhook takes them: in another order, the echo's webhook
    and what delivery says of the same send would each hold what the other needs.
    """

    async def load(tx: Tx, heard: Sequence[Heard[Sent]]) -> Sequence[Waiting]:
        joined = [await _joined(tx, config, one.message) for one in heard]
        await people.hold(tx, [one.message.conversation_id for one in heard])
        return [Waiting(await _held(tx, one.message), place) for one, place in zip(heard, joined, strict=True)]

    return load


async def _joined(tx: Tx, config: Config, message: Sent) -> Place | None:
    stanza_id = _stanza(message)
    if stanza_id is None:
        return None
    held = await sends.held_elsewhere(tx, message.channel_id, stanza_id, message.conversation_id)
    if held is None:
        return None
    who = people.Who(chat=held.chat, known_conversation=message.conversation_id)
    return await people.find_or_open(tx, message, who, config.default_language)


async def _held(tx: Tx, message: Sent) -> Held | None:
    digest = message.text_digest if isinstance(message, m.SendBegun) else None
    return await sends.held_for(tx, message.channel_id, _stanza(message), digest)


async def load_survivor(tx: Tx, heard: Heard[m.ConsentChanged]) -> UUID | None:
    return await people.merged_into(tx, heard.message.contact_id)


def on_consent_changed(heard: Heard[m.ConsentChanged], survivor: UUID | None) -> Effects:
    """Only who is opted out can opt in again: the detector must know."""
    return Effects(writes=[people.consent(heard.message.contact_id, survivor, heard.message.state)])


class HoldOver(NamedTuple):
    """A hold that is over: whose words they may be, and the message as it is by now."""

    held: Held
    place: Place
    send: echo.OwnSend | None
    message: Target | None


def on_echo_hold_over(job: Job, over: HoldOver | None) -> Effects:
    """Whose words were they? Our send's if one is known by now; else a person answered on the phone."""
    if over is None:
        return NOTHING
    known = hearing.news(over.held, over.place)
    if over.send is not None:
        return known + hearing.claimed(over.held, over.send, job.now)
    if over.message is not None and over.message.is_changed:
        return known + hearing.changed_meanwhile(over.held)
    return known + hearing.phone_reply(over.held, over.place)


def handlers(config: Config) -> Handlers:
    async def load_hold(tx: Tx, job: Job) -> HoldOver | None:
        found = await sends.peek(tx, UUID(job.key))
        if found is None:
            return None
        belongs = await sends.conversation_of(tx, found.channel_id, found.stanza_id)
        who = people.Who(chat=found.chat, known_conversation=belongs)
        place = await people.find_or_open(tx, found, who, config.default_language)
        held = await sends.held(tx, found.held_id)
        if held is None:
            return None
        candidates = await sends.candidates(tx, held.channel_id, held.stanza_id, held.digests)
        send = echo.match(held.stanza_id, candidates, now=held.held_at, copy_seconds=config.echo_copy_seconds)
        message = await heard_store.target(tx, held.channel_id, held.stanza_id, is_from_me=True)
        return HoldOver(held, place, send, message)

    return Handlers(
        quick=(
            Quick(m.SendBegun, load_waiting(config), on_send_begun),
            Quick(m.SendAccepted, load_waiting(config), on_send_accepted),
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
