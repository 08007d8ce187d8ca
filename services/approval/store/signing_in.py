"""People, sessions and keys.

Of a secret only its hash is kept; the tenant stands in it, so that row-level security holds from the first query on.
"""

import hashlib
import secrets
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from services.approval.facts import Person
from services.approval.store import rows
from shared.db import Tx, Write

SECRET_BYTES = 32
KEY_PREFIX = "ck_"
TOKEN_PREFIX = "ct_"  # noqa: S105 - a prefix, not a secret


class Secret(NamedTuple):
    """A secret as its holder keeps it, and as we do."""

    text: str
    hash: bytes


class Session(NamedTuple):
    """Who a session or a local token stands for."""

    person: Person
    csrf: str
    is_token: bool
    expires_at: datetime


class ApiKey(NamedTuple):
    """An outside program. It is nobody: it can never decide."""

    tenant: UUID
    id: UUID
    name: str
    scopes: tuple[str, ...]
    is_internal: bool


def new_secret(tenant: UUID, prefix: str = "") -> Secret:
    text = f"{prefix}{tenant.hex}.{secrets.token_urlsafe(SECRET_BYTES)}"
    return Secret(text, hash_of(text))


def hash_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def tenant_of(secret: str) -> UUID | None:
    """The tenant that a secret says it is of; the hash decides whether it is."""
    head, _, tail = secret.removeprefix(KEY_PREFIX).removeprefix(TOKEN_PREFIX).partition(".")
    try:
        return UUID(hex=head) if tail and len(head) == 32 else None
    except ValueError:
        return None


def session_begun(person: Person, secret: Secret, csrf: str, expires_at: datetime, *, is_token: bool) -> Write:
    return Write(
        "insert into session (tenant, id_hash, email, csrf, is_token, expires_at) values ($1, $2, $3, $4, $5, $6)",
        (person.tenant, secret.hash, person.email, csrf, is_token, expires_at),
    )


def session_ended(secret: str) -> Write:
    return Write("delete from session where id_hash = $1", (hash_of(secret),))


async def session(tx: Tx, secret: str) -> Session | None:
    """The living session of an active person."""
    row = await tx.row(
        """select p.tenant, p.email, p.name, p.roles, p.language, s.csrf, s.is_token, s.expires_at
           from session s join person p on p.tenant = s.tenant and p.email = s.email and p.is_active
           where s.id_hash = $1 and s.expires_at > clock_timestamp()""",
        hash_of(secret),
    )
    return Session(rows.person(row), row["csrf"], row["is_token"], row["expires_at"]) if row else None


async def api_key(tx: Tx, secret: str) -> ApiKey | None:
    row = await tx.row(
        "select tenant, id, name, scopes, is_internal from api_key where key_hash = $1 and revoked_at is null",
        hash_of(secret),
    )
    return ApiKey(row["tenant"], row["id"], row["name"], tuple(row["scopes"]), row["is_internal"]) if row else None


def api_key_made(
    tenant: UUID, key_id: UUID, name: str, secret: Secret, scopes: Sequence[str], *, is_internal: bool, by: str
) -> Write:
    """A key; its secret is shown once."""
    return Write(
        """insert into api_key (tenant, id, name, key_hash, scopes, is_internal, created_by)
           values ($1, $2, $3, $4, $5, $6, $7)""",
        (tenant, key_id, name, secret.hash, list(scopes), is_internal, by),
    )


def api_key_revoked(key_id: UUID) -> Write:
    return Write("update api_key set revoked_at = coalesce(revoked_at, clock_timestamp()) where id = $1", (key_id,))


async def person_of(tx: Tx, email: str) -> Person | None:
    """An active person by e-mail address, whatever the tenant: for the local sign-in, on the bus role."""
    row = await tx.row(
        "select tenant, email, name, roles, language from person where email = $1 and is_active", email.strip().lower()
    )
    return rows.person(row) if row else None


async def people(tx: Tx) -> Sequence[Person]:
    found = await tx.rows(
        "select tenant, email, name, roles, language from person where is_active order by name, email"
    )
    return [rows.person(row) for row in found]


async def people_are(tx: Tx, people: Sequence[Person]) -> None:
    """The people file is the truth of the local profile: who is not in it can no longer sign in or decide."""
    await tx.many(
        """insert into person (tenant, email, name, roles, language) values ($1, $2, $3, $4, $5)
           on conflict (tenant, email) do update set name = excluded.name, roles = excluded.roles,
             language = excluded.language, is_active = true, updated_at = clock_timestamp()""",
        [(p.tenant, p.email, p.name, list(p.roles), p.language) for p in people],
    )
    await tx.execute(
        "update person set is_active = false where is_active and not (email = any($1))", [p.email for p in people]
    )
