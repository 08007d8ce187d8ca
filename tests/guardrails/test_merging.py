"""One person under several ids: a wish to be left alone holds under all of them, in whatever order it is heard."""

import asyncio
from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from msgspec.structs import replace

from contracts import messages as m
from services.guardrails.store import contacts
from tests.guardrails.world import (
    CHANNEL,
    CONTACT,
    NOW,
    TALK,
    TENANT,
    approved,
    only,
    opened,
    phone_replied,
    proposed,
    received,
)
from tests.harness import Bench, BenchFactory
from tests.shared.world import until

SURVIVOR, LATER = UUID(int=33), UUID(int=34)


@pytest.fixture
async def bench(bench_of: BenchFactory) -> Bench:
    return await opened(bench_of)


def merge(into: UUID, *merged: UUID) -> m.ContactSeen:
    return m.ContactSeen(
        tenant=TENANT, contact_id=into, channel_id=CHANNEL, name="", has_phone=True, is_new=False,
        merged_contact_ids=merged,
    )  # fmt: skip


def wish(signal: m.OptOutSignal = "opt_out", *, by: UUID = CONTACT, revision: int = 2) -> m.MessageReceived:
    return replace(received("PARAR", revision=revision, opt_out=signal), contact_id=by)


async def told(bench: Bench) -> set[tuple[UUID, str]]:
    return {(one.contact_id, one.state) for one in await bench.said() if isinstance(one, m.ConsentChanged)}


async def verdict_on_a_draft(bench: Bench, contact_id: UUID = SURVIVOR) -> str:
    """Of a draft after the person wrote again."""
    await bench.hear(replace(received("oi", revision=9), contact_id=contact_id))
    await bench.said()
    await bench.hear(replace(proposed(revision=9), contact_id=contact_id))
    said = await bench.said()
    return only(said, m.DraftVetoed).code if isinstance(said[0], m.DraftVetoed) else "cleared"


async def test_an_opt_out_that_is_heard_after_its_contact_was_merged_holds_for_the_survivor(bench: Bench) -> None:
    await bench.hear(received())
    await bench.hear(merge(SURVIVOR, CONTACT))
    await bench.hear(wish())
    assert await told(bench) == {(CONTACT, "opted_out"), (SURVIVOR, "opted_out")}
    assert await verdict_on_a_draft(bench) == "contact_blocked"
    assert await verdict_on_a_draft(bench, CONTACT) == "contact_blocked"


async def test_an_opt_out_in_an_edit_of_somebody_who_was_not_heard_of_is_kept(bench: Bench) -> None:
    """The edit names the survivor, whose own topic is behind."""
    edited = m.MessageEdited(
        tenant=TENANT, conversation_id=TALK, contact_id=SURVIVOR, channel_id=CHANNEL, context_revision=2,
        message_id=uuid4(), text="PARAR", opt_out="opt_out", edited_at=NOW,
    )  # fmt: skip
    await bench.hear(received())
    await bench.hear(edited)
    assert await verdict_on_a_draft(bench) == "contact_blocked"


async def test_what_was_drafted_or_approved_under_the_old_id_is_judged_by_what_the_survivor_wishes(
    bench: Bench,
) -> None:
    await bench.hear(received(), approved(revision=9))
    await bench.hear(merge(SURVIVOR, CONTACT))
    await bench.hear(wish(by=SURVIVOR, revision=9))
    assert await told(bench) == {(CONTACT, "opted_out"), (SURVIVOR, "opted_out")}
    await bench.run_jobs()
    assert only(await bench.said(), m.DispatchRefused).code == "contact_blocked"


async def test_a_merge_tells_both_ids_of_the_strictest_wish(bench: Bench) -> None:
    await bench.hear(received(), wish("erasure_request"), replace(wish(by=SURVIVOR), conversation_id=uuid4()))
    await bench.said()
    await bench.hear(merge(SURVIVOR, CONTACT))
    assert await told(bench) == {(SURVIVOR, "erasure_requested")}
    await bench.hear(merge(LATER, SURVIVOR))
    assert await told(bench) == {(LATER, "erasure_requested")}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["in order", "the later merge first"])
@pytest.mark.parametrize("at_once", [True, False])
async def test_of_three_ids_the_last_one_counts_in_whatever_order_the_merges_come(
    bench: Bench, order: Sequence[int], *, at_once: bool
) -> None:
    await bench.hear(received(), wish())
    merges = [(merge(SURVIVOR, CONTACT), merge(LATER, SURVIVOR))[index] for index in order]
    for some in [merges] if at_once else [[one] for one in merges]:
        await bench.hear(*some)
    assert {(LATER, "opted_out"), (SURVIVOR, "opted_out")} <= await told(bench)
    rows = await bench.rows("select contact_id, merged_into from contact")
    assert {row["contact_id"]: row["merged_into"] for row in rows} == {CONTACT: LATER, SURVIVOR: LATER, LATER: None}
    assert await verdict_on_a_draft(bench, LATER) == "contact_blocked"


async def test_whoever_comes_back_comes_back_under_every_id(bench: Bench) -> None:
    await bench.hear(received(), wish())
    await bench.hear(merge(SURVIVOR, CONTACT))
    await bench.said()
    await bench.hear(wish("opt_in", revision=3))
    assert await told(bench) == {(CONTACT, "opted_in"), (SURVIVOR, "opted_in")}
    assert await verdict_on_a_draft(bench) == "cleared"
    assert await verdict_on_a_draft(bench, CONTACT) == "cleared"
    await bench.hear(merge(LATER, SURVIVOR))
    assert await verdict_on_a_draft(bench, LATER) == "cleared"


async def test_a_merged_contact_was_told_who_writes(bench: Bench) -> None:
    await bench.hear(received())
    await bench.hear(merge(SURVIVOR, CONTACT))
    assert await bench.value("select first_sent_at from contact where contact_id = $1", SURVIVOR) is not None


@pytest.mark.parametrize("news", [received(), phone_replied()], ids=["their own words", "ours, on the phone"])
async def test_what_is_sent_in_a_conversation_that_names_the_old_id_is_told_to_the_survivor(
    bench: Bench, news: m.Message
) -> None:
    await bench.rows("delete from contact")
    await bench.hear(merge(SURVIVOR, CONTACT))
    await bench.hear(news)
    await bench.hear(sent())
    assert await bench.value("select first_sent_at from contact where contact_id = $1", SURVIVOR) == NOW


async def test_a_draft_that_names_the_old_id_is_no_first_message_once_the_survivor_had_one(bench: Bench) -> None:
    await bench.rows("delete from contact")
    await bench.hear(received(), merge(SURVIVOR, CONTACT), proposed())
    assert only(await bench.said(), m.DraftVetoed).code == "disclosure_missing"
    await bench.hear(sent(), proposed())
    assert "first_contact" not in only(await bench.said(), m.DraftCleared).classes


def sent() -> m.SendAccepted:
    return m.SendAccepted(
        tenant=TENANT, decision_id=uuid4(), obligation_id=uuid4(), conversation_id=TALK, channel_id=CHANNEL, at=NOW,
        provider_id="p1", receipt=approved().seal, body="Abrimos das 8h às 18h.",
    )  # fmt: skip


@pytest.mark.parametrize("first", ["wish", "merge"])
@pytest.mark.parametrize("is_known", [True, False], ids=["heard of before", "not heard of"])
async def test_a_merge_beside_an_opt_out_misses_nothing(
    bench_of: BenchFactory, monkeypatch: pytest.MonkeyPatch, first: str, *, is_known: bool
) -> None:
    """While one of them has read what it needs and has not committed, the other is heard."""
    news: dict[str, m.Message] = {"wish": wish(), "merge": merge(SURVIVOR, CONTACT)}
    loader, other = ("senders", "merge") if first == "wish" else ("merges", "wish")
    hearing: list[asyncio.Task[None]] = []
    load: Any = getattr(contacts, loader)

    async def load_and_hear(*args: Any) -> Any:
        found = await load(*args)
        if not hearing:
            hearing.append(asyncio.create_task(bench.hear(news[other])))
            await until(lambda: _is_over_or_waits(bench, hearing[0]))
        return found

    monkeypatch.setattr(contacts, loader, load_and_hear)
    bench = await opened(bench_of)
    if not is_known:
        await bench.rows("delete from contact")
    await bench.hear(news[first])
    await hearing[0]
    assert (SURVIVOR, "opted_out") in await told(bench)
    assert await verdict_on_a_draft(bench) == "contact_blocked"


async def _is_over_or_waits(bench: Bench, task: "asyncio.Task[None]") -> bool:
    waiting = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    return task.done() or await bench.value(waiting) > 0
