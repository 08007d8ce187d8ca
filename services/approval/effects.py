"""From decisions about obligations to rows, messages and timers. Pure: ids are derived from what caused them."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal
from uuid import UUID

from msgspec import structs

from contracts.messages import ApprovalEnded, DraftFiled
from services.approval import audit
from services.approval.audit import Detail
from services.approval.facts import Banner, Obligation, State, Version
from services.approval.store import writing
from shared.bus import CancelJobs, Effects, StartJob
from shared.db import Write
from shared.ids import derived_id
from shared.seal import commitment

EXPIRY = "expiry"

How = Literal["expired", "invalidated", "superseded", "withdrawn"]


@dataclass(frozen=True, slots=True)
class Terms:
    """The tenant's times."""

    expires_after: timedelta
    send_by_after: timedelta


@dataclass(frozen=True, slots=True)
class Moment:
    """What causes an effect, when, and who acts: every audit entry has an actor."""

    cause: UUID
    now: datetime
    actor: str


def audited(moment: Moment, tenant: UUID, action: str, **details: Detail | UUID | datetime) -> Write:
    """An audit entry; one per action of a cause and obligation."""
    entry_id = derived_id(moment.cause, f"audit:{action}:{details.get('obligation_id', '')}:{details.get('epoch', '')}")
    entry = audit.entry(entry_id=entry_id, at=moment.now, actor=moment.actor, action=action, **details)
    return writing.audited(tenant, entry_id, entry)


def expiry_timer(obligation_id: UUID, due_at: datetime) -> StartJob:
    return StartJob(derived_id(obligation_id, EXPIRY), EXPIRY, str(obligation_id), due_at=due_at)


def no_expiry(obligation_id: UUID) -> CancelJobs:
    return CancelJobs(EXPIRY, str(obligation_id))


def filed(
    obligation_id: UUID, tenant: UUID, conversation_id: UUID, version: Version, expires_at: datetime
) -> DraftFiled:
    return DraftFiled(
        tenant=tenant,
        obligation_id=obligation_id,
        epoch=version.epoch,
        draft_id=version.draft_id,
        turn_id=version.turn_id,
        conversation_id=conversation_id,
        expires_at=expires_at,
    )


def ended(o: Obligation, how: How, reason: str, now: datetime, trigger_id: UUID | None = None) -> ApprovalEnded:
    """Said of the obligation as it was; it names the decision only when one was lost."""
    return ApprovalEnded(
        tenant=o.tenant,
        obligation_id=o.id,
        epoch=o.epoch,
        decision_id=o.decision_id if o.state not in {"open", "waiting_agent"} else None,
        draft_id=o.version.draft_id,
        turn_id=o.version.turn_id,
        conversation_id=o.conversation_id,
        how=how,
        reason=reason,
        trigger_id=trigger_id,
        at=now,
    )


def end(o: Obligation, state: State, how: How, reason: str, moment: Moment) -> Effects:
    """The obligation is over without a send."""
    return Effects(
        writes=[
            writing.becomes(o.id, state, moment.now),
            audited(
                moment,
                o.tenant,
                state,
                obligation_id=o.id,
                epoch=o.epoch,
                commitment=o.version.commitment,
                reason=reason,
            ),
        ],
        says=[ended(o, how, reason, moment.now)],
        cancels=[no_expiry(o.id)],
    )


def next_version(o: Obligation, salt: bytes, now: datetime, **changed: object) -> Version:
    """The current text, or a changed one, at the next epoch: with its own salt, so that no old decision fits it."""
    version = structs.replace(o.version, epoch=o.epoch + 1, salt=salt, filed_at=now, **changed)
    sealed = commitment(salt, tenant=o.tenant, destination=version.destination, body=version.body)
    return structs.replace(version, commitment=sealed)


def reopen(o: Obligation, banner: Banner, moment: Moment, terms: Terms, salt: bytes) -> Effects:
    """People decide the same text again, at a new epoch; what was said yes to before releases nothing."""
    version = structs.replace(next_version(o, salt, moment.now), filed_at=o.version.filed_at)
    expires_at = moment.now + terms.expires_after
    return Effects(
        writes=[
            *writing.next_epoch(o, version, expires_at=expires_at, now=moment.now, banners=(banner,)),
            audited(moment, o.tenant, "reopened", obligation_id=o.id, epoch=version.epoch,
                    commitment=version.commitment,
                    reason=banner.code, detail=banner.detail, lost_decision=o.decision_id),
        ],
        says=[filed(o.id, o.tenant, o.conversation_id, version, expires_at)],
        jobs=[expiry_timer(o.id, expires_at)],
    )  # fmt: skip


def lose_approval(o: Obligation, reason: str, banner: Banner, moment: Moment, terms: Terms, *, salt: bytes) -> Effects:
    """An approval that has not begun to leave is void; the text is open again."""
    said = Effects(says=[ended(o, "invalidated", reason, moment.now, banner.trigger_id)])
    return said + reopen(o, banner, moment, terms, salt)
