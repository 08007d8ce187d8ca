"""Filing a draft: clean, baseline, commitment, upsert. Pure: facts, salt and clock are arguments.

Laws
- The body is never normalised: the commitment is over the bytes that the counterparty gets. Only control characters go,
  and what went is remembered.
- Nothing is truncated: empty or oversized is refused with the field, the limit and the size.
- A re-file keeps its epoch, and so its votes, only when nothing that a decision rests on differs.
- A draft that knows less than what we heard is never put before a person.
"""

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from msgspec import structs

from contracts.messages import Destination, DraftKind, DraftOrigin, Evidence, GateVerdict, ObligationRef
from services.approval.baseline import Answer, ContractOnRecord, judge, markers
from services.approval.facts import Basis, Conversation, Obligation, Receipt, Removed, Version
from shared.seal import commitment
from shared.text import fold

DRAFT_LIMIT = 12_000
WHATSAPP_LIMIT = 4_096
CONTEXT_LIMIT = 4_000
SUMMARY_LIMIT = 280
COUNTERPARTY_LIMIT = 200
SHOWN_HEX_DIGITS = 8
_WHATSAPP_CHATS = ("@c.us", "@lid", "@g.us", "@s.whatsapp.net")


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A cleared draft on its way to people."""

    tenant: UUID
    draft_id: UUID
    turn_id: UUID | None
    origin: DraftOrigin
    author: str
    conversation_id: UUID
    contact_id: UUID
    destination: Destination
    kind: DraftKind
    body: str
    drafted_body: str
    language: str
    context_revision: int
    context: str = ""
    summary: str = ""
    counterparty: str = ""
    evidence: tuple[Evidence, ...] = ()
    verdicts: tuple[GateVerdict, ...] = ()
    classes: tuple[str, ...] = ()
    chain_version: str = ""
    chain_hash: str = ""
    facts_digest: str = ""
    redraft_of: ObligationRef | None = None
    override_by: str = ""
    receipt: Receipt = "quiet"


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What filing must know: read under the conversation's lock."""

    conversation: Conversation
    standing: Obligation | None
    """The obligation of this conversation and kind that is open or waits for the agent."""
    leaving: Obligation | None
    """One of this conversation and kind that is approved and that delivery has not begun."""
    named: Obligation | None
    """The obligation that a redraft names."""
    uncertain: Obligation | None
    """An earlier one of this conversation whose send nobody knows the fate of."""
    baseline: Answer
    salt: bytes


@dataclass(frozen=True, slots=True)
class Unfit:
    """A field that cannot be filed."""

    field: str
    limit: int
    size: int

    def __str__(self) -> str:
        if self.size == 0:
            return f"{self.field} is empty; write it (up to {self.limit} characters)."
        return f"{self.field} has {self.size} characters, {self.limit} are allowed; shorten it."


@dataclass(frozen=True, slots=True)
class Refused:
    """The draft is not filed."""

    code: str
    detail: str
    evidence: tuple[Evidence, ...] = ()
    recommendation: str = ""


@dataclass(frozen=True, slots=True)
class Stale:
    """The conversation has moved on: recorded as superseded, never shown for a decision."""

    version: Version


@dataclass(frozen=True, slots=True)
class Kept:
    """The same filing again: epoch and votes stay."""

    obligation: Obligation


@dataclass(frozen=True, slots=True)
class Filed:
    """A text to decide: at the first epoch, or the next one of `replaces`."""

    version: Version
    replaces: Obligation | None
    expired: Obligation | None = None
    supersedes: Obligation | None = None
    is_beside_uncertain: bool = False


Filing = Filed | Kept | Stale | Refused


def clean_text(field: str, text: str) -> tuple[str, tuple[Removed, ...]]:
    """A multi-line field: newline, CRLF and tab stay, every other control character goes."""
    gone: Counter[str] = Counter()

    def drop(match: re.Match[str]) -> str:
        gone[f"U+{ord(match.group()):04X}"] += 1
        return ""

    kept = re.sub("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]|\r(?!\n)", drop, text)
    return kept, tuple(Removed(field=field, what=what, count=count) for what, count in sorted(gone.items()))


def clean_line(field: str, text: str) -> tuple[str, tuple[Removed, ...]]:
    """A single-line field: control characters go, white space is collapsed."""
    spaced = re.sub(r"[\t\r\n]+", " ", text)
    kept, removed = clean_text(field, spaced)
    return " ".join(kept.split()), removed


def body_limit(destination: Destination) -> int:
    """The channel's own limit; a text is never split."""
    return WHATSAPP_LIMIT if destination.chat.endswith(_WHATSAPP_CHATS) else DRAFT_LIMIT


def body_sha256(body: str) -> str:
    """Recognises the same text again; lives in redactable rows only."""
    return hashlib.sha256(body.encode()).hexdigest()


def is_blank(text: str) -> bool:
    """Nothing that a reader could see."""
    return not fold(text).text.strip()


def clean_body(text: str, destination: Destination) -> tuple[str, tuple[Removed, ...]] | Unfit:
    """The body as it will leave, or why it cannot."""
    body, removed = clean_text("draft", text)
    limit = body_limit(destination)
    if is_blank(body):
        return Unfit("draft", limit, 0)
    return Unfit("draft", limit, len(body)) if len(body) > limit else (body, removed)


def file(draft: Draft, facts: Facts, now: datetime) -> Filing:
    """The steps of filing, in their order."""
    body = clean_body(draft.body, draft.destination)
    if isinstance(body, Unfit):
        return Refused("unfit_draft", str(body), recommendation="Shorten or complete the text and file it again.")
    baseline = judge(facts.baseline, body[0], draft.override_by)
    if isinstance(baseline, ContractOnRecord):
        return Refused("contract_on_record", baseline.detail, baseline.evidence, baseline.recommendation)
    context, context_removed = clean_text("context", "\n".join(filter(None, (draft.context, markers(baseline)))))
    summary, summary_removed = clean_line("summary", draft.summary)
    counterparty, _ = clean_line("counterparty", draft.counterparty)
    for field, text, limit in (
        ("context", context, CONTEXT_LIMIT),
        ("summary", summary, SUMMARY_LIMIT),
        ("counterparty", counterparty, COUNTERPARTY_LIMIT),
    ):
        if len(text) > limit:
            return Refused("unfit_draft", str(Unfit(field, limit, len(text))), recommendation=f"Shorten {field}.")
    basis = Basis(
        baseline=baseline,
        removed=(*body[1], *context_removed, *summary_removed),
        evidence=draft.evidence,
        verdicts=draft.verdicts,
        classes=draft.classes,
        reason=draft.context,
        chain_version=draft.chain_version,
        chain_hash=draft.chain_hash,
        facts_digest=draft.facts_digest,
        receipt=draft.receipt,
    )
    return _upsert(
        draft,
        facts,
        _version(draft, body[0], basis, context=context, summary=summary or counterparty, salt=facts.salt, now=now),
        now,
    )


def _version(
    draft: Draft, body: str, basis: Basis, *, context: str, summary: str, salt: bytes, now: datetime
) -> Version:
    """The first epoch of a text; `next_epoch` moves it on."""
    return Version(
        epoch=1,
        draft_id=draft.draft_id,
        turn_id=draft.turn_id,
        origin=draft.origin,
        author=draft.author,
        body=body,
        drafted_body=clean_text("draft", draft.drafted_body)[0],
        destination=draft.destination,
        salt=salt,
        commitment=commitment(salt, tenant=draft.tenant, destination=draft.destination, body=body),
        context_revision=draft.context_revision,
        context=context,
        summary=summary,
        language=draft.language,
        basis=basis,
        filed_at=now,
        body_sha256=body_sha256(body),
    )


def _upsert(draft: Draft, facts: Facts, version: Version, now: datetime) -> Filing:
    refusal = _refusal_of_redraft(draft, facts) or _refusal_of_owner(draft, facts)
    if refusal is not None:
        return refusal
    if draft.context_revision < facts.conversation.context_revision:
        return Stale(version)
    standing = facts.standing
    expired = standing if standing is not None and now >= standing.expires_at else None
    replaces = None if expired else standing
    if replaces is not None and replaces.state == "open" and _is_the_same(version, replaces.version):
        return Kept(replaces)
    return Filed(
        version=structs.replace(version, epoch=replaces.epoch + 1 if replaces else 1),
        replaces=replaces,
        expired=expired,
        supersedes=facts.leaving,
        is_beside_uncertain=facts.uncertain is not None,
    )


def _refusal_of_redraft(draft: Draft, facts: Facts) -> Refused | None:
    """A redraft answers one send-back; people may have moved on since."""
    if draft.redraft_of is None:
        return None
    named = facts.named
    if named is None or named.conversation_id != draft.conversation_id or named.state not in {"open", "waiting_agent"}:
        return Refused("obligation_ended", "The obligation that this redraft names no longer waits for a text.")
    if named.epoch != draft.redraft_of.epoch:
        return Refused("stale_redraft", f"The redraft answers epoch {draft.redraft_of.epoch}; it is now {named.epoch}.")
    return None


def _refusal_of_owner(draft: Draft, facts: Facts) -> Refused | None:
    if draft.origin == "person" or facts.conversation.owner_state != "person":
        return None
    who = facts.conversation.owner_person or "a person"
    return Refused("taken_over", f"{who} speaks in this conversation.", recommendation="Wait until it is returned.")


def _is_the_same(new: Version, old: Version) -> bool:
    """Text, destination, context, context revision, baseline and evidence."""
    return (
        (new.body, new.destination, new.context, new.context_revision)
        == (old.body, old.destination, old.context, old.context_revision)
        and new.basis.baseline == old.basis.baseline
        and new.basis.evidence == old.basis.evidence
    )
