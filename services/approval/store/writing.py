"""The writes of the ledger, as values."""

from datetime import datetime
from uuid import UUID

from contracts.messages import Destination, Envelope, FactRecorded, Snapshot
from services.approval.facts import Banner, Delivery, Fact, Obligation, OwnerState, State, Version
from services.approval.store.rows import storable, text
from shared.db import Write


def _write(sql: str, args: tuple[object, ...]) -> Write:
    return Write(sql, tuple(map(storable, args)))


# ------------------------------------------------------------------------------------------------------ obligations


def new_obligation(
    version: Version, *, tenant: UUID, obligation_id: UUID, conversation_id: UUID, contact_id: UUID, kind: str,
    state: State, expires_at: datetime, now: datetime, banners: tuple[Banner, ...] = (),
) -> Write:  # fmt: skip
    """An obligation at its first epoch; its version is written next."""
    return _write(
        """insert into obligation (tenant, id, conversation_id, contact_id, kind, state, epoch, opened_at, expires_at,
             updated_at, banners) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $8, $10)""",
        (
            tenant,
            obligation_id,
            conversation_id,
            contact_id,
            kind,
            state,
            version.epoch,
            now,
            expires_at,
            text(banners),
        ),
    )


def new_version(obligation_id: UUID, tenant: UUID, v: Version) -> Write:
    return _write(
        """insert into version (tenant, obligation_id, epoch, draft_id, turn_id, origin, author, body, drafted_body,
             body_sha256, destination, salt, commitment, context_revision, context, summary, language, basis, filed_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)""",
        (
            tenant, obligation_id, v.epoch, v.draft_id, v.turn_id, v.origin, v.author, v.body, v.drafted_body,
            v.body_sha256, text(v.destination), v.salt, v.commitment, v.context_revision, v.context, v.summary,
            v.language, text(v.basis), v.filed_at,
        ),
    )  # fmt: skip


def next_epoch(
    obligation: Obligation, version: Version, *, expires_at: datetime, now: datetime, banners: tuple[Banner, ...]
) -> list[Write]:
    """Another text to decide: the obligation is open at a higher epoch, whatever it waited for before."""
    return [
        new_version(obligation.id, obligation.tenant, version),
        _write(
            """update obligation set state = 'open', epoch = $2, expires_at = $3, updated_at = $4, banners = $5,
                 delivery = 'none', leaves_at = null where id = $1""",
            (obligation.id, version.epoch, expires_at, now, text(banners)),
        ),
    ]


def becomes(obligation_id: UUID, state: State, now: datetime, *, decided_by: str | None = None) -> Write:
    return _write(
        """update obligation set state = $2, updated_at = $3, decided_by = coalesce($4, decided_by),
             decided_at = case when $4::text is null then decided_at else $3 end where id = $1""",
        (obligation_id, state, now, decided_by),
    )


def sent_back(obligation_id: UUID, rounds: int, now: datetime) -> Write:
    return _write(
        "update obligation set state = 'waiting_agent', rounds = $2, updated_at = $3 where id = $1",
        (obligation_id, rounds, now),
    )


def approved(obligation_id: UUID, decision_id: UUID, person: str, now: datetime) -> Write:
    return _write(
        """update obligation set state = 'approved', decision_id = $2, decided_by = $3, decided_at = $4,
             updated_at = $4,
             delivery = 'queued', leaves_at = null, banners = '[]' where id = $1""",
        (obligation_id, decision_id, person, now),
    )


def settled(obligation_id: UUID, decision_id: UUID, state: State, delivery: Delivery, now: datetime) -> Write:
    """What delivery says of one decision becomes the obligation's fate."""
    return _write(
        """update obligation set state = $3, decision_id = $2, delivery = $4, updated_at = $5, leaves_at = null
           where id = $1""",
        (obligation_id, decision_id, state, delivery, now),
    )


def delivery_is(obligation_id: UUID, delivery: Delivery, now: datetime, leaves_at: datetime | None = None) -> Write:
    return _write(
        "update obligation set delivery = $2, leaves_at = $3, updated_at = $4 where id = $1",
        (obligation_id, delivery, leaves_at, now),
    )


def banners_are(obligation_id: UUID, banners: tuple[Banner, ...], now: datetime) -> Write:
    return _write(
        "update obligation set banners = $2, updated_at = $3 where id = $1", (obligation_id, text(banners), now)
    )


# -------------------------------------------------------------------------------------------------- votes and proof


def vote(
    tenant: UUID, obligation_id: UUID, version: Version, *, person: str, verb: str, reason: str, now: datetime
) -> Write:
    """A person's word on one epoch."""
    return _write(
        """insert into vote (tenant, obligation_id, epoch, person, verb, commitment, reason, at)
           values ($1, $2, $3, $4, $5, $6, $7, $8)""",
        (tenant, obligation_id, version.epoch, person, verb, version.commitment, reason, now),
    )


def snapshot(tenant: UUID, s: Snapshot, seal: Envelope) -> Write:
    return _write(
        """insert into snapshot (tenant, decision_id, obligation_id, epoch, commitment, context_revision, policy,
             policy_version, voters, decided_at, send_by, not_before, reply_after_opt_out, seal)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)""",
        (
            tenant, s.decision_id, s.obligation_id, s.epoch, s.commitment, s.context_revision, s.policy,
            s.policy_version, list(s.decided_by), s.decided_at, s.send_by, s.not_before, s.reply_after_opt_out,
            text(seal),
        ),
    )  # fmt: skip


def ledger_line(
    tenant: UUID, obligation_id: UUID, decision_id: UUID | None, event: str, *, at: datetime, heard_at: datetime,
    cause: UUID, code: str = "", detail: str = "",
) -> Write:  # fmt: skip
    """What guardrails or delivery told about a decision."""
    return _write(
        """insert into ledger (tenant, obligation_id, decision_id, event, code, detail, at, heard_at, cause)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9)""",
        (tenant, obligation_id, decision_id, event, code, detail, at, heard_at, cause),
    )


def audited(tenant: UUID, entry_id: UUID, entry: str) -> Write:
    return _write("insert into audit (tenant, id, entry) values ($1, $2, $3)", (tenant, entry_id, entry))


# ------------------------------------------------------------------------------------------------------ projections


def conversation_heard(
    *, tenant: UUID, conversation_id: UUID, contact_id: UUID, channel_id: UUID, context_revision: int, trigger_id: UUID,
    destination: Destination | None, language: str | None,
) -> Write:  # fmt: skip
    """A conversation's newest revision. Revisions only grow."""
    return _write(
        """insert into conversation as c (tenant, id, contact_id, channel_id, destination, language, context_revision,
             last_trigger_id) values ($1, $2, $3, $4, $5, coalesce($6, 'pt-BR'), $7, $8)
           on conflict (id) do update set destination = coalesce(excluded.destination, c.destination),
             channel_id = coalesce(c.channel_id, excluded.channel_id),
             language = coalesce($6, c.language), updated_at = clock_timestamp(),
             last_trigger_id = case when excluded.context_revision > c.context_revision then $8
               else c.last_trigger_id end,
             context_revision = greatest(c.context_revision, excluded.context_revision)""",
        (
            tenant, conversation_id, contact_id, channel_id, text(destination) if destination else None, language,
            context_revision, trigger_id,
        ),
    )  # fmt: skip


def owned(conversation_id: UUID, state: OwnerState, person: str, version: int, reason: str) -> Write:
    return _write(
        """update conversation set owner = case $2::text when 'agent' then 'agent' else 'person' end, owner_state = $2,
             owner_person = $3, owner_version = $4, owner_reason = $5, updated_at = clock_timestamp() where id = $1""",
        (conversation_id, state, person, version, reason),
    )


def uttered(
    *,
    tenant: UUID,
    utterance_id: UUID,
    conversation_id: UUID,
    direction: str,
    body: str,
    at: datetime,
    media_kind: str | None = None,
) -> Write:
    """A message of the conversation's history."""
    return _write(
        """insert into utterance (tenant, id, conversation_id, direction, text, media_kind, at)
           values ($1, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing""",
        (tenant, utterance_id, conversation_id, direction, body, media_kind, at),
    )


def utterance_edited(utterance_id: UUID, body: str, at: datetime) -> Write:
    return _write("update utterance set text = $2, edited_at = $3 where id = $1", (utterance_id, body, at))


def utterance_revoked(utterance_id: UUID, at: datetime) -> Write:
    return _write("update utterance set revoked_at = $2 where id = $1", (utterance_id, at))


def utterance_level(utterance_id: UUID, level: str) -> Write:
    return _write(
        """update utterance set level = $2 where id = $1
             and array_position(array['', 'server', 'device', 'read', 'played'], level)
               < array_position(array['', 'server', 'device', 'read', 'played'], $2)""",
        (utterance_id, level),
    )


def contact_named(tenant: UUID, contact_id: UUID, name: str, has_phone: bool | None = None) -> Write:
    """What is known of a contact; an empty name never replaces one."""
    return _write(
        """insert into contact as c (tenant, id, name, has_phone) values ($1, $2, $3, coalesce($4, false))
           on conflict (id) do update set name = coalesce(nullif(excluded.name, ''), c.name),
             has_phone = coalesce($4, c.has_phone)""",
        (tenant, contact_id, name, has_phone),
    )


def consent_is(tenant: UUID, contact_id: UUID, state: str, at: datetime) -> Write:
    return _write(
        """insert into contact as c (tenant, id, consent, consent_at) values ($1, $2, $3, $4)
           on conflict (id) do update set consent = excluded.consent, consent_at = excluded.consent_at
           where c.consent_at is null or c.consent_at <= excluded.consent_at""",
        (tenant, contact_id, state, at),
    )


def channel_is(tenant: UUID, channel_id: UUID, status: str, is_ready: bool, at: datetime) -> Write:
    return _write(
        """insert into channel_status as c (tenant, channel_id, status, is_ready, at) values ($1, $2, $3, $4, $5)
           on conflict (channel_id) do update set status = excluded.status, is_ready = excluded.is_ready,
             at = excluded.at
           where c.at <= excluded.at""",
        (tenant, channel_id, status, is_ready, at),
    )


def fact_recorded(m: FactRecorded) -> Write:
    return _fact(m.tenant, m.fact_id, m.contact_id, m.kind, m.subject, m.value, m.source, m.observed_at, False)


def fact_put(tenant: UUID, fact_id: UUID, contact_id: UUID, fact: Fact) -> Write:
    return _fact(tenant, fact_id, contact_id, fact.kind, fact.subject, fact.value, fact.source, fact.observed_at, True)


def _fact(tenant: UUID, fact_id: UUID, contact_id: UUID, *values: object) -> Write:
    return _write(
        """insert into fact (tenant, id, contact_id, kind, subject, value, source, observed_at, is_put)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (id) do update set value = excluded.value,
             source = excluded.source, observed_at = excluded.observed_at""",
        (tenant, fact_id, contact_id, *values),
    )


def alert(
    *, tenant: UUID, alert_id: UUID, kind: str, severity: str, body: str, at: datetime,
    conversation_id: UUID | None = None, obligation_id: UUID | None = None,
) -> Write:  # fmt: skip
    """Something that a person should know."""
    return _write(
        """insert into alert (tenant, id, conversation_id, obligation_id, kind, severity, text, at)
           values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (id) do nothing""",
        (tenant, alert_id, conversation_id, obligation_id, kind, severity, body, at),
    )


def alert_seen(alert_id: UUID, person: str, now: datetime) -> Write:
    return _write(
        "update alert set acknowledged_by = $2, acknowledged_at = $3 where id = $1 and acknowledged_at is null",
        (alert_id, person, now),
    )


def facts_cleared(contact_id: UUID) -> Write:
    """Only what was put by hand: the operator service's facts come and go by its own events."""
    return _write("delete from fact where contact_id = $1 and is_put", (contact_id,))


def submitted(
    *, tenant: UUID, draft_id: UUID, conversation_id: UUID, author: str, origin: str, context: str, summary: str,
    override_by: str | None, receipt: str,
) -> Write:  # fmt: skip
    """A draft on its way through the gates."""
    return _write(
        """insert into submitted (tenant, id, conversation_id, author, origin, context, summary, override_by, receipt)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9)""",
        (tenant, draft_id, conversation_id, author, origin, context, summary, override_by, receipt),
    )


def submitted_is(
    draft_id: UUID, status: str, obligation_id: UUID | None = None, code: str = "", detail: str = ""
) -> Write:
    return _write(
        "update submitted set status = $2, obligation_id = $3, code = $4, detail = $5 where id = $1",
        (draft_id, status, obligation_id, code, detail),
    )
