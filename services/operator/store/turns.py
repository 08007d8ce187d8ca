"""A turn of the operating role: what it starts from, and its one decision."""

from datetime import datetime
from uuid import UUID

import msgspec

from contracts.messages import TurnClosed
from services.operator.decision import Decision
from services.operator.state import Settings, State
from services.operator.store import conversations, leads
from shared.db import Tx, Write

LINES_SHOWN = 20
FACTS_SHOWN = 20

_DECIDE = """
insert into decision (turn_id, tenant, conversation_id, contact_id, outcome, reason, calls, note, model, model_rounds,
  tokens_in, tokens_out, at)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
"""


async def settings_of(tx: Tx, tenant: UUID) -> Settings:
    row = await tx.row("select is_role_on, operations from setting where tenant = $1", tenant)
    if row is None:
        return Settings()
    chosen = row["operations"]
    return Settings(is_role_on=row["is_role_on"], operations=None if chosen is None else tuple(chosen))


async def state_of(tx: Tx, turn: TurnClosed) -> State:
    """Everything that the role may know; the lead stays locked until the transaction ends."""
    lead = await leads.lock_lead(tx, turn.tenant, turn.contact_id)
    holding = await conversations.holding(tx, turn.conversation_id)
    return State(
        tenant=turn.tenant,
        conversation_id=turn.conversation_id,
        contact_id=turn.contact_id,
        owner=holding.owner,
        language=holding.language,
        lead=lead,
        seen_version=lead.version,
        tags=await leads.tags_of(tx, turn.contact_id),
        tasks=await leads.open_tasks(tx, turn.contact_id),
        case=await leads.open_case_of(tx, turn.conversation_id),
        facts=await leads.facts_of(tx, turn.contact_id, FACTS_SHOWN),
        lines=await conversations.latest_lines(tx, turn.conversation_id, LINES_SHOWN),
    )


async def is_decided(tx: Tx, turn_id: UUID) -> bool:
    return await tx.value("select exists (select from decision where turn_id = $1)", turn_id)


def decide(turn: TurnClosed, decision: Decision, at: datetime) -> Write:
    of = (turn.turn_id, turn.tenant, turn.conversation_id, turn.contact_id)
    calls = msgspec.json.encode(decision.calls).decode()
    use = decision.use
    cost = (use.model, use.rounds, use.tokens_in, use.tokens_out)
    return Write(_DECIDE, (*of, decision.outcome, decision.reason, calls, decision.note, *cost, at))
