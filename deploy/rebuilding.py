"""The claims of delivery again, after a restore: from what the streams DELIVERY and SEND hold, by delivery's own rules
(services/delivery/recovery.py).
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

import msgspec

from contracts import topology
from contracts.messages import SendCommand, SendMessage
from services.delivery import recovery
from services.delivery.facts import Claim
from services.delivery.recovery import Past
from services.delivery.store import claims, recovered
from shared.bus import NOTHING as NO_EFFECTS
from shared.bus.handling import perform
from shared.bus.outbox import Outbox
from shared.bus.reading import Stored
from shared.db import Tx
from shared.ids import derived_id


class Rebuilt(NamedTuple):
    """What was made or moved."""

    claims: int
    uncertain: int
    """Of these, sends of which nobody knows whether they left."""
    without_command: int
    """Sends that began and whose command no stream holds any more: too old to be sent again."""


NOTHING = Rebuilt(0, 0, 0)


async def rebuild(tx: Tx, outbox: Outbox | None, said: Sequence[Stored], told: Sequence[Stored]) -> Rebuilt:
    """Make and move claims; the calls under way first, so that their numbers are free.

    Args:
        tx: of delivery's schema, as a superuser; positions to say are right already.
        outbox: open; None in a dry run, which says nothing.
        said: what delivery said.
        told: the commands it was given.
    """
    pasts = recovery.pasts(one for one in map(_message, said) if isinstance(one, SendMessage))
    commands = {one.snapshot.decision_id: one for one in map(_message, told) if _is_of(one, pasts)}
    changed = uncertain = without = 0
    for decision_id in dict.fromkeys([*await recovered.all_unsettled(tx), *pasts]):
        before = await claims.locked(tx, decision_id)
        past = pasts.get(decision_id)
        if before is None and decision_id not in commands:
            without += 1
            continue
        after = await _brought(tx, outbox, before, past, commands.get(decision_id))
        if after is None or (before is not None and (before.state, before.level) == (after.state, after.level)):
            continue
        changed += 1
        uncertain += after.state == "uncertain"
    return Rebuilt(changed, uncertain, without)


async def _brought(
    tx: Tx, outbox: Outbox | None, before: Claim | None, past: Past | None, command: SendCommand | None
) -> Claim | None:
    """A claim as it should stand, None where nothing was sent and nothing stands."""
    now = await tx.now()
    if before is not None:
        claim, effects = before, recovery.moved(before, past, now)
    else:
        assert past is not None  # else it would stand in the database
        assert command is not None  # else it was left out
        made = recovery.made(command, past)
        await tx.write([made] if made else [])
        claim = await claims.locked(tx, past.begun.decision_id)
        effects = recovery.after_it_was_made(claim, past, now) if claim else NO_EFFECTS
    if claim is None:
        return None
    cause = derived_id(claim.decision_id, "recovered")
    said = await perform(tx, effects, tenant=claim.tenant, cause=cause, traceparent="")
    if outbox is not None:
        await outbox.append(tx, said)
    return await claims.locked(tx, claim.decision_id)


def _is_of(one: Any, pasts: Mapping[UUID, Past]) -> bool:
    if not isinstance(one, SendCommand):
        return False
    past = pasts.get(one.snapshot.decision_id)
    return past is not None and recovery.is_of(one, past)


def _message(one: Stored) -> Any:
    """None for what is no message of ours."""
    topic = topology.topic_of_subject(one.subject)
    try:
        return None if topic is None else topology.decode(topic, one.payload)
    except msgspec.MsgspecError:
        return None
