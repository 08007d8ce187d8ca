"""What outside systems put on record about a contact."""

import asyncio
from typing import Any

import pytest

from services.approval.facts import Fact
from shared.bus.outbox import Outbox
from tests.approval.office import NOW, TENANT, Office
from tests.shared.world import until


async def test_of_two_baselines_that_are_put_at_once_one_stands(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first is written and not committed when the second comes."""
    other: list[asyncio.Task[None]] = []
    append = Outbox.append

    async def append_and_put(*args: Any) -> None:
        await append(*args)
        if not other:
            other.append(asyncio.create_task(_put(office, "Plano B")))
            await until(lambda: _is_over_or_waits(office, other[0]))

    monkeypatch.setattr(Outbox, "append", append_and_put)
    await _put(office, "Plano A")
    await other[0]
    facts = await office.bench.rows("select subject from fact where contact_id = $1", office.contact)
    assert [row["subject"] for row in facts] == ["Plano B"]


async def _put(office: Office, subject: str) -> None:
    fact = Fact(kind="other", subject=subject, value="ativo", source="crm", observed_at=NOW)
    await office.desk.put_baseline(TENANT, "key", office.contact, [fact])


async def _is_over_or_waits(office: Office, task: "asyncio.Task[None]") -> bool:
    waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted"
    mine = " and database = (select oid from pg_database where datname = current_database())"
    return task.done() or await office.bench.value(waiting + mine) > 0
