"""A running system from outside: the channel's signed webhooks, the customer's phone, and people at the HTTP API."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import msgspec

from deploy.keys import read_key
from deploy.local.layout import SESSION, Layout
from shared.clock import utc_now

Shape = dict[str, Any]


@dataclass
class Outside:
    """What the world does to an installation."""

    layout: Layout
    client: httpx.AsyncClient
    tokens: dict[str, str] = field(default_factory=dict[str, str])

    # -------------------------------------------------------------------------------------------------- the channel

    async def webhook(self, body: Mapping[str, Any] | bytes) -> httpx.Response:
        """Post an event as WAHA would, signed over its bytes."""
        raw = body if isinstance(body, bytes) else msgspec.json.encode(body)
        return await self.client.post(self.layout.webhook_url, content=raw, headers=self.signed(raw))

    def signed(self, raw: bytes) -> dict[str, str]:
        key = read_key(self.layout.keys, "waha.hmac").encode()
        return {
            "Content-Type": "application/json",
            "X-Webhook-Hmac": hmac.new(key, raw, hashlib.sha512).hexdigest(),
            "X-Webhook-Hmac-Algorithm": "sha512",
        }

    async def phone(self, control: str, **body: Any) -> Any:
        """One of the phone's controls (`deploy/local/phone/control.py`)."""
        answer = await self.client.post(f"{self.layout.phone_url}/_control/{control}", json=body)
        return answer.raise_for_status().json()

    async def received(self, chat: str = "") -> list[Shape]:
        """Every request to send (into a chat), in order of arrival, with its outcome."""
        rows: list[Shape] = (await self.client.get(f"{self.layout.phone_url}/_control/received")).json()
        return [row for row in rows if not chat or row["chat"] == chat]

    # ----------------------------------------------------------------------------------------------------- people

    async def signed_in(self, person: str) -> dict[str, str]:
        """The headers of a person's requests."""
        if person not in self.tokens:
            url = f"{self.layout.approval_url}/v1/local/token"
            answer = (await self.client.post(url, json={"email": person})).raise_for_status()
            self.tokens[person] = answer.json()["token"]
        return {"Authorization": f"Bearer {self.tokens[person]}"}

    async def get(self, person: str, path: str) -> httpx.Response:
        url = f"{self.layout.approval_url}{path}"
        return await self.client.get(url, headers=await self.signed_in(person))

    async def post(self, person: str, path: str, body: Any, headers: Mapping[str, str] | None = None) -> httpx.Response:
        """A request with an Idempotency-Key of its own, unless `headers` brings one."""
        own = {"Idempotency-Key": str(uuid4()), **await self.signed_in(person), **(headers or {})}
        return await self.client.post(f"{self.layout.approval_url}{path}", json=body, headers=own)

    async def decide(self, person: str, obligation: str, shown: str, body: Mapping[str, Any]) -> httpx.Response:
        """Decide on the text that the ETag `shown` names."""
        return await self.post(person, f"/v1/obligations/{obligation}/decisions", body, {"If-Match": shown})


def envelope(event: str, payload: Any) -> Shape:
    """A webhook's body as WAHA writes it."""
    return {
        "id": f"evt_{secrets.token_hex(13)}",
        "timestamp": int(utc_now().timestamp() * 1000),
        "event": event,
        "session": SESSION,
        "me": {"id": "5511900000001@c.us"},
        "payload": payload,
        "engine": "NOWEB",
    }


def customer_message(chat: str, text: str | None, *, name: str = "Ana P.", **more: Any) -> Shape:
    """The payload of a customer's message as WAHA's engine NOWEB reports it; `more` wins."""
    payload: Shape = {
        "id": f"false_{chat}_3A{secrets.token_hex(9).upper()}",
        "timestamp": int(utc_now().timestamp()),
        "from": chat,
        "fromMe": False,
        "source": "app",
        "to": None,
        "body": text,
        "hasMedia": False,
        "ack": 2,
        "ackName": "DEVICE",
        "_data": {"pushName": name},
    }
    return payload | more
