"""Claims from what the stream says of them, after a restore. The table of moves holds here too."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from contracts import topology
from contracts.channel import Level
from contracts.messages import SendBegun, SendCommand
from services.delivery.facts import Claim
from services.delivery.store import claims
from shared.db import Tx, Write
from shared.ids import derived_id


async def all_unsettled(tx: Tx) -> list[UUID]:
    """Decisions whose claim may still move, a call under way first: others may then begin on its number."""
    rows = await tx.rows(
        """select decision_id from claim where state in ('dispatching', 'claimed', 'lapsed', 'uncertain')
           order by state <> 'dispatching', decision_id"""
    )
    return [row["decision_id"] for row in rows]


def insert(
    command: SendCommand, begun: SendBegun, state: str, code: str, detail: str, *, stanza: str | None,
    level: Level | None, at: datetime,
) -> Write:  # fmt: skip
    """A claim in the state in which it ended. Its clearance is not read again: nothing begins from there."""
    one = command.snapshot
    return Write(
        """insert into claim (decision_id, tenant, obligation_id, conversation_id, contact_id, channel_id, epoch, state,
             code, detail, command, chat, text_digest, decided_at, send_by, clearance_expires_at, message_id, attempts,
             begun_at, provider_id, stanza_id, level, evidence, settled_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16, 1, $17, $18, $18, $19,
             'the stream', $20) on conflict (decision_id) do nothing""",
        (
            one.decision_id,
            command.tenant,
            one.obligation_id,
            one.conversation_id,
            one.contact_id,
            one.destination.channel_id,
            one.epoch,
            state,
            code,
            detail,
            topology.encode(command),
            begun.chat,
            begun.text_digest,
            one.decided_at,
            one.send_by,
            begun.provider_id,
            begun.at,
            stanza,
            level,
            at,
        ),
    )


def begun(claim: Claim, past: SendBegun) -> Sequence[Write]:
    """Along the table of moves to `dispatching`, whence every end is reached."""
    if claim.state in {"dispatching", "uncertain"}:
        return ()
    again = Write(
        "update claim set state = 'claimed' where decision_id = $1 and state = 'lapsed'", (claim.decision_id,)
    )
    token = derived_id(claim.decision_id, "recovered")
    return again, claims.begin(claim, token, past.at, past.at)


def stopped(claim: Claim, code: str, detail: str, at: datetime) -> Sequence[Write]:
    """It had not been sent, and was stopped."""
    if claim.state == "uncertain":
        return ()
    rearmed = (claims.rearm(claim, code, detail),) if claim.state == "dispatching" else ()
    return *rearmed, claims.stop(claim, "cancelled", code, detail, at)
