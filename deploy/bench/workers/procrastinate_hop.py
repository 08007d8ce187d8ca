"""The same hop over procrastinate: a job in, the same insert, a job out. `… _ DATABASE_URL MESSAGES TALLY`."""
# an optional peer: where it is not installed, nothing of it is known
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUntypedFunctionDecorator=false, reportFunctionMemberAccess=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false

from pathlib import Path

import asyncpg
from procrastinate import App, PsycopgConnector

from contracts import topology
from contracts.messages import ContactSeen
from deploy.bench import traffic
from deploy.bench.sizes import LANES
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run
from shared.ids import new_id

CONCURRENCY = 8


async def main() -> None:
    _, database_url, messages, tally_file = arguments()
    pool = await asyncpg.create_pool(
        database_url, min_size=CONCURRENCY, max_size=CONCURRENCY, server_settings={"search_path": "peer"}
    )
    await pool.execute("drop schema if exists procrastinate cascade; create schema procrastinate")
    connector = PsycopgConnector(
        conninfo=database_url, kwargs={"options": "-c search_path=procrastinate"}, max_size=CONCURRENCY
    )
    app, tally = App(connector=connector), Tally()

    @app.task(queue="out")
    async def said(payload: str) -> None:
        """Only queued here: somebody else's to hear."""

    @app.task(queue="in")
    async def hop(payload: str) -> None:
        tally.note(1)
        heard = topology.decode(topology.BY_MESSAGE[ContactSeen], payload.encode())
        assert isinstance(heard, ContactSeen)
        await pool.execute("insert into effect (contact, name) values ($1, $2)", heard.contact_id, heard.name)
        await said.defer_async(payload=topology.encode(traffic.fact(heard.contact_id, new_id())).decode())

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        keys = traffic.keys(LANES)
        heard = [
            {"payload": topology.encode(traffic.seen(keys[number % LANES])).decode()} for number in range(messages)
        ]
        await hop.batch_defer_async(*heard)
        await app.run_worker_async(
            queues=["in"],
            wait=False,
            concurrency=CONCURRENCY,
            listen_notify=False,
            install_signal_handlers=False,
        )
    tally.end()
    tally.write(Path(tally_file))
    await pool.close()


if __name__ == "__main__":
    run(main())
