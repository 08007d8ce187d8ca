"""Who speaks in a conversation. Pure.

Laws
- A change names the version that the person saw; another one is refused.
- A take-over voids the agent's texts that wait or have not begun to leave: the agent no longer speaks here.
- Only an explicit return gives the word back to the agent.
"""

from typing import Literal

from contracts.messages import OwnershipChanged
from services.approval.effects import Moment, Terms, audited, end, lose_approval
from services.approval.facts import UNDECIDED, Banner, Conversation, Obligation
from services.approval.people import may
from services.approval.problems import Problem
from services.approval.store import writing
from services.approval.store.loading import InConversation
from shared.bus import Effects
from shared.web.people import Person

Change = Literal["take_over", "give_back"]


def change_owner(
    change: Change,
    person: Person | None,
    facts: InConversation,
    moment: Moment,
    terms: Terms,
    *,
    expected: int,
    reason: str,
) -> Effects | Problem:
    """Move the ownership of a conversation."""
    conversation = facts.conversation
    if conversation is None:
        return Problem("not-found", {"what": "conversation"})
    if person is None or not may(person, "own"):
        return Problem("no-right", {"right": "own"})
    if conversation.owner_version != expected:
        return Problem("wrong-version", {"version": conversation.owner_version, "expected": expected})
    moved = _moved(change, person, conversation, reason, moment)
    if change == "give_back":
        return moved
    for o in facts.alive:
        moved += _voided(o, person, facts, moment, terms)
    return moved


def _moved(change: Change, person: Person, c: Conversation, reason: str, moment: Moment) -> Effects:
    version, is_taken = c.owner_version + 1, change == "take_over"
    who = person.email if is_taken else ""
    return Effects(
        writes=[
            writing.owned(c.id, "person" if is_taken else "agent", who, version, reason),
            audited(moment, c.tenant, change, conversation_id=c.id, version=version),
        ],
        says=[
            OwnershipChanged(
                tenant=c.tenant, conversation_id=c.id, owner="person" if is_taken else "agent", person=who,
                version=version, reason=reason, at=moment.now,
            )
        ],
    )  # fmt: skip


def _voided(o: Obligation, person: Person, facts: InConversation, moment: Moment, terms: Terms) -> Effects:
    reason = f"{person.email} took over"
    is_waiting = o.state in UNDECIDED
    if o.version.origin != "person" and (is_waiting or o.is_leaving):
        return end(o, "withdrawn", "invalidated", reason, moment)
    if o.is_leaving:
        banner = Banner(code="approval_lost", at=moment.now, detail="taken_over")
        return lose_approval(o, reason, banner, moment, terms, salt=facts.salt)
    return Effects()
