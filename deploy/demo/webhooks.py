"""`chancela demo webhooks`: labelled payloads through the real endpoint, each compared with the action it states.

A line holds `case`, `action` and either `payload` (serialised and signed here) or the exact `raw_body` / `raw_body_b64`
with `headers` and `hmac_key`; `after` names a case that is received before it, `needs_own_sent_message` a message of
ours that must be known.
"""

import asyncio
import base64
import hashlib
import hmac
import json as stdlib_json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid4, uuid5

import httpx
import msgspec
from rich.console import Console
from rich.table import Table

from contracts import messages as m
from deploy.demo.events import Observer, until
from deploy.demo.fresh import fresh_stack
from deploy.local.layout import SESSION, TENANT
from deploy.local.stack import Stack
from shared import seal
from shared.bus.outbox import Outbox, Said
from shared.clock import utc_now
from shared.db import Database

SAMPLE_KEY = "key-of-the-samples"
OWN_MESSAGE_SECONDS = 20.0
ANY_AGE_HOURS = "1000000"
"""Samples carry the time of their recording; freshness has tests of its own."""


class Sample(msgspec.Struct, frozen=True):
    """A labelled line."""

    case: str
    action: str
    payload: Any = None
    raw_body: str | None = None
    raw_body_b64: str | None = None
    headers: dict[str, str] = {}
    hmac_key: str | None = None
    needs_own_sent_message: str | None = None
    after: str | None = None


class Row(msgspec.Struct, frozen=True):
    """What came back for a line."""

    case: str
    expected: str
    action: str
    status: int


def main(file: Path, *, json: bool, console: Console) -> int:
    """Replay, print, and return 0 when every action is as stated."""
    rows = replay(read(file))
    if json:
        print(msgspec.json.encode({"rows": rows}).decode())  # noqa: T201 - the command's output
    else:
        console.print(_table(rows))
    return 0 if all(row.action == row.expected for row in rows) else 1


def read(file: Path) -> list[Sample]:
    lines = file.read_text(encoding="utf-8").splitlines()
    # the standard library's parser: samples may hold escapes of lone surrogates, which are part of the case
    return [msgspec.convert(stdlib_json.loads(line), Sample) for line in lines if line.strip()]


def replay(samples: Sequence[Sample]) -> list[Row]:
    """Post each line to a fresh ingest, on real servers. Each has a channel of its own, so nobody else's messages."""
    channels = [_channel(number, sample) for number, sample in enumerate(samples)]
    with fresh_stack(
        overrides={"ingest": {"WEBHOOK_FRESHNESS_HOURS": ANY_AGE_HOURS}},
        extra_channels=channels,
        services=("ingest", "delivery"),
        with_phone=False,
    ) as stack:
        return asyncio.run(_replay(stack, samples, channels))


async def _replay(stack: Stack, samples: Sequence[Sample], channels: Sequence[Mapping[str, Any]]) -> list[Row]:
    by_case = {sample.case: sample for sample in samples}
    base = f"{stack.layout.ingest_url}/webhooks/waha"
    ours = await OurSends.open(stack)
    rows: list[Row] = []
    async with httpx.AsyncClient(timeout=30) as client:
        posts = [Post(client, f"{base}/{channel['slug']}", channel["hmac_key"]) for channel in channels]
        needed = zip(samples, channels, posts, strict=True)
        await ours.send([(p, c, s.needs_own_sent_message) for s, c, p in needed if s.needs_own_sent_message])
        for sample, post in zip(samples, posts, strict=True):
            for earlier in _before(sample, by_case):
                await post(_body(earlier), earlier.headers)
            rows.append(_row(sample, await post(_body(sample), sample.headers)))
    await ours.close()
    return rows


def _before(sample: Sample, by_case: Mapping[str, Sample]) -> list[Sample]:
    first = by_case.get(sample.after or "")
    return [*_before(first, by_case), first] if first else []


def _channel(number: int, sample: Sample) -> Mapping[str, Any]:
    return {
        "channel_id": str(uuid5(NAMESPACE_URL, f"sample-{number}")),
        "tenant": str(TENANT),
        "kind": "waha",
        "slug": f"sample-{number}",
        "session": SESSION,
        "hmac_key": sample.hmac_key or SAMPLE_KEY,
        "name": sample.case,
    }


@dataclass(frozen=True)
class Post:
    """Posts bodies to one channel, signed with its key where the line brings no signature of its own."""

    client: httpx.AsyncClient
    url: str
    key: str

    async def __call__(self, body: bytes, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return await self.client.post(self.url, content=body, headers=headers or signed(body, self.key))


@dataclass(frozen=True)
class OurSends:
    """Messages of ours, as delivery tells of them: written to its outbox, published by its process, heard by ingest."""

    delivery: Database
    observer: Observer

    @classmethod
    async def open(cls, stack: Stack) -> "OurSends":
        database = await Database.connect(stack.database_url("delivery", "bus"), schema="delivery", name="demo")
        return cls(database, await Observer.open(stack.superuser_url()))

    async def close(self) -> None:
        await self.delivery.close()
        await self.observer.close()

    async def send(self, needed: Sequence[tuple[Post, Mapping[str, Any], str]]) -> None:
        """Make these message ids known as ours: the chat's customer wrote once, and we answered with it."""
        said = [await self._answer(post, UUID(channel["channel_id"]), own) for post, channel, own in needed]
        outbox = Outbox(self.delivery)
        await outbox.ready()
        async with self.delivery.transaction() as tx:
            await outbox.append(tx, [Said(one, uuid4(), "demo", "") for one in said])
        await outbox.close()
        for one in said:
            await until(
                lambda one=one: self.observer.is_own_message(one.channel_id, one.provider_id), OWN_MESSAGE_SECONDS
            )

    async def _answer(self, post: Post, channel_id: UUID, message_id: str) -> m.SendAccepted:
        chat, stanza_id = message_id.split("_", 3)[1:3]
        (await post(_customer_message(chat))).raise_for_status()
        conversation = await self.observer.conversation_on(channel_id, chat)
        return _accepted(channel_id, UUID(conversation), stanza_id)


def _accepted(channel_id: UUID, conversation_id: UUID, provider_id: str) -> m.SendAccepted:
    nothing = m.Envelope(payload_type=seal.RECEIPT, payload=b"{}", key_id="demo", signature=b"")
    return m.SendAccepted(
        tenant=TENANT,
        decision_id=uuid4(),
        obligation_id=uuid4(),
        conversation_id=conversation_id,
        channel_id=channel_id,
        at=utc_now(),
        provider_id=provider_id,
        receipt=nothing,
        body="Abrimos às 8h.",
    )


def _row(sample: Sample, answer: httpx.Response) -> Row:
    action = answer.json()["action"] if answer.is_success else f"reject_{answer.status_code}"
    return Row(sample.case, sample.action, action, answer.status_code)


def _body(sample: Sample) -> bytes:
    if sample.raw_body_b64 is not None:
        return base64.b64decode(sample.raw_body_b64)
    if sample.raw_body is not None:
        return sample.raw_body.encode("utf-8", "surrogatepass")
    return stdlib_json.dumps(sample.payload, ensure_ascii=False, separators=(",", ":")).encode()


def signed(body: bytes, key: str) -> dict[str, str]:
    """Headers as WAHA signs a body."""
    return {
        "Content-Type": "application/json",
        "X-Webhook-Hmac": hmac.new(key.encode(), body, hashlib.sha512).hexdigest(),
        "X-Webhook-Hmac-Algorithm": "sha512",
    }


def _customer_message(chat: str) -> bytes:
    stanza = f"3A{secrets.token_hex(9).upper()}"
    at = 1_789_990_000
    payload = {"id": f"false_{chat}_{stanza}", "timestamp": at, "from": chat, "fromMe": False, "body": "Oi"}
    event = {
        "id": f"evt_{stanza}",
        "timestamp": at * 1000,
        "event": "message.any",
        "session": SESSION,
        "me": {"id": "5511900000001@c.us"},
        "payload": payload,
        "engine": "NOWEB",
    }
    return stdlib_json.dumps(event).encode()


def _table(rows: Iterable[Row]) -> Table:
    table = Table("case", "expected", "action", "status")
    for row in rows:
        style = "" if row.action == row.expected else "red"
        table.add_row(row.case, row.expected, row.action, str(row.status), style=style)
    return table
