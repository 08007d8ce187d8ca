"""A customer, gates and people, as messages; and a conversador that hears them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

from contracts import messages as m
from services.conversador.config import Config
from services.conversador.model import Model
from services.conversador.service import handlers
from tests.harness import Bench, BenchFactory

TENANT = UUID("11111111-1111-4111-8111-111111111111")
CONVERSATION = UUID("22222222-2222-4222-8222-222222222222")
CONTACT = UUID("33333333-3333-4333-8333-333333333333")
CHANNEL = UUID("44444444-4444-4444-8444-444444444444")
PLACE = m.Destination(channel_id=CHANNEL, account="clinic", chat="chat-of-ana")
NOW = datetime(2026, 9, 21, 15, 0, tzinfo=UTC)
ENVELOPE = m.Envelope(payload_type="x", payload=b"x", key_id="k", signature=b"s")

M = TypeVar("M", bound=m.Message)
OpenConversador = Callable[..., Awaitable["Conversador"]]


def configured(url: str, **settings: Any) -> Config:
    defaults: dict[str, Any] = {
        "model_name": "speaker",
        "model_retries": 0,
        "burst_debounce_seconds": 0.0,
        "burst_cap_seconds": 0.0,
        "house_name": "Clínica Aurora",
    }
    return Config(
        database_url="", nats_url="", nats_seed="", digest_key="k", model_base_url=url, **{**defaults, **settings}
    )


class Conversador:
    """A bench with what the tests ask of it."""

    def __init__(self, bench: Bench, model: Model) -> None:
        self.bench = bench
        self.model = model
        self.hear = bench.hear
        self.run_jobs = bench.run_jobs
        self.rows = bench.rows
        self.value = bench.value
        self._revision = 0
        self._said: list[m.Message] = []

    @classmethod
    async def open(cls, bench_of: BenchFactory, config: Config) -> "Conversador":
        model = Model(config)
        return cls(await bench_of("conversador", handlers(config, model)), model)

    async def customer_writes(self, text: str, **fields: Any) -> m.MessageReceived:
        """The customer's next message; returns it."""
        self._revision += 1
        message = received(text, self._revision, **fields)
        await self.bench.hear(message)
        return message

    def next_revision(self) -> int:
        self._revision += 1
        return self._revision

    async def said(self, kind: type[M]) -> list[M]:
        """Everything of one kind that was ever said."""
        self._said += await self.bench.said()
        return [one for one in self._said if isinstance(one, kind)]

    async def drafts(self) -> list[m.DraftProposed]:
        return await self.said(m.DraftProposed)

    async def closed(self) -> list[m.TurnClosed]:
        return await self.said(m.TurnClosed)

    async def states(self) -> list[tuple[str, str]]:
        """(state, outcome) of every turn, oldest first."""
        rows = await self.rows("select state, outcome from turn order by started_at, closed_at nulls last")
        return [(row["state"], row["outcome"]) for row in rows]

    async def draft(self) -> m.DraftProposed:
        """Run what is due and return the latest draft."""
        await self.run_jobs()
        return (await self.drafts())[-1]


def received(text: str, revision: int, **fields: Any) -> m.MessageReceived:
    defaults: dict[str, Any] = {
        "conversation_id": CONVERSATION,
        "contact_id": CONTACT,
        "sender_name": "Ana Souza",
        "is_draftable": True,
    }
    return m.MessageReceived(
        tenant=TENANT,
        channel_id=CHANNEL,
        context_revision=revision,
        message_id=uuid4(),
        destination=PLACE,
        text=text,
        sent_at=NOW,
        received_at=NOW,
        **{**defaults, **fields},
    )


def cleared(draft: m.DraftProposed, body: str | None = None) -> m.DraftCleared:
    return m.DraftCleared(
        tenant=draft.tenant,
        draft_id=draft.draft_id,
        turn_id=draft.turn_id,
        origin="agent",
        conversation_id=draft.conversation_id,
        contact_id=draft.contact_id,
        destination=draft.destination,
        kind=draft.kind,
        body=body or draft.body,
        drafted_body=draft.body,
        language=draft.language,
        context_revision=draft.context_revision,
        verdicts=(),
        chain_version="1",
        chain_hash="h",
        facts_digest="f",
    )


def vetoed(draft: m.DraftProposed, phrase: str = "", **fields: Any) -> m.DraftVetoed:
    """A veto that points at `phrase` of the draft."""
    at = draft.body.find(phrase) if phrase else -1
    spans = (m.Span(start=at, end=at + len(phrase), why="inside reason"),) if at >= 0 else ()
    verdict = m.GateVerdict(
        gate="internal_vocabulary", outcome="veto", code="leak_code", detail="for people", spans=spans
    )
    defaults: dict[str, Any] = {
        "gate": "internal_vocabulary",
        "code": "internal_vocabulary_leak",
        "instruction": "Reescreva em palavras do dia a dia.",
    }
    return m.DraftVetoed(
        tenant=draft.tenant,
        draft_id=draft.draft_id,
        turn_id=draft.turn_id,
        conversation_id=draft.conversation_id,
        contact_id=draft.contact_id,
        verdicts=(verdict,),
        chain_version="1",
        chain_hash="h",
        **{**defaults, **fields},
    )


def filing_refused(draft: m.DraftProposed, recommendation: str = "") -> m.FilingRefused:
    return m.FilingRefused(
        tenant=draft.tenant,
        draft_id=draft.draft_id,
        turn_id=draft.turn_id,
        conversation_id=draft.conversation_id,
        code="contract_signed",
        detail="contract 12",
        recommendation=recommendation,
    )


def filed(draft: m.DraftProposed, obligation_id: UUID) -> m.DraftFiled:
    return m.DraftFiled(
        tenant=draft.tenant,
        obligation_id=obligation_id,
        epoch=1,
        draft_id=draft.draft_id,
        turn_id=draft.turn_id,
        conversation_id=draft.conversation_id,
        expires_at=NOW + timedelta(hours=1),
    )


def accepted(obligation_id: UUID, body: str) -> m.SendAccepted:
    return m.SendAccepted(
        tenant=TENANT,
        decision_id=uuid4(),
        obligation_id=obligation_id,
        conversation_id=CONVERSATION,
        channel_id=CHANNEL,
        at=NOW,
        provider_id="p1",
        receipt=ENVELOPE,
        body=body,
    )


def sent_back(draft: m.DraftProposed, instruction: str, *, round_: int = 1) -> m.DraftSentBack:
    return m.DraftSentBack(
        tenant=draft.tenant,
        obligation_id=uuid4(),
        epoch=round_,
        draft_id=draft.draft_id,
        turn_id=draft.turn_id,
        conversation_id=draft.conversation_id,
        contact_id=draft.contact_id,
        destination=draft.destination,
        instruction=instruction,
        previous_body=draft.body,
        language=draft.language,
        round=round_,
        decided_by="bia",
        at=NOW,
    )


def ownership(owner: m.Owner, version: int) -> m.OwnershipChanged:
    return m.OwnershipChanged(tenant=TENANT, conversation_id=CONVERSATION, owner=owner, version=version, at=NOW)


def consent(state: Any) -> m.ConsentChanged:
    return m.ConsentChanged(tenant=TENANT, contact_id=CONTACT, state=state, at=NOW)
