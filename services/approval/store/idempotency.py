"""The same request twice is done once: answers kept under the caller's key.

A key in use is known by an advisory lock of its transaction, so a crash leaves nothing that has to be cleaned up.
"""

from dataclasses import dataclass
from uuid import UUID

from services.approval.problems import Problem
from shared.db import Tx


@dataclass(frozen=True, slots=True)
class Attempt:
    """A caller's key and the digest of what it asked for."""

    caller: str
    key: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Replay:
    """The answer that the first request got, as JSON."""

    answer: str


async def claim(tx: Tx, tenant: UUID, attempt: Attempt) -> Replay | Problem | None:
    """None when the caller may go on; the key is then its own until the transaction ends."""
    name = f"{tenant}:{attempt.caller}:{attempt.key}"
    if not await tx.value("select pg_try_advisory_xact_lock(hashtextextended($1, 1))", name):
        return Problem("in-progress")
    row = await tx.row(
        "select digest, answer from idempotency where tenant = $1 and caller = $2 and key = $3",
        tenant,
        attempt.caller,
        attempt.key,
    )
    if row is None:
        return None
    return Replay(row["answer"]) if row["digest"] == attempt.digest else Problem("key-reused")


async def keep(tx: Tx, tenant: UUID, attempt: Attempt, answer: str) -> None:
    await tx.execute(
        "insert into idempotency (tenant, caller, key, digest, answer) values ($1, $2, $3, $4, $5)",
        tenant,
        attempt.caller,
        attempt.key,
        attempt.digest,
        answer,
    )
