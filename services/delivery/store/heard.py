"""What others said: projections that may stop a send, the numbers' state, and news that came before its claim."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from contracts import messages as m
from services.delivery.facts import Claim, Heard, Number, Report
from shared.db import Tx, Write

_BLOCKING = ("ingest.messages", "approval.decisions", "approval.ownership")

_HEARD = """
select coalesce(c.context_revision, 0) as context_revision, coalesce(c.has_inbound, false) as has_inbound,
  coalesce(o.owner = 'person', false) as owner_is_person, o.at as owner_since, coalesce(e.epoch, 0) as epoch,
  exists (select 1 from ended_approval x where x.decision_id = $3 or (x.obligation_id = $2 and (x.epoch > $4
    or (x.epoch = $4 and x.decision_id is null)))) as is_revoked,
  coalesce(k.state in ('opted_out', 'erasure_requested'), false) as has_opted_out, n.first_contacts_paused_until,
  exists (select 1 from claim s where s.obligation_id = $2 and s.state = 'accepted') as is_obligation_sent,
  (select max(lifted_at) from hold) as lifted_at
from (values (1)) as one
left join conversation_heard c on c.conversation_id = $1
left join conversation_owner o on o.conversation_id = $1
left join obligation_epoch e on e.obligation_id = $2
left join contact_consent k on k.contact_id = $5
left join channel_state n on n.channel_id = $6
"""


async def about(tx: Tx, snapshot: m.Snapshot) -> Heard:
    """Everything heard that may stop this snapshot."""
    row: Any = await tx.row(
        _HEARD,
        snapshot.conversation_id,
        snapshot.obligation_id,
        snapshot.decision_id,
        snapshot.epoch,
        snapshot.contact_id,
        snapshot.destination.channel_id,
    )
    return Heard(**dict(row))


async def number(tx: Tx, claim: Claim) -> Number:
    """The state of a claim's number, its row locked: one begin at a time."""
    await tx.execute(
        "insert into channel_state (channel_id, tenant) values ($1, $2) on conflict do nothing",
        claim.channel_id,
        claim.tenant,
    )
    row: Any = await tx.row(
        "select is_ready, not_before from channel_state where channel_id = $1 for update", claim.channel_id
    )
    is_busy = "select exists (select 1 from claim where channel_id = $1 and state = 'dispatching')"
    is_blocked = """
        select exists (select 1 from lane_in where split_part(lane, ':', 3) = $2 and split_part(lane, ':', 1) = any($1)
          and (has_waiting or parked_at is not null))"""
    return Number(
        is_ready=row["is_ready"],
        not_before=row["not_before"],
        is_busy=await tx.value(is_busy, claim.channel_id),
        is_lane_blocked=await tx.value(is_blocked, _BLOCKING, str(claim.conversation_id)),
        is_held=await is_held(tx),
    )


async def is_held(tx: Tx) -> bool:
    """Whether sending waits for a person, after a restore of this database (shared/bus/continuity.py)."""
    return await tx.value("select exists (select 1 from hold where lifted_at is null)")


# -------------------------------------------------------------------------------------------------------- projections


def revision(message: m.ConversationMessage) -> Write:
    return Write(
        """insert into conversation_heard as c (conversation_id, tenant, context_revision, has_inbound)
           values ($1, $2, $3, $4) on conflict (conversation_id) do update
           set context_revision = greatest(c.context_revision, excluded.context_revision),
             has_inbound = c.has_inbound or excluded.has_inbound""",
        (
            message.conversation_id,
            message.tenant,
            message.context_revision,
            isinstance(message, m.MessageReceived),
        ),
    )


def epoch(message: m.DraftFiled) -> Write:
    return Write(
        """insert into obligation_epoch as e (obligation_id, tenant, epoch) values ($1, $2, $3)
           on conflict (obligation_id) do update set epoch = greatest(e.epoch, excluded.epoch)""",
        (message.obligation_id, message.tenant, message.epoch),
    )


def ended(id_: UUID, message: m.ApprovalEnded) -> Write:
    return Write(
        """insert into ended_approval (id, tenant, obligation_id, epoch, decision_id, how, at)
           values ($1, $2, $3, $4, $5, $6, $7)""",
        (
            id_,
            message.tenant,
            message.obligation_id,
            message.epoch,
            message.decision_id,
            message.how,
            message.at,
        ),
    )


def owner(message: m.OwnershipChanged) -> Write:
    return Write(
        """insert into conversation_owner as o (conversation_id, tenant, owner, version, at) values ($1, $2, $3, $4, $5)
           on conflict (conversation_id) do update
           set owner = excluded.owner, version = excluded.version, at = excluded.at
           where o.version < excluded.version""",
        (message.conversation_id, message.tenant, message.owner, message.version, message.at),
    )


def consent(message: m.ConsentChanged) -> Write:
    return Write(
        """insert into contact_consent (contact_id, tenant, state, at) values ($1, $2, $3, $4)
           on conflict (contact_id) do update set state = excluded.state, at = excluded.at""",
        (message.contact_id, message.tenant, message.state, message.at),
    )


def channel(message: m.ChannelStatusChanged) -> Write:
    return Write(
        """insert into channel_state (channel_id, tenant, status, is_ready) values ($1, $2, $3, $4)
           on conflict (channel_id) do update set status = excluded.status, is_ready = excluded.is_ready""",
        (message.channel_id, message.tenant, message.status, message.is_ready),
    )


def hold_number(claim: Claim, until: datetime) -> Write:
    return Write(
        """insert into channel_state as n (channel_id, tenant, not_before) values ($1, $2, $3)
           on conflict (channel_id) do update set not_before = greatest(n.not_before, excluded.not_before)""",
        (claim.channel_id, claim.tenant, until),
    )


def pause_first_contacts(channel_id: UUID, tenant: UUID, until: datetime) -> Write:
    return Write(
        """insert into channel_state as n (channel_id, tenant, first_contacts_paused_until) values ($1, $2, $3)
           on conflict (channel_id) do update set first_contacts_paused_until
             = greatest(n.first_contacts_paused_until, excluded.first_contacts_paused_until)""",
        (channel_id, tenant, until),
    )


# ------------------------------------------------------------------------------------------------------- early reports

_ONE_AFTER_THE_OTHER = """
select pg_advisory_xact_lock(hashtextextended('news:' || channel_id, 0))
from (select distinct channel_id::text from unnest($1::uuid[]) as channel_id order by 1) as each
"""


async def one_after_the_other(tx: Tx, channel_ids: Sequence[UUID]) -> None:
    """A number's news and the end of its call, each whole before the next; taken before any claim's row.

    The end looks for news that came early, news looks for a claim that ended: side by side, each would miss the other.
    """
    await tx.execute(_ONE_AFTER_THE_OTHER, channel_ids)


async def early(tx: Tx, claim: Claim, ids: Sequence[str]) -> Report | None:
    """What was reported about these ids before the claim owned one: the level, else an echo."""
    row = await tx.row(
        """select * from (
             select provider_id, level, error_code, 'status' as source from early_report
             where channel_id = $1 and provider_id = any($2)
             union all
             select provider_id, null, '', 'echo' from early_echo where channel_id = $1 and provider_id = any($2)
           ) as news order by case when level is null then 1 when level = 'pending' then 2 else 0 end limit 1""",
        claim.channel_id,
        ids,
    )
    return Report(**dict(row)) if row else None


async def early_echoes_of_text(tx: Tx, claim: Claim) -> list[str]:
    """The ids of the echoes of the claim's text to its chat since it began that no other claim owns, in their order."""
    rows = await tx.rows(
        """select provider_id from early_echo e where channel_id = $1 and text_digest = $2
             and at >= $3::timestamptz - interval '5 seconds' and not exists (select 1 from claim c
               where c.channel_id = e.channel_id and e.provider_id in (c.stanza_id, c.provider_id, c.message_id))
           order by at, provider_id""",
        claim.channel_id,
        claim.text_digest,
        claim.begun_at,
    )
    return [row["provider_id"] for row in rows]


async def early_level(tx: Tx, channel_id: UUID, provider_id: str) -> str | None:
    sql = "select level from early_report where channel_id = $1 and provider_id = $2 for update"
    return await tx.value(sql, channel_id, provider_id)


def park_report(message: m.StatusReported, level: str, now: datetime) -> Write:
    return Write(
        """insert into early_report (channel_id, provider_id, tenant, level, error_code, heard_at)
           values ($1, $2, $3, $4, $5, $6) on conflict (channel_id, provider_id) do update
           set level = excluded.level, error_code = excluded.error_code, heard_at = excluded.heard_at""",
        (message.channel_id, message.provider_id, message.tenant, level, message.error_code, now),
    )


def park_echo(message: m.EchoSeen, now: datetime) -> Write:
    return Write(
        """insert into early_echo (channel_id, provider_id, tenant, text_digest, at, heard_at)
           values ($1, $2, $3, $4, $5, $6) on conflict do nothing""",
        (message.channel_id, message.provider_id, message.tenant, message.text_digest, message.at, now),
    )


def forget_early(channel_id: UUID, before: datetime) -> tuple[Write, Write]:
    """News that nobody claimed is of no use after a day."""
    return (
        Write("delete from early_report where channel_id = $1 and heard_at < $2", (channel_id, before)),
        Write("delete from early_echo where channel_id = $1 and heard_at < $2", (channel_id, before)),
    )
