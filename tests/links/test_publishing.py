"""Publishing over links that break: what failed is not sent later, memory stays bounded (see test_reports)."""

import asyncio
import gc
import random
from pathlib import Path
from uuid import UUID, uuid4

import msgspec
import pytest

from contracts import topology
from contracts.messages import ContactSeen
from shared.bus import connection as connection_module
from shared.bus.outbox import Row
from tests.harness import within
from tests.links.proxy import Proxy
from tests.links.world import CONTACTS, PATIENCE_SECONDS, Links, hear, pulling, rows, say, until

LARGE = 200 * 1024


async def test_what_is_published_while_the_server_is_away_fails_at_once_and_never_comes(links: Links) -> None:
    async with links.connected("ingest") as ingest:
        links.local.kill()
        await until(lambda: not ingest.is_connected)
        answers = await within(ingest.publish(rows(3)), connection_module.ACK_SECONDS / 2)
        assert not answers.taken
        await asyncio.to_thread(links.local.restart)
        await say(ingest, rows(1))
        assert await links.stored() == 1


async def test_the_first_publish_after_a_reconnect_is_taken_once(links: Links) -> None:
    """P#529: whether it fails or not, trying again makes it one."""
    some = rows(20)
    async with links.connected("ingest") as ingest:
        links.local.kill()
        await until(lambda: not ingest.is_connected)
        await asyncio.to_thread(links.local.restart)
        await say(ingest, some)
        await say(ingest, some)
        assert await links.stored() == 20


async def test_what_a_silent_server_did_not_take_is_bounded_and_never_comes(
    links: Links, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "ACK_SECONDS", 0.5)
    async with links.connected("ingest", proxy) as ingest:
        proxy.freeze()
        for _ in range(4):
            assert not (await ingest.publish(rows(60, size=LARGE))).taken
        unsent = ingest._client.pending_data_size  # pyright: ignore[reportPrivateUsage] - nobody else needs to know
        assert unsent < 20 * 1024 * 1024, "of 48 MiB that were to go"
        proxy.cut()
        await until(lambda: proxy.accepted == 2 and ingest.is_connected)
        await say(ingest, rows(1))
        assert await links.stored() == 1


async def test_what_is_on_its_way_when_the_link_is_lost_is_not_waited_for(
    links: Links, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "ACK_SECONDS", 600)
    async with links.connected("ingest", proxy) as ingest:
        proxy.freeze("back")
        publishing = asyncio.create_task(ingest.publish(rows(3)))
        await asyncio.sleep(0.1)
        proxy.cut()
        assert not (await within(publishing, PATIENCE_SECONDS)).taken


async def test_a_slow_server_takes_everything_in_the_end(links: Links, proxy: Proxy) -> None:
    some = rows(60, size=LARGE)
    async with links.connected("ingest", proxy) as ingest:
        proxy.there.bytes_per_second = 8_000_000
        await say(ingest, some)
        assert await links.stored() == 60


async def test_an_id_cannot_carry_a_line_of_the_protocol() -> None:
    """Keys of lanes are UUIDs by type: a text from outside is refused before it is a message of ours."""
    for evil in ("a b", "x\r\nPUB send.cmd 1", "*", ">", "a.b", ""):
        body = {
            "type": "ContactSeen", "tenant": str(uuid4()), "contact_id": evil, "channel_id": str(uuid4()),
            "name": "", "has_phone": False, "is_new": False,
        }  # fmt: skip
        with pytest.raises(msgspec.ValidationError, match="contact_id"):
            msgspec.json.decode(msgspec.json.encode(body), type=ContactSeen)
    key = UUID(int=5)
    assert topology.subject(CONTACTS, key) == f"ingest.contacts.{topology.partition(key)}.{key}"


async def test_a_line_end_in_a_header_or_a_subject_adds_nothing_to_the_wire(links: Links, proxy: Proxy) -> None:
    evil = "00-a\r\nNats-Msg-Id: stolen\r\n\r\nPUB ingest.contacts.1.x 1\r\n"
    [good] = rows(1)
    bad_header = good._replace(headers={**good.headers, "traceparent": evil})
    bad_subject = good._replace(subject=f"{good.subject}\r\nPING")
    frames: list[bytes] = []

    def watch(frame: bytes) -> list[bytes]:
        frames.append(frame)
        return [frame]

    proxy.there.alter = watch
    async with links.connected("ingest", proxy) as ingest, links.connected("operator") as operator:
        assert not (await ingest.publish([bad_subject])).taken
        await say(ingest, [bad_header])
        [message] = await pulling(operator).next_batch()
        await operator.acknowledge([message])
    assert message.headers is not None
    assert message.headers["Nats-Msg-Id"] == str(good.msg_id)
    assert sum(frame.upper().startswith((b"PUB", b"HPUB")) for frame in frames) == 1


async def test_many_publishes_leave_nothing_in_memory(links: Links) -> None:
    """P#793. A message left behind of 30,000 would be 15 MB."""
    async with links.connected("ingest") as ingest:
        await publish_pages(ingest, 20)
        gc.collect()
        before, objects = resident_bytes(), len(gc.get_objects())
        await publish_pages(ingest, 100)
        gc.collect()
        assert resident_bytes() - before < 8 * 1024 * 1024
        assert len(gc.get_objects()) - objects < 5_000
        assert not ingest._waiting  # pyright: ignore[reportPrivateUsage] - as above


async def publish_pages(ingest: connection_module.Connection, pages: int) -> None:
    for _ in range(pages):
        await say(ingest, rows(300, size=512))


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


async def test_links_that_overtake_each_other_and_double_messages_change_nothing(links: Links, proxy: Proxy) -> None:
    """Two publishers of one lane's messages at once, each sending all of them, on links of other delays."""
    chance = random.Random(7)
    proxy.there.delay = lambda: chance.choice((0, 0, 0.005, 0.02))
    proxy.there.alter = lambda frame: [frame, frame] if frame.startswith(b"HPUB") else [frame]
    some = rows(200)
    async with (
        links.connected("ingest", proxy) as one,
        links.connected("ingest", proxy) as other,
        links.connected("operator") as operator,
    ):
        await asyncio.gather(say(one, some), say(other, list(reversed(some))))
        assert await links.stored() == 200
        heard = await hear(operator, pulling(operator), 200)
        assert sorted(heard) == sorted(row.payload for row in some)


async def test_what_no_stream_takes_is_told_as_refused(links: Links) -> None:
    async with links.connected("ingest") as ingest:
        [good] = rows(1)
        strange = Row((1, 1, 0), uuid4(), "ingest.unknown.1.x", {"Nats-Msg-Id": str(uuid4())}, b"x")
        answers = await ingest.publish([strange, good])
        assert ([row.subject for row in answers.refused], [row.subject for row in answers.taken]) == (
            [strange.subject],
            [good.subject],
        )
