"""An approval service on a bench: one tenant with people, one conversation, and the words to speak with it."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast
from uuid import UUID, uuid4

from contracts.messages import Destination, DraftCleared, Message, MessageReceived
from services.approval.config import Config
from services.approval.deciding import Decided
from services.approval.desk import Desk
from services.approval.facts import Obligation
from services.approval.lifecycle import Wish
from services.approval.problems import Problem
from services.approval.service import handlers
from services.approval.store import loading
from services.approval.store.idempotency import Attempt
from services.approval.terms import terms
from shared.runtime import Context
from shared.seal import APPROVAL, KeyRing, new_key
from shared.web import store
from shared.web.people import Person
from tests.harness import Bench, BenchFactory

M = TypeVar("M", bound=Message)

TENANT = UUID("0c000000-0000-4000-8000-000000000001")
OTHER_TENANT = UUID("0c000000-0000-4000-8000-000000000002")
ANA, BRUNO, VERA, ADA = "ana@example.com", "bruno@example.com", "vera@example.com", "ada@example.com"
PEOPLE = [
    Person(tenant=TENANT, email=ANA, name="Ana", roles=("approver",)),
    Person(tenant=TENANT, email=BRUNO, name="Bruno", roles=("approver",)),
    Person(tenant=TENANT, email=VERA, name="Vera", roles=("viewer",)),
    Person(tenant=TENANT, email=ADA, name="Ada", roles=("administrator",)),
    Person(tenant=OTHER_TENANT, email="otto@example.com", name="Otto", roles=("approver", "administrator")),
]
NOW = datetime(2026, 3, 2, 15, 0, tzinfo=UTC)
SECRET_KEY, PUBLIC_KEY = new_key("seal-1-test", APPROVAL, sign_until=datetime(2100, 1, 1, tzinfo=UTC))
RING = KeyRing({PUBLIC_KEY.key_id: PUBLIC_KEY})


def config(**changed: Any) -> Config:
    seal_key = json.dumps(
        {"key_id": SECRET_KEY.key_id, "seed": SECRET_KEY.seed, "sign_until": SECRET_KEY.sign_until.isoformat()}
    )
    known: dict[str, Any] = {
        "database_url": "", "nats_url": "", "nats_seed": "", "digest_key": "", "seal_key": seal_key,
        "profile": "local", "local_sign_in": True, "people_file": "people.json",
    }  # fmt: skip
    return Config(**(known | changed))


@dataclass
class Office:
    """One service, one conversation."""

    bench: Bench
    context: Context[Config]
    desk: Desk
    conversation: UUID = field(default_factory=uuid4)
    contact: UUID = field(default_factory=uuid4)
    channel: UUID = field(default_factory=uuid4)

    @property
    def destination(self) -> Destination:
        return Destination(channel_id=self.channel, account="loja", chat="5511900000001@c.us")

    def received(self, text: str = "Oi, tem em azul?", revision: int = 1, **changed: Any) -> MessageReceived:
        known: dict[str, Any] = {
            "tenant": TENANT, "conversation_id": self.conversation, "contact_id": self.contact,
            "channel_id": self.channel, "context_revision": revision, "message_id": uuid4(),
            "destination": self.destination, "sender_name": "Carla", "text": text, "is_draftable": True,
            "sent_at": NOW, "received_at": NOW,
        }  # fmt: skip
        return MessageReceived(**(known | changed))

    def draft(self, body: str = "Temos sim, em azul.", revision: int = 1, **changed: Any) -> DraftCleared:
        known: dict[str, Any] = {
            "tenant": TENANT, "draft_id": uuid4(), "turn_id": uuid4(), "origin": "agent",
            "conversation_id": self.conversation, "contact_id": self.contact, "destination": self.destination,
            "kind": "reply", "body": body, "drafted_body": body, "language": "pt-BR", "context_revision": revision,
            "reason": "the customer asked for a colour", "verdicts": (), "chain_version": "1", "chain_hash": "h",
            "facts_digest": "f",
        }  # fmt: skip
        return DraftCleared(**(known | changed))

    async def file(self, body: str = "Temos sim, em azul.", **changed: Any) -> Obligation:
        """A draft that waits for a decision; what filing said is forgotten."""
        await self.bench.hear(self.draft(body, **changed))
        await self.bench.said()
        return await self.standing()

    async def standing(self) -> Obligation:
        """The conversation's newest obligation."""
        id = await self.bench.value(
            "select id from obligation where conversation_id = $1 order by opened_at desc, id limit 1",
            self.conversation,
        )
        return await self.obligation(id)

    async def obligation(self, id: UUID) -> Obligation:
        async with self.bench.db.autocommit() as tx:
            found = await loading.obligation(tx, id)
        assert found is not None
        return found

    async def decide(
        self, o: Obligation, verb: str = "approve", *, by: str = ANA, key: str | None = None, **wish: Any
    ) -> Decided | Problem:
        known: dict[str, Any] = {"verb": verb, "epoch": o.epoch, "commitment": o.version.commitment}
        asked = Wish(**(known | wish))
        person = next(one for one in PEOPLE if one.email == by)
        return await self.desk.decide(person, o.id, asked, Attempt(by, key or str(uuid4()), b"digest"))

    async def approved(self, **changed: Any) -> tuple[Obligation, UUID]:
        """An approved text and its decision; what was said is forgotten."""
        filed = await self.file(**changed)
        decided = await self.decide(filed)
        assert isinstance(decided, Decided), decided
        assert decided.decision_id is not None
        await self.bench.said()
        return await self.obligation(filed.id), decided.decision_id

    async def said(self, kind: type[M]) -> M:
        """The one message of a kind that was said since the last look."""
        found = [one for one in await self.bench.said() if isinstance(one, kind)]
        assert len(found) == 1, found
        return found[0]

    def send(self, kind: type[M], o: Obligation, decision: UUID, **changed: Any) -> M:
        """What delivery or guardrails says about a decision."""
        known: dict[str, Any] = {
            "tenant": TENANT, "obligation_id": o.id, "decision_id": decision, "conversation_id": self.conversation,
            "channel_id": self.channel, "at": NOW + timedelta(minutes=1),
        }  # fmt: skip
        fields = set(kind.__struct_fields__)
        return kind(**({name: value for name, value in known.items() if name in fields} | changed))


async def open_office(bench_of: BenchFactory, **changed: Any) -> Office:
    settings = config(**changed)
    bench = await bench_of("approval", handlers(settings))
    async with bench.db.transaction() as tx:
        await store.people_are(tx, PEOPLE)
    context = Context("approval", settings, bench.db, bench.web_db, cast("Any", bench))
    office = Office(bench, context, Desk(context, terms(settings)))
    await bench.hear(office.received())
    return office
