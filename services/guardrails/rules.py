"""A tenant's rules as they are written down: what the gates compare a draft with."""

from datetime import time

import msgspec

from services.guardrails.facts import HoursWindow, Language, PromiseTable

CATALOGUE: tuple[str, ...] = (
    "send_message",
    "search_knowledge",
    "read_history",
    "move_stage",
    "add_tag",
    "create_task",
    "open_case",
    "record_fact",
)
"""Names of the operator's operations and of the speaking role's tools; a test compares them with what is found."""


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """Versioned per tenant. What is not set judges nothing, or takes the gate's own default."""

    promise_table: PromiseTable | None = None
    disclosures: dict[Language, str] = {}
    allowed_terms: frozenset[str] = frozenset()
    people: tuple[str, ...] = ()
    reply_window: HoursWindow | None = None
    outreach_window: HoursWindow | None = HoursWindow(time(8), time(20))


class TenantRules(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the rules file."""

    tenant: str
    rules: Rules
