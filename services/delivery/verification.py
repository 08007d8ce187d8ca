"""May this command leave? Asked when it is claimed and asked again, from nothing, just before the call. Pure.

Laws
- Both seals are opened from the transmitted bytes, and seal 2 names seal 1 by its fingerprint.
- Every field of the snapshot that a seal also states must say the same; text and destination are bound by recomputing
  the commitment. Conversation, origin, filing time and the opt-out tick stand in no seal: they can only be taken as
  guardrails sent them.
- The clock is the database's; two seconds of tolerance between services. A clearance from the future is an alarm.
- Anything that does not hold is a `Refusal` with a code of its own. There is no way round and no partial pass.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import msgspec

from contracts.channel import CannotSend
from contracts.messages import SendCommand, Snapshot
from services.delivery.adapters import WahaAdapter
from services.delivery.facts import Heard
from shared import seal
from shared.seal import ApprovalSeal, ClearanceSeal, KeyRing, SealError

TOLERANCE: Final = timedelta(seconds=2)

Adapters = Mapping[UUID, WahaAdapter]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a command may not leave. `detail` is a sentence for people, without text or chat."""

    code: str
    detail: str


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """Everything held: the opened seals."""

    approval: ApprovalSeal
    clearance: ClearanceSeal


def verify(
    command: SendCommand, heard: Heard, *, ring: KeyRing, adapters: Adapters, now: datetime
) -> Verified | Refusal:
    """Seals first, then what they bind, then time, then what others said since."""
    verified = _opened(command, ring)
    if isinstance(verified, Refusal):
        return verified
    refusal = (
        _unbound(command, verified)
        or _before_a_restore(verified, heard)
        or _wrong_destination(command, adapters)
        or _wrong_time(command, verified, now)
        or _overtaken(command.snapshot, heard, now)
    )
    return refusal or verified


def is_genuine(command: SendCommand, ring: KeyRing) -> bool:
    """Whether seals and snapshot hold together, whatever the time and whatever happened since."""
    verified = _opened(command, ring)
    return isinstance(verified, Verified) and _unbound(command, verified) is None


def _opened(command: SendCommand, ring: KeyRing) -> Verified | Refusal:
    try:
        approval = ring.open(command.approval_seal, seal.APPROVAL, ApprovalSeal)
    except (SealError, msgspec.MsgspecError) as error:
        return Refusal(code="approval_seal_invalid", detail=f"Seal 1 does not hold: {error}.")
    try:
        clearance = ring.open(command.clearance_seal, seal.CLEARANCE, ClearanceSeal)
    except (SealError, msgspec.MsgspecError) as error:
        return Refusal(code="clearance_seal_invalid", detail=f"Seal 2 does not hold: {error}.")
    if not seal.same(clearance.approval_sha256, seal.fingerprint(command.approval_seal)):
        return Refusal(code="clearance_of_another_approval", detail="Seal 2 clears another seal 1 than this one.")
    return Verified(approval=approval, clearance=clearance)


def _unbound(command: SendCommand, verified: Verified) -> Refusal | None:
    """The first thing that the snapshot and the seals do not agree on."""
    snapshot, approval = command.snapshot, verified.approval
    pairs = (
        ("tenant", command.tenant, approval.tenant),
        ("decision", snapshot.decision_id, approval.decision_id),
        ("decision", snapshot.decision_id, verified.clearance.decision_id),
        ("obligation", snapshot.obligation_id, approval.obligation_id),
        ("epoch", snapshot.epoch, approval.epoch),
        ("conversation", snapshot.conversation_id, approval.conversation_id),
        ("contact", snapshot.contact_id, approval.contact_id),
        ("context_revision", snapshot.context_revision, approval.context_revision),
        ("origin", snapshot.origin, approval.origin),
        ("filed_at", snapshot.filed_at, approval.filed_at),
        ("reply_after_opt_out", snapshot.reply_after_opt_out, approval.reply_after_opt_out),
        ("not_before", snapshot.not_before, approval.not_before),
        ("send_by", snapshot.send_by, approval.send_by),
        ("decided_at", snapshot.decided_at, approval.decided_at),
    )
    for name, shown, sealed in pairs:
        if shown != sealed:
            return Refusal(code=f"{name}_mismatch", detail=f"The snapshot's {name} is not the sealed one.")
    recomputed = seal.commitment(
        snapshot.salt, tenant=command.tenant, destination=snapshot.destination, body=snapshot.body
    )
    if not (seal.same(recomputed, approval.commitment) and seal.same(snapshot.commitment, approval.commitment)):
        return Refusal(code="commitment_mismatch", detail="Text or destination are not what was approved.")
    return None


def _before_a_restore(verified: Verified, heard: Heard) -> Refusal | None:
    """What was decided before may have been sent without a record that is left: a person decides again. The decision's
    time counts, as guardrails renews a clearance by itself; first, as a clearance that ran out asks for it.
    """
    if heard.lifted_at is None or verified.approval.decided_at > heard.lifted_at:
        return None
    detail = (
        "The record of sends was restored since; it may have been sent. Look at the conversation, then decide again."
    )
    return Refusal(code="decided_before_restore", detail=detail)


def _wrong_destination(command: SendCommand, adapters: Adapters) -> Refusal | None:
    destination = command.snapshot.destination
    adapter = adapters.get(destination.channel_id)
    if adapter is None:
        detail = f"Channel {destination.channel_id} is not configured here; add it to the channels file."
        return Refusal(code="channel_unknown", detail=detail)
    if adapter.channel.tenant != command.tenant:
        return Refusal(code="channel_of_another_tenant", detail="The channel belongs to another tenant.")
    if adapter.channel.account != destination.account:
        return Refusal(code="account_mismatch", detail="The channel's account is not the approved one.")
    rendered = adapter.render(destination, command.snapshot.body, None)
    if isinstance(rendered, CannotSend):
        return Refusal(code=rendered.code, detail=rendered.detail)
    return None


def _wrong_time(command: SendCommand, verified: Verified, now: datetime) -> Refusal | None:
    approval, clearance, not_before = verified.approval, verified.clearance, command.snapshot.not_before
    if clearance.cleared_at > now + TOLERANCE:
        return Refusal(code="clearance_from_future", detail="The clearance was given later than now; check the clocks.")
    if approval.decided_at > now + TOLERANCE:
        return Refusal(code="decision_from_future", detail="The decision was made later than now; check the clocks.")
    if now >= approval.send_by:
        return Refusal(code="send_by_passed", detail=f"It had to leave by {approval.send_by.isoformat()}.")
    if now >= clearance.expires_at:
        return Refusal(code="clearance_expired", detail="The clearance ran out; guardrails has to clear it again.")
    if not_before is not None and now + TOLERANCE < not_before:
        return Refusal(code="too_early", detail=f"It may not leave before {not_before.isoformat()}.")
    return None


def _overtaken(snapshot: Snapshot, heard: Heard, now: datetime) -> Refusal | None:
    """What happened since the decision, as far as it was heard here."""
    paused_until = heard.first_contacts_paused_until
    is_paused = paused_until is not None and now < paused_until and not heard.has_inbound
    reasons = (
        (heard.is_obligation_sent, "already_sent", "This obligation's text was already accepted by the channel."),
        (heard.is_revoked, "revoked", "The approval was ended after the decision."),
        (snapshot.epoch < heard.epoch, "stale_epoch", "A newer draft replaced the approved one."),
        (
            snapshot.context_revision < heard.context_revision,
            "context_moved",
            "Something happened in the conversation after the text was written.",
        ),
        (_is_taken_over(snapshot, heard), "taken_over", "A person has taken over the conversation."),
        (
            heard.has_opted_out and not snapshot.reply_after_opt_out,
            "opted_out",
            "The contact asked to be left alone.",
        ),
        (is_paused, "first_contacts_paused", "WhatsApp restricts this number: no first contacts for now."),
    )
    return next((Refusal(code=code, detail=detail) for applies, code, detail in reasons if applies), None)


def _is_taken_over(snapshot: Snapshot, heard: Heard) -> bool:
    """A takeover stops the agent's drafts filed before it; a person's own text goes on."""
    if not heard.owner_is_person or snapshot.origin != "agent":
        return False
    filed_at = snapshot.filed_at or snapshot.decided_at
    return heard.owner_since is None or filed_at <= heard.owner_since
