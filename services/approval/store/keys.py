"""Keys of outside programs. Of a key only its hash is kept."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from shared.db import Tx, Write
from shared.web.secret import Secret, hash_of

KEY_PREFIX = "ck_"


class ApiKey(NamedTuple):
    """An outside program. It is nobody: it can never decide."""

    tenant: UUID
    id: UUID
    name: str
    scopes: tuple[str, ...]
    is_internal: bool


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
