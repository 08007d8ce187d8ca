"""What guardrails and delivery say of an approval. approval closes an obligation on delivery's word, never by itself.

Laws
- Every word is a ledger line, also when it changes nothing.
- A word about a decision that no longer stands changes nothing, except that a text was, or may have been, sent: the
  truth about the customer's screen wins over ours.
"""

from collections.abc import Callable
from typing import Any

from contracts.messages import (
    DispatchCleared,
    DispatchDeferred,
    DispatchRefused,
    SendAccepted,
    SendBegun,
    SendFailed,
    SendMessage,
    SendRefused,
    SendStatusChanged,
    SendUncertain,
)
from services.approval.effects import Moment, Terms, audited, end, ended, no_expiry, reopen
from services.approval.facts import Banner, Delivery, Obligation, State
from services.approval.store import writing
from services.approval.store.loading import OfDecision
from shared.bus import Effects, Heard
from shared.ids import derived_id

MAY_HAVE_LEFT = "decided_before_restore"

_SHOWN: dict[str, Delivery] = {"server": "accepted", "device": "delivered", "read": "read", "played": "read"}
_RANK: tuple[Delivery, ...] = ("accepted", "delivered", "read")
_LATE: frozenset[State] = frozenset({"open", "waiting_agent", "superseded", "withdrawn", "expired"})


def told(
    event: str, act: Callable[[Heard[Any], OfDecision], Effects]
) -> Callable[[Heard[Any], OfDecision | None], Effects]:
    """A handler that keeps what it heard in the ledger, then acts."""

    def on_told(heard: Heard[Any], facts: OfDecision | None) -> Effects:
        if facts is None:
            return Effects()
        m = heard.message
        code, detail = getattr(m, "code", ""), getattr(m, "detail", "")
        at = getattr(m, "at", heard.now)
        line = writing.ledger_line(
            m.tenant, m.obligation_id, m.decision_id, event if not isinstance(m, SendStatusChanged) else m.level, at=at,
            heard_at=heard.now, cause=heard.id, code=code, detail=detail,
        )  # fmt: skip
        return Effects(writes=[line]) + act(heard, facts)

    return on_told


def on_dispatch_cleared(heard: Heard[DispatchCleared], facts: OfDecision) -> Effects:
    o = facts.obligation
    if not _stands(heard.message, o) or o.delivery not in {"queued", "deferred"}:
        return Effects()
    return Effects(writes=[writing.delivery_is(o.id, "cleared", heard.now)])


def on_dispatch_deferred(heard: Heard[DispatchDeferred], facts: OfDecision) -> Effects:
    """Not now: the page says when it leaves. What has begun stays so: this may be of the clearance before."""
    o = facts.obligation
    if not _stands(heard.message, o) or not o.is_leaving:
        return Effects()
    return Effects(writes=[writing.delivery_is(o.id, "deferred", heard.now, heard.message.retry_at)])


def on_dispatch_refused(terms: Terms, heard: Heard[DispatchRefused], facts: OfDecision) -> Effects:
    """A refusal comes only while nothing is on its way, so also what had begun and was given up has not left."""
    m = heard.message
    banner = Banner(code="dispatch_refused", at=heard.now, detail=f"{m.gate}: {m.code} {m.detail}".strip())
    if not _stands(m, facts.obligation):
        return Effects()
    return _open_again(terms, facts, banner, Moment(heard.id, heard.now, "guardrails"))


def on_send_begun(heard: Heard[SendBegun], facts: OfDecision) -> Effects:
    o = facts.obligation
    if not _stands(heard.message, o) or not o.is_leaving:
        return Effects()
    return Effects(writes=[writing.delivery_is(o.id, "begun", heard.now)])


def on_send_accepted(heard: Heard[SendAccepted], facts: OfDecision) -> Effects:
    """It is on its way to the customer: the obligation is met."""
    m = heard.message
    said = writing.uttered(
        tenant=m.tenant, utterance_id=derived_id(m.decision_id, "utterance"), conversation_id=m.conversation_id,
        direction="ours", body=facts.decided.body, at=m.at,
    )  # fmt: skip
    return Effects(writes=[said]) + _settle(heard, facts, "sent", "accepted")


def on_send_uncertain(heard: Heard[SendUncertain], facts: OfDecision) -> Effects:
    """Nobody knows: held, shown, alerted, never sent again by itself."""
    m = heard.message
    alert = writing.alert(
        tenant=m.tenant, alert_id=derived_id(heard.id, "alert"), kind="send_uncertain", severity="critical",
        body=f"{m.code} {m.detail}".strip(), at=m.at, conversation_id=m.conversation_id, obligation_id=m.obligation_id,
    )  # fmt: skip
    return Effects(writes=[alert]) + _settle(heard, facts, "uncertain", "uncertain")


def on_send_failed(terms: Terms, heard: Heard[SendFailed], facts: OfDecision) -> Effects:
    """Certainly not there: people may approve it again."""
    m, o = heard.message, facts.obligation
    if o.decision_id != m.decision_id or o.state not in {"approved", "uncertain", "sent"}:
        return Effects()
    banner = Banner(code="send_failed", at=heard.now, detail=f"{m.code} {m.detail}".strip())
    failed = Effects(writes=[writing.settled(o.id, m.decision_id, "failed", "failed", heard.now)])
    return failed + _open_again(terms, facts, banner, Moment(heard.id, heard.now, "delivery"))


def on_send_refused(terms: Terms, heard: Heard[SendRefused], facts: OfDecision) -> Effects:
    """Delivery would not even try. A clearance that ran out is renewed by guardrails: the approval stands and waits.

    After a restore of delivery's record it may have left before; whoever decides again is told so.
    """
    m, o = heard.message, facts.obligation
    if not _stands(m, o):
        return Effects()
    if m.code == "clearance_expired":
        waits = [writing.delivery_is(o.id, "queued", heard.now)] if o.delivery == "begun" else []
        return Effects(writes=waits)
    code = m.code if m.code == MAY_HAVE_LEFT else "send_refused"
    banner = Banner(code=code, at=heard.now, detail=f"{m.code} {m.detail}".strip())
    return _open_again(terms, facts, banner, Moment(heard.id, heard.now, "delivery"))


def on_send_status_changed(heard: Heard[SendStatusChanged], facts: OfDecision) -> Effects:
    """Delivered, read: only ever forward, whatever order they come in."""
    m, o = heard.message, facts.obligation
    writes = [writing.utterance_level(derived_id(m.decision_id, "utterance"), m.level)]
    shown = _SHOWN[m.level]
    is_forward = o.delivery in _RANK and _RANK.index(shown) > _RANK.index(o.delivery)
    if o.decision_id == m.decision_id and o.state == "sent" and is_forward:
        writes.append(writing.delivery_is(o.id, shown, heard.now))
    return Effects(writes=writes)


def _stands(m: Any, o: Obligation) -> bool:
    """The message is about the approval that stands."""
    return o.state == "approved" and o.decision_id == m.decision_id


def _settle(heard: Heard[Any], facts: OfDecision, state: State, delivery: Delivery) -> Effects:
    m: SendMessage = heard.message
    o = facts.obligation
    is_reconciled = o.state == "uncertain" and o.decision_id == m.decision_id and state == "sent"
    if not (o.state == "approved" or o.state in _LATE or is_reconciled):
        return Effects()
    moment = Moment(heard.id, heard.now, "delivery")
    effects = Effects(
        writes=[
            writing.settled(o.id, m.decision_id, state, delivery, heard.now),
            audited(moment, o.tenant, state, obligation_id=o.id, epoch=facts.decided.epoch,
                    commitment=facts.decided.commitment, decision_id=m.decision_id),
        ],
        cancels=[no_expiry(o.id)],
    )  # fmt: skip
    is_another = o.state in {"open", "waiting_agent"} or (o.state == "approved" and o.decision_id != m.decision_id)
    if not is_another:
        return effects
    reason = "an earlier approval of this text had already left"
    return Effects(says=[ended(o, "superseded", reason, heard.now, heard.id)]) + effects


def _open_again(terms: Terms, facts: OfDecision, banner: Banner, moment: Moment) -> Effects:
    """Back to people; unless a newer text waits already, then that one counts."""
    if facts.has_sibling:
        return end(facts.obligation, "superseded", "superseded", banner.detail, moment)
    return reopen(facts.obligation, banner, moment, terms, facts.salt)
