"""Edits and revocations that overtook their message: a channel promises no order. Pure.

They wait in quarantine under the id of their message; when it comes they follow it in the same transaction, so that
nobody drafts from words that were taken back.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from contracts.channel import Edited, Revoked
from contracts.messages import ConversationMessage
from services.ingest.hearing import Known, decide
from services.ingest.store import heard
from services.ingest.store.heard import Target
from shared.bus import NOTHING, Effects


@dataclass(frozen=True, slots=True)
class Change:
    """A change that waited, with the id of its raw event."""

    raw_id: UUID
    event: Edited | Revoked


def settle(changes: Sequence[Change], known: Known, target: Target) -> Effects:
    """What the changes do to the message that has just come; `known` is what stands after it."""
    effects = NOTHING
    for change in changes:
        decision = decide(change.event, replace(known, cause=change.raw_id, target=target))
        effects += decision.effects + Effects(writes=[heard.settled(change.raw_id, decision.action)])
        said = [one for one in decision.effects.says if isinstance(one, ConversationMessage)]
        if said and known.place is not None:
            target = _changed(target, change.event, known)
            known = replace(known, place=replace(known.place, context_revision=said[-1].context_revision))
    return effects


def _changed(target: Target, event: Edited | Revoked, known: Known) -> Target:
    if isinstance(event, Revoked):
        return replace(target, is_revoked=True)
    return replace(target, edited_at=min(event.sent_at, known.now))
