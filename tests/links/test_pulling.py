"""A pull through what ends one: expiry, restart, a cut, a deleted consumer, a slow link (see test_reports)."""

import asyncio
import logging
from typing import Any

import pytest
from nats.aio.client import Client
from prometheus_client import REGISTRY

from deploy.keys import read_key
from shared.bus import pull as pull_module
from tests.links.proxy import Proxy
from tests.links.world import Links, Watched, hear, pulling, rows, say, until

NEXT = b"CONSUMER.MSG.NEXT"
NEVER = 600.0


def be_brief(monkeypatch: pytest.MonkeyPatch, *, silence: float) -> None:
    """Pulls that expire at once, so that many follow each other."""
    monkeypatch.setattr(pull_module, "EXPIRES_SECONDS", 0.4)
    monkeypatch.setattr(pull_module, "HEARTBEAT_SECONDS", 0.15)
    monkeypatch.setattr(pull_module, "SILENCE_SECONDS", silence)


async def test_a_message_after_many_expired_pulls_is_heard_without_waiting_for_a_silence(
    links: Links, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_brief(monkeypatch, silence=NEVER)
    proxy.there.alter = watched = Watched(NEXT)
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        pull = pulling(operator)
        hearing = asyncio.create_task(hear(operator, pull, 1))
        await until(lambda: watched[NEXT] >= 4)
        await say(ingest, rows())
        assert len(await hearing) == 1


async def test_an_idle_pull_goes_on_after_a_restart_of_the_server_without_waiting_for_a_silence(
    links: Links, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_module, "SILENCE_SECONDS", NEVER)
    async with links.connected("ingest") as ingest, links.connected("operator") as operator:
        pull = pulling(operator)
        hearing = asyncio.create_task(hear(operator, pull, 2))
        await say(ingest, rows(1, size=1))
        links.local.kill()
        await asyncio.to_thread(links.local.restart)
        await say(ingest, rows(1, size=2))
        assert set(await hearing) == {b"0", b"0 "}


async def test_a_link_cut_in_the_middle_of_a_message_costs_a_redelivery_and_no_message(
    links: Links, proxy: Proxy
) -> None:
    sent = rows(6, size=200 * 1024)
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        await say(ingest, sent)
        proxy.back.bytes_per_second = 400_000
        passed = proxy.back.passed
        hearing = asyncio.create_task(hear(operator, pulling(operator), 6))
        await until(lambda: proxy.back.passed > passed + 300_000)
        proxy.cut()
        proxy.back.bytes_per_second = None
        assert set(await hearing) == {row.payload for row in sent}
        assert proxy.accepted == 2


async def test_a_deleted_consumer_is_an_alarm_and_few_questions_and_its_return_is_noticed(
    links: Links, proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    proxy.there.alter = watched = Watched(NEXT)
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        pull = pulling(operator)
        hearing = asyncio.create_task(hear(operator, pull, 1))
        await until(lambda: watched[NEXT] == 1)
        with caplog.at_level(logging.INFO, logger="shared"):
            await links.ask("CONSUMER.DELETE.INGEST_CONTACTS.operator")
            await until(lambda: pull.is_gone)
            assert is_missing() == 1
            before = watched[NEXT]
            await asyncio.sleep(2)
            assert watched[NEXT] - before < 10 * 2, "asked more than ten times a second"
            assert not hearing.done()
            await until(lambda: watched[NEXT] > before, 30)
            await links.apply()
            await say(ingest, rows())
            assert len(await hearing) == 1
        assert is_missing() == 0
        assert [record.message for record in caplog.records if "ConsumerGone" in record.message] == [
            "ConsumerGone: run `chancela bus apply`"
        ]


def is_missing() -> float | None:
    return REGISTRY.get_sample_value("chancela_bus_consumer_missing", {"topic": "ingest.contacts"})


async def test_a_pull_that_the_server_lost_is_made_again_after_a_silence(
    links: Links, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pull_module, "SILENCE_SECONDS", 0.5)
    lost: list[bytes] = []

    def lose_the_first_pull(frame: bytes) -> list[bytes]:
        if NEXT in frame and not lost:
            lost.append(frame)
            return []
        return [frame]

    proxy.there.alter = lose_the_first_pull
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        await say(ingest, rows())
        assert len(await hear(operator, pulling(operator), 1)) == 1
        assert lost


async def test_a_message_that_comes_after_a_silence_is_not_lost_until_its_redelivery(
    links: Links, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stall of this process or of the link looks like a silence of the server."""
    monkeypatch.setattr(pull_module, "SILENCE_SECONDS", 0.3)
    proxy.there.alter = watched = Watched(NEXT)
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        pull = pulling(operator)
        hearing = asyncio.create_task(pull.next_batch())
        await until(lambda: watched[NEXT] == 1)
        proxy.freeze("back")
        await say(ingest, rows())
        await until(lambda: watched[NEXT] == 3)
        proxy.thaw()
        [message] = await hearing
        assert message.metadata.num_delivered == 1
        await operator.acknowledge([message])


async def test_the_largest_messages_on_a_slow_link_do_not_make_the_server_end_it(links: Links, proxy: Proxy) -> None:
    """256 of 200 KiB are 50 MiB: more than the server writes within its deadline of 5 s at 4 MB/s."""
    sent = rows(256, size=200 * 1024)
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        for start in range(0, len(sent), 64):
            await say(ingest, sent[start : start + 64])
        proxy.back.bytes_per_second = 4_000_000
        pull = pulling(operator)
        heard, most = set[bytes](), 0
        async with asyncio.timeout(120):
            while len(heard) < len(sent):
                batch = await pull.next_batch()
                heard.update(message.data.split(maxsplit=1)[0] for message in batch)
                most = max(most, len(batch))
                await operator.acknowledge(batch)
        assert proxy.accepted == 1
        assert most * 200 * 1024 <= 2 * pull_module.BATCH_BYTES


async def test_nothing_is_ever_said_to_be_in_progress(links: Links, proxy: Proxy) -> None:
    """nats.java#1042: such a word may be lost. A message is acknowledged when it is stored, however long it works."""
    proxy.there.alter = watched = Watched(b"+WPI", b"$JS.ACK")
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        await say(ingest, rows(5))
        await hear(operator, pulling(operator), 5)
        await until(lambda: watched[b"$JS.ACK"] >= 5)
        assert watched[b"+WPI"] == 0


async def test_an_acknowledgement_goes_by_the_link_of_now(links: Links, proxy: Proxy) -> None:
    """What was heard before a loss is not delivered again only because of it."""
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        await say(ingest, rows(1))
        batch = await pulling(operator).next_batch()
        assert await links.unacknowledged() == 1
        proxy.cut()
        await until(lambda: proxy.accepted == 2 and operator.is_connected)
        await operator.acknowledge(batch)
        for _ in range(100):
            if not await links.unacknowledged():
                return
        raise AssertionError("the acknowledgement did not come")


async def test_a_message_whose_headers_are_no_text_deafens_nobody(links: Links, proxy: Proxy) -> None:
    """Whoever may say on a stream may say anything: it is for the inbox to judge, and the link stands."""
    [good, other] = rows(2)
    client: Any = Client()
    seed = read_key(links.keys, "ingest.nk")
    await client.connect(links.server.url, nkeys_seed_str=seed, inbox_prefix="_INBOX_ingest")
    for head in (b"NATS/1.0\r\nLane: \xff\xfe\r\n\r\n", b"NATS/1.0\r\nno colon\r\n\r\n", b"NATS/1.0 x\r\n\r\n"):
        await client._send_command(b"HPUB %b %d %d\r\n%b\r\n" % (good.subject.encode(), len(head), len(head), head))
    await client.flush()
    await client.close()
    async with links.connected("ingest") as ingest, links.connected("operator", proxy) as operator:
        await say(ingest, [other])
        heard = await hear(operator, pulling(operator), 2)
        assert (heard.count(b""), heard[-1], proxy.accepted) == (3, other.payload, 1)
