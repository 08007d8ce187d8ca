"""An ordinary draft and ordinary facts: each gate's examples change only what they are about."""

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from msgspec.structs import replace

from services.guardrails.facts import (
    Author,
    ChannelRules,
    Consent,
    ContactState,
    Draft,
    DraftKind,
    Facts,
    Language,
    Ownership,
    PromiseTable,
    SenderNumber,
)

NOON: Final = datetime(2026, 9, 21, 15, 0, tzinfo=UTC)  # noon in São Paulo

_DRAFT: Final = Draft(
    id="draft-1",
    tenant="bakery",
    conversation="conversation-1",
    contact="contact-1",
    channel="waha",
    kind=DraftKind.REPLY,
    author=Author.AGENT,
    body="Abrimos às 8h, de segunda a sábado.",
    language=Language.PT_BR,
    filed_at=NOON,
    context_revision=7,
)
_FACTS: Final = Facts(
    now=NOON,
    contact=ContactState(consent=Consent.CONVERSATION),
    ownership=Ownership(is_with_person=False),
    channel=ChannelRules(kind="waha", has_ban_risk=True),
    sender_number=SenderNumber(age_days=90, sent_today=3),
    last_inbound_at=NOON - timedelta(minutes=2),
    is_first_message_to_contact=False,
    has_open_case=False,
    promise_table=PromiseTable(
        version=3,
        price_floor_cents=5_000,
        discount_ceiling_percent=10,
        discount_ceiling_cents=5_000,
        instalments_ceiling=6,
    ),
    evidence=(),
    promise_review=None,
    recent_outbound=(),
    operations=("crm_move_lead_stage", "search_knowledge"),
    disclosures={
        Language.PT_BR: "Sou a assistente virtual da padaria.",
        Language.EN: "I am the bakery's virtual assistant.",
        Language.ES: "Soy la asistente virtual de la panadería.",
    },
)


def a_draft(**changes: Any) -> Draft:
    return replace(_DRAFT, **changes)


def some_facts(**changes: Any) -> Facts:
    return replace(_FACTS, **changes)
