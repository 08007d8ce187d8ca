"""The timer that announces an expiry. It decides nothing: past `expires_at` no decision is taken anyway."""

from uuid import UUID

from services.approval.effects import Moment, end, expiry_timer
from services.approval.facts import UNDECIDED, Obligation
from services.approval.store import loading
from shared.bus import Effects, Job
from shared.db import Tx


async def load_expiry(tx: Tx, job: Job) -> Obligation | None:
    found = await loading.obligation(tx, UUID(job.key))
    if found is None:
        return None
    await loading.lock_conversations(tx, [found.conversation_id])
    return await loading.obligation(tx, found.id)


def on_expiry(job: Job, obligation: Obligation | None) -> Effects:
    if obligation is None or obligation.state not in UNDECIDED:
        return Effects()
    if job.now < obligation.expires_at:
        return Effects(jobs=[expiry_timer(obligation.id, obligation.expires_at)])
    moment = Moment(job.id, obligation.expires_at, "clock")
    return end(obligation, "expired", "expired", "nobody decided in time", moment)
