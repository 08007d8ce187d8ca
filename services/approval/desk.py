"""The desk: what people (and outside agents) ask for, each in one transaction of the web role.

Laws
- The order of a decision: the rows are locked → the database's clock is read → `lifecycle.decide` → `deciding.enact`.
- A refusal is a value. It commits too, with its audit row and nothing else.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Final
from uuid import UUID

import msgspec

from services.approval import deciding, lifecycle, owning, submitting
from services.approval.config import Config
from services.approval.deciding import Decided
from services.approval.effects import Moment, Terms, audited
from services.approval.facts import Fact
from services.approval.lifecycle import Wish
from services.approval.problems import Problem
from services.approval.store import idempotency, loading, writing
from services.approval.store.idempotency import Attempt, Replay
from services.approval.store.keys import ApiKey
from services.approval.submitting import Submission
from shared.bus import Effects, Unit
from shared.db import Database, Write
from shared.ids import derived_id, new_id
from shared.runtime import Context
from shared.seal import APPROVAL, SealError, Signer, new_salt
from shared.web.people import Person


class SubmittedDraft(msgspec.Struct, frozen=True, kw_only=True):
    """What the caller of `POST /v1/drafts` is told."""

    id: UUID
    status: str


_answer: Final = msgspec.json.Decoder(Decided)
_submitted: Final = msgspec.json.Decoder(SubmittedDraft)


class Desk:
    """Takes decisions. Pages and the HTTP API share it."""

    def __init__(self, context: Context[Config], terms: Terms) -> None:
        assert context.web_db is not None  # `start` has refused to go on without it
        self._bus = context.bus
        self._web: Database = context.web_db
        self._signer = Signer.from_json(context.config.seal_key, APPROVAL)
        self._terms = terms
        self.config = context.config
        self.policy = lifecycle.single(may_editor_approve=context.config.may_editor_approve)

    @asynccontextmanager
    async def unit(self, tenant: UUID, cause: UUID) -> AsyncGenerator[Unit]:
        """A transaction that sees one tenant; what it says is published when it has committed."""
        async with self._bus.unit(tenant=tenant, cause=cause, db=self._web) as unit:
            yield unit

    async def decide(self, person: Person, obligation_id: UUID, wish: Wish, attempt: Attempt) -> Decided | Problem:
        """Take a decision, once per idempotency key."""
        cause = new_id()
        async with self.unit(person.tenant, cause) as unit:
            earlier = await idempotency.claim(unit.tx, person.tenant, attempt)
            if isinstance(earlier, Replay):
                return _answer.decode(earlier.answer)
            if earlier is not None:
                return earlier
            answer = await self._decide(unit, person, obligation_id, wish, cause)
            if isinstance(answer, Decided):
                await idempotency.keep(unit.tx, person.tenant, attempt, msgspec.json.encode(answer).decode())
            return answer

    async def _decide(
        self, unit: Unit, person: Person, obligation_id: UUID, wish: Wish, cause: UUID
    ) -> Decided | Problem:
        case = await loading.case(unit.tx, obligation_id, person.email)
        if case is None:
            return Problem("not-found", {"what": "obligation"})
        moment = Moment(cause, await unit.tx.now(), person.email)
        decision = lifecycle.decide(wish, case, self.policy, moment.now)
        if isinstance(decision, Problem):
            await unit.perform(_attempted(wish, case, decision, moment))
            return decision
        means = deciding.Means(policy=self.policy, terms=self._terms, signer=self._signer, salt=new_salt())
        try:
            effects, answer = deciding.enact(decision, wish, case, moment, means)
        except SealError as error:
            return Problem("cannot-seal", {"why": str(error)})
        await unit.perform(effects)
        return answer

    async def change_owner(
        self, person: Person, conversation_id: UUID, change: owning.Change, expected: int, reason: str
    ) -> int | Problem:
        """Take a conversation over, or give it back; returns its new ownership version."""
        cause = new_id()
        async with self.unit(person.tenant, cause) as unit:
            await loading.lock_conversations(unit.tx, [conversation_id])
            facts = await loading.talk(unit.tx, conversation_id)
            now_person = await loading.person(unit.tx, person.email)
            moment = Moment(cause, await unit.tx.now(), person.email)
            moved = owning.change_owner(
                change, now_person, facts, moment, self._terms, expected=expected, reason=reason
            )
            if isinstance(moved, Problem):
                return moved
            await unit.perform(moved)
            return expected + 1

    async def submit(self, caller: Person | ApiKey, asked: Submission, attempt: Attempt) -> SubmittedDraft | Problem:
        """Send a draft to the gates, once per idempotency key."""
        cause = new_id()
        async with self.unit(caller.tenant, cause) as unit:
            earlier = await idempotency.claim(unit.tx, caller.tenant, attempt)
            if isinstance(earlier, Replay):
                return _submitted.decode(earlier.answer)
            if earlier is not None:
                return earlier
            conversation = await loading.conversation_of(unit.tx, asked.conversation_id)
            moment = Moment(cause, await unit.tx.now(), attempt.caller)
            effects = submitting.submit(asked, caller, conversation, moment)
            if isinstance(effects, Problem):
                return effects
            await unit.perform(effects)
            answer = SubmittedDraft(id=derived_id(cause, "draft"), status="checking")
            await idempotency.keep(unit.tx, caller.tenant, attempt, msgspec.json.encode(answer).decode())
            return answer

    async def acknowledge(self, person: Person, alert_id: UUID) -> bool:
        """Mark an alert as seen; False when there is none. The first one to see it stays."""
        cause = new_id()
        async with self.unit(person.tenant, cause) as unit:
            if not await loading.has_alert(unit.tx, alert_id):
                return False
            moment = Moment(cause, await unit.tx.now(), person.email)
            seen = writing.alert_seen(alert_id, person.email, moment.now)
            await unit.perform(
                Effects(writes=[seen, audited(moment, person.tenant, "acknowledged", alert_id=alert_id)])
            )
            return True

    async def write(self, person: Person, action: str, write: Write, **details: UUID | list[str]) -> None:
        """An administrator's write, audited."""
        cause = new_id()
        async with self.unit(person.tenant, cause) as unit:
            moment = Moment(cause, await unit.tx.now(), person.email)
            await unit.perform(Effects(writes=[write, audited(moment, person.tenant, action, **details)]))

    async def put_baseline(self, tenant: UUID, actor: str, contact_id: UUID, facts: Sequence[Fact]) -> None:
        """Replace what `PUT /v1/baseline` put on record before about a contact; the operator's facts stay."""
        cause = new_id()
        async with self.unit(tenant, cause) as unit:
            moment = Moment(cause, await unit.tx.now(), actor)
            put = [
                writing.fact_put(tenant, derived_id(contact_id, f"{f.kind}:{f.subject}:{f.source}"), contact_id, f)
                for f in facts
            ]
            entry = audited(moment, tenant, "baseline_put", contact_id=contact_id, facts=len(facts))
            await unit.perform(Effects(writes=[writing.facts_cleared(contact_id), *put, entry]))


def _attempted(wish: Wish, case: lifecycle.Case, problem: Problem, moment: Moment) -> Effects:
    entry = audited(
        moment, case.obligation.tenant, "refused", obligation_id=case.obligation.id, epoch=wish.epoch, verb=wish.verb,
        problem=problem.slug,
    )  # fmt: skip
    return Effects(writes=[entry])
