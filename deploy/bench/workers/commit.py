"""asyncpg alone: one insert and one commit after another on one connection. `… _ DATABASE_URL MESSAGES TALLY`."""

from pathlib import Path

import asyncpg

from deploy.bench import traffic
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run


async def main() -> None:
    _, database_url, messages, tally_file = arguments()
    database = await asyncpg.connect(database_url, server_settings={"search_path": "peer"})
    insert = await database.prepare("insert into effect (contact, name) values ($1, $2)")
    contact, tally = traffic.keys(1)[0], Tally()
    for _ in range(messages):
        tally.note(1)
        await insert.fetch(contact, "n" * traffic.PAYLOAD_BYTES)
    tally.end()
    tally.write(Path(tally_file))
    await database.close()


if __name__ == "__main__":
    run(main())
