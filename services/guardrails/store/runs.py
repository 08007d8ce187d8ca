"""The SQL of stored runs: what the chain judged and found, and apart from it the words, which can be erased.

Runs, words and links are kept for KEPT_DAYS. Words are stored once a conversation: a text that is filed and then
dispatched has one row.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from contracts import messages as m
from services.guardrails import judging, words
from services.guardrails.chain import CHAIN_VERSION, ChainResult, chain_hash
from services.guardrails.facts import Draft, Facts
from services.guardrails.gate import Phase, Verdict
from services.guardrails.store.reviews import Question, key_of
from services.guardrails.words import Judged
from shared.db import Row, Tx, Write
from shared.ids import derived_id

KEPT_DAYS = 90


class Record(NamedTuple):
    """A run as the chain leaves it. `recent`: ids of the texts that the facts quote."""

    run_id: UUID
    tenant: UUID
    phase: Phase
    judged: Judged
    recent: tuple[UUID, ...]
    result: ChainResult
    decision_id: UUID | None = None


def keep(record: Record) -> Write:
    """The run, and its words unless this conversation has the same ones already."""
    bare, said = words.apart(record.judged)
    gate, code = judging.recorded(record.result)
    text = _json(said)
    return Write(
        """with kept as (
             insert into run_text (text_id, tenant, conversation_id, sha256, words, at)
             values ($16, $2, $4, $17, $18, $15)
             on conflict (conversation_id, sha256) do update set at = greatest(run_text.at, excluded.at)
             returning text_id)
           insert into run (run_id, tenant, draft_id, conversation_id, phase, outcome, gate, code, verdicts, draft,
             facts, facts_digest, chain_version, chain_hash, at, text_id, recent, shadow, decision_id)
           select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, text_id, $19, $20, $21 from kept""",
        (
            record.run_id,
            record.tenant,
            UUID(bare.draft.id),
            UUID(bare.draft.conversation),
            record.phase.value,
            judging.outcome(record.result),
            gate,
            code,
            _json(bare.verdicts),
            _json(bare.draft),
            _json(bare.facts),
            judging.digest(record.judged.facts),
            CHAIN_VERSION,
            chain_hash(),
            bare.facts.now,
            derived_id(record.run_id, "text"),
            words.fingerprint(text),
            text,
            list(record.recent),
            _json(bare.shadow),
            record.decision_id,
        ),
    )


def filed(message: m.DraftFiled, now: datetime) -> Write:
    """Which obligation a draft became: what is dispatched is known by its obligation."""
    return Write(
        """insert into filed (obligation_id, epoch, tenant, draft_id, at) values ($1, $2, $3, $4, $5)
           on conflict do nothing""",
        (message.obligation_id, message.epoch, message.tenant, message.draft_id, now),
    )


# ------------------------------------------------------------------------------------------------------------- reading


class TextGone(NamedTuple):
    """Its words, or a text that it was compared with, were erased or are past their time."""

    run_id: UUID


class Undecodable(NamedTuple):
    """Written in a form that this code does not read."""

    run_id: UUID
    why: str


class Stored(NamedTuple):
    """A run as it was. `gate` and `code` as recorded; `judged` holds the verdicts."""

    run_id: UUID
    draft_id: UUID
    at: datetime
    phase: Phase
    outcome: str
    gate: str
    code: str
    judged: Judged


class Place(NamedTuple):
    """Where a reading stands: behind this run."""

    at: datetime
    run_id: UUID


class Window(NamedTuple):
    """`since <= at < until`; no tenant: all of them."""

    since: datetime
    until: datetime
    tenant: UUID | None = None


_IN_WINDOW = "r.at >= $1 and r.at < $2 and ($3::uuid is null or r.tenant = $3)"
_COLUMNS = """r.run_id, r.tenant, r.draft_id, r.decision_id, r.conversation_id, r.phase, r.outcome, r.gate, r.code,
  r.verdicts, r.shadow, r.draft, r.facts, r.facts_digest, r.chain_version, r.chain_hash, r.at, t.words,
  array(select s.body from unnest(r.recent) with ordinality as n (id, place)
        left join sent_text s on s.decision_id = n.id order by n.place) as recent"""


BY_INDEX = "set local enable_bitmapscan = off; set local enable_seqscan = off; set local enable_sort = off"
"""A plan that expects few runs sorts all that are left of the window, for every batch."""
BATCH = f"""
with page as materialized (
  select * from run r where {_IN_WINDOW} and (r.at, r.run_id) > ($4, $5) order by r.at, r.run_id limit $6)
select {_COLUMNS} from page r left join run_text t on t.text_id = r.text_id order by r.at, r.run_id"""  # noqa: S608 - constants


async def count(tx: Tx, window: Window) -> int:
    return await tx.value(f"select count(*) from run r where {_IN_WINDOW}", *window)  # noqa: S608 - a constant


async def batch(tx: Tx, window: Window, behind: Place, size: int) -> Sequence[Row]:
    """The next runs, oldest first. In a transaction of its own: it tells the planner to go by the index."""
    await tx.execute(BY_INDEX)
    return await tx.rows(BATCH, *window, *behind, size)


def stored(row: Row) -> Stored | TextGone | Undecodable:
    """The run of a row, with its words."""
    if row["words"] is None or None in row["recent"]:
        return TextGone(row["run_id"])
    try:
        judged = words.together(_bare(row), words.read(row["words"]), tuple(row["recent"]))
        phase = Phase(row["phase"])
    except (msgspec.MsgspecError, ValueError, StopIteration) as error:
        return Undecodable(row["run_id"], str(error) or "its words and its verdicts do not fit")
    return Stored(
        run_id=row["run_id"],
        draft_id=row["draft_id"],
        at=row["at"],
        phase=phase,
        outcome=row["outcome"],
        gate=row["gate"],
        code=row["code"],
        judged=judged,
    )


_draft = msgspec.json.Decoder(Draft)
_facts = msgspec.json.Decoder(Facts)
_verdicts = msgspec.json.Decoder(tuple[Verdict, ...])


def _bare(row: Row) -> Judged:
    return Judged(
        draft=_draft.decode(row["draft"] or ""),
        facts=_facts.decode(row["facts"] or ""),
        verdicts=_verdicts.decode(row["verdicts"]),
        shadow=_verdicts.decode(row["shadow"]),
    )


def _json(value: Any) -> str:
    return msgspec.json.encode(value, order="deterministic").decode()


# ---------------------------------------------------------------------------------------------------------- explaining


class Explained(NamedTuple):
    """A run for a person who asks why. Without its words, texts and excerpts are empty."""

    row: Row
    judged: Judged
    has_words: bool


class Decision(msgspec.Struct, frozen=True):
    """What became of an approval here."""

    decision_id: UUID
    obligation_id: UUID
    state: str
    updated_at: datetime


_OBLIGATIONS = """
select obligation_id from filed where draft_id = $1 or obligation_id = $1
union select obligation_id from dispatch where decision_id = $1 or obligation_id = $1
union select draft_id from run where decision_id = $1"""


async def about(tx: Tx, asked: UUID) -> Sequence[Row]:
    """Every run of the text that a draft, an obligation or a decision is about, oldest first."""
    return await tx.rows(
        f"""with obligation as ({_OBLIGATIONS}),
              judged as (select obligation_id as id from obligation union select $1
                union select draft_id from filed where obligation_id in (select obligation_id from obligation))
            select {_COLUMNS} from run r left join run_text t on t.text_id = r.text_id
            where r.draft_id in (select id from judged) order by r.at, r.run_id""",  # noqa: S608 - constants
        asked,
    )


async def decisions(tx: Tx, asked: UUID) -> list[Decision]:
    rows = await tx.rows(
        f"""select decision_id, obligation_id, state, updated_at from dispatch
            where obligation_id in ({_OBLIGATIONS}) order by updated_at""",  # noqa: S608 - a constant
        asked,
    )
    return [Decision(*row) for row in rows]


def explained(row: Row) -> Explained | Undecodable:
    try:
        judged = _bare(row)
        if row["words"] is not None:
            recent = tuple(text or "" for text in row["recent"])
            judged = words.together(judged, words.read(row["words"]), recent)
    except (msgspec.MsgspecError, ValueError, StopIteration) as error:
        return Undecodable(row["run_id"], str(error) or "its words and its verdicts do not fit")
    return Explained(row, judged, row["words"] is not None)


# ------------------------------------------------------------------------------------------------------------- erasing


class Erased(NamedTuple):
    texts: int
    """Rows of `run_text` that hold no words any more."""
    sent: int
    """Texts that left a number: the spinning gate does not know them any more."""


async def erase(tx: Tx, contact_id: UUID) -> Erased:
    """Redact what was written to a contact, in every run of it and in every run that was compared with it.

    The runs stay: what was found, by which chain, from which other facts. Approvals on their way out (`dispatch`) and
    the bus's own rows are not runs and are not touched here.
    """
    await tx.execute("delete from review where key = any($1)", await _readings(tx, contact_id))
    texts = await tx.execute(
        """update run_text set words = null, sha256 = null, redacted_at = clock_timestamp()
           where redacted_at is null
             and conversation_id in (select conversation_id from conversation where contact_id = $1)""",
        contact_id,
    )
    sent = await tx.execute(
        """delete from sent_text where contact_id = $1 or decision_id in (select d.decision_id from dispatch d
             join conversation c using (conversation_id) where c.contact_id = $1)""",
        contact_id,
    )
    return Erased(texts, sent)


async def _readings(tx: Tx, contact_id: UUID) -> list[bytes]:
    """What the classifier read in these texts is kept under a key that only the words lead to."""
    rows = await tx.rows(
        """select distinct r.tenant, t.words, r.facts -> 'promise_review' ->> 'classifier_version' as reader
           from run r join run_text t on t.text_id = r.text_id join conversation c
             on c.conversation_id = t.conversation_id
           where c.contact_id = $1 and t.words is not null and r.facts -> 'promise_review' ? 'classifier_version'""",
        contact_id,
    )
    found = ((row, words.read(row["words"])) for row in rows)
    return [key_of(Question(row["tenant"], said.body, said.evidence), row["reader"]) for row, said in found]
