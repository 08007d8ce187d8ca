"""Who a provider's claims say somebody is, by the mapping of this installation. Pure.

Laws
- Nobody is let in by default: without a tenant and an address of their own a person is nobody, with the reason; without
  a role they may do nothing, and are not let in either.
- What the mapping does not name gives nothing; a claim of another form than expected counts as absent.
- A person is the provider's `sub`, which never changes; the address is how others see them.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from shared.web.languages import language_of
from shared.web.people import Person

Path = str | tuple[str, ...]
"""A claim by its name, or the way to one inside another: `["realm_access", "roles"]`."""
WhyNobody = Literal["no_email", "unverified_email", "no_tenant", "several_tenants"]
NAME_LIMIT: Final = 200
_ADDRESS: Final = re.compile(r"[!-?A-~]{1,64}@[!-?A-~]{1,255}")


class MappingError(Exception):
    """The mapping does not describe how claims become people; the message says why."""


class Tenants(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`{"always": id}` for everybody, or `{"claim": path, "values": {value: id}}`."""

    always: UUID | None = None
    claim: Path | None = None
    values: dict[str, UUID] = {}


class Roles(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`{"claim": path, "values": {value: [role, …]}}`."""

    claim: Path
    values: dict[str, tuple[str, ...]]


class ClaimsMapping(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which claim says what."""

    tenant: Tenants
    roles: Roles
    email: Path = "email"
    name: Path = "name"
    language: Path = "locale"

    def is_answered_by(self, claims: Mapping[str, Any]) -> bool:
        """Whether nothing that decides about a person would have to be asked for elsewhere."""
        wanted = (self.email, self.roles.claim, *((self.tenant.claim,) if self.tenant.claim else ()))
        return all(_at(claims, path) is not None for path in wanted)


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """A person, and the account at the provider that they are."""

    person: Person
    subject: str


def read_mapping(text: str, known_roles: Collection[str]) -> ClaimsMapping:
    """Decode a mapping.

    Raises:
        MappingError: it is not one, or names a role that the service does not know.
    """
    try:
        mapping = msgspec.json.decode(text, type=ClaimsMapping)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise MappingError(str(error)) from error
    if (mapping.tenant.always is None) == (mapping.tenant.claim is None):
        raise MappingError('tenant wants either "always" or "claim" with "values"')
    named = {role for roles in mapping.roles.values.values() for role in roles}
    if unknown := sorted(named - set(known_roles)):
        raise MappingError(f"roles: {unknown[0]} is none of {', '.join(sorted(known_roles))}")
    return mapping


def identify(claims: Mapping[str, Any], mapping: ClaimsMapping) -> Identity | WhyNobody:
    """The person, with the roles that the mapping gives them; or why there is none."""
    email = _text(claims, mapping.email).strip()
    if _ADDRESS.fullmatch(email) is None:
        return "no_email"
    if claims.get("email_verified") in {False, "false"}:
        return "unverified_email"
    tenants = _tenants(claims, mapping.tenant)
    if len(tenants) != 1:
        return "several_tenants" if tenants else "no_tenant"
    roles = {role for value in _values(claims, mapping.roles.claim) for role in mapping.roles.values.get(value, ())}
    person = Person(
        tenant=tenants.pop(),
        email=email.lower(),
        name=_line(_text(claims, mapping.name)) or email,
        roles=tuple(sorted(roles)),
        language=language_of(_text(claims, mapping.language)),
    )
    return Identity(person=person, subject=f"{claims['iss']} {claims['sub']}")


def _tenants(claims: Mapping[str, Any], tenants: Tenants) -> set[UUID]:
    if tenants.always is not None:
        return {tenants.always}
    assert tenants.claim is not None  # `read_mapping` has refused a mapping with neither
    return {tenants.values[value] for value in _values(claims, tenants.claim) if value in tenants.values}


def _values(claims: Mapping[str, Any], path: Path) -> Iterator[str]:
    found = _at(claims, path)
    for one in found if isinstance(found, list) else [found]:  # pyright: ignore[reportUnknownVariableType] - JSON
        if isinstance(one, str):
            yield one


def _text(claims: Mapping[str, Any], path: Path) -> str:
    found = _at(claims, path)
    return found if isinstance(found, str) else ""


def _at(claims: Any, path: Path) -> Any:
    for name in (path,) if isinstance(path, str) else path:
        if not isinstance(claims, Mapping):
            return None
        claims = claims.get(name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
    return claims  # pyright: ignore[reportUnknownVariableType] - JSON


def _line(text: str) -> str:
    """A name as one visible line."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:NAME_LIMIT]
