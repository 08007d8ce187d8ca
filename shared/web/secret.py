"""Secrets that people and programs hold: of each we keep only the hash.

The tenant stands in the secret, so that row-level security holds from the first query on.
"""

import hashlib
import secrets
from typing import NamedTuple
from uuid import UUID

SECRET_BYTES = 32


class Secret(NamedTuple):
    """A secret as its holder keeps it, and as we do."""

    text: str
    hash: bytes


def new_secret(tenant: UUID, prefix: str = "") -> Secret:
    text = f"{prefix}{tenant.hex}.{secrets.token_urlsafe(SECRET_BYTES)}"
    return Secret(text, hash_of(text))


def hash_of(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def tenant_of(secret: str, prefix: str = "") -> UUID | None:
    """The tenant that a secret says it is of; the hash decides whether it is."""
    head, _, tail = secret.removeprefix(prefix).partition(".")
    try:
        return UUID(hex=head) if tail and len(head) == 32 else None
    except ValueError:
        return None
