"""Promises and what became of the texts that made them."""

from uuid import UUID

from contracts.messages import TurnClosed
from services.operator.promises import FilingState, Judged, Kept, PromiseState, Standing
from services.operator.store import conversations
from shared.db import Tx, Write
from shared.ids import derived_id

_REMEMBER = """
insert into promise (promise_id, tenant, turn_id, conversation_id, contact_id, what, due_at)
values ($1, $2, $3, $4, $5, $6, $7) on conflict (promise_id) do nothing
"""
_FILED = """
insert into filing (obligation_id, tenant, turn_id, epoch, state) values ($1, $2, $3, $4, 'open')
on conflict (obligation_id) do update set turn_id = excluded.turn_id, epoch = excluded.epoch,
  state = case when filing.state = 'sent' then 'sent' else 'open' end
where filing.epoch <= excluded.epoch
"""
_ENDED = "update filing set state = 'ended' where obligation_id = $1 and epoch <= $2 and state = 'open'"
_SENT = """
insert into filing (obligation_id, tenant, state) values ($1, $2, 'sent')
on conflict (obligation_id) do update set state = 'sent'
"""
_VOID = "update promise set state = 'void' where turn_id = $1 and state = 'waiting'"


def remember(turn: TurnClosed) -> list[Write]:
    """The promises that the turn declared, in their order."""
    declaration = turn.checkpoint.declaration if turn.checkpoint else None
    of = (turn.tenant, turn.turn_id, turn.conversation_id, turn.contact_id)
    return [
        Write(_REMEMBER, (derived_id(turn.turn_id, f"promise:{place}"), *of, one.what, one.due))
        for place, one in enumerate(declaration.promises if declaration else ())
    ]


def filed(tenant: UUID, obligation_id: UUID, turn_id: UUID | None, epoch: int) -> Write:
    return Write(_FILED, (obligation_id, tenant, turn_id, epoch))


def ended(obligation_id: UUID, epoch: int) -> Write:
    return Write(_ENDED, (obligation_id, epoch))


def sent(tenant: UUID, obligation_id: UUID) -> Write:
    """Also when the filing was not heard of yet: the two topics are not in order with each other."""
    return Write(_SENT, (obligation_id, tenant))


def void(turn_id: UUID) -> Write:
    """Nothing of this turn was ever filed."""
    return Write(_VOID, (turn_id,))


def judged(one: Judged) -> Write:
    return Write("update promise set state = $2 where promise_id = $1", (one.promise_id, one.state))


async def turn_of(tx: Tx, obligation_id: UUID) -> UUID | None:
    return await tx.value("select turn_id from filing where obligation_id = $1", obligation_id)


async def standing(tx: Tx, turn_id: UUID) -> Standing | None:
    """What is known about the promises of a turn, locked; None before its decision, or when it promised nothing."""
    rows = await tx.rows(
        """select promise_id, tenant, conversation_id, contact_id, what, state from promise
           where turn_id = $1 order by promise_id for update""",
        turn_id,
    )
    outcome = await tx.value("select outcome from decision where turn_id = $1", turn_id)
    if not rows or outcome is None:
        return None
    first = rows[0]
    held = await conversations.holding(tx, first["conversation_id"])
    return Standing(
        tenant=first["tenant"],
        turn_id=turn_id,
        conversation_id=first["conversation_id"],
        contact_id=first["contact_id"],
        language=held.language,
        promises=tuple(_kept(row["promise_id"], row["what"], row["state"]) for row in rows),
        filings=await _filings(tx, turn_id),
        did_act=outcome == "acted",
        has_live_owner=held.owner == "person"
        or await _has_live_owner(tx, first["contact_id"], first["conversation_id"]),
    )


def _kept(promise_id: UUID, what: str, state: PromiseState) -> Kept:
    return Kept(promise_id=promise_id, what=what, state=state)


async def _filings(tx: Tx, turn_id: UUID) -> tuple[FilingState, ...]:
    rows = await tx.rows("select state from filing where turn_id = $1", turn_id)
    return tuple(row["state"] for row in rows)


async def _has_live_owner(tx: Tx, contact_id: UUID, conversation_id: UUID) -> bool:
    return await tx.value(
        """select exists (select from task where contact_id = $1 and state = 'open')
             or exists (select from support_case
                        where conversation_id = $2 and state in ('awaiting_human', 'awaiting_lead'))""",
        contact_id,
        conversation_id,
    )
