"""FastStream's plain hop: a pull subscriber, the same insert, one message published into a stream, acknowledged after.

No outbox, no exactly-once, and with more than one worker no order. `… NATS_URL DATABASE_URL MESSAGES TALLY [WORKERS]`.
"""
# an optional peer: where it is not installed, nothing of it is known
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedFunctionDecorator=false, reportFunctionMemberAccess=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false

import asyncio
import sys
from pathlib import Path
from uuid import UUID

import asyncpg
from faststream import AckPolicy
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import traffic
from deploy.bench.servers import PEER_DURABLE, PEER_IN, PEER_OUT
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run

BATCH = 256


async def main() -> None:
    nats_url, database_url, messages, tally_file = arguments()
    workers = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    database = await asyncpg.create_pool(
        database_url, min_size=workers, max_size=workers, server_settings={"search_path": "peer"}
    )
    broker = NatsBroker(nats_url, logger=None)
    tally, done, all_done = Tally(), 0, asyncio.Event()

    @broker.subscriber(
        f"{PEER_IN.lower()}.>",
        durable=PEER_DURABLE,
        stream=JStream(PEER_IN, declare=False),
        pull_sub=PullSub(batch_size=BATCH),
        max_workers=workers if workers > 1 else None,
        ack_policy=AckPolicy.MANUAL,
    )
    async def hop(message: NatsMessage) -> None:
        nonlocal done
        tally.note(1)
        heard = topology.decode(topology.BY_MESSAGE[ContactSeen], message.body)
        assert isinstance(heard, ContactSeen)
        await database.execute("insert into effect (contact, name) values ($1, $2)", heard.contact_id, heard.name)
        said = topology.encode(traffic.fact(heard.contact_id, UUID(message.headers["Nats-Msg-Id"])))
        await broker.publish(said, f"{PEER_OUT.lower()}.{heard.contact_id}", stream=PEER_OUT)
        await message.ack()
        done += 1
        if done == messages:
            all_done.set()

    await broker.start()
    await all_done.wait()
    tally.end()
    tally.write(Path(tally_file))
    await broker.stop()
    await database.close()


if __name__ == "__main__":
    run(main())
