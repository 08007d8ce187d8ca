"""delivery on a database that was restored: nothing is sent before a person says so, nothing twice, nothing is lost."""

from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest

from contracts import messages as m
from deploy import rebuilding
from deploy.keys import create_keys
from deploy.local.bus import apply_streams, server_config
from deploy.recovering import RecoverError
from services.delivery import verification
from services.delivery.service import handlers
from services.delivery.store import heard
from shared.bus import Bus, Effects, Heard, Quick, no_facts
from shared.clock import utc_now
from shared.db import Database, Tx, Write
from tests.delivery.waha_double import Reply, WahaDouble, taken
from tests.delivery.world import World as Commands
from tests.delivery.world import config
from tests.harness import drop_database, new_database
from tests.servers import NatsServerFactory, PostgresServer
from tests.shared.restoring import ACK_WAIT_SECONDS, copied, lifted, put_back, recovered, superuser
from tests.shared.world import World, all_is_published, hearing, one_value, running, say, until

SAID = (m.SendBegun, m.SendAccepted, m.SendUncertain, m.SendFailed, m.SendRefused)


def note(one: Heard[Any], _: None) -> Effects:
    """What approval hears of a decision."""
    told = type(one.message).__name__ + getattr(one.message, "code", "")
    return Effects(
        writes=[Write("insert into effect (lane, value) values ($1, $2)", (str(one.message.decision_id), told))]
    )


@dataclass
class Office:
    """guardrails commands, delivery sends, approval hears of it; delivery's database is one of its own."""

    own: World
    guardrails: Bus
    approval_db: Database
    commands: Commands
    waha: WahaDouble
    tmp_path: Path
    by_body: dict[str, m.SendCommand] = field(default_factory=dict[str, m.SendCommand])

    @asynccontextmanager
    async def delivery(self) -> AsyncGenerator[tuple[Bus, Database]]:
        url = self.own.url("delivery")
        made = config(self.tmp_path, self.commands.channel_id, self.commands.tenant, self.waha.url)
        given = msgspec.structs.replace(made, **msgspec.structs.asdict(self.own.config("delivery", url)))
        db = await Database.connect(url, schema="delivery", name="delivery")
        bus = Bus("delivery", given, db, handlers(given))
        async with running(bus, db):
            yield bus, db

    async def command(self, body: str) -> None:
        """Each of a conversation of its own: nothing waits for another's lane."""
        if body not in self.by_body:
            snapshot = self.commands.snapshot(
                body=body, conversation_id=uuid4(), context_revision=0, decided_at=utc_now()
            )
            self.by_body[body] = self.commands.command(snapshot, cleared_at=utc_now())
        await say(self.guardrails, self.by_body[body])

    @property
    def sent(self) -> Counter[str]:
        return Counter(one.json["text"] for one in self.waha.sends)

    def decision(self, body: str) -> UUID:
        return self.by_body[body].snapshot.decision_id

    async def told(self, body: str) -> list[str]:
        async with self.approval_db.autocommit() as tx:
            sql = "select value from effect where lane = $1 order by n"
            return [row["value"] for row in await tx.rows(sql, str(self.decision(body)))]

    async def hears(self, body: str, last: str) -> None:
        async def is_told() -> bool:
            return (await self.told(body))[-1:] == [last]

        await until(is_told)

    async def state(self, body: str) -> str | None:
        async with superuser(self.own, "delivery") as db:
            return await one_value(db, "select state from claim where decision_id = $1", self.decision(body))


@pytest.fixture
async def office(
    postgres_server: PostgresServer, nats_server_factory: NatsServerFactory, tmp_path: Path, waha: WahaDouble
) -> AsyncIterator[Office]:
    keys = tmp_path / "keys"
    create_keys(keys)
    nats = nats_server_factory(server_config(keys))
    await apply_streams(nats.url, keys, ack_wait_seconds=ACK_WAIT_SECONDS)
    others = World(postgres_server, nats, keys, await new_database(postgres_server, []))
    own = World(postgres_server, nats, keys, await new_database(postgres_server, ["delivery"]))
    guardrails, guardrails_db = await others.service("guardrails", hearing("guardrails"))
    quick = [Quick(one, no_facts, note) for one in SAID]
    approval, approval_db = await others.service("approval", hearing("approval", *quick))
    nobody: Any = None
    commands = Commands(nobody, waha, nobody, uuid4())
    async with running(guardrails, guardrails_db), running(approval, approval_db):
        yield Office(own, guardrails, approval_db, commands, waha, tmp_path)
    for world in (others, own):
        await drop_database(postgres_server, world.database)


async def lose_what_was_sent(office: Office) -> None:
    """A backup, then two sends: one accepted, one of which nobody knows; then the backup again."""
    office.waha.script = [taken("3EB0AA01"), taken("3EB0AA02"), Reply(500, "{}")]
    async with office.delivery():
        await office.command("before")
        await office.hears("before", "SendAccepted")
    backup = await copied(office.own.postgres, office.own.database)
    async with office.delivery():
        await office.command("accepted")
        await office.hears("accepted", "SendAccepted")
        await office.command("unknown")
        await office.hears("unknown", "SendUncertainhttp_500")
    await put_back(office.own.postgres, office.own.database, backup)
    office.waha.script = [taken(f"3EB0BB{number:02}") for number in range(9)]


async def is_held(bus: Bus) -> bool:
    return "chancela recover delivery" in bus.why_not_ready()


async def waits_at_the_hold(office: Office, body: str) -> bool:
    async with superuser(office.own, "delivery") as db:
        return await one_value(
            db,
            """select exists (select from job where kind = 'begin' and last_error like 'sending is held%'
                 and convert_from(payload, 'UTF8') like '%' || $1 || '%')""",
            str(office.decision(body)),
        )


async def test_sending_is_held_and_recovered_and_nothing_leaves_twice(office: Office) -> None:
    await lose_what_was_sent(office)
    once = Counter({"before": 1, "accepted": 1, "unknown": 1})
    async with office.delivery() as (bus, db):
        await until(lambda: is_held(bus))
        await office.command("accepted")  # once more, as after a clearance anew
        await office.command("waiting")
        with pytest.raises(RecoverError, match="recover delivery"):
            await lifted(office.own, "delivery")
        dry = await recovered(office.own, "delivery", is_dry=True)
        assert (dry.sends.claims, dry.sends.uncertain, await office.state("accepted")) == (2, 1, None)
        done = await recovered(office.own, "delivery")
        assert (done.sends, done.is_held) == (dry.sends, True)
        assert [await office.state(one) for one in ("before", "accepted", "unknown")] == [
            "accepted",
            "accepted",
            "uncertain",
        ]
        assert await one_value(db, "select count(*) from receipt") == 2
        await until(lambda: waits_at_the_hold(office, "waiting"))
        assert bus.why_not_ready() == ""
        assert office.sent == once

        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await one_value(db, "update hold set lifted_at = now() returning 1")  # a process is no person

        assert await lifted(office.own, "delivery") is not None
        await office.hears("waiting", "SendRefuseddecided_before_restore")
        await office.command("after")
        await office.hears("after", "SendAccepted")
        assert office.sent == once + Counter({"after": 1})
        assert await office.told("accepted") == ["SendBegun", "SendAccepted"]
        assert await office.told("unknown") == ["SendBegun", "SendUncertainhttp_500"]
        assert await office.state("waiting") == "cancelled"
        assert await one_value(office.approval_db, "select count(*) from quarantine") == 0
        assert (await recovered(office.own, "delivery")).sends == rebuilding.NOTHING
        assert await lifted(office.own, "delivery") is None
        await until(lambda: all_is_published(db))
        assert office.sent == once + Counter({"after": 1})


async def never(_: Tx) -> bool:
    return False


async def no_record(*_: Any) -> rebuilding.Rebuilt:
    return rebuilding.NOTHING


def no_refusal(*_: Any) -> None:
    return None


NO_RECORD: tuple[Any, str, Any] = (rebuilding, "rebuild", no_record)
NO_HOLD: tuple[Any, str, Any] = (heard, "is_held", never)
NO_REFUSAL: tuple[Any, str, Any] = (verification, "_before_a_restore", no_refusal)
SAFETIES: dict[str, tuple[Sequence[tuple[Any, str, Any]], Counter[str]]] = {
    "all of them": ((), Counter()),
    "a stream that has lost the record": ((NO_RECORD,), Counter()),
    "no hold": ((NO_HOLD,), Counter({"waiting": 1})),
    "no hold and no record": ((NO_HOLD, NO_RECORD), Counter({"accepted": 1, "unknown": 1, "waiting": 1})),
    "no refusal": ((NO_REFUSAL,), Counter({"waiting": 1})),
    "no refusal and no record": ((NO_REFUSAL, NO_RECORD), Counter({"accepted": 1, "unknown": 1, "waiting": 1})),
}
"""What is left out → what leaves that must not. Beside the first two, each is a mutant."""


@pytest.mark.parametrize("name", SAFETIES)
async def test_each_safety_alone_keeps_a_send_from_leaving(
    office: Office, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    left_out, leaves = SAFETIES[name]
    await lose_what_was_sent(office)
    once = office.sent
    for module, attribute, instead in left_out:
        monkeypatch.setattr(module, attribute, instead)
    async with office.delivery() as (bus, db):
        await until(lambda: is_held(bus))
        await office.command("waiting")
        await recovered(office.own, "delivery")
        await until(lambda: has_heard_all(db))
        await until(
            lambda: no_job_is_left(db, "not is_behind and coalesce(last_error, '') not like 'sending is held%'")
        )
        await lifted(office.own, "delivery")
        await until(lambda: no_job_is_left(db))
        assert office.sent == once + leaves


async def has_heard_all(db: Database) -> bool:
    """The commands of before, of the two that were lost, and the new one."""
    heard = await one_value(db, "select coalesce(sum(next_seq), 0) from lane_in where lane like 'send.cmd:%'")
    return heard == 4


async def no_job_is_left(db: Database, such: str = "true") -> bool:
    sql = f"select not exists (select from job where kind in ('begin', 'call') and ({such}))"
    return await one_value(db, sql)
