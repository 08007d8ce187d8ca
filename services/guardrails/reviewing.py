"""The classifier's answer as a fact: asked apart from any transaction, remembered, and then only read.

The path: a text without a reading → a slow job asks the classifier (`asking`) → the draft is filed, or the decision
dispatched, again. One text with one evidence has one reading by one classifier, so a verdict cannot flip between filing
and dispatch; a person's edit is another text and is read anew.
"""

import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

import msgspec

from services.guardrails.classifier import Classifier
from services.guardrails.facts import Evidence, PromiseReview, Unknown
from shared.bus import Effects, Job, Slow, StartJob
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


def asking(
    classifier: Classifier,
    kind: str,
    load: Callable[[Tx, Job], Awaitable[Question | None]],
    then: Callable[[Job, str], StartJob],
) -> Slow:
    """The slow job of a kind: asks, remembers, and starts what waited; `then` is told why there is no reading."""

    async def work(question: Question) -> PromiseReview | Unknown:
        return await classifier.read(question.body, question.evidence)

    async def finish(_tx: Tx, job: Job, question: Question, answer: PromiseReview | Unknown) -> Effects:
        if isinstance(answer, Unknown):
            return Effects(jobs=[then(job, answer.cause)])
        return Effects(writes=[remembered(question, answer)], jobs=[then(job, "")])

    return Slow(kind, load, work, finish)
