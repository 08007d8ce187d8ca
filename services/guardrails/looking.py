"""The SQL of what people look at. It runs as the web role: a person sees their tenant's rows and no others.

Lists are read a page at a time: what comes after a row is found by the row's own place in the order, however long the
list is.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple
from uuid import UUID

import msgspec

from services.guardrails.gate import Verdict
from services.guardrails.rules import Rules
from shared.db import Row, Tx

PREVIEW_CHARACTERS: Final = 140
NO_WISH: Final = "timestamptz '1970-01-01 00:00:00+00'"
_WISH: Final = f"coalesce(c.opted_out_at, c.erasure_asked_at, c.paused_at, {NO_WISH})"
"""As the index `contact_by_wish` has it."""

_verdicts = msgspec.json.Decoder(tuple[Verdict, ...])
_rules = msgspec.json.Decoder(Rules)

Place = tuple[datetime, UUID]
"""Of a row in a list: its time, and its id where two have the same."""


# ---------------------------------------------------------------------------------------------------------------- runs


class Tally(NamedTuple):
    """Vetoes of one gate with one code."""

    gate: str
    code: str
    vetoes: int


class Wanted(NamedTuple):
    """Which runs are asked for; what is empty or none does not matter."""

    gate: str = ""
    code: str = ""
    outcome: str = ""
    phase: str = ""
    since: datetime | None = None
    until: datetime | None = None


class RunLine(NamedTuple):
    """A run in a list."""

    run_id: UUID
    at: datetime
    phase: str
    outcome: str
    gate: str
    code: str
    preview: str


class Run(NamedTuple):
    """A run as it is kept. `draft` and `facts` are as a release wrote them that may be older than this one."""

    run_id: UUID
    draft_id: UUID
    conversation_id: UUID
    at: datetime
    phase: str
    outcome: str
    gate: str
    code: str
    verdicts: tuple[Verdict, ...]
    draft: dict[str, Any]
    facts: dict[str, Any]
    chain_version: int
    chain_hash: str


async def tallies(tx: Tx, since: datetime, until: datetime) -> Sequence[Tally]:
    """The vetoes of a time, the most frequent first."""
    found = await tx.rows(
        """select gate, code, count(*) as vetoes from run where outcome = 'vetoed' and at >= $1 and at < $2
           group by gate, code order by vetoes desc, gate, code""",
        since,
        until,
    )
    return [Tally(*row) for row in found]


async def outcomes(tx: Tx, since: datetime, until: datetime) -> dict[str, int]:
    found = await tx.rows(
        "select outcome, count(*) as count from run where at >= $1 and at < $2 group by outcome", since, until
    )
    return {row["outcome"]: row["count"] for row in found}


async def runs(tx: Tx, wanted: Wanted, after: Place | None, limit: int) -> Sequence[RunLine]:
    """The newest first."""
    at, run_id = after or (None, None)
    found = await tx.rows(
        """select run_id, at, phase, outcome, gate, code, coalesce(left(draft->>'body', $9), '') as preview from run
           where ($1 = '' or gate = $1) and ($2 = '' or code = $2) and ($3 = '' or outcome = $3)
             and ($4 = '' or phase = $4) and ($5::timestamptz is null or at >= $5)
             and ($6::timestamptz is null or at < $6)
             and ($7::timestamptz is null or (at, run_id) < ($7, $8::uuid))
           order by at desc, run_id desc limit $10""",
        *wanted,
        at,
        run_id,
        PREVIEW_CHARACTERS,
        limit,
    )
    return [RunLine(**dict(row)) for row in found]


async def run(tx: Tx, run_id: UUID) -> Run | None:
    row = await tx.row(
        """select run_id, draft_id, conversation_id, at, phase, outcome, gate, code, verdicts, draft, facts,
             chain_version, chain_hash from run where run_id = $1""",
        run_id,
    )
    if row is None:
        return None
    columns = dict(row)
    columns["verdicts"] = _verdicts.decode(row["verdicts"])
    columns["draft"] = msgspec.json.decode(row["draft"] or "{}")
    columns["facts"] = msgspec.json.decode(row["facts"] or "{}")
    return Run(**columns)


async def runs_of_draft(tx: Tx, draft_id: UUID, limit: int = 20) -> Sequence[RunLine]:
    """All that was judged under the same draft, the newest first."""
    found = await tx.rows(
        """select run_id, at, phase, outcome, gate, code, '' as preview from run where draft_id = $1
           order by at desc, run_id desc limit $2""",
        draft_id,
        limit,
    )
    return [RunLine(**dict(row)) for row in found]


# --------------------------------------------------------------------------------------------------------------- rules


class Version(NamedTuple):
    """A version of the tenant's rules; without an author it is that of the first start."""

    version: int
    rules: Rules
    author: str
    reason: str
    repeats: int | None
    created_at: datetime | None


NO_RULES: Final = Version(0, Rules(), "", "", None, None)
"""What holds where nobody has saved any."""


async def rules_in_force(tx: Tx) -> Version:
    return _version(await tx.row(f"{_VERSIONS} order by version desc limit 1")) or NO_RULES


async def rules_of_version(tx: Tx, version: int) -> Version | None:
    return _version(await tx.row(f"{_VERSIONS} where version = $1", version))


async def rules_history(tx: Tx, before: int | None, limit: int) -> Sequence[Version]:
    """The newest first; those before a version."""
    found = await tx.rows(
        f"{_VERSIONS} where $1::integer is null or version < $1 order by version desc limit $2", before, limit
    )
    return [version for row in found if (version := _version(row))]


_VERSIONS: Final = "select version, rules, author, reason, repeats, created_at from rules"


def _version(row: Row | None) -> Version | None:
    if row is None:
        return None
    columns = dict(row)
    columns["rules"] = _rules.decode(row["rules"])
    return Version(**columns)


# ------------------------------------------------------------------------------------------------- contacts' own wishes


class ContactLine(NamedTuple):
    """A contact in the register. `state`: the strongest of what holds; `since`: when the newest wish was heard."""

    contact_id: UUID
    name: str
    state: str
    consent: str
    since: datetime | None
    place: datetime


class Entry(NamedTuple):
    """A line of a contact's history."""

    state: str
    cause_id: UUID | None
    at: datetime


_STATE: Final = """case when c.is_anonymised then 'anonymised'
  when c.erasure_asked_at is not null then 'erasure_requested'
  when c.opted_out_at is not null then 'opted_out' when c.is_blocked then 'blocked'
  when c.paused_at is not null then 'paused' else 'reachable' end"""
_CONTACTS: Final = f"""select c.contact_id, case when c.is_anonymised then '' else c.name end as name,
  {_STATE} as state, c.consent, coalesce(c.opted_out_at, c.erasure_asked_at, c.paused_at) as since,
  {_WISH} as place from contact c"""  # noqa: S608 - constants


async def contacts(tx: Tx, state: str, words: str, after: Place | None, limit: int) -> Sequence[ContactLine]:
    """Those with the newest wish first. `state`: one of the register's, or empty; `words`: of the name, or an id."""
    at, contact_id = after or (None, None)
    found = await tx.rows(
        f"""{_CONTACTS} where ($1 = '' or {_STATE} = $1)
             and ($2 = '' or position(lower($2) in lower(c.name)) > 0 or c.contact_id::text = lower($2)
               or c.contact_id in (select contact_id from conversation where conversation_id::text = lower($2)))
             and ($3::timestamptz is null or ({_WISH}, c.contact_id) < ($3, $4::uuid))
           order by {_WISH} desc, c.contact_id desc limit $5""",  # noqa: S608 - constants
        state,
        words,
        at,
        contact_id,
        limit,
    )
    return [ContactLine(**dict(row)) for row in found]


async def contact(tx: Tx, contact_id: UUID) -> ContactLine | None:
    row = await tx.row(f"{_CONTACTS} where c.contact_id = $1", contact_id)
    return ContactLine(**dict(row)) if row else None


async def consent_history(tx: Tx, contact_id: UUID, limit: int = 200) -> Sequence[Entry]:
    """The newest first."""
    found = await tx.rows(
        "select state, cause_id, at from consent_history where contact_id = $1 order by entry_id desc limit $2",
        contact_id,
        limit,
    )
    return [Entry(**dict(row)) for row in found]


# ---------------------------------------------------------------------------------------------------- what people did


class Dispute(NamedTuple):
    """A person says that a veto was wrong. `is_kept`: whether its run can still be looked at."""

    dispute_id: int
    run_id: UUID
    gate: str
    code: str
    author: str
    reason: str
    at: datetime
    is_kept: bool


class Act(NamedTuple):
    """Something that a person changed."""

    act_id: int
    author: str
    what: str
    subject: str
    reason: str
    at: datetime


_DISPUTES: Final = """select d.dispute_id, d.run_id, d.gate, d.code, d.author, d.reason, d.at,
    r.run_id is not null as is_kept
  from dispute d left join run r on r.run_id = d.run_id"""


async def disputes(tx: Tx, gate: str, before: int | None, limit: int) -> Sequence[Dispute]:
    """The newest first."""
    found = await tx.rows(
        f"""{_DISPUTES} where ($1 = '' or d.gate = $1) and ($2::bigint is null or d.dispute_id < $2)
           order by d.dispute_id desc limit $3""",
        gate,
        before,
        limit,
    )
    return [Dispute(**dict(row)) for row in found]


async def disputes_of(tx: Tx, run_id: UUID) -> Sequence[Dispute]:
    found = await tx.rows(f"{_DISPUTES} where d.run_id = $1 order by d.dispute_id", run_id)
    return [Dispute(**dict(row)) for row in found]


async def acts(tx: Tx, before: int | None, limit: int) -> Sequence[Act]:
    """The newest first."""
    found = await tx.rows(
        """select act_id, author, what, subject, reason, at from act where $1::bigint is null or act_id < $1
           order by act_id desc limit $2""",
        before,
        limit,
    )
    return [Act(**dict(row)) for row in found]
