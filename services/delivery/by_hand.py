"""A person's word on an uncertain send: left as a job, carried out by this service, which alone signs receipts."""

from datetime import datetime
from uuid import UUID

import msgspec

from services.delivery import settling
from services.delivery.calls import counted
from services.delivery.facts import Claim, Report
from services.delivery.kit import Kit
from services.delivery.store import claims, heard
from services.delivery.verification import Refusal
from shared import log
from shared.bus import NOTHING, Effects, Job, StartJob
from shared.db import Tx
from shared.ids import derived_id

_log = log.get(__name__)

KIND = "by_hand"


class Word(msgspec.Struct, frozen=True, kw_only=True):
    """What a person says of a send: it arrived as `provider_id`, or (None) it did not."""

    decision_id: UUID
    provider_id: str | None
    person: str
    why: str


class Settling(msgspec.Struct, frozen=True):
    """The word, with what stands now."""

    word: Word
    claim: Claim
    early: Report | None


_word = msgspec.json.Decoder(Word)


def job(word: Word) -> StartJob:
    """The latest word of a decision that was not carried out yet counts."""
    id_ = derived_id(word.decision_id, KIND)
    return StartJob(id_, KIND, str(word.decision_id), msgspec.json.encode(word))


def why_not(claim: Claim | None, word: Word, now: datetime) -> Refusal | None:
    """Why this cannot be settled by hand now; None when it can."""
    if claim is None:
        return Refusal(code="unknown", detail="There is no send of this decision.")
    return settling.why_not_by_hand(claim, is_sent=word.provider_id is not None, now=now)


async def load(tx: Tx, job: Job) -> Settling | None:
    word = _word.decode(job.payload)
    channel_id = await claims.channel_of(tx, word.decision_id)
    if channel_id is None:
        return None
    await heard.one_after_the_other(tx, [channel_id])
    claim = await claims.locked(tx, word.decision_id)
    if claim is None:
        return None
    early = await heard.early(tx, claim, [word.provider_id]) if word.provider_id else None
    return Settling(word, claim, early)


def decide(kit: Kit, job: Job, found: Settling | None) -> Effects:
    if found is None:
        return NOTHING
    word = found.word
    refusal = why_not(found.claim, word, job.now)
    if refusal is not None:  # its proof, or another person, was faster
        _log.warning("not settled by hand", decision=str(word.decision_id), why=refusal.detail)
        return NOTHING
    return counted(
        settling.by_hand(
            found.claim, word.provider_id, found.early, evidence=f"{word.person}: {word.why}", signer=kit.signer,
            now=job.now,
        )
    )  # fmt: skip
