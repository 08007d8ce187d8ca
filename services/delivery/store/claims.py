"""Claims, attempts, receipts. Every load that a decision depends on takes the row's lock."""

from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from contracts import topology
from contracts.channel import Accepted, Fate, Level
from contracts.messages import Envelope, SendCommand
from services.delivery.facts import Claim
from shared import seal
from shared.db import Tx, Write

_COLUMNS = ", ".join(Claim.__struct_fields__)
_CLAIM = f"select {_COLUMNS} from claim"  # noqa: S608 - column names of a struct in this repository
_envelope = msgspec.json.Encoder()
_command = msgspec.json.Decoder(SendCommand)


def command_of(claim: Claim) -> SendCommand:
    return _command.decode(claim.command)


def _claim(row: Any) -> Claim:
    return msgspec.convert(dict(row), Claim)


async def locked(tx: Tx, decision_id: UUID) -> Claim | None:
    row = await tx.row(f"{_CLAIM} where decision_id = $1 for update", decision_id)
    return _claim(row) if row else None


async def of_text(tx: Tx, decision_id: UUID) -> tuple[Claim | None, list[Claim]]:
    """A claim, and the uncertain sends of the same text to the same chat that have no id to go by, the oldest first."""
    rows = await tx.rows(
        f"""{_CLAIM} where decision_id = $1 or (state = 'uncertain' and message_id is null and decision_id <> $1
              and channel_id = (select channel_id from claim where decision_id = $1)
              and text_digest = (select text_digest from claim where decision_id = $1))
            order by decision_id for update""",  # noqa: S608 - as above
        decision_id,
    )
    found = [_claim(row) for row in rows]
    own = next((claim for claim in found if claim.decision_id == decision_id), None)
    others = [claim for claim in found if claim.decision_id != decision_id and claim.begun_at is not None]
    return own, sorted(others, key=lambda claim: (claim.begun_at, claim.decision_id))


async def channel_of(tx: Tx, decision_id: UUID) -> UUID | None:
    return await tx.value("select channel_id from claim where decision_id = $1", decision_id)


async def of_obligation(tx: Tx, obligation_id: UUID, decision_id: UUID) -> list[Claim]:
    """All claims of an obligation and the decision's own, whatever obligation it names."""
    rows = await tx.rows(
        f"{_CLAIM} where obligation_id = $1 or decision_id = $2 order by decision_id for update",
        obligation_id,
        decision_id,
    )
    return [_claim(row) for row in rows]


async def waiting_of_obligation(tx: Tx, obligation_id: UUID) -> list[Claim]:
    return await _waiting(tx, "obligation_id", obligation_id)


async def waiting_of_conversation(tx: Tx, conversation_id: UUID) -> list[Claim]:
    return await _waiting(tx, "conversation_id", conversation_id)


async def waiting_of_contact(tx: Tx, contact_id: UUID) -> list[Claim]:
    return await _waiting(tx, "contact_id", contact_id)


async def _waiting(tx: Tx, column: str, value: UUID) -> list[Claim]:
    rows = await tx.rows(
        f"{_CLAIM} where {column} = $1 and state in ('claimed', 'lapsed') order by decision_id for update", value
    )
    return [_claim(row) for row in rows]


class Uncertain(msgspec.Struct, frozen=True):
    """`message_id` is the id that was reserved at the channel; `absent_at`: a look-up did not find it there."""

    decision_id: UUID
    obligation_id: UUID
    chat: str
    begun_at: datetime
    attempts: int
    message_id: str | None
    code: str
    detail: str
    absent_at: datetime | None


async def uncertain(tx: Tx, limit: int) -> list[Uncertain]:
    """The oldest first."""
    columns = ", ".join(Uncertain.__struct_fields__)
    rows = await tx.rows(
        f"select {columns} from claim where state = 'uncertain' order by begun_at limit $1",  # noqa: S608 - names of a struct
        limit,
    )
    return [msgspec.convert(dict(row), Uncertain) for row in rows]


async def state_of(tx: Tx, decision_id: UUID) -> str:
    return await tx.value("select state from claim where decision_id = $1", decision_id)


async def count_uncertain(tx: Tx) -> int:
    return await tx.value("select count(*) from claim where state = 'uncertain'")


# -------------------------------------------------------------------------------------------------------------- moves


def insert(command: SendCommand, clearance_expires_at: datetime) -> Write:
    """Claim a decision, or claim again one whose clearance had lapsed; the table of moves refuses every other state."""
    one = command.snapshot
    return Write(
        """insert into claim (decision_id, tenant, obligation_id, conversation_id, contact_id, channel_id, epoch,
             command, chat, text_digest, decided_at, send_by, clearance_expires_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
           on conflict (decision_id) do update set state = 'claimed', code = '', detail = '',
             command = excluded.command, clearance_expires_at = excluded.clearance_expires_at""",
        (
            one.decision_id,
            command.tenant,
            one.obligation_id,
            one.conversation_id,
            one.contact_id,
            one.destination.channel_id,
            one.epoch,
            topology.encode(command),
            one.destination.chat,
            seal.text_digest(one.destination.chat, one.body),
            one.decided_at,
            one.send_by,
            clearance_expires_at,
        ),
    )


def stop(claim: Claim, state: str, code: str, detail: str, now: datetime) -> Write:
    """End a claim that has not begun: `cancelled`, or `lapsed` until a fresh clearance comes."""
    return Write(
        "update claim set state = $2, code = $3, detail = $4, settled_at = $5 where decision_id = $1",
        (claim.decision_id, state, code, detail, now),
    )


def reserve(claim: Claim, message_id: str) -> Write:
    return Write("update claim set message_id = $2 where decision_id = $1", (claim.decision_id, message_id))


def begin(claim: Claim, token: UUID, now: datetime, call_before: datetime) -> Write:
    """`claimed → dispatching`, fenced by `token`; the trigger refuses every other origin."""
    return Write(
        """update claim set state = 'dispatching', code = '', detail = '', token = $2, begun_at = $3, call_before = $4,
             attempts = attempts + 1 where decision_id = $1""",
        (claim.decision_id, token, now, call_before),
    )


def rearm(claim: Claim, code: str, detail: str) -> Write:
    """`dispatching → claimed`: the channel proved that it took nothing."""
    return Write(
        "update claim set state = 'claimed', code = $2, detail = $3, token = null where decision_id = $1",
        (claim.decision_id, code, detail),
    )


def accept(claim: Claim, taken: Accepted, level: Level | None, evidence: str, now: datetime) -> Write:
    return Write(
        """update claim set state = 'accepted', code = '', detail = '', provider_id = $2, stanza_id = $3, level = $4,
             evidence = $5, settled_at = $6 where decision_id = $1""",
        (claim.decision_id, taken.provider_id, taken.stanza_id, level, evidence, now),
    )


def settle(claim: Claim, state: str, code: str, detail: str, *, evidence: str, now: datetime) -> Write:
    """To `failed` or `uncertain`."""
    return Write(
        "update claim set state = $2, code = $3, detail = $4, evidence = $5, settled_at = $6 where decision_id = $1",
        (claim.decision_id, state, code, detail, evidence, now),
    )


def set_level(claim: Claim, level: Level) -> Write:
    return Write("update claim set level = $2 where decision_id = $1", (claim.decision_id, level))


def mark_absent(claim: Claim, now: datetime) -> Write:
    return Write("update claim set absent_at = $2 where decision_id = $1", (claim.decision_id, now))


def receipt(claim: Claim, taken: Accepted, envelope: Envelope, now: datetime) -> Write:
    return Write(
        "insert into receipt (decision_id, tenant, provider_id, envelope, accepted_at) values ($1, $2, $3, $4, $5)",
        (claim.decision_id, claim.tenant, taken.provider_id, _envelope.encode(envelope).decode(), now),
    )


# ----------------------------------------------------------------------------------------------------------- attempts


async def begin_attempt(tx: Tx, claim: Claim) -> bool:
    """Commit "perhaps called" before the call. False when this attempt was begun before: it must not call again."""
    return (
        await tx.execute(
            """insert into attempt (decision_id, number, tenant, token, began_at)
           values ($1, $2, $3, $4, clock_timestamp()) on conflict do nothing""",
            claim.decision_id,
            claim.attempts,
            claim.tenant,
            claim.token,
        )
        == 1
    )


async def has_attempt(tx: Tx, claim: Claim) -> bool:
    sql = "select exists (select 1 from attempt where decision_id = $1 and number = $2)"
    return await tx.value(sql, claim.decision_id, claim.attempts)


def end_attempt(claim: Claim, fate: Fate, now: datetime) -> Write:
    code, detail = ("", "") if isinstance(fate, Accepted) else (fate.code, fate.detail)
    return Write(
        """update attempt set ended_at = $3, result = $4, code = $5, detail = $6
           where decision_id = $1 and number = $2 and ended_at is null""",
        (claim.decision_id, claim.attempts, now, fate.__struct_config__.tag, code, detail),
    )


def refused(id_: UUID, command: SendCommand, code: str, detail: str, now: datetime) -> Write:
    return Write(
        """insert into refused_command (id, tenant, decision_id, code, detail, command, at)
           values ($1, $2, $3, $4, $5, $6, $7)""",
        (id_, command.tenant, command.snapshot.decision_id, code, detail, topology.encode(command), now),
    )


# ---------------------------------------------------------------------------------------------------------- reports


async def owner_of(tx: Tx, channel_id: UUID, provider_id: str) -> Claim | None:
    """The claim that owns a message of the channel: by its id, or by the id that was reserved for it."""
    row = await tx.row(
        f"""{_CLAIM} where channel_id = $1 and (stanza_id = $2 or provider_id = $2 or message_id = $2)
            and state not in ('claimed', 'lapsed', 'cancelled')
            order by stanza_id is null, claimed_at for update limit 1""",
        channel_id,
        provider_id,
    )
    return _claim(row) if row else None


async def uncertain_by_text(tx: Tx, channel_id: UUID, text_digest: str, at: datetime) -> Claim | None:
    """The oldest uncertain send of this text to this chat, begun before `at`, that has no id of its own to go by.

    None while another such send is under way: the echo may be its, and the end of its call tells.
    """
    row = await tx.row(
        f"""{_CLAIM} where channel_id = $1 and text_digest = $2 and state = 'uncertain' and message_id is null
            and begun_at <= $3::timestamptz + interval '5 seconds' and not exists (select from claim d
              where d.channel_id = $1 and d.text_digest = $2 and d.state = 'dispatching' and d.message_id is null
                and d.begun_at <= $3::timestamptz + interval '5 seconds')
            order by begun_at for update limit 1""",
        channel_id,
        text_digest,
        at,
    )
    return _claim(row) if row else None
