"""Rows to values: the one place that knows the ledger's columns."""

import re
from typing import Any, Final

import msgspec

from contracts.messages import Destination
from services.approval.facts import Banner, Basis, Conversation, Fact, Obligation, Version

OBLIGATION: Final = """
select o.tenant, o.id, o.conversation_id, o.contact_id, o.kind, o.state, o.epoch, o.rounds, o.opened_at, o.expires_at,
  o.decision_id, o.decided_by, o.decided_at, o.delivery, o.leaves_at, o.banners,
  v.draft_id, v.turn_id, v.origin, v.author, v.body, v.drafted_body, v.body_sha256, v.destination, v.salt, v.commitment,
  v.context_revision, v.context, v.summary, v.language, v.basis, v.filed_at,
  coalesce(s.context_revision, 0) as approved_revision
from obligation o join version v on v.obligation_id = o.id and v.epoch = o.epoch
  left join snapshot s on s.decision_id = o.decision_id
"""
CONVERSATION: Final = """
select tenant, id, contact_id, channel_id, destination, language, context_revision, owner_state, owner_person,
  owner_version, last_trigger_id from conversation
"""
VERSION: Final = """
select epoch, draft_id, turn_id, origin, author, body, drafted_body, body_sha256, destination, salt, commitment,
  context_revision, context, summary, language, basis, filed_at from version
"""

_NUL: Final = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")

_destination = msgspec.json.Decoder(Destination)
_basis = msgspec.json.Decoder(Basis)
_banners = msgspec.json.Decoder(tuple[Banner, ...])


def text(value: object) -> str:
    """A value as the text of a jsonb column. Postgres keeps no NUL; a sign stands where one was."""
    return _NUL.sub(r"\1\\ufffd", msgspec.json.encode(value).decode())


def storable(value: object) -> object:
    """The same for plain columns. Texts that people decide have none left: `filing.py` took it out, and counted it."""
    return value.replace("\x00", "\ufffd") if isinstance(value, str) else value


def version(row: Any) -> Version:
    return Version(
        epoch=row["epoch"],
        draft_id=row["draft_id"],
        turn_id=row["turn_id"],
        origin=row["origin"],
        author=row["author"],
        body=row["body"],
        drafted_body=row["drafted_body"],
        destination=_destination.decode(row["destination"]),
        salt=row["salt"] or b"",
        commitment=row["commitment"],
        context_revision=row["context_revision"],
        context=row["context"],
        summary=row["summary"],
        language=row["language"],
        basis=_basis.decode(row["basis"]),
        filed_at=row["filed_at"],
        body_sha256=row["body_sha256"],
    )


def obligation(row: Any) -> Obligation:
    return Obligation(
        tenant=row["tenant"],
        id=row["id"],
        conversation_id=row["conversation_id"],
        contact_id=row["contact_id"],
        kind=row["kind"],
        state=row["state"],
        rounds=row["rounds"],
        opened_at=row["opened_at"],
        expires_at=row["expires_at"],
        version=version(row),
        decision_id=row["decision_id"],
        decided_by=row["decided_by"],
        decided_at=row["decided_at"],
        delivery=row["delivery"],
        leaves_at=row["leaves_at"],
        banners=_banners.decode(row["banners"]),
        approved_revision=row["approved_revision"],
    )


def conversation(row: Any) -> Conversation:
    return Conversation(
        tenant=row["tenant"],
        id=row["id"],
        contact_id=row["contact_id"],
        channel_id=row["channel_id"],
        destination=_destination.decode(row["destination"]) if row["destination"] else None,
        language=row["language"],
        context_revision=row["context_revision"],
        owner_state=row["owner_state"],
        owner_person=row["owner_person"],
        owner_version=row["owner_version"],
        last_trigger_id=row["last_trigger_id"],
    )


def fact(row: Any) -> Fact:
    return Fact(
        kind=row["kind"],
        subject=row["subject"],
        value=row["value"],
        source=row["source"],
        observed_at=row["observed_at"],
    )
