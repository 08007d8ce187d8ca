"""What goes over the bus in a bench: one message heard and one said, each of 340 bytes, on a number of lanes."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from uuid import UUID, uuid5

import msgspec

from contracts import topology
from contracts.messages import ContactSeen, FactRecorded, Message
from deploy.local.layout import CHANNEL, TENANT

PAYLOAD_BYTES = 340
"""Of the message heard, and of the one said (`10-quality.md`)."""
_LANES = UUID("5a0c0de0-0000-4000-8000-0000000be7c4")
_AT = datetime(2026, 1, 1, tzinfo=UTC)


@cache
def keys(lanes: int) -> Sequence[UUID]:
    """The contacts whose lanes carry the traffic; the first n are the same for every number of lanes."""
    return [uuid5(_LANES, str(number)) for number in range(lanes)]


def seen(contact: UUID) -> ContactSeen:
    """What is heard."""
    bare = ContactSeen(tenant=TENANT, contact_id=contact, channel_id=CHANNEL, name="", has_phone=True, is_new=True)
    return msgspec.structs.replace(bare, name="n" * _room(bare))


def fact(contact: UUID, cause: UUID) -> FactRecorded:
    """What is said of it."""
    bare = FactRecorded(
        tenant=TENANT,
        fact_id=cause,
        contact_id=contact,
        kind="other",
        subject="bench",
        value="",
        source="bench",
        observed_at=_AT,
    )
    return msgspec.structs.replace(bare, value="v" * _room_of_a_fact(len(topology.encode(bare))))


@cache
def _room_of_a_fact(bare_bytes: int) -> int:
    return PAYLOAD_BYTES - bare_bytes


def _room(bare: Message) -> int:
    return PAYLOAD_BYTES - len(topology.encode(bare))
