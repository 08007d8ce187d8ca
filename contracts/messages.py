"""Every message of the bus: frozen structs, JSON on the wire, grouped by the topic that carries them.

Laws
- Fields are appended with defaults and never retyped; a change of meaning is a new struct (`contracts/examples` must
  decode forever).
- Ids are random UUIDs. No phone number, chat id or text is ever part of a subject, a lane or an id.
- Times are timezone-aware UTC. Quantities end in their unit.
- Texts and destinations appear only in bodies, never in headers; erasure replaces a stored body by `Redacted`.
"""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

OptOutSignal = Literal["none", "opt_out", "erasure_request", "opt_in", "ask", "preference", "handoff"]
DraftKind = Literal["reply", "follow_up", "transactional"]
DraftOrigin = Literal["agent", "outside", "person"]
TurnKind = Literal["inbound_turn", "followup_turn", "case_reply_turn", "preview_turn"]
TurnOutcome = Literal["spoke", "silent", "handed_off", "skipped", "superseded", "failed"]
Owner = Literal["agent", "person"]
VerdictOutcome = Literal["pass", "veto", "defer", "amended", "not_applicable", "skipped"]


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True, tag_field="type"):
    """Base of all messages; `type` on the wire is the class name."""

    tenant: UUID


class Redacted(Message, frozen=True, kw_only=True):
    """Stands where an erased message stood: hearers advance the lane and do nothing else."""

    cause: str


# ------------------------------------------------------------------------------------------------ parts of messages


class Destination(msgspec.Struct, frozen=True, kw_only=True):
    """Where a text goes: the full coordinate that an approval is bound to (`02-architecture`, Seals)."""

    channel_id: UUID
    account: str
    chat: str
    thread: str | None = None
    reply_to: str | None = None


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft rests on: a source that was consulted in this turn."""

    source: str
    title: str
    version: str = ""
    excerpt: str = ""


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """Half-open range of code points in the draft's body."""

    start: int
    end: int
    why: str = ""


class GateVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """One gate's answer, as people see it beside the draft."""

    gate: str
    outcome: VerdictOutcome
    code: str = ""
    detail: str = ""
    spans: tuple[Span, ...] = ()
    retry_at: datetime | None = None
    warning: str = ""


class Intent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the customer wants, with the customer's own words as evidence."""

    what: str
    evidence: str


class Promise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the reply commits the business to; `due` when a date was named."""

    what: str
    due: datetime | None = None


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The speaking role's statement in business language. Absent is not empty: only `nothing_to_declare` says so."""

    intents: tuple[Intent, ...] = ()
    promises: tuple[Promise, ...] = ()
    nothing_to_declare: bool = False


class Checkpoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The closing of a turn, imposed by the runtime; `declaration` is None when nobody evaluated."""

    commitments: tuple[str, ...] = ()
    objections: tuple[str, ...] = ()
    next_action: str | None = None
    rolling_summary: str = ""
    declaration: Declaration | None = None


class Envelope(msgspec.Struct, frozen=True, kw_only=True):
    """A DSSE envelope: the signed bytes travel as they were signed and are decoded only after they verified."""

    payload_type: str
    payload: bytes
    key_id: str
    signature: bytes


class ObligationRef(msgspec.Struct, frozen=True, kw_only=True):
    """Names a text that people decide: an obligation at one epoch."""

    obligation_id: UUID
    epoch: int


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """What was approved, immutable: the exact text, its destination and what the decision rested on."""

    obligation_id: UUID
    decision_id: UUID
    epoch: int
    kind: DraftKind
    conversation_id: UUID
    contact_id: UUID
    destination: Destination
    body: str
    salt: bytes
    commitment: str
    context_revision: int
    policy: str
    policy_version: int
    decided_by: tuple[str, ...]
    decided_at: datetime
    send_by: datetime
    not_before: datetime | None = None
    reply_after_opt_out: bool = False
    origin: DraftOrigin = "agent"
    filed_at: datetime | None = None
    language: str = "pt-BR"
    evidence: tuple[Evidence, ...] = ()


# ----------------------------------------------------------------------------------------------- ingest: what we hear


class ConversationMessage(Message, frozen=True, kw_only=True):
    """Base of what happens inside a conversation; each of these raised `context_revision` by one."""

    conversation_id: UUID
    contact_id: UUID
    channel_id: UUID
    context_revision: int


class MessageReceived(ConversationMessage, frozen=True, kw_only=True):
    """A customer wrote. `is_draftable` is false for what the agent must not answer from alone (media, calls)."""

    message_id: UUID
    destination: Destination
    sender_name: str
    text: str
    is_draftable: bool
    media_kind: str | None = None
    opt_out: OptOutSignal = "none"
    language: str = "pt-BR"
    sent_at: datetime
    received_at: datetime


class MessageEdited(ConversationMessage, frozen=True, kw_only=True):
    """A customer changed an earlier message."""

    message_id: UUID
    text: str
    opt_out: OptOutSignal = "none"
    edited_at: datetime


class MessageRevoked(ConversationMessage, frozen=True, kw_only=True):
    """A message was deleted for everyone: by the customer, or (`is_ours`) by our people on the phone."""

    message_id: UUID
    is_ours: bool = False
    revoked_at: datetime


class PhoneReplied(ConversationMessage, frozen=True, kw_only=True):
    """A person of ours answered on the phone itself, past the system."""

    text: str
    sent_at: datetime


class MessageReacted(Message, frozen=True, kw_only=True):
    """A reaction: shown to people, never a reason to draft."""

    conversation_id: UUID
    channel_id: UUID
    target: str
    emoji: str


class StatusReported(Message, frozen=True, kw_only=True):
    """The provider's word on a message of ours. `level` grows: pending server device read played; error is apart."""

    conversation_id: UUID
    channel_id: UUID
    provider_id: str
    level: Literal["error", "pending", "server", "device", "read", "played", "unknown"]
    error_code: str = ""
    error_detail: str = ""
    restricted_until: datetime | None = None
    at: datetime


class EchoSeen(Message, frozen=True, kw_only=True):
    """One of our own sends came back by webhook: proof of acceptance for a send that was left uncertain."""

    conversation_id: UUID
    channel_id: UUID
    provider_id: str
    chat: str
    text_digest: str
    at: datetime


class ChannelStatusChanged(Message, frozen=True, kw_only=True):
    """The channel's session; anything that is not ready defers sends."""

    channel_id: UUID
    status: str
    is_ready: bool
    at: datetime


class ContactSeen(Message, frozen=True, kw_only=True):
    """A contact was created or learned something (a name, a phone behind a hidden id)."""

    contact_id: UUID
    channel_id: UUID
    name: str
    has_phone: bool
    is_new: bool
    merged_contact_ids: tuple[UUID, ...] = ()
    """Contacts that turned out to be this person: what is known of them is this contact's from now on."""


# ------------------------------------------------------------------------------------------ conversador: what we draft


class DraftProposed(Message, frozen=True, kw_only=True):
    """The agent wants to say this. Nothing is sent by saying so."""

    draft_id: UUID
    turn_id: UUID
    conversation_id: UUID
    contact_id: UUID
    destination: Destination
    kind: DraftKind
    body: str
    language: str
    context_revision: int
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    opens_case: UUID | None = None
    rewrite_number: int = 0
    redraft_of: ObligationRef | None = None


class TurnClosed(Message, frozen=True, kw_only=True):
    """A turn of the speaking role ended. It does not wait for people; `checkpoint` None means nobody evaluated."""

    turn_id: UUID
    conversation_id: UUID
    contact_id: UUID
    channel_id: UUID
    kind: TurnKind
    outcome: TurnOutcome
    reason: str = ""
    draft_id: UUID | None = None
    checkpoint: Checkpoint | None = None
    origin: Literal["agent_model", "format_reserve", "none"] = "agent_model"
    closed_at: datetime
    opens_case: UUID | None = None
    """The id that the text's promise rests on; the operator opens the case under it."""


class HandoffRequested(Message, frozen=True, kw_only=True):
    """The conversation needs a person. The agent stays silent until it is returned explicitly."""

    turn_id: UUID
    conversation_id: UUID
    contact_id: UUID
    reason: str
    summary: str = ""
    wants: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()


# --------------------------------------------------------------------------------------- guardrails: what may be said


class DraftCleared(Message, frozen=True, kw_only=True):
    """All ten gates let the draft pass at filing. `body` is final: rendered, with the disclosure where it is due."""

    draft_id: UUID
    turn_id: UUID | None
    origin: DraftOrigin
    conversation_id: UUID
    contact_id: UUID
    destination: Destination
    kind: DraftKind
    body: str
    drafted_body: str
    language: str
    context_revision: int
    reason: str = ""
    evidence: tuple[Evidence, ...] = ()
    redraft_of: ObligationRef | None = None
    verdicts: tuple[GateVerdict, ...]
    classes: tuple[str, ...] = ()
    chain_version: str
    chain_hash: str
    facts_digest: str


class DraftVetoed(Message, frozen=True, kw_only=True):
    """A gate refused. `instruction` is for the model and never names gates or codes."""

    draft_id: UUID
    turn_id: UUID | None
    conversation_id: UUID
    contact_id: UUID
    gate: str
    code: str
    instruction: str
    ends_turn: bool = False
    verdicts: tuple[GateVerdict, ...]
    chain_version: str
    chain_hash: str


class DispatchCleared(Message, frozen=True, kw_only=True):
    """The chain let an approved text go; the send command left in the same transaction."""

    obligation_id: UUID
    decision_id: UUID
    conversation_id: UUID
    expires_at: datetime
    verdicts: tuple[GateVerdict, ...] = ()


class DispatchDeferred(Message, frozen=True, kw_only=True):
    """Not now: it will be tried again by a timer at `retry_at`, never after `send_by`."""

    obligation_id: UUID
    decision_id: UUID
    conversation_id: UUID
    gate: str
    code: str
    retry_at: datetime
    verdicts: tuple[GateVerdict, ...] = ()


class DispatchRefused(Message, frozen=True, kw_only=True):
    """The approved text may not leave any more; the obligation goes back to people with the reason."""

    obligation_id: UUID
    decision_id: UUID
    conversation_id: UUID
    gate: str
    code: str
    detail: str = ""
    verdicts: tuple[GateVerdict, ...] = ()


class ConsentChanged(Message, frozen=True, kw_only=True):
    """A contact's right to be left alone, as guardrails holds it: said of every id under which the person is known."""

    contact_id: UUID
    conversation_id: UUID | None = None
    state: Literal["opted_out", "opted_in", "paused", "erasure_requested"]
    cause_message_id: UUID | None = None
    at: datetime


class SendCommand(Message, frozen=True, kw_only=True):
    """The only message that leads to a send: the snapshot and the two seals that delivery verifies."""

    snapshot: Snapshot
    approval_seal: Envelope
    clearance_seal: Envelope


# ------------------------------------------------------------------------------------------ approval: what people said


class DraftFiled(Message, frozen=True, kw_only=True):
    """A text waits for a decision at this epoch."""

    obligation_id: UUID
    epoch: int
    draft_id: UUID
    turn_id: UUID | None
    conversation_id: UUID
    expires_at: datetime


class FilingRefused(Message, frozen=True, kw_only=True):
    """The draft was not filed; `code` names why and `recommendation` what to do instead."""

    draft_id: UUID
    turn_id: UUID | None
    conversation_id: UUID
    code: str
    detail: str
    evidence: tuple[Evidence, ...] = ()
    recommendation: str = ""


class DraftApproved(Message, frozen=True, kw_only=True):
    """A person said yes to exactly this text for exactly this destination."""

    snapshot: Snapshot
    seal: Envelope


class DraftRejected(Message, frozen=True, kw_only=True):
    """A person said no."""

    obligation_id: UUID
    epoch: int
    draft_id: UUID
    turn_id: UUID | None
    conversation_id: UUID
    reason: str
    decided_by: str
    at: datetime


class DraftSentBack(Message, frozen=True, kw_only=True):
    """A person wants another text and says how; the agent redrafts within a bounded number of rounds."""

    obligation_id: UUID
    epoch: int
    draft_id: UUID
    turn_id: UUID | None
    conversation_id: UUID
    contact_id: UUID
    destination: Destination
    instruction: str
    previous_body: str
    language: str
    round: int
    decided_by: str
    at: datetime


class ApprovalEnded(Message, frozen=True, kw_only=True):
    """An open or approved obligation ended or lost its approval without a send."""

    obligation_id: UUID
    epoch: int
    decision_id: UUID | None = None
    draft_id: UUID
    turn_id: UUID | None
    conversation_id: UUID
    how: Literal["expired", "invalidated", "superseded", "withdrawn"]
    reason: str
    trigger_id: UUID | None = None
    at: datetime


class OwnershipChanged(Message, frozen=True, kw_only=True):
    """Who speaks in this conversation. `version` grows by one with each change."""

    conversation_id: UUID
    owner: Owner
    person: str = ""
    version: int
    reason: str = ""
    at: datetime
    is_handoff: bool = False
    """A person was asked for and none has come yet: the agent is silent, its last draft may still be approved."""


class DraftSubmitted(Message, frozen=True, kw_only=True):
    """A draft of an outside agent, or a person's own text, on its way through the gates."""

    draft_id: UUID
    origin: DraftOrigin
    author: str
    conversation_id: UUID
    contact_id: UUID
    destination: Destination
    kind: DraftKind
    body: str
    language: str
    context_revision: int


# --------------------------------------------------------------------------------------------- delivery: what happened


class SendMessage(Message, frozen=True, kw_only=True):
    """Base of what delivery says about one decision."""

    decision_id: UUID
    obligation_id: UUID
    conversation_id: UUID
    channel_id: UUID
    at: datetime


class SendBegun(SendMessage, frozen=True, kw_only=True):
    """Said before the channel is called, so that our own echo is never taken for a person's reply."""

    chat: str
    text_digest: str
    provider_id: str | None = None


class SendAccepted(SendMessage, frozen=True, kw_only=True):
    """The provider took it. `receipt` is seal 3."""

    provider_id: str
    receipt: Envelope
    body: str = ""


class SendUncertain(SendMessage, frozen=True, kw_only=True):
    """Nobody knows whether the provider took it. It is held and never sent again by itself."""

    code: str
    detail: str


class SendFailed(SendMessage, frozen=True, kw_only=True):
    """It was certainly not taken, or the provider gave it up later; people may approve again."""

    code: str
    detail: str


class SendRefused(SendMessage, frozen=True, kw_only=True):
    """delivery would not even try: a seal, the commitment, the destination or the time did not hold."""

    code: str
    detail: str


class SendStatusChanged(SendMessage, frozen=True, kw_only=True):
    """Delivered, read, played: only ever forward."""

    provider_id: str
    level: Literal["server", "device", "read", "played"]


# ---------------------------------------------------------------------------------------- operator: what the CRM knows


class CaseOpened(Message, frozen=True, kw_only=True):
    """A person is responsible for something in this conversation."""

    case_id: UUID
    conversation_id: UUID
    contact_id: UUID
    subject: str
    opened_at: datetime


class CaseClosed(Message, frozen=True, kw_only=True):
    """The case ended."""

    case_id: UUID
    conversation_id: UUID
    how: Literal["resolved", "escalated", "cancelled"]
    closed_at: datetime
    answer: str = ""
    """What the team answered, for the customer; with it the agent speaks again."""


class FollowUpScheduled(Message, frozen=True, kw_only=True):
    """The agent should speak again at `due_at` unless the customer writes first."""

    follow_up_id: UUID
    conversation_id: UUID
    contact_id: UUID
    due_at: datetime
    reason: str


class FactRecorded(Message, frozen=True, kw_only=True):
    """Something on record about a contact; contract facts tighten the baseline gate."""

    fact_id: UUID
    contact_id: UUID
    conversation_id: UUID | None = None
    kind: Literal["contract_signed", "contract_delivered", "preference", "identity", "other"]
    subject: str
    value: str
    source: str
    observed_at: datetime


class AlertRaised(Message, frozen=True, kw_only=True):
    """Something a person should know: a promise without owner, an action that could not be carried out."""

    alert_id: UUID
    conversation_id: UUID
    turn_id: UUID | None
    kind: Literal["promise_without_owner", "could_not_act", "capability_failed", "handoff"]
    severity: Literal["info", "warning", "critical"]
    text: str
    at: datetime
