"""What the chain is told: one draft and the facts read for it, frozen, so that a run can be stored and replayed.

Laws
- Every fact that had to be read may be `Unknown(cause)`; a gate that needs it says what it does then.
- The clock is a fact (`now`, aware). Nothing in here is read by a gate from anywhere else.
- Money is in cents, shares are in percent, numbers end in their unit.
"""

from datetime import datetime, time
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct


class Language(StrEnum):
    PT_BR = "pt-BR"
    EN = "en"
    ES = "es"


class Author(StrEnum):
    AGENT = "agent"
    PERSON = "person"


class DraftKind(StrEnum):
    REPLY = "reply"
    FOLLOW_UP = "follow_up"
    TRANSACTIONAL = "transactional"


class Draft(Struct, frozen=True):
    id: str
    tenant: str
    conversation: str
    contact: str
    channel: str
    kind: DraftKind
    author: Author
    body: str
    language: Language
    filed_at: datetime
    context_revision: int = 0
    is_template: bool = False
    opens_case: str | None = None
    replies_after_opt_out: bool = False  # a person ticked "reply after opt-out"


class Unknown(Struct, frozen=True, tag="unknown"):
    """A fact that could not be read, and why."""

    cause: str


class Consent(StrEnum):
    GRANTED = "granted"
    LEGITIMATE_INTEREST = "legitimate_interest"  # documented
    CONVERSATION = "conversation"  # the contact wrote first
    IMPORTED_WITHOUT_PROOF = "imported_without_proof"
    NONE = "none"


class ContactState(Struct, frozen=True, tag="contact"):
    consent: Consent
    opted_out_at: datetime | None = None
    is_blocked: bool = False
    is_anonymised: bool = False
    is_under_erasure: bool = False


class Ownership(Struct, frozen=True, tag="ownership"):
    """Who speaks in this conversation. `taken_over_at_revision`: the context revision at which a person took over."""

    is_with_person: bool
    taken_over_at_revision: int | None = None


class HoursWindow(Struct, frozen=True):
    """Local hours, `opens <= t < closes`; a window that closes before it opens runs over midnight."""

    opens: time
    closes: time


class ChannelRules(Struct, frozen=True, tag="channel"):
    kind: str
    has_24h_rule: bool = False
    has_ban_risk: bool = False
    daily_cap: int = 300
    time_zone: str = "America/Sao_Paulo"
    reply_window: HoursWindow | None = None  # none: replies go at any hour
    outreach_window: HoursWindow | None = HoursWindow(time(8), time(20))


class SenderNumber(Struct, frozen=True, tag="sender_number"):
    age_days: int
    sent_today: int


class PromiseTable(Struct, frozen=True, tag="promise_table"):
    """The tenant's versioned limits; a limit that is not set judges nothing."""

    version: int
    price_floor_cents: int | None = None
    discount_ceiling_percent: float | None = None
    discount_ceiling_cents: int | None = None
    instalments_ceiling: int | None = None


class EvidenceKind(StrEnum):
    PRODUCT = "product"
    POLICY = "policy"
    SOURCE = "source"
    RECEIPT = "receipt"  # a confirmed booking, or this turn's real result


class Evidence(Struct, frozen=True):
    id: str
    kind: EvidenceKind
    text: str


class ReviewedPromise(Struct, frozen=True):
    """The classifier's finding: a phrase of the draft and the evidence that it says supports it."""

    phrase: str
    evidence_ids: tuple[str, ...] = ()


class PromiseReview(Struct, frozen=True, tag="promise_review"):
    classifier_version: str
    promises: tuple[ReviewedPromise, ...] = ()


class Facts(Struct, frozen=True):
    now: datetime
    contact: ContactState | Unknown
    ownership: Ownership | Unknown
    channel: ChannelRules | Unknown
    sender_number: SenderNumber | Unknown
    last_inbound_at: datetime | Unknown | None
    is_first_message_to_contact: bool | Unknown
    has_open_case: bool | Unknown
    promise_table: PromiseTable | Unknown | None
    evidence: tuple[Evidence, ...] | Unknown
    promise_review: PromiseReview | Unknown | None  # none: no classifier is configured
    recent_outbound: tuple[str, ...] | Unknown  # the number's last texts, newest last
    operations: tuple[str, ...] | Unknown  # names of the operator's catalogue and of the speaking role's tools
    allowed_terms: frozenset[str] | Unknown = frozenset()  # the tenant's leak allow-list
    disclosures: dict[Language, str] = {}  # the tenant's sentence in each language that it set; none: closed
    people: tuple[str, ...] = ()  # first names of the tenant's team
    heard_revision: int = 0  # of the conversation, by what guardrails itself has heard


class MissingFactError(Exception):
    """Raised by `known`, caught by the chain only: the gate's own `on_missing` decides."""


_Fact = TypeVar("_Fact")


def known(fact: "_Fact | Unknown") -> _Fact:
    if isinstance(fact, Unknown):
        raise MissingFactError(fact.cause)
    return fact
