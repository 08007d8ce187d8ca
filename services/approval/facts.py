"""What decisions rest on: the ledger's rows as frozen values."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from contracts.messages import Destination, DraftKind, DraftOrigin, Evidence, GateVerdict

State = Literal[
    "open", "waiting_agent", "approved", "sent", "uncertain", "failed", "rejected", "withdrawn", "superseded", "expired"
]  # fmt: skip
Delivery = Literal[
    "none", "queued", "deferred", "cleared", "begun", "accepted", "delivered", "read", "uncertain", "failed", "refused"
]  # fmt: skip
Receipt = Literal["internal_ops", "counterparty_visible", "quiet"]
OwnerState = Literal["agent", "person", "handoff"]

UNDECIDED: frozenset[State] = frozenset({"open", "waiting_agent"})


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """Something on record about a contact."""

    kind: str
    subject: str
    value: str
    source: str
    observed_at: datetime


class Removed(msgspec.Struct, frozen=True, kw_only=True):
    """What cleaning took out of a field: shown to the person who decides."""

    field: str
    what: str
    count: int


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """What the baseline source knew when a text was filed."""

    outcome: Literal["clear", "facts", "unavailable", "overridden"]
    facts: tuple[Fact, ...] = ()
    advice: tuple[str, ...] = ()
    override_by: str = ""


class Banner(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person must see before deciding. Pages word it by its code."""

    code: str
    at: datetime
    detail: str = ""
    trigger_id: UUID | None = None


class Basis(msgspec.Struct, frozen=True, kw_only=True):
    """What a filed text rests on, kept with it."""

    baseline: Baseline
    removed: tuple[Removed, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    verdicts: tuple[GateVerdict, ...] = ()
    classes: tuple[str, ...] = ()
    reason: str = ""
    chain_version: str = ""
    chain_hash: str = ""
    facts_digest: str = ""
    receipt: Receipt = "quiet"


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The text of an obligation at one epoch."""

    epoch: int
    draft_id: UUID
    turn_id: UUID | None
    origin: DraftOrigin
    author: str
    body: str
    drafted_body: str
    destination: Destination
    salt: bytes
    commitment: str
    context_revision: int
    context: str
    summary: str
    language: str
    basis: Basis
    filed_at: datetime
    body_sha256: str


class Obligation(msgspec.Struct, frozen=True, kw_only=True):
    """A text that people decide, with its current version."""

    tenant: UUID
    id: UUID
    conversation_id: UUID
    contact_id: UUID
    kind: DraftKind
    state: State
    rounds: int
    opened_at: datetime
    expires_at: datetime
    version: Version
    decision_id: UUID | None = None
    decided_by: str = ""
    decided_at: datetime | None = None
    delivery: Delivery = "none"
    leaves_at: datetime | None = None
    banners: tuple[Banner, ...] = ()
    approved_revision: int = 0
    """The context revision that the standing decision knew; 0 while there is none."""

    @property
    def epoch(self) -> int:
        return self.version.epoch

    @property
    def is_leaving(self) -> bool:
        """Approved, and delivery has not begun: the approval can still be lost."""
        return self.state == "approved" and self.delivery in {"none", "queued", "deferred", "cleared"}


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """What approval heard of a conversation."""

    tenant: UUID
    id: UUID
    contact_id: UUID
    channel_id: UUID | None
    destination: Destination | None
    language: str
    context_revision: int
    owner_state: OwnerState
    owner_person: str
    owner_version: int
    last_trigger_id: UUID | None = None
