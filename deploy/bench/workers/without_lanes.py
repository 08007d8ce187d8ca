"""Our hop with the lanes taken away: batches, one transaction, an append-only outbox with a mark, pipelined publishing.

It keeps no order and hears a redelivery twice; what the real hop costs more is the price of lanes and exactly-once.
`… NATS_URL DATABASE_URL MESSAGES TALLY`.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import plain_nats, traffic
from deploy.bench.servers import PEER_DURABLE, PEER_IN
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run
from shared.ids import derived_id

BATCH = 256
TOPIC = topology.BY_MESSAGE[ContactSeen]
OUTBOX = """
insert into outbox (batch, n, msg_id, subject, cause, payload)
select $1, n, msg_id, subject, cause, payload
from unnest($2::uuid[], $3::text[], $4::uuid[], $5::bytea[]) with ordinality as t(msg_id, subject, cause, payload, n)
"""
MARK = "insert into mark values (1, $1) on conflict (writer) do update set batch = excluded.batch"
NEXT = f"$JS.API.CONSUMER.MSG.NEXT.{PEER_IN}.{PEER_DURABLE}"
PULL = msgspec.json.encode({"batch": BATCH, "expires": 20_000_000_000})


class Out:
    """What a batch says, on its way: published in one go, its acknowledgements awaited beside the next batch."""

    def __init__(self, client: plain_nats.Client) -> None:
        self._client = client
        self._inbox = client.new_inbox()
        self._missing = 0
        self._all_here = asyncio.Event()

    async def open(self) -> None:
        await self._client.subscribe(self._inbox, cb=self._acknowledged, pending_msgs_limit=-1, pending_bytes_limit=-1)

    async def _acknowledged(self, message: plain_nats.Message) -> None:
        if b'"error"' in message.data:
            raise RuntimeError(f"the stream refused a message: {message.data!r}")
        self._missing -= 1
        if self._missing == 0:
            self._all_here.set()

    async def publish(self, rows: Sequence[tuple[UUID, str, UUID, bytes]], heard: Sequence[plain_nats.Message]) -> None:
        self._missing += len(rows)
        self._all_here.clear()
        for (msg_id, subject, _, payload), message in zip(rows, heard, strict=True):
            headers = {**message.headers, "Nats-Msg-Id": str(msg_id)}
            await self._client.publish(subject, payload, reply=self._inbox, headers=headers)

    async def settled(self) -> None:
        await self._all_here.wait()


async def main() -> None:
    nats_url, database_url, messages, tally_file = arguments()
    client = await plain_nats.connect(nats_url)
    database = await asyncpg.connect(database_url, server_settings={"search_path": "peer"})
    queue: asyncio.Queue[plain_nats.Message] = asyncio.Queue()
    inbox = client.new_inbox()
    await client.subscribe(inbox, cb=queue.put, pending_msgs_limit=-1, pending_bytes_limit=-1)
    out, tally, done, number = Out(client), Tally(), 0, 0
    await out.open()
    await client.publish(NEXT, PULL, reply=inbox)
    asked = BATCH
    while done < messages:
        batch = await _batch(queue)
        asked -= len(batch)
        if not asked:  # the next pull is answered while this batch is worked on
            await client.publish(NEXT, PULL, reply=inbox)
            asked = BATCH
        tally.note(len(batch))
        rows = await _commit(database, batch, number, out if number else None)
        await out.publish(rows, batch)
        for message in batch:
            await message.ack()
        done += len(batch)
        number += 1
    await out.settled()
    await client.flush()
    tally.end()
    tally.write(Path(tally_file))
    await client.close()
    await database.close()


async def _batch(queue: "asyncio.Queue[plain_nats.Message]") -> list[plain_nats.Message]:
    """What is there, as soon as anything is."""
    batch = [await queue.get()]
    while len(batch) < BATCH and not queue.empty():
        batch.append(queue.get_nowait())
    return batch


async def _commit(
    database: Any, batch: Sequence[plain_nats.Message], number: int, earlier: Out | None
) -> list[tuple[UUID, str, UUID, bytes]]:
    effects: list[tuple[UUID, str]] = []
    rows: list[tuple[UUID, str, UUID, bytes]] = []
    for message in batch:
        heard = topology.decode(TOPIC, message.data)
        assert isinstance(heard, ContactSeen)
        cause = UUID(message.headers["Nats-Msg-Id"])
        effects.append((heard.contact_id, heard.name))
        said = topology.encode(traffic.fact(heard.contact_id, cause))
        rows.append((derived_id(cause, "0"), f"out.{heard.contact_id}", cause, said))
    async with database.transaction():
        await database.executemany("insert into effect (contact, name) values ($1, $2)", effects)
        await database.execute(OUTBOX, number, *([row[at] for row in rows] for at in range(4)))
        if earlier is not None:
            await earlier.settled()
            await database.execute(MARK, number - 1)
    return rows


if __name__ == "__main__":
    run(main())
