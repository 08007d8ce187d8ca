"""The baseline gate: what is already on record about the counterparty, asked before a text is filed.

Laws
- A signed or delivered contract refuses the filing, with the evidence; only a person with the right to override passes.
- A source that is down never switches the gate off silently: the text says so to whoever decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from contracts.messages import Evidence
from services.approval.facts import Baseline, Fact
from shared.db import Tx
from shared.text import fold, sentences

CONTRACT_KINDS = frozenset({"contract_signed", "contract_delivered"})
NEWEST_FACTS = 5
_SHORTEST_SUBJECT = 3


@dataclass(frozen=True, slots=True)
class Available:
    """The source answered: facts, newest first."""

    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Unavailable:
    """The source is down, slow, or answered garbage."""

    why: str


Answer = Available | Unavailable


class BaselineSource(Protocol):
    """Where the record is kept."""

    async def ask(self, tx: Tx, tenant: UUID, contact_id: UUID) -> Answer:
        """What is on record about a contact."""
        ...


@dataclass(frozen=True, slots=True)
class ContractOnRecord:
    """The gate's refusal."""

    evidence: tuple[Evidence, ...]
    detail: str
    recommendation: str


def judge(answer: Answer, body: str, override_by: str) -> Baseline | ContractOnRecord:
    """One of the gate's outcomes. `override_by` names the person who forced the filing, empty for nobody."""
    if isinstance(answer, Unavailable):
        return Baseline(outcome="unavailable")
    contracts = [fact for fact in answer.facts if fact.kind in CONTRACT_KINDS]
    if contracts and not override_by:
        return _refusal(contracts)
    newest = answer.facts[:NEWEST_FACTS]
    if contracts:
        return Baseline(outcome="overridden", facts=newest, override_by=override_by)
    return Baseline(outcome="facts" if newest else "clear", facts=newest, advice=_advice(answer.facts, body))


def markers(baseline: Baseline) -> str:
    """The lines that the gate adds to a draft's context."""
    lines: list[str] = []
    if baseline.outcome == "unavailable":
        lines.append("[BASELINE_CHECK_UNAVAILABLE]")
    if baseline.outcome == "overridden":
        lines.append("[BASELINE_OVERRIDE_SIGNED_CONTRACT]")
    if baseline.facts:
        facts = "; ".join(f"{fact.subject} = {fact.value} ({fact.observed_at:%Y-%m-%d})" for fact in baseline.facts)
        lines.append(f"[BASELINE FACTS: {facts}]")
    return "\n".join(lines)


def _refusal(contracts: Sequence[Fact]) -> ContractOnRecord:
    newest = contracts[0]
    did = "signed" if newest.kind == "contract_signed" else "delivered"
    return ContractOnRecord(
        tuple(
            Evidence(source=c.source, title=c.subject, version=c.observed_at.isoformat(), excerpt=c.value)
            for c in contracts
        ),
        f"Contract {newest.subject} was {did} on {newest.observed_at:%Y-%m-%d} ({newest.source}).",
        "Do not ask again for what the contract settles; answer from it, or have a person file with the override.",
    )


def _advice(facts: Sequence[Fact], body: str) -> tuple[str, ...]:
    """What the draft asks for and the record already holds."""
    folded = fold(body).text
    questions = [folded[start:end] for start, end in sentences(folded) if "?" in folded[start:end]]
    return tuple(
        f"already on record: {fact.subject} = {fact.value}"
        for fact in facts
        if len(fact.subject) >= _SHORTEST_SUBJECT and any(fold(fact.subject).text in question for question in questions)
    )
