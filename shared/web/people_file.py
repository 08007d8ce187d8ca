"""The people file of the local profile: who may sign in there, as what."""

from collections.abc import Collection
from pathlib import Path
from uuid import UUID

import msgspec

from shared.config import ConfigError
from shared.db import Database
from shared.web import store
from shared.web.people import Person


class PeopleFileError(Exception):
    """The people file cannot be read; the message says why."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person of the people file."""

    tenant: UUID
    email: str
    name: str
    roles: tuple[str, ...]
    language: str = "pt-BR"


def read_people(text: str, known_roles: Collection[str]) -> list[Person]:
    """Decode the people file.

    Raises:
        PeopleFileError: it is not a JSON array of people, names somebody twice, or a role that the service has not.
    """
    try:
        entries = msgspec.json.decode(text, type=list[Entry])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise PeopleFileError(f"CHANCELA_PEOPLE_FILE: {error}") from error
    if unknown := sorted({role for entry in entries for role in entry.roles} - set(known_roles)):
        raise PeopleFileError(f"CHANCELA_PEOPLE_FILE: {unknown[0]} is none of {', '.join(sorted(known_roles))}")
    people = [
        Person(tenant=e.tenant, email=e.email.strip().lower(), name=e.name, roles=e.roles, language=e.language)
        for e in entries
    ]
    emails = [person.email for person in people]
    twice = sorted({email for email in emails if emails.count(email) > 1})
    if twice:
        raise PeopleFileError(f"CHANCELA_PEOPLE_FILE names {', '.join(twice)} more than once")
    return people


async def take_people(db: Database, path: Path, known_roles: Collection[str]) -> None:
    """Make the file the truth about who may sign in.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        people = read_people(path.read_text(encoding="utf-8"), known_roles)  # noqa: ASYNC240 - once, before anything is served
    except (OSError, PeopleFileError) as error:
        raise ConfigError(f"CHANCELA_PEOPLE_FILE={path}: {error}") from error
    async with db.transaction() as tx:
        await store.people_are(tx, people)
