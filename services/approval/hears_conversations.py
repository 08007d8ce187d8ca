"""What people and customers do in a conversation, and what it makes of texts that wait or are leaving."""

from uuid import UUID

from contracts.messages import (
    AlertRaised,
    ChannelStatusChanged,
    ConsentChanged,
    ContactSeen,
    ConversationMessage,
    FactRecorded,
    HandoffRequested,
    MessageEdited,
    MessageReceived,
    MessageRevoked,
    OwnershipChanged,
    PhoneReplied,
)
from services.approval.effects import Moment, Terms, audited, lose_approval
from services.approval.facts import Banner
from services.approval.store import writing
from services.approval.store.loading import InConversation
from shared.bus import Effects, Heard
from shared.db import Write
from shared.ids import derived_id


def on_message_received(terms: Terms, heard: Heard[MessageReceived], facts: InConversation) -> Effects:
    """The customer wrote: shown, and an approval of an older text is lost."""
    m = heard.message
    writes = [
        _heard(m, m.message_id, m),
        writing.contact_named(m.tenant, m.contact_id, m.sender_name),
        writing.uttered(
            tenant=m.tenant, utterance_id=m.message_id, conversation_id=m.conversation_id, direction="customer",
            body=m.text, at=m.sent_at, media_kind=m.media_kind,
        ),
    ]  # fmt: skip
    return Effects(writes=writes) + _lost(
        terms, heard, facts, "customer_wrote", "customer wrote again", trigger_id=m.message_id
    )


def on_message_edited(terms: Terms, heard: Heard[MessageEdited], facts: InConversation) -> Effects:
    m = heard.message
    writes = [_heard(m, m.message_id), writing.utterance_edited(m.message_id, m.text, m.edited_at)]
    return Effects(writes=writes) + _lost(
        terms, heard, facts, "customer_edited", "customer edited", trigger_id=m.message_id
    )


def on_message_revoked(terms: Terms, heard: Heard[MessageRevoked], facts: InConversation) -> Effects:
    m = heard.message
    writes = [_heard(m, m.message_id), writing.utterance_revoked(m.message_id, m.revoked_at)]
    return Effects(writes=writes) + _lost(
        terms, heard, facts, "message_revoked", "a message was revoked", trigger_id=m.message_id
    )


def on_phone_replied(terms: Terms, heard: Heard[PhoneReplied], facts: InConversation) -> Effects:
    """A person of ours answered on the phone itself."""
    m = heard.message
    said = writing.uttered(
        tenant=m.tenant,
        utterance_id=heard.id,
        conversation_id=m.conversation_id,
        direction="phone",
        body=m.text,
        at=m.sent_at,
    )
    lost = _lost(terms, heard, facts, "phone_replied", "a person answered on the phone", trigger_id=heard.id)
    return Effects(writes=[_heard(m, heard.id), said]) + lost


def _heard(m: ConversationMessage, trigger_id: UUID, received: MessageReceived | None = None) -> Write:
    return writing.conversation_heard(
        tenant=m.tenant,
        conversation_id=m.conversation_id,
        contact_id=m.contact_id,
        channel_id=m.channel_id,
        context_revision=m.context_revision,
        trigger_id=trigger_id,
        destination=received.destination if received else None,
        language=received.language if received else None,
    )


def _lost(
    terms: Terms,
    heard: Heard[ConversationMessage],
    facts: InConversation,
    code: str,
    reason: str,
    *,
    trigger_id: UUID,
) -> Effects:
    """Approvals of texts that knew less than this. Open texts need no write: their revision tells."""
    effects, moment = Effects(), Moment(heard.id, heard.now, "ingest")
    banner = Banner(code="approval_lost", at=heard.now, detail=code, trigger_id=trigger_id)
    for o in facts.alive:
        if o.is_leaving and o.approved_revision < heard.message.context_revision:
            effects += lose_approval(o, reason, banner, moment, terms, salt=facts.salt)
    return effects


def on_handoff_requested(heard: Heard[HandoffRequested], facts: InConversation) -> Effects:
    """The agent steps back; a person is called. A person who has taken over already stays."""
    m, conversation = heard.message, facts.conversation
    alert = writing.alert(
        tenant=m.tenant, alert_id=derived_id(heard.id, "alert"), kind="handoff", severity="critical",
        body=m.summary or m.reason, at=heard.now, conversation_id=m.conversation_id,
    )  # fmt: skip
    if conversation is None or conversation.owner_state != "agent":
        return Effects(writes=[alert])
    version = conversation.owner_version + 1
    moment = Moment(heard.id, heard.now, "agent")
    return Effects(
        writes=[
            alert,
            writing.owned(m.conversation_id, "handoff", "", version, m.reason),
            audited(moment, m.tenant, "handoff_requested", conversation_id=m.conversation_id, version=version),
        ],
        says=[
            OwnershipChanged(
                tenant=m.tenant, conversation_id=m.conversation_id, owner="person", version=version, reason=m.reason,
                at=heard.now, is_handoff=True,
            )
        ],
    )  # fmt: skip


def on_contact_seen(heard: Heard[ContactSeen], _facts: None) -> Effects:
    m = heard.message
    return Effects(writes=[writing.contact_named(m.tenant, m.contact_id, m.name, m.has_phone)])


def on_consent_changed(heard: Heard[ConsentChanged], _facts: None) -> Effects:
    """One alert for one message, under however many ids its sender is known."""
    m = heard.message
    cause = m.cause_message_id or heard.id
    alert = writing.alert(
        tenant=m.tenant, alert_id=derived_id(cause, f"alert:{m.state}"), kind="consent", body=m.state, at=m.at,
        severity="info" if m.state == "opted_in" else "warning", conversation_id=m.conversation_id,
    )  # fmt: skip
    return Effects(writes=[writing.consent_is(m.tenant, m.contact_id, m.state, m.at), alert])


def on_channel_status_changed(heard: Heard[ChannelStatusChanged], _facts: None) -> Effects:
    m = heard.message
    return Effects(writes=[writing.channel_is(m.tenant, m.channel_id, m.status, m.is_ready, m.at)])


def on_fact_recorded(heard: Heard[FactRecorded], _facts: None) -> Effects:
    return Effects(writes=[writing.fact_recorded(heard.message)])


def on_alert_raised(heard: Heard[AlertRaised], _facts: None) -> Effects:
    m = heard.message
    return Effects(
        writes=[
            writing.alert(
                tenant=m.tenant, alert_id=m.alert_id, kind=m.kind, severity=m.severity, body=m.text, at=m.at,
                conversation_id=m.conversation_id,
            )
        ]
    )  # fmt: skip
