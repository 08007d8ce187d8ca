"""Running the chain over bus messages: drafts in, verdicts out, and the record of a run. Pure."""

import hashlib
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from contracts import messages as m
from services.guardrails import facts as f
from services.guardrails.amounts import amounts
from services.guardrails.chain import CHAIN_VERSION, ChainResult, Cleared, Deferred, Vetoed, chain_hash, judge, run
from services.guardrails.gate import Gate, Outcome, Phase, Verdict
from shared.text import fold

Observe = Callable[[Gate, Phase, Callable[[], Verdict]], Verdict]
"""Times and counts one gate; returns what the gate returned."""

ENDS_TURN = frozenset(
    {
        "contact_blocked",
        "conversation_taken_over",
        "lgpd_anonymized",
        "lgpd_no_legal_basis",
        "fact_unavailable",
        "gate_failed",
    }
)
"""Codes after which another text would meet the same refusal."""

AnyDraft = m.DraftProposed | m.DraftSubmitted | m.Snapshot


def language(text: str) -> f.Language:
    try:
        return f.Language(text)
    except ValueError:
        return f.Language.PT_BR


def is_ahead(draft: AnyDraft, facts: f.Facts) -> bool:
    """Whether a text came before what it rests on: the words that its writer knew, and with them who wrote them."""
    is_unknown = isinstance(facts.contact, f.Unknown) or isinstance(facts.ownership, f.Unknown)
    return is_unknown or facts.heard_revision < draft.context_revision


def draft_of(message: AnyDraft, tenant: UUID, filed_at: datetime) -> f.Draft:
    """The draft as the gates see it."""
    is_snapshot = isinstance(message, m.Snapshot)
    origin = message.origin if isinstance(message, (m.Snapshot, m.DraftSubmitted)) else "agent"
    opens_case = message.opens_case if isinstance(message, m.DraftProposed) else None
    return f.Draft(
        id=str(message.obligation_id if is_snapshot else message.draft_id),
        tenant=str(tenant),
        conversation=str(message.conversation_id),
        contact=str(message.contact_id),
        channel=str(message.destination.channel_id),
        kind=f.DraftKind(message.kind),
        author=f.Author.PERSON if origin == "person" else f.Author.AGENT,
        body=message.body,
        language=language(message.language),
        filed_at=filed_at,
        context_revision=message.context_revision,
        opens_case=str(opens_case) if opens_case else None,
        replies_after_opt_out=is_snapshot and message.reply_after_opt_out,
    )


def run_chain(draft: f.Draft, facts: f.Facts, phase: Phase, observe: Observe) -> ChainResult:
    def judge_one(gate: Gate, candidate: f.Draft, known: f.Facts) -> Verdict:
        return observe(gate, phase, lambda: judge(gate, candidate, known))

    return run(draft, facts, phase, judge_one=judge_one)


def shown(verdicts: tuple[Verdict, ...]) -> tuple[m.GateVerdict, ...]:
    """Verdicts as people see them: what was asked of the writer, and where; the words themselves stand in the text."""
    return tuple(
        m.GateVerdict(
            gate=one.gate,
            outcome=one.outcome.value,
            code=one.code or "",
            detail=one.instruction or "",
            spans=tuple(m.Span(start=s.start, end=s.end, why=s.category) for s in one.spans),
            retry_at=one.retry_at,
            warning=one.warning or "",
        )
        for one in verdicts
    )


def digest(facts: f.Facts) -> str:
    """Hex sha256 over the facts in a deterministic form."""
    return hashlib.sha256(msgspec.json.encode(facts, order="deterministic")).hexdigest()


def record(draft: f.Draft, facts: f.Facts, phase: Phase, result: ChainResult, tenant: UUID) -> dict[str, Any]:
    """Columns of the stored run."""
    gate, code = _recorded(result)
    return {
        "tenant": tenant,
        "phase": phase.value,
        "outcome": {Cleared: "cleared", Vetoed: "vetoed", Deferred: "deferred"}[type(result)],
        "gate": gate,
        "code": code,
        "verdicts": _text(result.verdicts),
        "draft": _text(draft),
        "facts": _text(facts),
        "facts_digest": digest(facts),
        "chain_version": CHAIN_VERSION,
        "chain_hash": chain_hash(),
        "at": facts.now,
    }


def _recorded(result: ChainResult) -> tuple[str, str]:
    if isinstance(result, Vetoed):
        return result.gate, result.code
    if isinstance(result, Deferred):
        return deferring(result)
    return "", ""


def deferring(result: Deferred) -> tuple[str, str]:
    """Gate and code of the deferral that lasts longest."""
    verdict = next(one for one in result.verdicts if one.retry_at == result.retry_at)
    return verdict.gate, verdict.code or ""


def classes(draft: f.Draft, facts: f.Facts) -> tuple[str, ...]:
    """What approval may route by."""
    found: list[str] = []
    if amounts(fold(draft.body).text):
        found.append("price")
    if facts.is_first_message_to_contact is True:
        found.append("first_contact")
    return tuple(found)


def leaks(result: ChainResult) -> list[str]:
    """Categories of internal words that were caught."""
    return [
        span.category
        for verdict in result.verdicts
        if verdict.gate == "internal_vocabulary" and verdict.outcome is Outcome.VETO
        for span in verdict.spans
    ]


def _text(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()
