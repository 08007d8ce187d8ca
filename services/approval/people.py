"""Who may do what: roles to rights, and the file of people of the local profile. API keys hold none of these rights."""

from typing import Literal
from uuid import UUID

import msgspec

from shared.web.people import Person

Right = Literal["read", "decide", "file", "own", "override_baseline", "audit", "administer"]

RIGHTS: dict[str, frozenset[Right]] = {
    "viewer": frozenset({"read"}),
    "approver": frozenset({"read", "decide", "file", "own"}),
    "auditor": frozenset({"read", "audit"}),
    "administrator": frozenset({"read", "file", "own", "override_baseline", "audit", "administer"}),
}


class PeopleFileError(Exception):
    """The people file cannot be read; the message says why."""


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One person of the people file."""

    tenant: UUID
    email: str
    name: str
    roles: tuple[Literal["viewer", "approver", "auditor", "administrator"], ...]
    language: str = "pt-BR"


def rights(person: Person) -> frozenset[Right]:
    return frozenset[Right]().union(*(RIGHTS.get(role, frozenset[Right]()) for role in person.roles))


def may(person: Person, right: Right) -> bool:
    return right in rights(person)


def read_people(text: str) -> list[Person]:
    """Decode the people file.

    Raises:
        PeopleFileError: it is not a JSON array of people, or names somebody twice.
    """
    try:
        entries = msgspec.json.decode(text, type=list[Entry])
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise PeopleFileError(f"CHANCELA_PEOPLE_FILE: {error}") from error
    people = [
        Person(tenant=e.tenant, email=e.email.strip().lower(), name=e.name, roles=e.roles, language=e.language)
        for e in entries
    ]
    emails = [person.email for person in people]
    twice = sorted({email for email in emails if emails.count(email) > 1})
    if twice:
        raise PeopleFileError(f"CHANCELA_PEOPLE_FILE names {', '.join(twice)} more than once")
    return people
