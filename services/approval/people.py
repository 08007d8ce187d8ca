"""Who may do what: roles to rights. API keys hold none of these rights."""

from typing import Literal

from shared.web.people import Person

Right = Literal["read", "decide", "file", "own", "override_baseline", "audit", "administer"]

RIGHTS: dict[str, frozenset[Right]] = {
    "viewer": frozenset({"read"}),
    "approver": frozenset({"read", "decide", "file", "own"}),
    "auditor": frozenset({"read", "audit"}),
    "administrator": frozenset({"read", "file", "own", "override_baseline", "audit", "administer"}),
}


def rights(person: Person) -> frozenset[Right]:
    return frozenset[Right]().union(*(RIGHTS.get(role, frozenset[Right]()) for role in person.roles))


def may(person: Person, right: Right) -> bool:
    return right in rights(person)
