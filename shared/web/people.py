"""Somebody who may sign in, as a service with pages knows them."""

from uuid import UUID

import msgspec


class Person(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody who signed in; roles as the database has them now."""

    tenant: UUID
    email: str
    name: str
    roles: tuple[str, ...]
    language: str = "pt-BR"
