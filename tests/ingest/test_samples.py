"""Every labelled webhook through the real application on a real database."""

import base64
import json
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from contracts.messages import MessageReceived
from services.ingest.config import Channel
from tests.harness import BenchFactory
from tests.ingest.edge import KEY, Edge, accepted, channel, signed_headers, wire

SAMPLES = Path(__file__).parents[1] / "samples" / "waha.jsonl"
Case = dict[str, Any]
CASES: dict[str, Case] = {
    case["case"]: case for case in map(json.loads, SAMPLES.read_text(encoding="utf-8").splitlines())
}


def raw_of(case: Case) -> bytes:
    if encoded := case.get("raw_body_b64"):
        return base64.b64decode(encoded)
    return case["raw_body"].encode() if case.get("raw_body") is not None else wire(case["payload"])


def heard_before(case: Case) -> list[Case]:
    first = CASES.get(case.get("after", ""))
    return [*heard_before(first), first] if first else []


async def conversation_for(edge: Edge, to: Channel) -> UUID:
    """A conversation that ingest opened: delivery speaks of no other."""
    contact_id, conversation_id = uuid4(), uuid4()
    async with edge.bench.db.transaction() as tx:
        await tx.execute("insert into contact (contact_id, tenant) values ($1, $2)", contact_id, to.tenant)
        await tx.execute(
            "insert into conversation (conversation_id, tenant, channel_id, contact_id, language) "
            "values ($1, $2, $3, $4, 'pt-BR')",
            *(conversation_id, to.tenant, to.channel_id, contact_id),
        )
    return conversation_id


async def action_of(edge: Edge, case: Case, to: Channel) -> str:
    """Each case has a channel, so nobody else's messages, of its own."""
    if own := case.get("needs_own_sent_message"):
        await edge.bench.hear(accepted(to, own, await conversation_for(edge, to)))
    answer = None
    for one in (*heard_before(case), case):
        raw = raw_of(one)
        answer = await edge.post_raw(raw, one.get("headers") or signed_headers(raw), to.slug)
    assert answer is not None
    assert answer.status_code == {"400": 400, "401": 401, "403": 403}.get(case["action"][-3:], 200), case["case"]
    return answer.json()["action"]


async def test_every_sample_gets_its_action_from_the_application(bench_of: BenchFactory, tmp_path: Path) -> None:
    channels = {name: channel(name, case.get("hmac_key", KEY)) for name, case in CASES.items()}
    edge = await Edge.open(bench_of, tmp_path, list(channels.values()))
    got = {name: await action_of(edge, case, channels[name]) for name, case in CASES.items()}
    await edge.client.aclose()
    assert got == {name: case["action"] for name, case in CASES.items()}
    assert await edge.bench.rows("select from raw_event where action like 'reject%'") == []


async def test_what_the_samples_say_reaches_the_bus_unchanged(edge: Edge) -> None:
    await edge.post_raw(raw_of(CASES["text_emoji_zwj"]))
    await edge.post_raw(raw_of(CASES["text_zero_width_optout"]))
    first, second = await edge.said(MessageReceived)
    assert first.text == CASES["text_emoji_zwj"]["payload"]["payload"]["body"]
    assert second.opt_out == "opt_out"
