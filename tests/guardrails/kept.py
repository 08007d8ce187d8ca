"""Real runs of the chain over every example of every gate, kept as the service keeps them."""

from collections.abc import Iterator, Sequence
from uuid import UUID, uuid4

from msgspec.structs import replace

from services.guardrails.chain import CHAIN, run
from services.guardrails.facts import Draft, Facts, PromiseReview, ReviewedPromise, Unknown
from services.guardrails.gate import Phase
from services.guardrails.store.runs import Record, keep
from services.guardrails.words import Judged
from shared.db import Tx

TENANT, CHANNEL, CONTACT, TALK = (UUID(int=number) for number in (1, 2, 3, 4))


def examples() -> Iterator[tuple[Draft, Facts]]:
    """The gates' own examples, and what none of them has."""
    for gate in CHAIN:
        for one in (*gate.clear, *gate.stop):
            yield one.draft, one.facts
    draft, facts = CHAIN[0].clear[0].draft, CHAIN[0].clear[0].facts
    yield draft, replace(facts, promise_table=Unknown("timeout"))
    yield draft, replace(facts, promise_review=PromiseReview("v1", (ReviewedPromise("às 8h", ("e1",)),)))
    yield replace(draft, body=f"{draft.body} O webhook falhou."), replace(facts, is_first_message_to_contact=True)
    yield draft, replace(facts, is_first_message_to_contact=True, contact=Unknown("timeout"))


def records() -> Iterator[Record]:
    """Each example at filing and at dispatch. Texts that left before get ids; see `sent`."""
    for draft, facts in examples():
        for phase in Phase:
            named = replace(
                draft, id=str(uuid4()), tenant=str(TENANT), conversation=str(TALK), contact=str(CONTACT),
                channel=str(CHANNEL),
            )  # fmt: skip
            result = run(named, facts, phase)
            recent = () if isinstance(facts.recent_outbound, Unknown) else facts.recent_outbound
            judged = Judged(named, facts, result.verdicts)
            yield Record(uuid4(), TENANT, phase, judged, tuple(uuid4() for _ in recent), result)


async def sent(tx: Tx, record: Record, contact: UUID = CONTACT) -> None:
    """The texts that its facts quote, as if they had left."""
    texts = record.judged.facts.recent_outbound
    for name, body in zip(record.recent, texts if isinstance(texts, tuple) else (), strict=True):
        await tx.execute(
            """insert into sent_text (decision_id, tenant, channel_id, contact_id, body, at)
               values ($1, $2, $3, $4, $5, now())""",
            name, TENANT, CHANNEL, contact, body,
        )  # fmt: skip


async def keep_all(tx: Tx, some: Sequence[Record]) -> None:
    for one in some:
        await sent(tx, one)
        await tx.write([keep(one)])
