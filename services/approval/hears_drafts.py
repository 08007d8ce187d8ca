"""What becomes of drafts that passed, or did not pass, the gates."""

from uuid import UUID

from contracts.messages import DraftCleared, DraftVetoed, FilingRefused
from services.approval import filing
from services.approval.effects import Moment, Terms, audited, end, ended, expiry_timer, filed
from services.approval.facts import Banner, Obligation, Version
from services.approval.store import loading, writing
from shared.bus import Effects, Heard
from shared.db import Write
from shared.ids import derived_id


def on_draft_cleared(terms: Terms, heard: Heard[DraftCleared], facts: loading.Filing) -> Effects:
    """File it: put it before people, keep it as it stood, or refuse it with the reason."""
    draft, moment = facts.draft, Moment(heard.id, heard.now, facts.draft.author)
    match filing.file(draft, facts.facts, heard.now):
        case filing.Refused() as refused:
            return _refuse(draft, refused, moment)
        case filing.Stale(version):
            return _supersede_at_once(draft, version, moment)
        case filing.Kept(obligation):
            return _keep(draft, obligation, moment)
        case filing.Filed() as found:
            return _file(draft, found, moment, terms)


def on_draft_vetoed(heard: Heard[DraftVetoed], _facts: None) -> Effects:
    """An outside caller learns that its draft was refused, and nothing about the gates."""
    return Effects(writes=[writing.submitted_is(heard.message.draft_id, "refused", code="vetoed")])


def _refuse(draft: filing.Draft, refused: filing.Refused, moment: Moment) -> Effects:
    return Effects(
        writes=[
            writing.submitted_is(draft.draft_id, "refused", code=refused.code, detail=refused.detail),
            writing.alert(
                tenant=draft.tenant, alert_id=derived_id(moment.cause, "alert"), kind="filing_refused",
                severity="warning", body=refused.detail, at=moment.now, conversation_id=draft.conversation_id,
            ),
            audited(moment, draft.tenant, "filing_refused", draft_id=draft.draft_id, code=refused.code),
        ],
        says=[
            FilingRefused(
                tenant=draft.tenant, draft_id=draft.draft_id, turn_id=draft.turn_id,
                conversation_id=draft.conversation_id, code=refused.code, detail=refused.detail,
                evidence=refused.evidence, recommendation=refused.recommendation,
            )
        ],
    )  # fmt: skip


def _supersede_at_once(draft: filing.Draft, version: Version, moment: Moment) -> Effects:
    """Kept for the record; it was overtaken before anybody could decide it."""
    obligation = Obligation(
        tenant=draft.tenant, id=_obligation_id(moment), conversation_id=draft.conversation_id,
        contact_id=draft.contact_id, kind=draft.kind, state="open", rounds=0, opened_at=moment.now,
        expires_at=moment.now, version=version,
    )  # fmt: skip
    return Effects(
        writes=[
            writing.new_obligation(
                version, tenant=draft.tenant, obligation_id=obligation.id, conversation_id=draft.conversation_id,
                contact_id=draft.contact_id, kind=draft.kind, state="superseded", expires_at=moment.now, now=moment.now,
            ),
            writing.new_version(obligation.id, draft.tenant, version),
            writing.submitted_is(draft.draft_id, "refused", obligation.id, "superseded"),
            audited(moment, draft.tenant, "superseded", obligation_id=obligation.id, epoch=1,
                    commitment=version.commitment, reason="the conversation moved on"),
        ],
        says=[ended(obligation, "superseded", "the conversation moved on before the draft was filed", moment.now)],
    )  # fmt: skip


def _keep(draft: filing.Draft, o: Obligation, moment: Moment) -> Effects:
    return Effects(
        writes=[
            writing.submitted_is(draft.draft_id, "filed", o.id),
            audited(moment, o.tenant, "filed_again", obligation_id=o.id, epoch=o.epoch, draft_id=draft.draft_id),
        ],
        says=[filed(o.id, o.tenant, o.conversation_id, o.version, o.expires_at)],
    )


def _file(draft: filing.Draft, found: filing.Filed, moment: Moment, terms: Terms) -> Effects:
    version, replaces = found.version, found.replaces
    obligation_id = replaces.id if replaces else _obligation_id(moment)
    expires_at = moment.now + terms.expires_after
    banners = _banners(found, moment)
    writes = list[Write]()
    if replaces:
        writes += writing.next_epoch(replaces, version, expires_at=expires_at, now=moment.now, banners=banners)
    else:
        opened = writing.new_obligation(
            version, tenant=draft.tenant, obligation_id=obligation_id, conversation_id=draft.conversation_id,
            contact_id=draft.contact_id, kind=draft.kind, state="open", expires_at=expires_at, now=moment.now,
            banners=banners,
        )  # fmt: skip
        writes += [opened, writing.new_version(obligation_id, draft.tenant, version)]
    writes += [
        writing.submitted_is(draft.draft_id, "filed", obligation_id),
        audited(
            moment, draft.tenant, "filed", obligation_id=obligation_id, epoch=version.epoch,
            commitment=version.commitment, draft_id=draft.draft_id, context_revision=version.context_revision,
            baseline=version.basis.baseline.outcome, override_by=version.basis.baseline.override_by,
            removed=[f"{one.field} {one.what} ×{one.count}" for one in version.basis.removed],
        ),
    ]  # fmt: skip
    return _endings(found, moment) + Effects(
        writes=writes,
        says=[filed(obligation_id, draft.tenant, draft.conversation_id, version, expires_at)],
        jobs=[expiry_timer(obligation_id, expires_at)],
    )


def _endings(found: filing.Filed, moment: Moment) -> Effects:
    """What the new text puts an end to."""
    effects = Effects()
    if found.expired is not None:
        effects += end(found.expired, "expired", "expired", "nobody decided in time", moment)
    if found.supersedes is not None:
        effects += end(found.supersedes, "superseded", "superseded", "a newer text was filed", moment)
    return effects


def _banners(found: filing.Filed, moment: Moment) -> tuple[Banner, ...]:
    banners: list[Banner] = []
    if found.is_beside_uncertain:
        banners.append(Banner(code="earlier_uncertain", at=moment.now))
    if found.version.basis.baseline.outcome == "unavailable":
        banners.append(Banner(code="baseline_unavailable", at=moment.now))
    return tuple(banners)


def _obligation_id(moment: Moment) -> UUID:
    return derived_id(moment.cause, "obligation")
