"""`chancela demo webhooks`: labelled payloads through the real endpoint, each compared with the action it states.

A line holds `case`, `action` and either `payload` (serialised and signed here) or the exact `raw_body` / `raw_body_b64`
with `headers` and `hmac_key`; `needs_own_sent_message` names a message of ours that must be known before.
"""

import base64
import hashlib
import hmac
import json as stdlib_json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import httpx
import msgspec
from rich.console import Console
from rich.table import Table

from deploy.demo.fresh import fresh_stack
from deploy.keys import read_key
from deploy.local.layout import CHANNEL_SLUG, SESSION, TENANT

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


def replay(samples: Iterable[Sample]) -> list[Row]:
    """Post each line in order to a fresh ingest, on real servers."""
    found = list(samples)
    slugs = {key: f"key-{number}" for number, key in enumerate(sorted({s.hmac_key for s in found if s.hmac_key}))}
    with fresh_stack(
        overrides={"ingest": {"WEBHOOK_FRESHNESS_HOURS": ANY_AGE_HOURS}},
        extra_channels=[_channel(key, slug) for key, slug in slugs.items()],
        services=("ingest",),
        with_phone=False,
    ) as stack:
        key = read_key(stack.layout.keys, "waha.hmac")
        base = f"{stack.layout.ingest_url}/webhooks/waha"
        with httpx.Client(timeout=30) as client:
            return [_post(client, base, sample, slugs, key) for sample in found]


def _channel(key: str, slug: str) -> Mapping[str, Any]:
    return {
        "channel_id": str(uuid5(NAMESPACE_URL, slug)),
        "tenant": str(TENANT),
        "kind": "waha",
        "slug": slug,
        "session": SESSION,
        "hmac_key": key,
        "name": slug,
    }


def _post(client: httpx.Client, base: str, sample: Sample, slugs: Mapping[str, str], key: str) -> Row:
    if sample.needs_own_sent_message:
        body = _own_message(sample.needs_own_sent_message)
        client.post(f"{base}/{CHANNEL_SLUG}", content=body, headers=_signed(body, key)).raise_for_status()
    body = _body(sample)
    headers = sample.headers if sample.hmac_key else {**sample.headers, **_signed(body, key)}
    slug = slugs[sample.hmac_key] if sample.hmac_key else CHANNEL_SLUG
    answer = client.post(f"{base}/{slug}", content=body, headers=headers)
    action = answer.json()["action"] if answer.status_code == httpx.codes.OK else f"reject_{answer.status_code}"
    return Row(sample.case, sample.action, action, answer.status_code)


def _body(sample: Sample) -> bytes:
    if sample.raw_body_b64 is not None:
        return base64.b64decode(sample.raw_body_b64)
    if sample.raw_body is not None:
        return sample.raw_body.encode("utf-8", "surrogatepass")
    return stdlib_json.dumps(sample.payload, ensure_ascii=False, separators=(",", ":")).encode()


def _signed(body: bytes, key: str) -> dict[str, str]:
    return {
        "Content-Type": "application/json",
        "X-Webhook-Hmac": hmac.new(key.encode(), body, hashlib.sha512).hexdigest(),
        "X-Webhook-Hmac-Algorithm": "sha512",
    }


def _own_message(message_id: str) -> bytes:
    """A message that we sent, as the phone reports it: afterwards its id is known as ours."""
    chat = message_id.split("_", 2)[1]
    at = 1_789_999_000
    payload = {
        "id": message_id,
        "timestamp": at,
        "from": chat,
        "fromMe": True,
        "source": "api",
        "body": "Abrimos às 8h.",
    }
    event = {
        "id": f"evt_own_{message_id[-20:]}",
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
