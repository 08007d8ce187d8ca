"""Keys, channels and commands as approval and guardrails would make them, and the handlers under test."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import msgspec

from contracts import messages as m
from services.delivery.config import Config
from services.delivery.service import handlers
from shared import seal
from shared.bus import Handlers, Job
from shared.clock import utc_now
from shared.seal import ApprovalSeal, ClearanceSeal, PublicKey, Signer, SigningKey
from tests.delivery.waha_double import WahaDouble
from tests.harness import Bench

CHAT = "5511900001234@c.us"
BODY = "Abrimos às 8h. 😊"
STANZA = "3EB0AA11BB22CC33DD44EE"


@dataclass
class Keys:
    """One pair for each kind of seal."""

    private: dict[str, SigningKey] = field(default_factory=dict[str, SigningKey])
    public: list[PublicKey] = field(default_factory=list[PublicKey])

    def __post_init__(self) -> None:
        until = utc_now() + timedelta(days=1)
        for kind in (seal.APPROVAL, seal.CLEARANCE, seal.RECEIPT):
            private, public = seal.new_key(f"test-{kind}", kind, sign_until=until)
            self.private[kind] = private
            self.public.append(public)

    def sign(self, kind: str, statement: msgspec.Struct, key: SigningKey | None = None) -> m.Envelope:
        return Signer(key or self.private[kind], kind).sign(statement, now=utc_now())


KEYS = Keys()


def forger(kind: str) -> SigningKey:
    """A key of our own making under the name of the real one."""
    return seal.new_key(f"test-{kind}", kind, sign_until=utc_now() + timedelta(days=1))[0]


@dataclass
class World:
    """One tenant, one number, one conversation. `command()` is a good command; keywords spoil it."""

    bench: Bench
    waha: WahaDouble
    handlers: Handlers
    channel_id: UUID
    tenant: UUID = field(default_factory=uuid4)
    conversation_id: UUID = field(default_factory=uuid4)
    contact_id: UUID = field(default_factory=uuid4)

    def snapshot(self, **changes: Any) -> m.Snapshot:
        now = utc_now()
        destination = m.Destination(channel_id=self.channel_id, account="atendimento", chat=CHAT)
        made = m.Snapshot(
            obligation_id=uuid4(),
            decision_id=uuid4(),
            epoch=1,
            kind="reply",
            conversation_id=self.conversation_id,
            contact_id=self.contact_id,
            destination=destination,
            body=BODY,
            salt=seal.new_salt(),
            commitment="",
            context_revision=1,
            policy="default",
            policy_version=1,
            decided_by=("ana",),
            decided_at=now - timedelta(seconds=5),
            send_by=now + timedelta(minutes=60),
        )
        made = msgspec.structs.replace(made, **changes)
        bound = seal.commitment(made.salt, tenant=self.tenant, destination=made.destination, body=made.body)
        return msgspec.structs.replace(made, commitment=bound)

    def command(
        self,
        snapshot: m.Snapshot | None = None,
        *,
        cleared_at: datetime | None = None,
        expires_at: datetime | None = None,
        approval_key: SigningKey | None = None,
        clearance_key: SigningKey | None = None,
        **changes: Any,
    ) -> m.SendCommand:
        snapshot = snapshot or self.snapshot(**changes)
        approval = KEYS.sign(seal.APPROVAL, self.approval(snapshot), approval_key)
        cleared_at = cleared_at or utc_now() - timedelta(seconds=1)
        clearance = ClearanceSeal(
            decision_id=snapshot.decision_id,
            approval_sha256=seal.fingerprint(approval),
            chain_version="1",
            chain_hash="h",
            facts_digest="f",
            cleared_at=cleared_at,
            expires_at=expires_at or cleared_at + timedelta(minutes=2),
        )
        return m.SendCommand(
            tenant=self.tenant,
            snapshot=snapshot,
            approval_seal=approval,
            clearance_seal=KEYS.sign(seal.CLEARANCE, clearance, clearance_key),
        )

    def approval(self, snapshot: m.Snapshot) -> ApprovalSeal:
        return ApprovalSeal.of(self.tenant, snapshot)

    # ------------------------------------------------------------------------------------------------ what others say

    async def customer_wrote(self, revision: int) -> None:
        now = utc_now()
        await self.bench.hear(
            m.MessageReceived(
                tenant=self.tenant,
                conversation_id=self.conversation_id,
                contact_id=self.contact_id,
                channel_id=self.channel_id,
                context_revision=revision,
                message_id=uuid4(),
                destination=m.Destination(channel_id=self.channel_id, account="atendimento", chat=CHAT),
                sender_name="Ana",
                text="Oi",
                is_draftable=True,
                sent_at=now,
                received_at=now,
            )
        )

    def ended(self, snapshot: m.Snapshot, **changes: Any) -> m.ApprovalEnded:
        fields: dict[str, Any] = {
            "tenant": self.tenant,
            "obligation_id": snapshot.obligation_id,
            "epoch": snapshot.epoch,
            "decision_id": snapshot.decision_id,
            "draft_id": uuid4(),
            "turn_id": None,
            "conversation_id": self.conversation_id,
            "how": "invalidated",
            "reason": "a new message",
            "at": utc_now(),
        }
        return m.ApprovalEnded(**{**fields, **changes})

    def taken_over(self, version: int = 1, owner: m.Owner = "person") -> m.OwnershipChanged:
        return m.OwnershipChanged(
            tenant=self.tenant, conversation_id=self.conversation_id, owner=owner, version=version, at=utc_now()
        )

    def filed(self, snapshot: m.Snapshot, epoch: int) -> m.DraftFiled:
        return m.DraftFiled(
            tenant=self.tenant,
            obligation_id=snapshot.obligation_id,
            epoch=epoch,
            draft_id=uuid4(),
            turn_id=None,
            conversation_id=self.conversation_id,
            expires_at=utc_now() + timedelta(hours=1),
        )

    def consent(self, state: Any) -> m.ConsentChanged:
        return m.ConsentChanged(tenant=self.tenant, contact_id=self.contact_id, state=state, at=utc_now())

    def session(self, *, is_ready: bool) -> m.ChannelStatusChanged:
        status = "WORKING" if is_ready else "STOPPED"
        return m.ChannelStatusChanged(
            tenant=self.tenant, channel_id=self.channel_id, status=status, is_ready=is_ready, at=utc_now()
        )

    def status(self, level: Any, provider_id: str = STANZA, **changes: Any) -> m.StatusReported:
        return m.StatusReported(
            tenant=self.tenant,
            conversation_id=self.conversation_id,
            channel_id=self.channel_id,
            provider_id=provider_id,
            level=level,
            at=utc_now(),
            **changes,
        )

    def echo(self, provider_id: str = STANZA, body: str = BODY, at: datetime | None = None) -> m.EchoSeen:
        return m.EchoSeen(
            tenant=self.tenant,
            conversation_id=self.conversation_id,
            channel_id=self.channel_id,
            provider_id=provider_id,
            chat=CHAT,
            text_digest=seal.text_digest(CHAT, body),
            at=at or utc_now(),
        )

    # ------------------------------------------------------------------------------------------------- what is seen

    async def state(self, snapshot: m.Snapshot) -> str | None:
        return await self.bench.value("select state from claim where decision_id = $1", snapshot.decision_id)

    async def states(self, *commands: m.SendCommand) -> list[str | None]:
        return [await self.state(one.snapshot) for one in commands]

    async def said(self) -> list[str]:
        return [type(one).__name__ for one in await self.bench.said()]

    async def codes(self) -> list[str]:
        """The codes of what was refused or failed since the last look."""
        kinds = (m.SendRefused, m.SendFailed, m.SendUncertain)
        return [one.code for one in await self.bench.said() if isinstance(one, kinds)]

    async def run(self) -> None:
        """Run what is due now, and see that no handler failed."""
        await self.bench.run_jobs()
        assert not await self.parked()

    async def run_later(self) -> None:
        """Run what waits for later too, as if the number's rest were over."""
        await self.bench.rows("update channel_state set not_before = null")
        await self.bench.run_jobs(all=True)
        assert not await self.parked()

    async def take_job(self) -> Job:
        """Take the one job that is due, as a pod would that then dies."""
        (job,) = await self.bench._jobs._take_quietly()  # pyright: ignore[reportPrivateUsage] - one step of the real thing
        return job

    async def begin(self) -> None:
        """Run the queue's head only: its call is due and has not run."""
        job = await self.take_job()
        await self.bench._jobs._run(job)  # pyright: ignore[reportPrivateUsage] - as above

    async def prepare_call(self) -> None:
        """The first half of a call, committed; then its process is gone."""
        job = await self.take_job()
        slow = next(one for one in self.handlers.slow if one.on == "call")
        async with self.bench.db.transaction() as tx:
            assert await slow.prepare(tx, job) is not None

    async def expire_leases(self) -> None:
        await self.bench.rows("update job set lease_token = null, leased_until = null")

    async def parked(self) -> Sequence[Any]:
        return await self.bench.rows("select kind, last_error from job where parked_at is not null")


def config(tmp_path: Path, channel_id: UUID, tenant: UUID, url: str, **changes: Any) -> Config:
    channel = {
        "channel_id": str(channel_id),
        "tenant": str(tenant),
        "kind": "waha",
        "account": "atendimento",
        "base_url": url,
        "api_key": "secret-of-the-number",
    }
    file = tmp_path / f"channels-{channel_id}.json"
    file.write_text(json.dumps([channel]))
    made = Config(
        database_url="",
        nats_url="",
        nats_seed="",
        digest_key="d",
        seal_ring=msgspec.json.encode(KEYS.public).decode(),
        seal_key=msgspec.json.encode(KEYS.private[seal.RECEIPT]).decode(),
        channels_file=str(file),
        call_timeout_seconds=3.0,
        lookup_timeout_seconds=3.0,
    )
    return msgspec.structs.replace(made, **changes)


async def new_world(bench_of: Any, tmp_path: Path, waha: WahaDouble, *, url: str = "", **changes: Any) -> World:
    channel_id, tenant = uuid4(), uuid4()
    made = handlers(config(tmp_path, channel_id, tenant, url or waha.url, **changes))
    world = World(await bench_of("delivery", made), waha, made, channel_id, tenant)
    await world.customer_wrote(1)
    return world
