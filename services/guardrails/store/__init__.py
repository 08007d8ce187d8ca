"""The only SQL of guardrails: facts in, rows out. Who may be written to, runs and readings have files of their own."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from contracts import messages as m
from services.guardrails.facts import (
    ChannelRules,
    Consent,
    ContactState,
    Evidence,
    EvidenceKind,
    Facts,
    Ownership,
    SenderNumber,
    Unknown,
)
from services.guardrails.rules import CATALOGUE, Rules, TenantRules
from services.guardrails.store import contacts, reviews
from services.guardrails.store.reviews import Question
from shared.bus import Heard, Job
from shared.db import Row, Tx, Write

SPINNING_LAST = 20

_rules = msgspec.json.Decoder(Rules)
_approval = msgspec.json.Decoder(m.DraftApproved)


class ChannelSetting(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the channels file; fields that other services need are theirs to read."""

    channel_id: UUID
    tenant: UUID
    kind: str
    activated_at: datetime = datetime(2020, 1, 1, tzinfo=UTC)
    daily_cap: int = 300
    time_zone: str = "America/Sao_Paulo"


class Known(msgspec.Struct, frozen=True):
    """What the chain is told of a draft. `recent`: ids of the texts that the facts quote, in their order."""

    facts: Facts
    recent: tuple[UUID, ...] = ()

    @property
    def channel_kind(self) -> str:
        return self.facts.channel.kind if isinstance(self.facts.channel, ChannelRules) else "unknown"


class Dispatch(msgspec.Struct, frozen=True):
    """An approved text with what the chain must know about it now, and since when it waits."""

    approval: m.DraftApproved
    facts: Facts
    recent: tuple[UUID, ...]
    since: datetime
    is_channel_ready: bool
    channel_kind: str


# ----------------------------------------------------------------------------------------------------------- at start


async def load_channels(tx: Tx, channels: Sequence[ChannelSetting]) -> None:
    for one in channels:
        await tx.execute(
            """insert into channel (channel_id, tenant, kind, activated_at, daily_cap, time_zone)
               values ($1, $2, $3, $4, $5, $6) on conflict (channel_id) do update set
                 kind = excluded.kind, daily_cap = excluded.daily_cap, time_zone = excluded.time_zone""",
            one.channel_id,
            one.tenant,
            one.kind,
            one.activated_at,
            one.daily_cap,
            one.time_zone,
        )


async def load_rules(tx: Tx, rules: Sequence[TenantRules]) -> None:
    """First version only: a newer one made by people is never overwritten by a file."""
    for one in rules:
        await tx.execute(
            "insert into rules (tenant, version, rules) values ($1, 1, $2) on conflict do nothing",
            UUID(one.tenant),
            msgspec.json.encode(one.rules).decode(),
        )


# -------------------------------------------------------------------------------------------------------------- facts


async def facts_of(tx: Tx, draft: Any, now: datetime, classifier: str) -> Known:
    """Everything that the chain may ask about a draft: any message with contact, conversation, destination and text.

    `classifier` is the version of the one that reads texts here, empty when there is none.
    """
    contact = await contacts.row_of(tx, draft.contact_id)
    conversation = await tx.row("select * from conversation where conversation_id = $1", draft.conversation_id)
    channel_id = draft.destination.channel_id
    channel = await tx.row("select * from channel where channel_id = $1", channel_id)
    rules = await _rules_of(tx, draft.tenant)
    evidence = _evidence(getattr(draft, "evidence", ()))
    recent = await _recent_texts(tx, channel_id)
    facts = Facts(
        now=now,
        contact=_contact(contact),
        ownership=_ownership(conversation),
        channel=_channel(channel, rules),
        sender_number=await _sender_number(tx, channel, now),
        last_inbound_at=conversation["last_inbound_at"] if conversation else None,
        is_first_message_to_contact=contact is None or contact["first_sent_at"] is None,
        has_open_case=conversation is not None and conversation["open_case"] is not None,
        promise_table=rules.promise_table,
        evidence=evidence,
        promise_review=await reviews.reading(tx, Question(draft.tenant, draft.body, evidence), classifier),
        recent_outbound=tuple(row["body"] for row in recent),
        operations=CATALOGUE,
        allowed_terms=rules.allowed_terms,
        disclosures=rules.disclosures,
        people=rules.people,
        heard_revision=conversation["context_revision"] if conversation else 0,
    )
    return Known(facts, tuple(row["decision_id"] for row in recent))


async def _rules_of(tx: Tx, tenant: UUID) -> Rules:
    text = await tx.value("select rules from rules where tenant = $1 order by version desc limit 1", tenant)
    return _rules.decode(text) if text else Rules()


def _contact(row: Row | None) -> ContactState | Unknown:
    if row is None:
        return Unknown("this contact was never heard of")
    return ContactState(
        consent=Consent(row["consent"]),
        opted_out_at=row["opted_out_at"],
        is_blocked=row["is_blocked"],
        is_anonymised=row["is_anonymised"],
        is_under_erasure=row["erasure_asked_at"] is not None,
    )


def _ownership(row: Row | None) -> Ownership | Unknown:
    if row is None:
        return Unknown("this conversation was never heard of")
    return Ownership(is_with_person=row["owner"] == "person", taken_over_at_revision=row["taken_over_revision"])


def _channel(row: Row | None, rules: Rules) -> ChannelRules | Unknown:
    if row is None:
        return Unknown("this channel is not registered")
    return ChannelRules(
        kind=row["kind"],
        has_24h_rule=row["kind"] == "whatsapp_cloud",
        has_ban_risk=row["kind"] == "waha",
        daily_cap=row["daily_cap"],
        time_zone=row["time_zone"],
        reply_window=rules.reply_window,
        outreach_window=rules.outreach_window,
    )


def local_day(channel: Row, now: datetime) -> Any:
    """The number's own calendar day, by which caps count."""
    return now.astimezone(ZoneInfo(channel["time_zone"])).date()


async def _sender_number(tx: Tx, channel: Row | None, now: datetime) -> SenderNumber | Unknown:
    if channel is None:
        return Unknown("this channel is not registered")
    sent = await tx.value(
        "select count(*) from quota where channel_id = $1 and day = $2 and state <> 'released'",
        channel["channel_id"],
        local_day(channel, now),
    )
    return SenderNumber(age_days=max(0, (now - channel["activated_at"]).days), sent_today=sent)


async def _recent_texts(tx: Tx, channel_id: UUID) -> Sequence[Row]:
    rows = await tx.rows(
        """select s.decision_id, s.body from sent_text s left join quota q using (decision_id)
           where s.channel_id = $1 and q.state is distinct from 'released' order by s.at desc limit $2""",
        channel_id,
        SPINNING_LAST,
    )
    return rows[::-1]


def _evidence(evidence: Sequence[m.Evidence]) -> tuple[Evidence, ...]:
    return tuple(
        Evidence(f"{one.source}@{one.version}", EvidenceKind.SOURCE, f"{one.title}\n{one.excerpt}") for one in evidence
    )


async def filing_facts(classifier: str, tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[Known]:
    return [await facts_of(tx, one.message, one.now, classifier) for one in heard]


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """A draft that could not be judged yet, as its job keeps it."""

    draft: m.DraftProposed | m.DraftSubmitted
    heard_at: datetime
    unread: str = ""
    """Why the classifier, once asked, gave no reading."""


class Undecided(msgspec.Struct, frozen=True, kw_only=True):
    """What a dispatch's job keeps."""

    unread: str = ""
    """As for a draft."""


_waiting = msgspec.json.Decoder(Waiting)
_undecided = msgspec.json.Decoder(Undecided)


def waiting(job: Job) -> Waiting:
    return _waiting.decode(job.payload)


def _unread(known: Known, why: str) -> Known:
    """A text that nobody read is judged all the same once somebody was asked."""
    if not why or not is_unread(known.facts):
        return known
    return Known(msgspec.structs.replace(known.facts, promise_review=Unknown(why)), known.recent)


def is_unread(facts: Facts) -> bool:
    """Whether there is a classifier, and it was not asked about this text."""
    return facts.promise_review is reviews.UNREAD


async def question_of_draft(_tx: Tx, job: Job) -> Question:
    draft = waiting(job).draft
    return _question(draft.tenant, draft.body, getattr(draft, "evidence", ()))


async def question_of_decision(tx: Tx, job: Job) -> Question | None:
    row = await tx.row("select approval from dispatch where decision_id = $1 and state = 'waiting'", UUID(job.key))
    if row is None:
        return None
    approval = _approval.decode(row["approval"])
    return _question(approval.tenant, approval.snapshot.body, approval.snapshot.evidence)


def _question(tenant: UUID, body: str, evidence: Sequence[m.Evidence]) -> Question:
    return Question(tenant, body, _evidence(evidence))


async def filing_again(classifier: str, tx: Tx, job: Job) -> Known:
    """The facts of now for a draft that waited."""
    kept = waiting(job)
    return _unread(await facts_of(tx, kept.draft, job.now, classifier), kept.unread)


async def dispatch_facts(classifier: str, tx: Tx, job: Job) -> Dispatch | None:
    """The waiting decision under its number's row lock: caps and copies are read, then acted on."""
    decision_id = UUID(job.key)
    row = await tx.row("select * from dispatch where decision_id = $1 and state = 'waiting' for update", decision_id)
    if row is None:
        return None
    channel = await tx.row("select kind, is_ready from channel where channel_id = $1 for update", row["channel_id"])
    approval = _approval.decode(row["approval"])
    snapshot = approval.snapshot
    carrier = _Carrier(
        tenant=approval.tenant,
        contact_id=snapshot.contact_id,
        conversation_id=snapshot.conversation_id,
        destination=snapshot.destination,
        body=snapshot.body,
        evidence=snapshot.evidence,
    )
    known = await facts_of(tx, carrier, job.now, classifier)
    known = _unread(known, _undecided.decode(job.payload).unread)
    return Dispatch(
        approval,
        known.facts,
        known.recent,
        row["updated_at"],
        channel is not None and channel["is_ready"],
        channel["kind"] if channel else "unknown",
    )


class _Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """What `facts_of` needs, for a snapshot."""

    tenant: UUID
    contact_id: UUID
    conversation_id: UUID
    destination: m.Destination
    body: str
    evidence: tuple[m.Evidence, ...] = ()


# ------------------------------------------------------------------------------------------------------------- writes


def inbound(message: m.MessageReceived) -> Write:
    return Write(
        """insert into conversation (conversation_id, tenant, contact_id, channel_id, context_revision, last_inbound_at)
           values ($1, $2, survivor($3), $4, $5, $6) on conflict (conversation_id) do update set
             context_revision = greatest(conversation.context_revision, excluded.context_revision),
             contact_id = excluded.contact_id, channel_id = excluded.channel_id,
             last_inbound_at = greatest(conversation.last_inbound_at, excluded.last_inbound_at)""",
        (
            message.conversation_id,
            message.tenant,
            message.contact_id,
            message.channel_id,
            message.context_revision,
            min(message.sent_at, message.received_at),
        ),
    )


def revision(message: m.ConversationMessage) -> Write:
    return Write(
        """insert into conversation (conversation_id, tenant, contact_id, channel_id, context_revision)
           values ($1, $2, survivor($3), $4, $5) on conflict (conversation_id) do update set
             context_revision = greatest(conversation.context_revision, excluded.context_revision),
             contact_id = coalesce(conversation.contact_id, excluded.contact_id),
             channel_id = coalesce(conversation.channel_id, excluded.channel_id)""",
        (message.conversation_id, message.tenant, message.contact_id, message.channel_id, message.context_revision),
    )


def owner(message: m.OwnershipChanged) -> Write:
    """A person who took over before any message was heard here has taken over from all drafts."""
    return Write(
        """insert into conversation (conversation_id, tenant, owner, ownership_version) values ($1, $2, $3, $4)
           on conflict (conversation_id) do update set owner = excluded.owner,
             ownership_version = excluded.ownership_version,
             taken_over_revision = case when excluded.owner = 'person' and conversation.context_revision > 0
               then conversation.context_revision + 1 end
           where conversation.ownership_version < excluded.ownership_version""",
        (message.conversation_id, message.tenant, message.owner, message.version),
    )


def open_case(message: m.CaseOpened) -> Write:
    return Write(
        """insert into conversation (conversation_id, tenant, contact_id, open_case) values ($1, $2, survivor($3), $4)
           on conflict (conversation_id) do update set open_case = excluded.open_case""",
        (message.conversation_id, message.tenant, message.contact_id, message.case_id),
    )


def close_case(message: m.CaseClosed) -> Write:
    return Write(
        "update conversation set open_case = null where conversation_id = $1 and open_case = $2",
        (message.conversation_id, message.case_id),
    )


def channel_ready(message: m.ChannelStatusChanged) -> Write:
    return Write("update channel set is_ready = $2 where channel_id = $1", (message.channel_id, message.is_ready))


def hurry(message: m.ChannelStatusChanged) -> Write:
    """What waited for this number may try at once."""
    return Write(
        """update job set due_at = clock_timestamp() where kind = 'dispatch' and lease_token is null and key in
             (select decision_id::text from dispatch where channel_id = $1 and state = 'waiting')""",
        (message.channel_id,),
    )


def approved(message: m.DraftApproved) -> Write:
    snapshot = message.snapshot
    return Write(
        """insert into dispatch (decision_id, tenant, obligation_id, conversation_id, channel_id, approval)
           values ($1, $2, $3, $4, $5, $6) on conflict do nothing""",
        (
            snapshot.decision_id,
            message.tenant,
            snapshot.obligation_id,
            snapshot.conversation_id,
            snapshot.destination.channel_id,
            msgspec.json.encode(message).decode(),
        ),
    )


def settle(decision_id: UUID, state: str, now: datetime) -> Write:
    """Once settled it stays so, but for what a person takes back after its clearance, which shall not be renewed."""
    return Write(
        """update dispatch set state = $2, updated_at = $3::timestamptz,
             cleared_at = case when $2 = 'cleared' then $3::timestamptz end
           where decision_id = $1 and (state = 'waiting' or (state = 'cleared' and $2 = 'revoked'))""",
        (decision_id, state, now),
    )


def wait_again(decision_id: UUID) -> Write:
    """A clearance ran out before the send: the chain runs again."""
    return Write("update dispatch set state = 'waiting' where decision_id = $1 and state = 'cleared'", (decision_id,))


def reserve(snapshot: m.Snapshot, tenant: UUID, now: datetime) -> Write:
    return Write(
        """insert into quota (decision_id, tenant, channel_id, day, state)
           select $1, $2, $3, ($4::timestamptz at time zone c.time_zone)::date, 'reserved'
           from channel c where c.channel_id = $3
           on conflict (decision_id) do update set state = 'reserved', day = excluded.day""",
        (snapshot.decision_id, tenant, snapshot.destination.channel_id, now),
    )


def leaves(snapshot: m.Snapshot, tenant: UUID, now: datetime) -> Write:
    """Its words count from now on, as its place in the day's cap does: the next copy may come before it is sent."""
    return Write(
        """insert into sent_text (decision_id, tenant, channel_id, contact_id, body, at)
           values ($1, $2, $3, survivor($4), $5, $6) on conflict (decision_id) do update set at = excluded.at""",
        (snapshot.decision_id, tenant, snapshot.destination.channel_id, snapshot.contact_id, snapshot.body, now),
    )


def quota(decision_id: UUID, state: str) -> Write:
    return Write("update quota set state = $2 where decision_id = $1", (decision_id, state))


def sent(message: m.SendAccepted) -> Sequence[Write]:
    return (
        Write(
            """insert into sent_text (decision_id, tenant, channel_id, contact_id, body, at)
               select $1, $2, $3, c.contact_id, $5, $6 from conversation c where c.conversation_id = $4
               on conflict do nothing""",
            (
                message.decision_id,
                message.tenant,
                message.channel_id,
                message.conversation_id,
                message.body,
                message.at,
            ),
        ),
        Write(
            """update contact set first_sent_at = coalesce(first_sent_at, $2) where contact_id =
                 (select contact_id from conversation where conversation_id = $1)""",
            (message.conversation_id, message.at),
        ),
    )
