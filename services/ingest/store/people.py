"""Contacts, the forms under which they are known, and their conversations: found or opened, once, whoever asks.

Laws
- A hidden id (LID) names one person for ever; a phone number may pass to somebody else, who then has another LID.
- Two contacts that turn out to be one person become one: conversations keep their ids, so no lane moves.
- A hidden id under which a message of ours comes back is that of the person we sent it to. Where it was heard before
  that was known, its contact becomes one with theirs, and its chat leads to their conversation if nothing was said in
  its own.
- Opening happens under advisory locks on the forms, so that concurrent webhooks of a new person open one contact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import UUID

from contracts.foreign import phone_aliases
from shared.db import Row, Tx, Write
from shared.ids import new_id

Form = tuple[str, str]


class Number(Protocol):
    """A number of ours."""

    @property
    def tenant(self) -> UUID: ...
    @property
    def channel_id(self) -> UUID: ...


@dataclass(frozen=True, slots=True)
class Who:
    """A counterparty as one webhook shows it. `known_conversation` is where our own send in it belongs."""

    chat: str
    phone: str | None = None
    lid: str | None = None
    name: str = ""
    known_conversation: UUID | None = None

    @property
    def forms(self) -> Sequence[Form]:
        """Sorted, so that locks are always taken in one order."""
        user, _, server = self.chat.partition("@")
        phones = {self.phone, user if server == "c.us" else None} - {None, ""}
        lids = {self.lid, self.chat if server == "lid" else None} - {None, ""}
        forms = [("phone", form) for phone in phones for form in phone_aliases(phone or "")]
        return sorted({*forms, *(("lid", lid or "") for lid in lids)})


@dataclass(frozen=True, slots=True)
class Place:
    """A conversation, its row locked, and what changed about its contact while it was looked up."""

    conversation_id: UUID
    contact_id: UUID
    context_revision: int
    language: str
    last_outbound: str | None
    name: str
    has_phone: bool
    is_opted_out: bool
    is_new: bool = False
    has_news: bool = False
    merged: tuple[UUID, ...] = ()


_KNOWN: Final = """
select c.conversation_id, (select count(*) from alias a join unnest($3::text[], $4::text[]) as f(form, value)
  using (form, value) where a.contact_id = c.contact_id) as known_forms,
  $2 like '%@lid' and k.conversation_id <> c.conversation_id
    and (k.contact_id <> c.contact_id or c.context_revision = 0) and not exists (select from alias o
      where o.contact_id = k.contact_id and o.form = 'lid' and o.value <> $2) as is_apart
from chat join conversation c using (conversation_id) left join conversation k on k.conversation_id = $5
where chat.channel_id = $1 and chat.chat = $2
"""
_LOCK: Final = "select pg_advisory_xact_lock(hashtextextended(name, 0)) from unnest($1::text[]) as name"
_HOLD: Final = "select from conversation where conversation_id = any($1) order by conversation_id for update"
_PLACE: Final = """
select c.conversation_id, c.contact_id, c.context_revision, c.language, c.last_outbound, p.name,
  coalesce(p.consent in ('opted_out', 'erasure_requested'), false) as is_opted_out,
  exists (select from alias a where a.contact_id = p.contact_id and a.form = 'phone') as has_phone,
  (select chat.conversation_id from chat where chat.channel_id = $2 and chat.chat = $3) as leads_to
from conversation c join contact p using (contact_id) where c.conversation_id = $1
"""


async def hold(tx: Tx, conversations: Sequence[UUID]) -> None:
    """Lock them until the transaction ends, in an order that all keep."""
    await tx.rows(_HOLD, conversations)


async def find_or_open(tx: Tx, number: Number, who: Who, language: str) -> Place:
    """The conversation of a chat, locked; opened with its contact where there is none.

    Nothing is locked before it is known whether forms must be learned: their locks come before the conversation's.
    """
    known = await _known(tx, number, who)
    if known is None or known["known_forms"] < len(who.forms) or known["is_apart"]:
        return await _open(tx, number, who, language)
    row = await _place_row(tx, known["conversation_id"], number.channel_id, who.chat)
    if row["leads_to"] != row["conversation_id"]:
        row = await _place_row(tx, row["leads_to"])
    return _place(row, who)


async def _known(tx: Tx, number: Number, who: Who) -> Row | None:
    return await tx.row(_KNOWN, number.channel_id, who.chat, *_columns(who.forms), who.known_conversation)


async def conversation_of(tx: Tx, channel_id: UUID, chat: str) -> UUID | None:
    return await tx.value("select conversation_id from chat where channel_id = $1 and chat = $2", channel_id, chat)


async def locked(tx: Tx, conversation_id: UUID) -> Place:
    """A conversation that is known, locked."""
    return _place(await _place_row(tx, conversation_id), Who(chat=""))


async def _place_row(tx: Tx, conversation_id: UUID, channel_id: UUID | None = None, chat: str = "") -> Row:
    """Locked first, and read when it is: who waits for a merge sees what the merge made of the contact."""
    await hold(tx, [conversation_id])
    row = await tx.row(_PLACE, conversation_id, channel_id, chat)
    assert row is not None, "conversations are never deleted"
    return row


def _columns(forms: Sequence[Form]) -> tuple[list[str], list[str]]:
    return [form for form, _ in forms], [value for _, value in forms]


def _place(row: Row, who: Who, *, is_new: bool = False, has_news: bool = False, merged: Sequence[UUID] = ()) -> Place:
    fields = {name: row[name] for name in Place.__dataclass_fields__ if name in row.keys()}  # noqa: SIM118 - asyncpg's Record iterates over values
    is_renamed = bool(who.name) and who.name != row["name"]
    if is_renamed:
        fields["name"] = who.name
    return Place(**fields, is_new=is_new, has_news=has_news or is_renamed, merged=tuple(merged))


async def _open(tx: Tx, number: Number, who: Who, language: str) -> Place:
    await tx.rows(_LOCK, [f"{number.tenant}:{form}:{value}" for form, value in who.forms])
    known = await _known(tx, number, who)
    led = None if known is None else known["conversation_id"]
    conversation = who.known_conversation if known is None or known["is_apart"] else led
    owners = await _owners(tx, number.tenant, who)
    own = None if conversation is None else await _contact_of(tx, conversation)
    contact = own or next(iter(owners), None) or await _new_contact(tx, number.tenant)
    merged = [owner for owner in owners if owner != contact]
    await _merge(tx, merged, contact)
    learned = await _learn(tx, number.tenant, contact, who.forms)
    conversation = conversation or await _conversation(tx, number, contact, language)
    if led is not None and led != conversation:
        conversation = await _lead(tx, led, conversation)
    await tx.execute(
        "insert into chat (tenant, channel_id, chat, conversation_id) values ($1, $2, $3, $4) on conflict do nothing",
        *(number.tenant, number.channel_id, who.chat, conversation),
    )
    row = await _place_row(tx, conversation)
    is_new = own is None and not owners
    return _place(row, who, is_new=is_new, has_news=is_new or bool(merged) or "phone" in learned, merged=merged)


async def _lead(tx: Tx, led: UUID, conversation: UUID) -> UUID:
    """What led to one conversation leads to the other, if nothing was said in it. Returns where it leads."""
    await hold(tx, [led, conversation])
    if await tx.value("select context_revision > 0 from conversation where conversation_id = $1", led):
        return led
    for table in ("chat", "message"):
        await tx.execute(f"update {table} set conversation_id = $2 where conversation_id = $1", led, conversation)  # noqa: S608 - two names, written here
    return conversation


async def _owners(tx: Tx, tenant: UUID, who: Who) -> Sequence[UUID]:
    """Who is known under these forms, the one of the LID first; a phone's owner with another LID is somebody else."""
    lids = [value for form, value in who.forms if form == "lid"]
    rows = await tx.rows(
        """select a.contact_id, bool_or(a.form = 'lid') as is_by_lid
           from alias a join unnest($2::text[], $3::text[]) as f(form, value) using (form, value)
           where a.tenant = $1 and (a.form = 'lid' or cardinality($4::text[]) = 0 or not exists (
             select from alias o where o.contact_id = a.contact_id and o.form = 'lid' and o.value <> all($4)))
           group by a.contact_id order by is_by_lid desc, a.contact_id""",
        *(tenant, *_columns(who.forms), lids),
    )
    return [row["contact_id"] for row in rows]


async def _contact_of(tx: Tx, conversation_id: UUID) -> UUID:
    return await tx.value("select contact_id from conversation where conversation_id = $1", conversation_id)


async def _new_contact(tx: Tx, tenant: UUID) -> UUID:
    contact_id = new_id()
    await tx.execute("insert into contact (contact_id, tenant) values ($1, $2)", contact_id, tenant)
    return contact_id


async def _merge(tx: Tx, merged: Sequence[UUID], into: UUID) -> None:
    """One person from now on; the stricter word on being written to stands."""
    if not merged:
        return
    people = sorted([*merged, into])
    await tx.rows("select from contact where contact_id = any($1) order by contact_id for update", people)
    await tx.execute(
        """update contact set consent = (
             select consent from contact where contact_id = any($1) and consent is not null
             order by array_position(array['erasure_requested', 'opted_out', 'paused', 'opted_in'], consent) limit 1)
           where contact_id = $2""",
        *(people, into),
    )
    for table in ("alias", "conversation"):
        await tx.execute(f"update {table} set contact_id = $2 where contact_id = any($1)", merged, into)  # noqa: S608 - two names, written here
    await tx.execute(
        "update contact set merged_into = $2 where contact_id = any($1) or merged_into = any($1)", merged, into
    )


async def _learn(tx: Tx, tenant: UUID, contact: UUID, forms: Sequence[Form]) -> set[str]:
    """Note the forms; those of somebody else are this person's now. Returns the kinds that are new."""
    rows = await tx.rows(
        """insert into alias (tenant, form, value, contact_id)
           select $1, form, value, $4 from unnest($2::text[], $3::text[]) as f(form, value)
           on conflict (tenant, form, value) do update set contact_id = excluded.contact_id
           where alias.contact_id <> excluded.contact_id returning form""",
        *(tenant, *_columns(forms), contact),
    )
    return {row["form"] for row in rows}


async def _conversation(tx: Tx, number: Number, contact: UUID, language: str) -> UUID:
    """The contact's newest conversation on this number to which a chat leads, or a new one."""
    known = await tx.value(
        """select conversation_id from conversation c where contact_id = $1 and channel_id = $2
             and exists (select from chat where chat.conversation_id = c.conversation_id)
           order by created_at desc limit 1""",
        *(contact, number.channel_id),
    )
    if known is not None:
        return known
    conversation_id = new_id()
    await tx.execute(
        """insert into conversation (conversation_id, tenant, channel_id, contact_id, language)
           values ($1, $2, $3, $4, $5)""",
        *(conversation_id, number.tenant, number.channel_id, contact, language),
    )
    return conversation_id


async def chats_of(tx: Tx, conversation_id: UUID) -> Sequence[str]:
    rows = await tx.rows("select chat from chat where conversation_id = $1 order by chat", conversation_id)
    return [row["chat"] for row in rows]


def rename(contact_id: UUID, name: str) -> Write:
    return Write("update contact set name = $2 where contact_id = $1", (contact_id, name))


async def merged_into(tx: Tx, contact_id: UUID) -> UUID | None:
    """Who the contact turned out to be; its row is locked: a merge is waited for, or waits."""
    return await tx.value("select merged_into from contact where contact_id = $1 for update", contact_id)


def consent(contact_id: UUID, survivor: UUID | None, state: str) -> Write:
    """What guardrails holds, also for who the contact was merged into."""
    return Write("update contact set consent = $3 where contact_id in ($1, $2)", (contact_id, survivor, state))
