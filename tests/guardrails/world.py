"""A tenant's channel, contact and conversation, and what others say about them, for the tests of guardrails."""

from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar
from uuid import UUID, uuid4

import msgspec

from contracts import messages as m
from services.guardrails import store
from services.guardrails.config import Config
from services.guardrails.rules import Rules, TenantRules
from services.guardrails.service import handlers
from shared import seal
from shared.clock import utc_now
from tests.harness import Bench, BenchFactory

M = TypeVar("M", bound=m.Message)

TENANT, CHANNEL, CONTACT, TALK = (UUID(int=number) for number in (1, 2, 3, 4))
DESTINATION = m.Destination(channel_id=CHANNEL, account="atendimento", chat="5511900001234@c.us")
NOW = utc_now()
SIGN_UNTIL = datetime(2100, 1, 1, tzinfo=UTC)
APPROVAL_KEY, APPROVAL_PUBLIC = seal.new_key("a1", seal.APPROVAL, sign_until=SIGN_UNTIL)
CLEARANCE_KEY, CLEARANCE_PUBLIC = seal.new_key("g1", seal.CLEARANCE, sign_until=SIGN_UNTIL)
RING = seal.KeyRing({key.key_id: key for key in (APPROVAL_PUBLIC, CLEARANCE_PUBLIC)})


def config(**changes: Any) -> Config:
    made = Config(
        database_url="",
        nats_url="",
        nats_seed="",
        digest_key="",
        seal_key=msgspec.json.encode(CLEARANCE_KEY).decode(),
        channels_file="",
    )
    return msgspec.structs.replace(made, **changes)


async def opened(bench_of: BenchFactory) -> Bench:
    """A service with one number, and one contact who knows that an assistant writes."""
    bench = await bench_of("guardrails", handlers(config()))
    await with_channel(bench)
    await wrote_to_before(bench)
    return bench


async def wrote_to_before(bench: Bench) -> None:
    """An acquaintance: the disclosure was said in an earlier message."""
    async with bench.db.transaction() as tx:
        await tx.execute(
            "insert into contact (contact_id, tenant, first_sent_at) values ($1, $2, now())", CONTACT, TENANT
        )


async def with_channel(bench: Bench, rules: Rules | None = None, **changes: Any) -> None:
    channel = store.ChannelSetting(channel_id=CHANNEL, tenant=TENANT, kind="waha", **changes)
    async with bench.db.transaction() as tx:
        await store.load_channels(tx, [channel])
        await store.load_rules(tx, [TenantRules(tenant=str(TENANT), rules=rules or Rules())])


def received(text: str = "Oi", *, revision: int = 1, opt_out: m.OptOutSignal = "none") -> m.MessageReceived:
    return m.MessageReceived(
        tenant=TENANT,
        conversation_id=TALK,
        contact_id=CONTACT,
        channel_id=CHANNEL,
        context_revision=revision,
        message_id=uuid4(),
        destination=DESTINATION,
        sender_name="Ana",
        text=text,
        is_draftable=True,
        opt_out=opt_out,
        sent_at=NOW,
        received_at=NOW,
    )


def phone_replied(*, revision: int = 1) -> m.PhoneReplied:
    return m.PhoneReplied(
        tenant=TENANT, conversation_id=TALK, contact_id=CONTACT, channel_id=CHANNEL, context_revision=revision,
        text="Oi, aqui é da clínica.", sent_at=NOW,
    )  # fmt: skip


def proposed(body: str = "Abrimos das 8h às 18h.", *, revision: int = 1) -> m.DraftProposed:
    return m.DraftProposed(
        tenant=TENANT,
        draft_id=uuid4(),
        turn_id=uuid4(),
        conversation_id=TALK,
        contact_id=CONTACT,
        destination=DESTINATION,
        kind="reply",
        body=body,
        language="pt-BR",
        context_revision=revision,
    )


def approved(body: str = "Abrimos das 8h às 18h.", *, revision: int = 1, minutes: int = 60) -> m.DraftApproved:
    salt = seal.new_salt()
    commitment = seal.commitment(salt, tenant=TENANT, destination=DESTINATION, body=body)
    snapshot = m.Snapshot(
        obligation_id=uuid4(),
        decision_id=uuid4(),
        epoch=1,
        kind="reply",
        conversation_id=TALK,
        contact_id=CONTACT,
        destination=DESTINATION,
        body=body,
        salt=salt,
        commitment=commitment,
        context_revision=revision,
        policy="single",
        policy_version=1,
        decided_by=("maria@clinica.example",),
        decided_at=NOW,
        send_by=NOW + timedelta(minutes=minutes),
    )
    statement = seal.ApprovalSeal.of(TENANT, snapshot)
    signer = seal.Signer.from_json(msgspec.json.encode(APPROVAL_KEY).decode(), seal.APPROVAL)
    return m.DraftApproved(tenant=TENANT, snapshot=snapshot, seal=signer.sign(statement, now=NOW))


def only(messages: list[m.Message], kind: type[M]) -> M:
    found = [one for one in messages if isinstance(one, kind)]
    assert len(found) == 1, messages
    return found[0]
