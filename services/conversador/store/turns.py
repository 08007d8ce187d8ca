"""Turns and the requests to a model that they made."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from services.conversador.model import Call
from services.conversador.turn import Turn
from shared.db import Tx, Write
from shared.ids import derived_id

_COLUMNS = Turn.__struct_fields__
_JSON = frozenset({"destination", "redraft_of", "transcript", "evidence"})
_FIXED = frozenset({"id", "tenant", "conversation_id", "contact_id", "channel_id", "kind", "started_at"})
_SAVE = (
    f"insert into turn ({', '.join(_COLUMNS)}) values ({', '.join(f'${n}' for n in range(1, len(_COLUMNS) + 1))}) "  # noqa: S608 - names of our own fields
    f"on conflict (id) do update set {', '.join(f'{c} = excluded.{c}' for c in _COLUMNS if c not in _FIXED)}"
)


async def live_turns(tx: Tx, conversation_ids: Sequence[UUID]) -> dict[UUID, Turn]:
    """The live turn of each conversation that has one; the caller holds the conversations' locks."""
    rows = await tx.rows("select * from turn where conversation_id = any($1) and closed_at is null", conversation_ids)
    return {row["conversation_id"]: _turn(row) for row in rows}


async def turn_by_id(tx: Tx, id_: UUID) -> Turn | None:
    row = await tx.row("select * from turn where id = $1", id_)
    return None if row is None else _turn(row)


def save_turn(turn: Turn) -> Write:
    return Write(_SAVE, tuple(_stored(name, getattr(turn, name)) for name in _COLUMNS))


def save_decision(draft_id: UUID, decision: str, reason: str = "", obligation_id: UUID | None = None) -> Write:
    """What people said about a turn's text."""
    return Write(
        """update turn set decision = $2, decision_reason = $3, obligation_id = coalesce($4, obligation_id)
           where draft_id = $1""",
        (draft_id, decision, reason, obligation_id),
    )


def save_approval(obligation_id: UUID) -> Write:
    return Write("update turn set decision = 'approved' where obligation_id = $1", (obligation_id,))


def adopt_summary(of: UUID) -> Write:
    """The last text that left did so as it was drafted: what its turn noted about the conversation is now true.

    `of` is the turn or its obligation. That the text was filed, what it meant and that it left come in any order, each
    under the conversation's lock; the last of the three adopts.
    """
    return Write(
        """update conversation c set rolling_summary = t.rolling_summary
           from turn t join history h on h.obligation_id = t.obligation_id and h.conversation_id = t.conversation_id
           where (t.id = $1 or t.obligation_id = $1) and c.conversation_id = t.conversation_id and h.text = t.body
             and t.rolling_summary <> '' and h.seq = (
               select max(seq) from history where conversation_id = t.conversation_id and author = 'us')""",
        (of,),
    )


def save_call(turn: Turn, call: Call, *, key: str, at: datetime) -> Write:
    return Write(
        """insert into model_call (id, tenant, turn_id, purpose, model, outcome, tokens_in, tokens_out, latency_ms, at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) on conflict (id) do nothing""",
        (
            derived_id(turn.id, f"call-{key}"),
            turn.tenant,
            turn.id,
            call.purpose,
            call.model,
            call.outcome,
            call.tokens_in,
            call.tokens_out,
            call.latency_ms,
            at,
        ),
    )


def _turn(row: Any) -> Turn:
    values = {name: row[name] for name in _COLUMNS}
    for name in _JSON:
        values[name] = None if values[name] is None else msgspec.json.decode(values[name])
    return msgspec.convert(values, Turn)


def _stored(name: str, value: Any) -> Any:
    return msgspec.json.encode(value).decode() if name in _JSON and value is not None else value
