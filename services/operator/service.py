"""The operating role's story: it hears what happened, keeps the lead's books, and has no way to speak.

Laws
- Triggered by the end of a turn, never by the speaking role's choice, never in the way of the reply.
- Every closed turn gets exactly one decision; not acting is one.
- Promises are remembered at the turn's end and judged only when their text has left.
"""

import msgspec

from contracts.messages import (
    AlertRaised,
    ApprovalEnded,
    ConsentChanged,
    ContactSeen,
    DraftApproved,
    DraftFiled,
    DraftRejected,
    DraftSentBack,
    FilingRefused,
    HandoffRequested,
    MessageEdited,
    MessageReacted,
    MessageReceived,
    MessageRevoked,
    OwnershipChanged,
    PhoneReplied,
    SendAccepted,
    SendBegun,
    SendFailed,
    SendRefused,
    SendStatusChanged,
    SendUncertain,
    TurnClosed,
)
from services.operator import metrics, wording
from services.operator.catalogue import catalogue
from services.operator.config import Config
from services.operator.operating import SETTLE, Operating, Settle, settle_obligation
from services.operator.promises import Judged, Standing, judge
from services.operator.store import conversations, leads, promises
from shared.bus import NOTHING, Effects, Handlers, Heard, Job, Quick, Slow, Timer, no_facts
from shared.db import Tx
from shared.ids import derived_id
from shared.runtime import Service


def handlers(config: Config) -> Handlers:
    everything = catalogue()
    metrics.start(everything)
    operating = Operating(config, everything)
    return Handlers(
        quick=(
            Quick(ContactSeen, no_facts, on_contact_seen),
            Quick(MessageReceived, no_facts, on_message_received),
            Quick(MessageEdited, no_facts, on_message_edited),
            Quick(MessageRevoked, no_facts, on_message_revoked),
            Quick(PhoneReplied, no_facts, on_phone_replied),
            Quick(OwnershipChanged, no_facts, on_ownership_changed),
            Quick(ConsentChanged, no_facts, on_consent_changed),
            Quick(HandoffRequested, no_facts, on_handoff_requested),
            Quick(DraftFiled, no_facts, on_draft_filed),
            Quick(DraftRejected, no_facts, on_draft_ended),
            Quick(ApprovalEnded, no_facts, on_draft_ended),
            Quick(FilingRefused, no_facts, on_filing_refused),
            Quick(SendAccepted, no_facts, on_send_accepted),
        ),
        slow=(Slow(TurnClosed, operating.prepare, operating.work, operating.finish),),
        timers=(Timer(SETTLE, load_standing, on_settle),),
        ignores=(
            MessageReacted,
            DraftApproved,
            DraftSentBack,  # the obligation stays open; its next text is filed under a later epoch
            SendBegun,
            SendUncertain,
            SendFailed,
            SendRefused,
            SendStatusChanged,
        ),
    )


def on_contact_seen(heard: Heard[ContactSeen], _facts: None) -> Effects:
    return Effects(writes=(leads.know_lead(heard.tenant, heard.message.contact_id, heard.message.name),))


def on_message_received(heard: Heard[MessageReceived], _facts: None) -> Effects:
    """Who wrote is a lead, and is in contact with us."""
    said = heard.message
    return Effects(
        writes=(
            leads.know_lead(heard.tenant, said.contact_id),
            leads.lead_was_contacted(said.contact_id),
            conversations.heard_from(heard.tenant, said.conversation_id, said.contact_id, said.language),
            conversations.said(
                said.message_id, heard.tenant, said.conversation_id, by="customer", text=said.text, at=said.received_at
            ),
        )
    )


def on_message_edited(heard: Heard[MessageEdited], _facts: None) -> Effects:
    return Effects(writes=(conversations.changed_words(heard.message.message_id, heard.message.text),))


def on_message_revoked(heard: Heard[MessageRevoked], _facts: None) -> Effects:
    return Effects(writes=(conversations.took_back(heard.message.message_id),))


def on_phone_replied(heard: Heard[PhoneReplied], _facts: None) -> Effects:
    said = heard.message
    line = conversations.said(
        heard.id, heard.tenant, said.conversation_id, by="business", text=said.text, at=said.sent_at
    )
    return Effects(writes=(line,))


def on_ownership_changed(heard: Heard[OwnershipChanged], _facts: None) -> Effects:
    changed = heard.message
    held = conversations.owned_by(heard.tenant, changed.conversation_id, changed.owner, changed.version)
    return Effects(writes=(held,))


def on_consent_changed(heard: Heard[ConsentChanged], _facts: None) -> Effects:
    said = heard.message
    entry = leads.tell(
        derived_id(heard.id, "timeline"), heard.tenant, said.contact_id, conversation_id=said.conversation_id,
        by="customer", kind="consent", text=said.state, at=said.at,
    )  # fmt: skip
    return Effects(writes=(entry,))


def on_handoff_requested(heard: Heard[HandoffRequested], _facts: None) -> Effects:
    """The workspace finds the person; here it is a line that people read about the lead."""
    asked = heard.message
    entry = leads.tell(
        derived_id(heard.id, "timeline"), heard.tenant, asked.contact_id, conversation_id=asked.conversation_id,
        turn_id=asked.turn_id, by="agent", kind="handoff", text=asked.reason, at=heard.now,
    )  # fmt: skip
    return Effects(writes=(entry,))


def on_draft_filed(heard: Heard[DraftFiled], _facts: None) -> Effects:
    filed = heard.message
    write = promises.filed(heard.tenant, filed.obligation_id, filed.turn_id, filed.epoch)
    return Effects(writes=(write,), jobs=(settle_obligation(filed.obligation_id),))


def on_draft_ended(heard: Heard[DraftRejected] | Heard[ApprovalEnded], _facts: None) -> Effects:
    ended = heard.message
    write = promises.ended(ended.obligation_id, ended.epoch)
    return Effects(writes=(write,), jobs=(settle_obligation(ended.obligation_id),))


def on_filing_refused(heard: Heard[FilingRefused], _facts: None) -> Effects:
    turn_id = heard.message.turn_id
    return Effects(writes=(promises.void(turn_id),)) if turn_id else NOTHING


def on_send_accepted(heard: Heard[SendAccepted], _facts: None) -> Effects:
    """The text left: it becomes part of the history, and its promises are judged."""
    sent = heard.message
    line = conversations.said(
        sent.decision_id, heard.tenant, sent.conversation_id, by="business", text=sent.body, at=sent.at
    )
    return Effects(
        writes=(promises.sent(heard.tenant, sent.obligation_id), *((line,) if sent.body else ())),
        jobs=(settle_obligation(sent.obligation_id),),
    )


async def load_standing(tx: Tx, job: Job) -> Standing | None:
    named = msgspec.json.decode(job.payload, type=Settle)
    turn_id = named.turn_id
    if turn_id is None and named.obligation_id is not None:
        turn_id = await promises.turn_of(tx, named.obligation_id)
    return await promises.standing(tx, turn_id) if turn_id else None


def on_settle(job: Job, standing: Standing | None) -> Effects:
    if standing is None:
        return NOTHING
    changes = judge(standing)
    metrics.count_promises(changes)
    effects = NOTHING
    for one in changes:
        effects += Effects(writes=(promises.judged(one),))
        if one.state == "ownerless":
            effects += _nobody_is_responsible(standing, one, job)
    return effects


def _nobody_is_responsible(standing: Standing, one: Judged, job: Job) -> Effects:
    alert = AlertRaised(
        tenant=standing.tenant,
        alert_id=derived_id(one.promise_id, "promise_without_owner"),
        conversation_id=standing.conversation_id,
        turn_id=standing.turn_id,
        kind="promise_without_owner",
        severity="warning",
        text=wording.nobody_is_responsible(one.what, standing.language),
        at=job.now,
    )
    entry = leads.tell(
        alert.alert_id, standing.tenant, standing.contact_id, conversation_id=standing.conversation_id,
        turn_id=standing.turn_id, by="system", kind=alert.kind, text=alert.text, at=job.now,
    )  # fmt: skip
    return Effects(writes=(entry,), says=(alert,))


SERVICE = Service("operator", Config, handlers)
