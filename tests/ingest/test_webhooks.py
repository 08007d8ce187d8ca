"""The edge: what is refused, what is kept, and that nothing happens twice."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import pytest

from contracts.messages import ChannelStatusChanged, ContactSeen, MessageReceived
from services.ingest.config import load_channels
from services.ingest.http import LONGEST_BODY_BYTES
from shared.config import ConfigError
from tests.harness import BenchFactory
from tests.ingest.edge import (
    CUSTOMER,
    KEY,
    SLUG,
    Edge,
    ack,
    channel,
    config_of,
    edited,
    event,
    from_me,
    inbound,
    signed_headers,
    status,
    wire,
)
from tests.servers import PostgresServer

PROBLEM = "application/problem+json"


async def kept(edge: Edge) -> list[tuple[str, str | None]]:
    rows = await edge.bench.rows("select action, quarantine_reason from raw_event order by received_at")
    return [(row["action"], row["quarantine_reason"]) for row in rows]


async def test_twenty_copies_at_once_are_one_message(edge: Edge) -> None:
    copies = [inbound("3AAA") | {"id": f"evt_{n}", "event": ("message", "message.any")[n % 2]} for n in range(20)]
    actions = await asyncio.gather(*(edge.post(copy) for copy in copies))
    assert sorted(actions) == ["duplicate"] * 19 + ["inbound"]
    assert len(await edge.said(MessageReceived)) == 1
    assert await edge.revision() == 1
    assert await kept(edge) == [("inbound", None)]


async def test_the_same_stanza_in_another_channel_is_another_message(bench_of: BenchFactory, tmp_path: Path) -> None:
    edge = await Edge.open(bench_of, tmp_path, [channel("a"), channel("b")])
    assert [await edge.post(inbound("3AAA"), slug) for slug in ("a", "b", "a")] == ["inbound", "inbound", "duplicate"]
    tenants = {said.tenant for said in await edge.said(MessageReceived)}
    assert len(tenants) == 2
    await edge.client.aclose()


async def test_a_wrong_signature_leaves_nothing_behind(edge: Edge) -> None:
    answer = await edge.post_raw(wire(inbound("3AAA")), signed_headers(b"other bytes"))
    assert (answer.status_code, answer.headers["content-type"]) == (401, PROBLEM)
    assert answer.json()["action"] == "reject_401"
    assert (await kept(edge), await edge.said()) == ([], [])


@pytest.mark.parametrize("raw", [b"", b"\x00\xff\xfe", b"[" * 100_000, b'{"event": NaN}', b"[1]", b'"text"'])
async def test_authentic_garbage_is_answered_400(edge: Edge, raw: bytes) -> None:
    answer = await edge.post_raw(raw)
    assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM)
    assert await kept(edge) == []


async def test_a_body_over_the_limit_is_refused_before_it_is_read(edge: Edge) -> None:
    chunks = Chunks(80)
    announced = {"content-length": str(80 * Chunks.size)}
    answer = await edge.client.post(f"/webhooks/waha/{SLUG}", content=chunks, headers=announced)
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:chancela:problem:body_too_large")
    assert chunks.sent == 0


async def test_a_streamed_body_over_the_limit_is_cut_off(edge: Edge) -> None:
    chunks = Chunks(400)
    answer = await edge.client.post(f"/webhooks/waha/{SLUG}", content=chunks)
    assert answer.status_code == 413
    assert chunks.sent * Chunks.size <= LONGEST_BODY_BYTES + 2 * Chunks.size


class Chunks:
    """A body in pieces, of an unannounced length; counts what was read of it."""

    size = 65_536

    def __init__(self, count: int) -> None:
        self.count, self.sent = count, 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.sent < self.count:
            self.sent += 1
            yield bytes(self.size)


async def test_the_largest_body_that_is_allowed_is_taken(edge: Edge) -> None:
    small = wire(inbound("3AAA") | {"padding": ""})
    raw = wire(inbound("3AAA") | {"padding": "x" * (LONGEST_BODY_BYTES - len(small))})
    assert (await edge.post_raw(raw[: LONGEST_BODY_BYTES - 2] + b'"}')).json()["action"] == "inbound"


async def test_a_channel_answers_to_its_id_and_its_slug_and_to_nothing_else(edge: Edge) -> None:
    raw = wire(inbound("3AAA"))
    statuses = [
        (await edge.client.post(f"/webhooks/waha/{where}", content=raw, headers=signed_headers(raw))).status_code
        for where in (SLUG, str(edge.channel.channel_id), "outra")
    ]
    assert statuses == [200, 200, 404]
    lost = [await edge.client.get(f"/webhooks/waha/{SLUG}"), await edge.client.post("/nowhere")]
    assert [(one.status_code, one.headers["content-type"]) for one in lost] == [(405, PROBLEM), (404, PROBLEM)]


async def test_another_session_and_an_old_body_are_refused(bench_of: BenchFactory, tmp_path: Path) -> None:
    edge = await Edge.open(bench_of, tmp_path)
    foreign = await edge.post_raw(wire(inbound("3AAA") | {"session": "outra"}))
    strict = config_of([edge.channel], tmp_path, webhook_freshness_hours=1.0)
    old = Edge(edge.bench, [edge.channel], strict)
    stale = await old.post_raw(wire(inbound("3AAB")))
    assert (foreign.status_code, stale.status_code) == (403, 401)
    assert await edge.said() == []
    await asyncio.gather(edge.client.aclose(), old.client.aclose())


async def test_what_is_authentic_and_unusable_is_kept_with_its_reason(edge: Edge) -> None:
    broken = [
        event("message", id=None, body="oi"),
        inbound("3AAA", None),
        edited("3AAB", "3AUNKNOWN", "oi"),
        event("message") | {"payload": None},
    ]
    assert [await edge.post(one) for one in broken] == ["quarantine"] * 4
    reasons = {reason for _, reason in await kept(edge)}
    assert reasons == {"id_missing", "content_unsupported", "target_unknown", "envelope_incomplete"}
    assert await edge.said() == []


async def test_what_nobody_needs_is_answered_200_and_not_kept(edge: Edge) -> None:
    assert await edge.post(event("message.hologram")) == "ignore"
    assert await edge.post(inbound("3AAA", chat="120363000000000777@g.us")) == "ignore"
    assert await kept(edge) == []


async def test_a_readable_copy_may_follow_an_unreadable_one(edge: Edge) -> None:
    assert await edge.post(inbound("3AAA", None)) == "quarantine"
    assert await edge.post(inbound("3AAA", "agora sim")) == "inbound"


async def test_a_lost_database_is_answered_503_and_the_retry_is_taken(
    edge: Edge, postgres_server: PostgresServer
) -> None:
    raw = wire(inbound("3AAA"))
    async with database_shut(postgres_server, await edge.bench.value("select current_database()")):
        answer = await edge.post_raw(raw)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert (await edge.post_raw(raw)).json()["action"] == "inbound"


@asynccontextmanager
async def database_shut(server: PostgresServer, name: str) -> AsyncGenerator[None]:
    """Every connection of ingest is cut, and none can be made."""
    admin = await asyncpg.connect(server.dsn(name))
    await admin.execute("alter role ingest_bus connection limit 0")
    await admin.execute(
        "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'ingest_bus' and datname = $1", name
    )
    try:
        yield
    finally:
        await admin.execute("alter role ingest_bus connection limit -1")
        await admin.close()


async def test_a_text_of_control_characters_still_fits_the_bus(edge: Edge) -> None:
    assert await edge.post(inbound("3AAA", "oi" + "\x01" * 60_000)) == "inbound"
    assert [said.text for said in await edge.said(MessageReceived)] == ["oi"]


async def test_the_answer_and_the_message_share_the_callers_trace(edge: Edge) -> None:
    raw = wire(inbound("3AAA"))
    parent = "00-" + "a" * 32 + "-" + "b" * 16 + "-01"
    await edge.post_raw(raw, signed_headers(raw) | {"traceparent": parent})
    carried = await edge.bench.value("select traceparent from outbox limit 1")
    assert carried.startswith(f"00-{'a' * 32}-")
    assert carried != parent


async def test_the_newest_session_status_stands(edge: Edge) -> None:
    assert await edge.post(status("WORKING", 1_790_000_002_000)) == "session_update"
    assert await edge.post(status("FAILED", 1_790_000_001_000)) == "session_update"
    assert [(said.status, said.is_ready) for said in await edge.said(ChannelStatusChanged)] == [("WORKING", True)]


@pytest.fixture
def log_lines() -> Iterator[list[str]]:
    """Everything that is logged, by us or by a library."""
    lines: list[str] = []

    class Keeper(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{self.format(record)} {getattr(record, 'fields', {})}")

    keeper = Keeper()
    logging.getLogger().addHandler(keeper)
    yield lines
    logging.getLogger().removeHandler(keeper)


async def test_no_text_is_ever_logged_even_when_the_driver_quotes_the_value_that_it_refuses(
    edge: Edge, log_lines: list[str], postgres_server: PostgresServer
) -> None:
    planted = "PLANTED-9137"
    await edge.post(inbound("3AAA", planted))
    await edge.post(event("message", id=None, body=planted))
    admin = await asyncpg.connect(postgres_server.dsn(await edge.bench.value("select current_database()")))
    await admin.execute("alter table ingest.held_reply alter column text type integer using 0")
    await admin.close()
    answer = await edge.post_raw(wire(from_me("3EB1", planted)))
    assert answer.status_code == 500
    assert any("a webhook failed" in line for line in log_lines)
    assert planted not in "".join(log_lines) + answer.text
    assert await edge.bench.value("select count(*) from heard_fact where fact = '3EB1'") == 0


async def test_acks_make_no_message(edge: Edge) -> None:
    assert await edge.post(ack("3EB1", 2)) == "ack_update"
    assert await edge.bench.rows("select from message") == []
    seen, reported = await edge.said()
    assert (type(seen), reported.level, reported.provider_id) == (ContactSeen, "device", "3EB1")
    assert await edge.revision() == 0


async def test_a_channel_file_names_what_is_wrong_with_it(tmp_path: Path) -> None:
    twice = [channel("a"), channel("a")]
    with pytest.raises(ConfigError, match="'a' must name exactly one channel"):
        load_channels(config_of(twice, tmp_path).channels_file)
    with pytest.raises(ConfigError, match="exactly one of hmac_key_file and hmac_key"):
        load_channels(config_of([channel("a", key="")], tmp_path).channels_file)
    with pytest.raises(ConfigError, match="cannot be read"):
        load_channels(str(tmp_path / "none.json"))


async def test_a_restart_keeps_a_channels_status_and_no_key_is_stored(edge: Edge) -> None:
    from services.ingest import service  # noqa: PLC0415 - the start of the service is what is tested

    await edge.post(status("WORKING"))
    await service.start(edge.context)
    row = (await edge.bench.rows("select * from channel"))[0]
    assert (row["status"], row["is_ready"]) == ("WORKING", True)
    assert KEY not in str(dict(row))


async def test_an_inbound_goes_to_the_chat_that_wrote(edge: Edge) -> None:
    await edge.post(inbound("3AAA", chat="552190004321@c.us"))
    said = (await edge.said(MessageReceived))[0]
    assert (said.destination.chat, said.destination.account) == ("552190004321@c.us", "atendimento")
    assert said.destination.channel_id == edge.channel.channel_id
    assert CUSTOMER not in said.destination.chat
