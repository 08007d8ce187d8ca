"""What handlers and decisions read, under their locks: always the conversation first, then its obligations.

Laws
- Whoever changes an obligation holds its conversation's row: filing, deciding and hearing never interleave.
- A batch locks its conversations sorted, so that two batches cannot wait for each other.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import UUID

from contracts.messages import ConversationMessage, DraftCleared, HandoffRequested
from services.approval import filing
from services.approval.baseline import Answer, Available, BaselineSource
from services.approval.facts import Conversation, Obligation, Version
from services.approval.lifecycle import Case
from services.approval.store import rows
from shared.bus import Heard
from shared.bus.effects import Load
from shared.db import Tx
from shared.seal import new_salt
from shared.web.people import Person
from shared.web.store import person_from

F = TypeVar("F")

_NEWEST_FACTS = 20


class FactsTable:
    """The built-in baseline source: the facts that the operator service and `PUT /v1/baseline` recorded."""

    async def ask(self, tx: Tx, tenant: UUID, contact_id: UUID) -> Answer:
        """The newest facts, and every contract."""
        found = await tx.rows(
            """select kind, subject, value, source, observed_at from fact
               where tenant = $1 and contact_id = $2 order by observed_at desc, id limit $3""",
            tenant,
            contact_id,
            _NEWEST_FACTS,
        )
        contracts = await tx.rows(
            """select kind, subject, value, source, observed_at from fact where tenant = $1 and contact_id = $2
               and kind in ('contract_signed', 'contract_delivered') order by observed_at desc, id""",
            tenant,
            contact_id,
        )
        facts = {rows.fact(row): None for row in (*found, *contracts)}
        return Available(tuple(sorted(facts, key=lambda fact: fact.observed_at, reverse=True)))


@dataclass(frozen=True, slots=True)
class Filing:
    """A draft with what filing must know."""

    draft: filing.Draft
    facts: filing.Facts


@dataclass(frozen=True, slots=True)
class InConversation:
    """A conversation with the obligations that an event in it may touch."""

    conversation: Conversation | None
    alive: tuple[Obligation, ...] = ()
    salt: bytes = b""


@dataclass(frozen=True, slots=True)
class OfDecision:
    """The obligation that guardrails or delivery speak of, with the version that the decision was about."""

    obligation: Obligation
    decided: Version
    has_sibling: bool
    salt: bytes


def locked(load_one: Callable[[Tx, Heard[Any]], Awaitable[F]]) -> Load:
    """A `load` that locks the conversations of the batch, sorted, before it reads."""

    async def load(tx: Tx, heard: Sequence[Heard[Any]]) -> Sequence[F]:
        await lock_conversations(tx, [one.message.conversation_id for one in heard])
        return [await load_one(tx, one) for one in heard]

    return load


async def lock_conversations(tx: Tx, ids: Sequence[UUID]) -> None:
    await tx.rows("select id from conversation where id = any($1) order by id for update", sorted(set(ids)))


async def lock_baseline(tx: Tx, contact_id: UUID) -> None:
    """One replacement of a contact's facts after the other: none could delete what another has not committed."""
    await tx.execute("select pg_advisory_xact_lock(hashtextextended('baseline:' || $1::text, 0))", str(contact_id))


def cleared(source: BaselineSource) -> Load:
    """A `load` of cleared drafts. One may come before its conversation's first message: other stream."""

    async def load(tx: Tx, heard: Sequence[Heard[DraftCleared]]) -> Sequence[Filing]:
        await _make_conversations(tx, heard)
        await lock_conversations(tx, [one.message.conversation_id for one in heard])
        return [await _filing(tx, one.message, source) for one in heard]

    return load


async def handed_off(tx: Tx, heard: Sequence[Heard[HandoffRequested]]) -> Sequence[InConversation]:
    """As for drafts: the request may come before the conversation's first message."""
    await _make_conversations(tx, heard)
    await lock_conversations(tx, [one.message.conversation_id for one in heard])
    return [await in_conversation(tx, one) for one in heard]


async def _make_conversations(tx: Tx, heard: Sequence[Heard[DraftCleared]] | Sequence[Heard[HandoffRequested]]) -> None:
    messages = sorted((one.message for one in heard), key=lambda m: m.conversation_id)
    await tx.many(
        "insert into conversation (tenant, id, contact_id) values ($1, $2, $3) on conflict (id) do nothing",
        [(m.tenant, m.conversation_id, m.contact_id) for m in messages],
    )


async def _filing(tx: Tx, m: DraftCleared, source: BaselineSource) -> Filing:
    conversation = await conversation_of(tx, m.conversation_id)
    assert conversation is not None  # made by the load, and never deleted
    submitted = await tx.row(
        "select author, context, summary, override_by, receipt from submitted where id = $1", m.draft_id
    )
    name = await tx.value("select name from contact where id = $1", m.contact_id)
    draft = filing.Draft(
        tenant=m.tenant,
        draft_id=m.draft_id,
        turn_id=m.turn_id,
        origin=m.origin,
        author=submitted["author"] if submitted else "agent",
        conversation_id=m.conversation_id,
        contact_id=m.contact_id,
        destination=m.destination,
        kind=m.kind,
        body=m.body,
        drafted_body=m.drafted_body,
        language=m.language,
        context_revision=m.context_revision,
        context=submitted["context"] if submitted else m.reason,
        summary=submitted["summary"] if submitted else "",
        counterparty=name or "",
        evidence=m.evidence,
        verdicts=m.verdicts,
        classes=m.classes,
        chain_version=m.chain_version,
        chain_hash=m.chain_hash,
        facts_digest=m.facts_digest,
        redraft_of=m.redraft_of,
        override_by=(submitted["override_by"] or "") if submitted else "",
        receipt=submitted["receipt"] if submitted else "quiet",
    )
    same_kind = [one for one in await alive(tx, m.conversation_id) if one.kind == m.kind]
    facts = filing.Facts(
        conversation=conversation,
        standing=next((one for one in same_kind if one.state in {"open", "waiting_agent"}), None),
        leaving=next((one for one in same_kind if one.is_leaving), None),
        named=await obligation(tx, m.redraft_of.obligation_id) if m.redraft_of else None,
        uncertain=next((one for one in same_kind if one.state == "uncertain"), None),
        baseline=await source.ask(tx, m.tenant, m.contact_id),
        salt=new_salt(),
    )
    return Filing(draft, facts)


async def conversation_of(tx: Tx, conversation_id: UUID) -> Conversation | None:
    row = await tx.row(f"{rows.CONVERSATION} where id = $1", conversation_id)
    return rows.conversation(row) if row else None


async def obligation(tx: Tx, obligation_id: UUID) -> Obligation | None:
    row = await tx.row(f"{rows.OBLIGATION} where o.id = $1", obligation_id)
    return rows.obligation(row) if row else None


_ALIVE: Final = (
    rows.OBLIGATION
    + """where o.conversation_id = $1 and o.state in ('open', 'waiting_agent', 'approved', 'uncertain', 'failed')
         order by o.opened_at, o.id"""
)


async def alive(tx: Tx, conversation_id: UUID) -> tuple[Obligation, ...]:
    """The obligations of a conversation that are not over."""
    return tuple(rows.obligation(row) for row in await tx.rows(_ALIVE, conversation_id))


async def in_conversation(tx: Tx, heard: Heard[ConversationMessage] | Heard[HandoffRequested]) -> InConversation:
    return await talk(tx, heard.message.conversation_id)


async def talk(tx: Tx, conversation_id: UUID) -> InConversation:
    return InConversation(await conversation_of(tx, conversation_id), await alive(tx, conversation_id), new_salt())


async def has_alert(tx: Tx, alert_id: UUID) -> bool:
    return await tx.value("select exists (select 1 from alert where id = $1)", alert_id)


_DECIDED: Final = (
    rows.VERSION  # noqa: S608 - constants
    + """where obligation_id = $1
         and epoch = (select s.epoch from snapshot s where s.decision_id = $2 and s.obligation_id = $1)"""
)


async def of_decision(tx: Tx, heard: Heard[Any]) -> OfDecision | None:
    """None when the decision is not of this database (restored, or foreign): the ledger cannot hold it."""
    message = heard.message
    found = await obligation(tx, message.obligation_id)
    decided = await tx.row(_DECIDED, message.obligation_id, message.decision_id)
    if found is None or decided is None:
        return None
    sibling = await tx.value(
        """select exists (select 1 from obligation where conversation_id = $1 and kind = $2 and id <> $3
             and state in ('open', 'waiting_agent'))""",
        found.conversation_id,
        found.kind,
        found.id,
    )
    return OfDecision(found, rows.version(decided), sibling, new_salt())


async def case(tx: Tx, obligation_id: UUID, email: str) -> Case | None:
    """Everything that a decision asks, locked."""
    conversation_id = await tx.value("select conversation_id from obligation where id = $1", obligation_id)
    if conversation_id is None:
        return None
    await lock_conversations(tx, [conversation_id])
    await tx.row("select id from obligation where id = $1 for update", obligation_id)
    return await case_as_it_stands(tx, obligation_id, email)


async def case_as_it_stands(tx: Tx, obligation_id: UUID, email: str) -> Case | None:
    """The same without locks: for pages, which decide nothing."""
    found = await obligation(tx, obligation_id)
    if found is None:
        return None
    conversation = await conversation_of(tx, found.conversation_id)
    assert conversation is not None  # a foreign key says so
    uncertain = await tx.rows(
        """select v.body_sha256 from obligation o join snapshot s on s.decision_id = o.decision_id
           join version v on v.obligation_id = o.id and v.epoch = s.epoch
           where o.conversation_id = $1 and o.state = 'uncertain'""",
        found.conversation_id,
    )
    return Case(
        obligation=found,
        conversation=conversation,
        person=await person(tx, email),
        uncertain_bodies=frozenset(row["body_sha256"] for row in uncertain),
    )


async def person(tx: Tx, email: str) -> Person | None:
    """An active person of the transaction's tenant (web role), as the database has them now."""
    row = await tx.row(
        """select tenant, email, name, roles, language from person
           where email = $1 and is_active and tenant = nullif(current_setting('app.tenant', true), '')::uuid""",
        email,
    )
    return person_from(row) if row else None
