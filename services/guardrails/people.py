"""Who may do what on these pages: the roles that people have everywhere, to rights here."""

from typing import Final, Literal

from shared.web.people import Person

Right = Literal["read", "dispute", "change"]

RIGHTS: Final[dict[str, frozenset[Right]]] = {
    "viewer": frozenset({"read"}),
    "approver": frozenset({"read", "dispute"}),
    "auditor": frozenset({"read"}),
    "administrator": frozenset({"read", "dispute", "change"}),
}


def may(person: Person, right: Right) -> bool:
    return any(right in RIGHTS.get(role, frozenset[Right]()) for role in person.roles)
