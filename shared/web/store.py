"""The SQL of people and their sessions (`tables.sql`), in the schema of each service with pages."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple
from uuid import UUID

from shared.db import Tx
from shared.retention import Class
from shared.web.claims import Identity
from shared.web.people import Person
from shared.web.secret import Secret, hash_of

SEEN_EVERY_SECONDS = 60.0
"""A session's use is written down so often, not at every request."""


ENDED_SESSIONS = Class("session", "expires_at", 0, "nobody; it is over")


class Session(NamedTuple):
    """Who a session or a local token stands for."""

    person: Person
    csrf: str
    is_token: bool
    expires_at: datetime
    age_seconds: float | None
    """Since the person last proved who they are; None where the provider does not say."""
    acr: str


class Proof(NamedTuple):
    """What a session rests on."""

    signed_in_at: datetime | None
    acr: str = ""
    id_token: str = ""


async def session(tx: Tx, secret: str, idle: timedelta, *, is_used: bool) -> Session | None:
    """The living session of an active person; that somebody used it is remembered."""
    row = await tx.row(
        """select p.tenant, p.email, p.name, p.roles, p.language, s.csrf, s.is_token, s.expires_at, s.acr,
             extract(epoch from clock_timestamp() - s.signed_in_at)::float8 as age_seconds,
             extract(epoch from clock_timestamp() - s.seen_at)::float8 as idle_seconds
           from session s join person p on p.tenant = s.tenant and p.email = s.email and p.is_active
           where s.id_hash = $1 and s.expires_at > clock_timestamp()
             and (s.is_token or s.seen_at > clock_timestamp() - $2::interval)""",
        hash_of(secret),
        idle,
    )
    if row is None:
        return None
    if is_used and row["idle_seconds"] > SEEN_EVERY_SECONDS:
        await tx.execute("update session set seen_at = clock_timestamp() where id_hash = $1", hash_of(secret))
    return Session(person_from(row), row["csrf"], row["is_token"], row["expires_at"], row["age_seconds"], row["acr"])


async def begin_session(
    tx: Tx, person: Person, secret: Secret, *, csrf: str, lasts: timedelta, proof: Proof, is_token: bool
) -> None:
    await tx.execute(
        """insert into session (tenant, id_hash, email, csrf, is_token, signed_in_at, acr, id_token, expires_at)
           values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp() + $9::interval)""",
        person.tenant, secret.hash, person.email, csrf, is_token, proof.signed_in_at, proof.acr, proof.id_token, lasts,
    )  # fmt: skip


async def end_session(tx: Tx, secret: str) -> str | None:
    """End a session; returns the id token that it began with, None when there was none."""
    return await tx.value("delete from session where id_hash = $1 returning id_token", hash_of(secret))


async def person_of(tx: Tx, email: str) -> Person | None:
    """An active person by e-mail address, whatever the tenant: for the local sign-in, on the bus role."""
    row = await tx.row(
        "select tenant, email, name, roles, language from person where email = $1 and is_active", email.strip().lower()
    )
    return person_from(row) if row else None


async def people(tx: Tx) -> Sequence[Person]:
    found = await tx.rows(
        "select tenant, email, name, roles, language from person where is_active order by name, email"
    )
    return [person_from(row) for row in found]


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


async def take_person(tx: Tx, identity: Identity) -> Person | Literal["another_account", "inactive"]:
    """Write down what the provider says of somebody; the person as they are now.

    An account keeps the address that it first came with. An address belongs to the first account that came with it, so
    that nobody inherits somebody's votes by taking over their address; a person of the people file has no account yet.
    """
    said = identity.person
    await tx.execute(
        """insert into person (tenant, email, name, roles, language, subject) values ($1, $2, $3, $4, $5, $6)
           on conflict do nothing""",
        said.tenant, said.email, said.name, list(said.roles), said.language, identity.subject,
    )  # fmt: skip
    email = await _address_of(tx, said, identity.subject)
    if email is None:
        return "another_account"
    row = await tx.row(
        """update person set name = $3, roles = $4, subject = $5, updated_at = clock_timestamp()
           where tenant = $1 and email = $2 and is_active returning tenant, email, name, roles, language""",
        said.tenant, email, said.name, list(said.roles), identity.subject,
    )  # fmt: skip
    return person_from(row) if row else "inactive"


async def _address_of(tx: Tx, said: Person, subject: str) -> str | None:
    own = await tx.value("select email from person where tenant = $1 and subject = $2", said.tenant, subject)
    if own is not None:
        return own
    return await tx.value(
        "select email from person where tenant = $1 and email = $2 and subject is null", said.tenant, said.email
    )


async def roles_gone(tx: Tx, tenant: UUID, subject: str) -> None:
    """The provider gives this account no role any more: its open sessions may do nothing either."""
    await tx.execute(
        "update person set roles = '{}', updated_at = clock_timestamp() where tenant = $1 and subject = $2",
        tenant,
        subject,
    )


def person_from(row: Any) -> Person:
    """A person of a row that has their columns."""
    return Person(
        tenant=row["tenant"], email=row["email"], name=row["name"], roles=tuple(row["roles"]), language=row["language"]
    )
