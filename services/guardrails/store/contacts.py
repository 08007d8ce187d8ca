"""Who may be written to: contacts, the ids under which one person is known, and what they wish.

Laws
- Contacts that turn out to be one person stay known under every id; `survivor` is the one whose row counts. What the
  person wishes is kept in the rows of all of them.
- Whoever changes a wish or merges holds the rows of all ids concerned, so that neither misses the other.
- A merge tightens only: whoever asked to be left alone under another id stays left alone.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from contracts import messages as m
from shared.bus import Heard
from shared.db import Row, Tx, Write

Wish = Literal["paused", "opted_out", "erasure_requested"]

_COLUMN: Final[dict[Wish, str]] = {
    "paused": "paused_at",
    "opted_out": "opted_out_at",
    "erasure_requested": "erasure_asked_at",
}
"""The stricter the later: who hears of a contact knows one state of them."""
_KNOWN: Final = "insert into contact (contact_id, tenant) values ($1, $2) on conflict do nothing"
_HOLD: Final = """
select contact_id, opted_out_at from contact where contact_id = any($1) or merged_into = any($1)
order by contact_id for update
"""
_INHERIT: Final = """
update contact c set opted_out_at = coalesce(c.opted_out_at, o.opted_out_at),
  paused_at = coalesce(c.paused_at, o.paused_at), is_blocked = c.is_blocked or o.is_blocked,
  erasure_asked_at = coalesce(c.erasure_asked_at, o.erasure_asked_at),
  first_sent_at = coalesce(c.first_sent_at, o.first_sent_at)
from (select min(opted_out_at) as opted_out_at, min(paused_at) as paused_at, bool_or(is_blocked) as is_blocked,
        min(erasure_asked_at) as erasure_asked_at, min(first_sent_at) as first_sent_at
      from contact where contact_id = any($1)) o where c.contact_id = any($1)
"""


class Sender(msgspec.Struct, frozen=True):
    """Whoever wrote, as they were known before: all their ids, the survivor first."""

    ids: tuple[UUID, ...]
    is_opted_out: bool = False


class Merged(msgspec.Struct, frozen=True):
    """What a merge tells: the strictest wish of the person, and under which of their ids it was not known."""

    wish: Wish
    untold: tuple[UUID, ...]


async def row_of(tx: Tx, contact_id: UUID) -> Row | None:
    return await tx.row("select * from contact where contact_id = survivor($1)", contact_id)


async def senders(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[Sender]:
    """Whoever wrote; where they wish something about being written to, held: a merge beside it is waited for."""
    found: list[Sender] = []
    for one in heard:
        message: m.MessageReceived | m.MessageEdited = one.message
        is_wish = message.opt_out != "none"
        found.append(await _held(tx, message) if is_wish else Sender((message.contact_id,)))
    return found


async def _held(tx: Tx, message: m.MessageReceived | m.MessageEdited) -> Sender:
    await tx.execute(_KNOWN, message.contact_id, message.tenant)
    await tx.rows(_HOLD, [message.contact_id, await _survivor(tx, message.contact_id)])
    survivor = await _survivor(tx, message.contact_id)
    out = {row["contact_id"]: row["opted_out_at"] is not None for row in await tx.rows(_HOLD, [survivor])}
    return Sender((survivor, *(one for one in out if one != survivor)), out[survivor])


async def _survivor(tx: Tx, contact_id: UUID) -> UUID:
    return await tx.value("select survivor($1)", contact_id)


async def merges(tx: Tx, heard: Sequence[Heard[m.ContactSeen]]) -> Sequence[Merged | None]:
    """Make one person of those who are; None where nobody has to hear of a wish.

    Here and not in writes: of two merges in one batch the second starts from what the first left.
    """
    return [await _merge(tx, one.message) if one.message.merged_contact_ids else None for one in heard]


async def _merge(tx: Tx, message: m.ContactSeen) -> Merged | None:
    ids = sorted({message.contact_id, *message.merged_contact_ids})
    await tx.many(_KNOWN, [(contact_id, message.tenant) for contact_id in ids])
    await tx.rows(_HOLD, ids)
    survivor = await _survivor(tx, message.contact_id)
    rows = await tx.rows(
        "select * from contact where contact_id = any($1) or merged_into = any($1) order by contact_id for update",
        [survivor, *ids],
    )
    person = [row["contact_id"] for row in rows]
    others = [contact_id for contact_id in person if contact_id != survivor]
    await tx.execute(_INHERIT, person)
    await tx.execute("update contact set merged_into = $1 where contact_id = any($2)", survivor, others)
    await tx.execute("update conversation set contact_id = $1 where contact_id = any($2)", survivor, others)
    return _told(rows)


def _told(rows: Sequence[Row]) -> Merged | None:
    for wish in reversed(_COLUMN):
        if any(row[_COLUMN[wish]] for row in rows):
            untold = tuple(row["contact_id"] for row in rows if not row[_COLUMN[wish]])
            return Merged(wish, untold) if untold else None
    return None


def known(message: m.ContactSeen) -> Write:
    return Write(_KNOWN, (message.contact_id, message.tenant))


def wrote_first(message: m.MessageReceived) -> Write:
    """Whoever writes to us may be answered; a stronger basis on record stays."""
    return Write(
        """insert into contact (contact_id, tenant, consent) values (survivor($1), $2, 'conversation')
           on conflict (contact_id) do update set
             consent = case when contact.consent = 'none' then 'conversation' else contact.consent end""",
        (message.contact_id, message.tenant),
    )


def consent(change: m.ConsentChanged) -> Write:
    """Of the survivor, and under all their other ids."""
    whose = "contact_id = $1 or merged_into = $1"
    if change.state == "opted_in":
        return Write(
            f"update contact set opted_out_at = null, paused_at = null where {whose}",  # noqa: S608 - a constant
            (change.contact_id,),
        )
    extra = ", opted_out_at = coalesce(opted_out_at, $2)" if change.state == "erasure_requested" else ""
    name = _COLUMN[change.state]
    return Write(
        f"update contact set {name} = coalesce({name}, $2){extra} where {whose}",  # noqa: S608 - a column of the table above
        (change.contact_id, change.at),
    )
