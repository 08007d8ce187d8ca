"""Drafts of outside agents, and people's own texts: checked here, then sent through the gates. Pure."""

from dataclasses import dataclass
from typing import Literal
from uuid import UUID

from contracts.messages import DraftKind, DraftSubmitted
from services.approval import filing
from services.approval.effects import Moment, audited
from services.approval.facts import Conversation, Receipt
from services.approval.filing import Unfit
from services.approval.people import may
from services.approval.problems import Problem
from services.approval.store import writing
from services.approval.store.keys import ApiKey
from shared.bus import Effects
from shared.ids import derived_id
from shared.web.people import Person

_RECEIPTS: dict[str, Receipt] = {"internal_ops": "internal_ops", "counterparty_visible": "counterparty_visible"}

Phase = Literal["checking", "pending", "sent", "closed", "refused"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """What was asked to be filed."""

    conversation_id: UUID
    body: str
    kind: DraftKind = "reply"
    context: str = ""
    summary: str = ""
    language: str = ""
    origin: str = ""
    """Where the filing's receipt may go; whatever is not known is quiet."""
    force_despite_signed_contract: bool = False


def submit(
    asked: Submission, caller: Person | ApiKey, conversation: Conversation | None, moment: Moment
) -> Effects | Problem:
    """Send a draft to the gates, or say why not."""
    problem = _refusal(asked, caller)
    if problem is not None:
        return problem
    if conversation is None or conversation.destination is None:
        return Problem("not-found", {"what": "conversation"})
    body = filing.clean_body(asked.body, conversation.destination)
    if isinstance(body, Unfit):
        return _unfit(body)
    origin = "person" if isinstance(caller, Person) else "outside"
    draft_id, author = derived_id(moment.cause, "draft"), moment.actor
    override_by = author if asked.force_despite_signed_contract else None
    return Effects(
        writes=[
            writing.submitted(
                tenant=conversation.tenant, draft_id=draft_id, conversation_id=conversation.id, author=author,
                origin=origin, context=asked.context, summary=asked.summary, override_by=override_by,
                receipt=_RECEIPTS.get(asked.origin, "quiet"),
            ),
            audited(moment, conversation.tenant, "submitted", draft_id=draft_id, conversation_id=conversation.id,
                    override_by=override_by),
        ],
        says=[
            DraftSubmitted(
                tenant=conversation.tenant, draft_id=draft_id, origin=origin, author=author,
                conversation_id=conversation.id, contact_id=conversation.contact_id,
                destination=conversation.destination, kind=asked.kind, body=body[0],
                language=asked.language or conversation.language, context_revision=conversation.context_revision,
            )
        ],
    )  # fmt: skip


def _refusal(asked: Submission, caller: Person | ApiKey) -> Problem | None:
    if isinstance(caller, ApiKey) and "file" not in caller.scopes:
        return Problem("no-right", {"right": "file"})
    if isinstance(caller, Person) and not may(caller, "file"):
        return Problem("no-right", {"right": "file"})
    if asked.force_despite_signed_contract and not (isinstance(caller, Person) and may(caller, "override_baseline")):
        return Problem("no-right", {"right": "override_baseline"})
    for field, text, limit in (
        ("context", asked.context, filing.CONTEXT_LIMIT),
        ("summary", asked.summary, filing.SUMMARY_LIMIT),
    ):
        if len(text) > limit:
            return _unfit(Unfit(field, limit, len(text)))
    return None


def _unfit(unfit: Unfit) -> Problem:
    return Problem("unfit", {"field": unfit.field, "size": unfit.size, "limit": unfit.limit})


def phase(status: str, obligation_state: str | None) -> Phase:
    """The neutral word that a caller outside gets: no vote, no person, no hash."""
    if status != "filed":
        return "checking" if status == "checking" else "refused"
    match obligation_state:
        case "sent":
            return "sent"
        case "rejected" | "withdrawn" | "superseded" | "expired":
            return "closed"
        case _:
            return "pending"
