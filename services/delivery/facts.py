"""What delivery knows when it decides: frozen, read by `store`, judged by the pure files."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from contracts.channel import Level

ClaimState = Literal["claimed", "lapsed", "dispatching", "accepted", "failed", "uncertain", "cancelled"]


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """One decision on its way out."""

    decision_id: UUID
    tenant: UUID
    obligation_id: UUID
    conversation_id: UUID
    channel_id: UUID
    epoch: int
    state: ClaimState
    command: bytes
    chat: str
    text_digest: str
    decided_at: datetime
    send_by: datetime
    attempts: int
    message_id: str | None
    token: UUID | None
    begun_at: datetime | None
    call_before: datetime | None
    provider_id: str | None
    stanza_id: str | None
    level: Level | None


class Heard(msgspec.Struct, frozen=True, kw_only=True):
    """What others said that may stop a send of this conversation."""

    context_revision: int = 0
    has_inbound: bool = False
    owner_is_person: bool = False
    owner_since: datetime | None = None
    epoch: int = 0
    is_revoked: bool = False
    has_opted_out: bool = False
    first_contacts_paused_until: datetime | None = None
    is_obligation_sent: bool = False
    lifted_at: datetime | None = None
    """When a person last lifted the hold on sending, after a restore of this database."""


class Number(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the number that would send."""

    is_ready: bool = True
    not_before: datetime | None = None
    is_busy: bool = False
    is_lane_blocked: bool = False
    is_held: bool = False
    """This database was restored, and nobody has lifted the hold on sending."""


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """News of the channel about a message of ours: a level, or an echo (which proves acceptance, no more)."""

    provider_id: str
    level: Level | None
    error_code: str = ""
    source: Literal["status", "echo", "answer", "lookup", "person"]
