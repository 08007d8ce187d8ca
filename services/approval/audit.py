"""The audit chain: what an entry looks like and how a chain is checked. The database links entries (`schema.sql`).

Laws
- An entry holds ids, people, commitments and codes; never a text or a name of a customer, so that erasure leaves it
  whole.
- `hash = sha256(previous ‖ seq as 8 bytes, big-endian ‖ entry)`; the first `previous` is sha256 of the tenant's id.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

import msgspec

_encoder = msgspec.json.Encoder(order="deterministic")

Detail = str | int | bool | None | list[str]


class Link(NamedTuple):
    """An entry at its place in a tenant's chain."""

    seq: int
    entry: str
    previous: bytes
    hash: bytes


class Broken(NamedTuple):
    """Where a chain does not hold, and why."""

    seq: int
    why: str


class Whole(NamedTuple):
    """A chain that holds, with its head: what an anchor outside keeps."""

    length: int
    head: str


def entry(*, entry_id: UUID, at: datetime, actor: str, action: str, **details: Detail | UUID | datetime) -> str:
    """An entry's canonical text: JSON, keys sorted."""
    content = {"id": entry_id, "at": at, "actor": actor, "action": action, **details}
    return _encoder.encode(content).decode()


def genesis(tenant: UUID) -> bytes:
    return hashlib.sha256(str(tenant).encode()).digest()


def link_hash(previous: bytes, seq: int, text: str) -> bytes:
    return hashlib.sha256(previous + seq.to_bytes(8, "big") + text.encode()).digest()


def verify(tenant: UUID, links: Iterable[Link]) -> Whole | Broken:
    """Walk a tenant's chain from its first entry."""
    previous, length = genesis(tenant), 0
    for link in links:
        if link.seq != length + 1:
            return Broken(link.seq, f"entry {length + 1} is missing")
        if link.previous != previous:
            return Broken(link.seq, "it does not follow the entry before it")
        if link.hash != link_hash(previous, link.seq, link.entry):
            return Broken(link.seq, "its text was changed")
        previous, length = link.hash, link.seq
    return Whole(length, previous.hex())
