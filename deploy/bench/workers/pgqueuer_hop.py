"""The same hop over pgqueuer: a job in, the same insert, a job out. `… _ DATABASE_URL MESSAGES TALLY`."""
# an optional peer: where it is not installed, nothing of it is known
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedFunctionDecorator=false, reportFunctionMemberAccess=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false

from pathlib import Path

import asyncpg
from pgqueuer import AsyncpgPoolDriver, Job, PgQueuer, Queries
from pgqueuer.types import QueueExecutionMode

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import traffic
from deploy.bench.sizes import LANES
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run
from shared.ids import new_id

POOL = 8
BATCH = 100


async def main() -> None:
    _, database_url, messages, tally_file = arguments()
    pool = await asyncpg.create_pool(
        database_url, min_size=POOL, max_size=POOL, server_settings={"search_path": "pgqueuer,peer"}
    )
    await pool.execute("drop schema if exists pgqueuer cascade; create schema pgqueuer")
    driver = AsyncpgPoolDriver(pool)
    queries, queue, tally = Queries(driver), PgQueuer(driver), Tally()
    await queries.install()
    payloads: list[bytes | None] = [topology.encode(traffic.seen(one)) for one in traffic.keys(LANES)]
    for first in range(0, messages, LANES):
        page = payloads[: min(LANES, messages - first)]
        await queries.enqueue(["hop"] * len(page), page, [0] * len(page))

    @queue.entrypoint("hop")
    async def hop(job: Job) -> None:
        tally.note(1)
        heard = topology.decode(topology.BY_MESSAGE[ContactSeen], job.payload or b"")
        assert isinstance(heard, ContactSeen)
        await pool.execute("insert into effect (contact, name) values ($1, $2)", heard.contact_id, heard.name)
        await queries.enqueue("out", topology.encode(traffic.fact(heard.contact_id, new_id())))

    await queue.run(mode=QueueExecutionMode.drain, batch_size=BATCH)
    tally.end()
    tally.write(Path(tally_file))
    await pool.close()


if __name__ == "__main__":
    run(main())
