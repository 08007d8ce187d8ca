"""One transaction per message: {seen before?, effect, outbox}, then publish and wait, then acknowledge.

The outbox pattern as it is usually written. `… NATS_URL DATABASE_URL MESSAGES TALLY`.
"""

from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import plain_nats, traffic
from deploy.bench.servers import PEER_DURABLE, PEER_IN
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run
from shared.ids import derived_id

BATCH = 256


async def main() -> None:
    nats_url, database_url, messages, tally_file = arguments()
    client = await plain_nats.connect(nats_url)
    database = await asyncpg.connect(database_url, server_settings={"search_path": "peer"})
    stream = client.jetstream()
    pull = await stream.pull_subscribe_bind(PEER_DURABLE, PEER_IN)
    tally, done = Tally(), 0
    while done < messages:
        for message in await pull.fetch(BATCH, timeout=10):
            tally.note(1)
            await _handle(database, stream, message, done)
            await message.ack()
            done += 1
    await client.flush()
    tally.end()
    tally.write(Path(tally_file))
    await client.close()
    await database.close()


async def _handle(database: Any, stream: Any, message: Any, number: int) -> None:
    heard = topology.decode(topology.BY_MESSAGE[ContactSeen], message.data)
    assert isinstance(heard, ContactSeen)
    cause = UUID(message.headers["Nats-Msg-Id"])
    msg_id, subject = derived_id(cause, "0"), f"out.{heard.contact_id}"
    payload = topology.encode(traffic.fact(heard.contact_id, cause))
    async with database.transaction():
        if not await database.fetchval("insert into inbox values ($1) on conflict do nothing returning true", cause):
            return
        await database.execute("insert into effect (contact, name) values ($1, $2)", heard.contact_id, heard.name)
        await database.execute(
            "insert into outbox (batch, n, msg_id, subject, cause, payload) values ($1, 0, $2, $3, $4, $5)",
            number,
            msg_id,
            subject,
            cause,
            payload,
        )
    await stream.publish(subject, payload, headers={**message.headers, "Nats-Msg-Id": str(msg_id)})


if __name__ == "__main__":
    run(main())
