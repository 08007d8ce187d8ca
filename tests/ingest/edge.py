"""The webhook edge of ingest on a real database, and a WAHA that signs what it posts."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from uuid import UUID, uuid4

import httpx
import msgspec

from contracts.messages import Envelope as Seal
from contracts.messages import Message, SendAccepted, SendBegun
from services.ingest import http, service
from services.ingest.config import Channel, Channels, Config
from shared.runtime import Context
from shared.seal import text_digest
from tests.harness import Bench, BenchFactory

if TYPE_CHECKING:
    from shared.bus import Bus

KEY = "a-key-for-tests"
SLUG = "padaria"
CUSTOMER = "5511900001234@c.us"
RECEIPT = Seal(payload_type="t", payload=b"p", key_id="k", signature=b"s")
Shape = dict[str, Any]


def channel(slug: str = SLUG, key: str = KEY, session: str = "atendimento") -> Channel:
    return Channel(channel_id=uuid4(), slug=slug, tenant=uuid4(), kind="waha", session=session, hmac_key=key)


def config_of(channels: Sequence[Channel], folder: Path, **settings: Any) -> Config:
    file = folder / "channels.json"
    file.write_bytes(msgspec.json.encode(channels))
    known: Shape = {"database_url": "", "nats_url": "", "nats_seed": "", "digest_key": ""}
    known |= {"channels_file": str(file), "webhook_freshness_hours": 1e6}
    return Config(**known | settings)


class Edge:
    """Posts webhooks to the real application; `said` and `rows` show what became of them."""

    def __init__(self, bench: Bench, channels: Sequence[Channel], config: Config) -> None:
        self.bench = bench
        self.channel = channels[0]
        self.context = Context("ingest", config, bench.db, None, cast("Bus", bench))
        self.client = httpx.AsyncClient(
            transport=httpx.ASGITransport(http.app(self.context)), base_url="http://ingest.test"
        )
        self._channels = {one.slug: one for one in channels}

    @classmethod
    async def open(
        cls, bench_of: BenchFactory, folder: Path, channels: Sequence[Channel] = (), **settings: Any
    ) -> "Edge":
        channels = channels or [channel()]
        config = config_of(channels, folder, **settings)
        bench = await bench_of("ingest", service.handlers(config))
        edge = cls(bench, channels, config)
        await service.note_channels(edge.context, Channels(channels))
        return edge

    async def post_raw(self, raw: bytes, headers: Mapping[str, str] | None = None, slug: str = SLUG) -> httpx.Response:
        signed = signed_headers(raw, self._channels[slug].hmac_key) if headers is None else headers
        return await self.client.post(f"/webhooks/waha/{slug}", content=raw, headers=dict(signed))

    async def post(self, event: Shape, slug: str = SLUG) -> str:
        """Post an event as WAHA would; returns the action."""
        answer = await self.post_raw(wire(event), slug=slug)
        return answer.json()["action"]

    async def said(self, kind: type[Message] | None = None) -> list[Any]:
        return [one for one in await self.bench.said() if kind is None or type(one) is kind]

    async def revision(self) -> int:
        return await self.bench.value("select coalesce(max(context_revision), 0) from conversation")

    async def is_over_or_waits(self, task: asyncio.Task[Any]) -> bool:
        """For what is begun beside a transaction that holds a lock."""
        sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        return task.done() or await self.bench.value(sql) > 0

    async def conversation(self) -> UUID:
        """The one conversation there is."""
        rows = await self.bench.rows("select conversation_id from conversation")
        assert len(rows) == 1
        return rows[0]["conversation_id"]


def wire(event: Shape) -> bytes:
    return json.dumps(event, ensure_ascii=False, separators=(",", ":")).encode()


def signed_headers(raw: bytes, key: str = KEY) -> dict[str, str]:
    signature = hmac.new(key.encode(), raw, hashlib.sha512).hexdigest()
    return {"X-Webhook-Hmac": signature, "X-Webhook-Hmac-Algorithm": "sha512"}


def event(name: str, **payload: Any) -> Shape:
    return {
        "id": f"evt_{uuid4().hex}",
        "timestamp": 1_790_000_000_000,
        "event": name,
        "session": "atendimento",
        "me": {"id": "5511900000001@c.us", "lid": "990000000000001@lid"},
        "payload": {"timestamp": 1_789_999_998} | payload,
        "engine": "NOWEB",
    }


def inbound(stanza: str, text: str | None = "oi", chat: str = CUSTOMER, **fields: Any) -> Shape:
    known = {"id": f"false_{chat}_{stanza}", "from": chat, "fromMe": False, "body": text, "hasMedia": False}
    return event("message.any", **(known | fields))


def from_me(stanza: str, text: str, chat: str = CUSTOMER, **fields: Any) -> Shape:
    known = {"id": f"true_{chat}_{stanza}", "from": chat, "fromMe": True, "source": "app", "body": text}
    return event("message.any", **(known | fields))


def edited(stanza: str, target: str, text: str, chat: str = CUSTOMER, **fields: Any) -> Shape:
    known = {"id": f"false_{chat}_{stanza}", "from": chat, "fromMe": False, "body": text, "editedMessageId": target}
    return event("message.edited", **(known | fields))


def revoked(target: str, chat: str = CUSTOMER, *, is_from_me: bool = False) -> Shape:
    after = {"id": f"{str(is_from_me).lower()}_{chat}_A{target}", "from": chat, "fromMe": is_from_me}
    return event("message.revoked", after=after, before=None, revokedMessageId=target)


def reaction(stanza: str, target: str, emoji: str, chat: str = CUSTOMER) -> Shape:
    return event(
        "message.reaction",
        id=f"false_{chat}_{stanza}",
        **{"from": chat, "fromMe": False, "reaction": {"text": emoji, "messageId": target}},
    )


def ack(stanza: str, level: int, chat: str = CUSTOMER, **fields: Any) -> Shape:
    known = {"id": f"true_{chat}_{stanza}", "from": chat, "fromMe": True, "ack": level, "ackName": ""}
    return event("message.ack", **(known | fields))


def status(name: str, at_ms: int = 1_790_000_000_000) -> Shape:
    return event("session.status", status=name) | {"timestamp": at_ms}


def begun(to: Channel, conversation_id: UUID, text: str, *, chat: str = CUSTOMER, **fields: Any) -> SendBegun:
    known: Shape = _send(to, conversation_id) | {"chat": chat, "text_digest": text_digest(chat, text)}
    return SendBegun(**known | fields)


def accepted(to: Channel, provider_id: str, conversation_id: UUID, **fields: Any) -> SendAccepted:
    known: Shape = _send(to, conversation_id) | {"provider_id": provider_id, "receipt": RECEIPT}
    return SendAccepted(**known | fields)


def _send(to: Channel, conversation_id: UUID) -> Shape:
    return {
        "tenant": to.tenant,
        "decision_id": uuid4(),
        "obligation_id": uuid4(),
        "conversation_id": conversation_id,
        "channel_id": to.channel_id,
        "at": datetime.now(UTC),
    }
