"""Read models of the panel and the API. They run in a transaction of the web role, which sees one tenant."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from contracts.messages import Destination
from services.approval import lifecycle
from services.approval.facts import Banner, Basis, Delivery, OwnerState, State
from services.approval.lifecycle import Policy
from services.approval.problems import Problem
from services.approval.store import loading, rows
from shared.db import Tx

PREVIEW_CHARACTERS = 160
NEWEST_UTTERANCES = 50


class QueueItem(msgspec.Struct, frozen=True, kw_only=True):
    """A line of the queue."""

    id: UUID
    conversation_id: UUID
    contact_name: str
    kind: str
    state: State
    epoch: int
    commitment: str
    summary: str
    preview: str
    opened_at: datetime
    expires_at: datetime
    updated_at: datetime
    delivery: Delivery
    leaves_at: datetime | None
    decided_by: str
    banners: tuple[Banner, ...]
    has_customer_written_since: bool
    is_channel_ready: bool


class Utterance(msgspec.Struct, frozen=True, kw_only=True):
    """A message of the conversation. `level` is how far one of ours came: server, device, read, played."""

    id: UUID
    direction: str
    text: str
    media_kind: str | None
    at: datetime
    edited_at: datetime | None
    revoked_at: datetime | None
    level: str


class ConversationView(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation with its newest messages, oldest first."""

    id: UUID
    contact_id: UUID
    contact_name: str
    contact_consent: str
    channel_status: str
    is_channel_ready: bool
    language: str
    context_revision: int
    owner_state: OwnerState
    owner_person: str
    owner_version: int
    history: tuple[Utterance, ...]


class VersionView(msgspec.Struct, frozen=True, kw_only=True):
    """A text that stood, or stands, at one epoch."""

    epoch: int
    author: str
    origin: str
    body: str
    drafted_body: str
    commitment: str
    context_revision: int
    filed_at: datetime


class VoteView(msgspec.Struct, frozen=True, kw_only=True):
    """A person's word."""

    epoch: int
    person: str
    verb: str
    reason: str
    at: datetime


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True):
    """What guardrails or delivery told; `heard_at` is when we heard it."""

    event: str
    decision_id: UUID | None
    code: str
    detail: str
    at: datetime
    heard_at: datetime


class ActionView(msgspec.Struct, frozen=True, kw_only=True):
    """What this person may do now; `why_not` is the problem that the wish would meet."""

    verb: str
    is_allowed: bool
    why_not: Problem | None


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a person needs to decide, on one screen."""

    id: UUID
    etag: str
    kind: str
    state: State
    is_expired: bool
    epoch: int
    commitment: str
    shown: str
    """The first 8 hex digits of the commitment."""
    body: str
    drafted_body: str
    destination: Destination
    author: str
    origin: str
    language: str
    summary: str
    context: str
    context_revision: int
    has_customer_written_since: bool
    basis: Basis
    banners: tuple[Banner, ...]
    rounds: int
    rounds_left: int
    opened_at: datetime
    filed_at: datetime
    expires_at: datetime
    decided_by: str
    decided_at: datetime | None
    decision_id: UUID | None
    delivery: Delivery
    leaves_at: datetime | None
    policy: str
    policy_version: int
    actions: tuple[ActionView, ...]
    deciders: tuple[str, ...]
    """Who holds the right to decide this, by name."""
    versions: tuple[VersionView, ...]
    votes: tuple[VoteView, ...]
    ledger: tuple[LedgerLine, ...]
    conversation: ConversationView


class AlertView(msgspec.Struct, frozen=True, kw_only=True):
    """Something that a person should know."""

    id: UUID
    conversation_id: UUID | None
    obligation_id: UUID | None
    kind: str
    severity: str
    text: str
    at: datetime
    acknowledged_by: str | None
    acknowledged_at: datetime | None


class AuditLine(msgspec.Struct, frozen=True, kw_only=True):
    """An entry of the audit chain; `entry` is the canonical text that `hash` is over."""

    seq: int
    entry: msgspec.Raw
    hash: str


_QUEUE = """
select o.id, o.conversation_id, coalesce(c.name, '') as contact_name, o.kind, o.state, o.epoch, v.commitment, v.summary,
  left(v.body, $4) as preview, o.opened_at, o.expires_at, o.updated_at, o.delivery, o.leaves_at, o.decided_by,
  o.banners,
  (o.state in ('open', 'waiting_agent') and v.context_revision < t.context_revision) as has_customer_written_since,
  coalesce(h.is_ready, true) as is_channel_ready
from obligation o join version v on v.obligation_id = o.id and v.epoch = o.epoch
  join conversation t on t.id = o.conversation_id
  left join contact c on c.id = o.contact_id left join channel_status h on h.channel_id = t.channel_id
where o.direction = 'we_owe_them' and o.state = any($1)
  and (o.state not in ('open', 'waiting_agent') or o.expires_at > clock_timestamp())
  and ($2::timestamptz is null or (o.expires_at, o.id) > ($2, $3))
order by o.expires_at, o.id limit $5
"""


async def queue(
    tx: Tx, states: Sequence[State] = ("open",), *, after: tuple[datetime, UUID] | None = None, limit: int = 100
) -> list[QueueItem]:
    """What waits, the most urgent first. `after` is the (expires_at, id) of the last item of the page before."""
    found = await tx.rows(_QUEUE, list(states), *(after or (None, None)), PREVIEW_CHARACTERS, limit)
    return [_as(QueueItem, row, banners=msgspec.json.decode(row["banners"], type=tuple[Banner, ...])) for row in found]


async def counts(tx: Tx) -> dict[str, int]:
    """How many are in each state that asks for attention; expired ones do not count."""
    found = await tx.rows(
        """select state, count(*) as number from obligation
           where state in ('open', 'waiting_agent', 'approved', 'uncertain', 'failed')
             and (state not in ('open', 'waiting_agent') or expires_at > clock_timestamp()) group by state"""
    )
    return {row["state"]: row["number"] for row in found}


async def item(tx: Tx, obligation_id: UUID, email: str, policy: Policy) -> Item | None:
    """The full item as this person may act on it."""
    case = await loading.case_as_it_stands(tx, obligation_id, email)
    if case is None:
        return None
    now, o = await tx.now(), case.obligation
    v = o.version
    talk = await conversation(tx, o.conversation_id)
    assert talk is not None  # a foreign key says so
    actions = tuple(
        ActionView(verb=a.verb, is_allowed=a.is_allowed, why_not=a.why_not)
        for a in lifecycle.actions(case, policy, now)
    )
    return Item(
        id=o.id, etag=etag(v.epoch, v.commitment), kind=o.kind, state=o.state,
        is_expired=o.state in {"open", "waiting_agent"} and now >= o.expires_at, epoch=v.epoch, commitment=v.commitment,
        shown=v.commitment[:8], body=v.body, drafted_body=v.drafted_body, destination=v.destination, author=v.author,
        origin=v.origin, language=v.language, summary=v.summary, context=v.context, context_revision=v.context_revision,
        has_customer_written_since=v.context_revision < talk.context_revision, basis=v.basis, banners=o.banners,
        rounds=o.rounds, rounds_left=lifecycle.MAX_ROUNDS - o.rounds, opened_at=o.opened_at, filed_at=v.filed_at,
        expires_at=o.expires_at, decided_by=o.decided_by, decided_at=o.decided_at, decision_id=o.decision_id,
        delivery=o.delivery, leaves_at=o.leaves_at, policy=policy.name, policy_version=policy.version, actions=actions,
        deciders=await _deciders(tx), versions=await versions(tx, obligation_id), votes=await votes(tx, obligation_id),
        ledger=await ledger(tx, obligation_id), conversation=talk,
    )  # fmt: skip


def etag(epoch: int, commitment: str) -> str:
    """What a decision must name: the epoch and the commitment that were shown."""
    return f'"{epoch}-{commitment}"'


async def _deciders(tx: Tx) -> tuple[str, ...]:
    found = await tx.rows("select name from person where is_active and 'approver' = any(roles) order by name")
    return tuple(row["name"] for row in found)


async def versions(tx: Tx, obligation_id: UUID) -> tuple[VersionView, ...]:
    found = await tx.rows(f"{rows.VERSION} where obligation_id = $1 order by epoch", obligation_id)
    return tuple(_as(VersionView, row) for row in found)


async def votes(tx: Tx, obligation_id: UUID) -> tuple[VoteView, ...]:
    found = await tx.rows(
        "select epoch, person, verb, reason, at from vote where obligation_id = $1 order by at", obligation_id
    )
    return tuple(_as(VoteView, row) for row in found)


async def ledger(tx: Tx, obligation_id: UUID) -> tuple[LedgerLine, ...]:
    found = await tx.rows(
        "select event, decision_id, code, detail, at, heard_at from ledger where obligation_id = $1 order by id",
        obligation_id,
    )
    return tuple(_as(LedgerLine, row) for row in found)


async def conversation(tx: Tx, conversation_id: UUID) -> ConversationView | None:
    row = await tx.row(
        """select t.id, t.contact_id, coalesce(c.name, '') as contact_name, coalesce(c.consent, '') as contact_consent,
             coalesce(h.status, '') as channel_status, coalesce(h.is_ready, true) as is_channel_ready, t.language,
             t.context_revision, t.owner_state, t.owner_person, t.owner_version
           from conversation t left join contact c on c.id = t.contact_id
             left join channel_status h on h.channel_id = t.channel_id where t.id = $1""",
        conversation_id,
    )
    if row is None:
        return None
    said = await tx.rows(
        """select id, direction, text, media_kind, at, edited_at, revoked_at, level from utterance
           where conversation_id = $1 order by seq desc limit $2""",
        conversation_id,
        NEWEST_UTTERANCES,
    )
    return _as(ConversationView, row, history=tuple(_as(Utterance, one) for one in reversed(said)))


async def alerts(tx: Tx, *, is_acknowledged: bool = False, limit: int = 100) -> list[AlertView]:
    found = await tx.rows(
        """select id, conversation_id, obligation_id, kind, severity, text, at, acknowledged_by, acknowledged_at
           from alert where (acknowledged_at is not null) = $1 order by at desc, id limit $2""",
        is_acknowledged,
        limit,
    )
    return [_as(AlertView, row) for row in found]


async def audit(tx: Tx, *, after_seq: int = 0, obligation_id: UUID | None = None, limit: int = 200) -> list[AuditLine]:
    """Entries in the chain's order."""
    found = await tx.rows(
        """select l.seq, a.entry, encode(l.hash, 'hex') as hash from audit_link l join audit a on a.id = l.audit_id
           where l.seq > $1 and ($2::text is null or a.entry::jsonb ->> 'obligation_id' = $2)
           order by l.seq limit $3""",
        after_seq,
        str(obligation_id) if obligation_id else None,
        limit,
    )
    return [_as(AuditLine, row, entry=msgspec.Raw(row["entry"].encode())) for row in found]


def _as(kind: type[Any], row: Any, **more: Any) -> Any:
    """A row as a view: columns and fields bear the same names."""
    return kind(**{name: row[name] for name in kind.__struct_fields__ if name not in more}, **more)
