"""A decision becomes true: vote, snapshot, seal, messages, audit; all of it in one transaction or nothing. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec
from msgspec import structs

from contracts.messages import DraftApproved, DraftRejected, DraftSentBack, Envelope, Snapshot
from services.approval import effects as fx
from services.approval.effects import Moment, Terms, audited
from services.approval.facts import Banner, Obligation, Version
from services.approval.filing import body_sha256
from services.approval.lifecycle import (
    Approve,
    AskInformation,
    Case,
    Decision,
    Edit,
    NewText,
    Policy,
    Reject,
    SendBack,
    Wish,
    Withdraw,
)
from services.approval.store import writing
from shared.bus import Effects
from shared.ids import derived_id
from shared.seal import ApprovalSeal, Signer


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What the person is told; also what a replay answers."""

    obligation_id: UUID
    state: str
    epoch: int
    commitment: str
    decision_id: UUID | None = None
    send_by: datetime | None = None
    authorizes_execution: bool = False
    """Always false: the send re-checks everything, then claims."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Means:
    """What a decision is made with."""

    policy: Policy
    terms: Terms
    signer: Signer
    salt: bytes


def enact(decision: Decision, wish: Wish, case: Case, moment: Moment, means: Means) -> tuple[Effects, Decided]:
    """The decision's effects, and the answer.

    Raises:
        SealError: the key may not sign any more; nothing has been written.
    """
    o = case.obligation
    match decision:
        case Approve():
            return _approve(o, decision, wish, moment, means)
        case Edit(edit):
            return _edit(o, edit, moment, means)
        case Reject(reason):
            return _reject(o, reason, moment)
        case SendBack(instruction, number):
            return _send_back(o, instruction, number, moment)
        case AskInformation(question):
            return _ask(o, question, moment)
        case Withdraw(reason):
            ended = fx.end(o, "withdrawn", "withdrawn", reason or f"withdrawn by {moment.actor}", moment)
            return ended, _decided(o, o.version, "withdrawn")


def _decided(o: Obligation, version: Version, state: str) -> Decided:
    return Decided(obligation_id=o.id, state=state, epoch=version.epoch, commitment=version.commitment)


def _edited(o: Obligation, edit: NewText, moment: Moment, means: Means) -> Version:
    """The person's text is a version of its own; the gates' verdicts were about another one."""
    basis = structs.replace(o.version.basis, removed=edit.removed, verdicts=())
    return fx.next_version(
        o, means.salt, moment.now, body=edit.body, body_sha256=body_sha256(edit.body), origin="person",
        author=moment.actor, draft_id=derived_id(moment.cause, "draft"), basis=basis,
    )  # fmt: skip


def _file_edit(o: Obligation, version: Version, moment: Moment, means: Means) -> Effects:
    expires_at = moment.now + means.terms.expires_after
    written = writing.next_epoch(o, version, expires_at=expires_at, now=moment.now, banners=o.banners)
    audit = audited(
        moment, o.tenant, "edited", obligation_id=o.id, epoch=version.epoch, commitment=version.commitment,
        previous_epoch=o.epoch, previous_commitment=o.version.commitment,
    )  # fmt: skip
    return Effects(
        writes=[*written, audit],
        says=[fx.filed(o.id, o.tenant, o.conversation_id, version, expires_at)],
        jobs=[fx.expiry_timer(o.id, expires_at)],
    )


def _edit(o: Obligation, edit: NewText | None, moment: Moment, means: Means) -> tuple[Effects, Decided]:
    if edit is None:
        return Effects(), _decided(o, o.version, o.state)
    version = _edited(o, edit, moment, means)
    return _file_edit(o, version, moment, means), _decided(o, version, "open")


def _approve(o: Obligation, approve: Approve, wish: Wish, moment: Moment, means: Means) -> tuple[Effects, Decided]:
    """Vote, snapshot, seal and message; for an edit, the new text first."""
    edit, revision = approve.edit, approve.context_revision
    version = o.version if edit is None else _edited(o, edit, moment, means)
    snapshot = _snapshot(o, version, wish, moment, means, revision=revision)
    seal = _seal(o.tenant, snapshot, means.signer)
    filed = Effects() if edit is None else _file_edit(o, version, moment, means)
    approved = Effects(
        writes=[
            writing.vote(
                o.tenant, o.id, version, person=moment.actor, verb="approve", reason=wish.reason, now=moment.now
            ),
            writing.snapshot(o.tenant, snapshot, seal),
            writing.approved(o.id, snapshot.decision_id, moment.actor, moment.now),
            audited(
                moment, o.tenant, "approved", obligation_id=o.id, epoch=version.epoch, commitment=version.commitment,
                decision_id=snapshot.decision_id, context_revision=revision, policy=snapshot.policy,
                policy_version=snapshot.policy_version, is_edited=edit is not None, send_by=snapshot.send_by,
                reply_after_opt_out=wish.reply_after_opt_out, confirm_repeat=wish.confirm_repeat,
            ),
        ],
        says=[DraftApproved(tenant=o.tenant, snapshot=snapshot, seal=seal)],
        cancels=[fx.no_expiry(o.id)],
    )  # fmt: skip
    answer = structs.replace(
        _decided(o, version, "approved"), decision_id=snapshot.decision_id, send_by=snapshot.send_by
    )
    return Effects(filed.writes, filed.says) + approved, answer


def _snapshot(o: Obligation, version: Version, wish: Wish, moment: Moment, means: Means, *, revision: int) -> Snapshot:
    return Snapshot(
        obligation_id=o.id,
        decision_id=derived_id(moment.cause, "decision"),
        epoch=version.epoch,
        kind=o.kind,
        conversation_id=o.conversation_id,
        contact_id=o.contact_id,
        destination=version.destination,
        body=version.body,
        salt=version.salt,
        commitment=version.commitment,
        context_revision=revision,
        policy=means.policy.name,
        policy_version=means.policy.version,
        decided_by=(moment.actor,),
        decided_at=moment.now,
        send_by=moment.now + means.terms.send_by_after,
        reply_after_opt_out=wish.reply_after_opt_out,
        origin=version.origin,
        filed_at=version.filed_at,
        language=version.language,
        evidence=version.basis.evidence,
    )


def _seal(tenant: UUID, s: Snapshot, signer: Signer) -> Envelope:
    return signer.sign(ApprovalSeal.of(tenant, s), now=s.decided_at)


def _reject(o: Obligation, reason: str, moment: Moment) -> tuple[Effects, Decided]:
    effects = Effects(
        writes=[
            writing.vote(o.tenant, o.id, o.version, person=moment.actor, verb="reject", reason=reason, now=moment.now),
            writing.becomes(o.id, "rejected", moment.now, decided_by=moment.actor),
            audited(moment, o.tenant, "rejected", obligation_id=o.id, epoch=o.epoch, commitment=o.version.commitment),
        ],
        says=[
            DraftRejected(
                tenant=o.tenant, obligation_id=o.id, epoch=o.epoch, draft_id=o.version.draft_id,
                turn_id=o.version.turn_id, conversation_id=o.conversation_id, reason=reason, decided_by=moment.actor,
                at=moment.now,
            )
        ],
        cancels=[fx.no_expiry(o.id)],
    )  # fmt: skip
    return effects, _decided(o, o.version, "rejected")


def _send_back(o: Obligation, instruction: str, number: int, moment: Moment) -> tuple[Effects, Decided]:
    v = o.version
    effects = Effects(
        writes=[
            writing.vote(o.tenant, o.id, v, person=moment.actor, verb="send_back", reason=instruction, now=moment.now),
            writing.sent_back(o.id, number, moment.now),
            audited(
                moment, o.tenant, "sent_back", obligation_id=o.id, epoch=o.epoch, commitment=v.commitment, round=number
            ),
        ],
        says=[
            DraftSentBack(
                tenant=o.tenant, obligation_id=o.id, epoch=o.epoch, draft_id=v.draft_id, turn_id=v.turn_id,
                conversation_id=o.conversation_id, contact_id=o.contact_id, destination=v.destination,
                instruction=instruction, previous_body=v.body, language=v.language, round=number,
                decided_by=moment.actor, at=moment.now,
            )
        ],
    )  # fmt: skip
    return effects, _decided(o, v, "waiting_agent")


def _ask(o: Obligation, question: str, moment: Moment) -> tuple[Effects, Decided]:
    """The item stays open: the question is a banner and an alert for colleagues, never a message to the customer."""
    banners: Sequence[Banner] = (*o.banners, Banner(code="information_requested", at=moment.now, detail=question))
    effects = Effects(
        writes=[
            writing.banners_are(o.id, tuple(banners), moment.now),
            writing.alert(
                tenant=o.tenant, alert_id=derived_id(moment.cause, "alert"), kind="information_requested",
                severity="info", body=question, at=moment.now, conversation_id=o.conversation_id, obligation_id=o.id,
            ),
            audited(moment, o.tenant, "information_requested", obligation_id=o.id, epoch=o.epoch),
        ]
    )  # fmt: skip
    return effects, _decided(o, o.version, o.state)
