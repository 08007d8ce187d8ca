"""What the classifier read in texts, remembered: one reading for a tenant's text, its evidence and a classifier."""

import hashlib
from dataclasses import dataclass
from uuid import UUID

import msgspec

from services.guardrails.facts import Evidence, PromiseReview, Unknown
from shared.db import Tx, Write

UNREAD = Unknown("nobody has read this text yet")
_review = msgspec.json.Decoder(PromiseReview)


@dataclass(frozen=True, slots=True)
class Question:
    """A text to read, with the evidence that its writer consulted."""

    tenant: UUID
    body: str
    evidence: tuple[Evidence, ...]


def key_of(question: Question, version: str) -> bytes:
    """32 bytes that name a reading: the tenant's text, its evidence, the classifier."""
    named = (question.tenant.bytes, version, question.body, question.evidence)
    return hashlib.sha256(msgspec.msgpack.encode(named)).digest()


async def reading(tx: Tx, question: Question, version: str) -> PromiseReview | Unknown | None:
    """What the classifier said of this text; `UNREAD` when it was not asked, None when there is no classifier."""
    if not version:
        return None
    row = await tx.row("select review from review where key = $1", key_of(question, version))
    return _review.decode(row["review"]) if row else UNREAD


def remembered(question: Question, review: PromiseReview) -> Write:
    return Write(
        """insert into review (key, tenant, classifier, review) values ($1, $2, $3, $4)
           on conflict (key) do nothing""",
        (
            key_of(question, review.classifier_version),
            question.tenant,
            review.classifier_version,
            msgspec.json.encode(review).decode(),
        ),
    )
