"""nats-py alone: `fetch(256)` and an acknowledgement for each message. `… NATS_URL DATABASE_URL MESSAGES TALLY`."""

from pathlib import Path

from deploy.bench import plain_nats
from deploy.bench.servers import PEER_DURABLE, PEER_IN
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run

BATCH = 256


async def main() -> None:
    nats_url, _, messages, tally_file = arguments()
    client = await plain_nats.connect(nats_url)
    pull = await client.jetstream().pull_subscribe_bind(PEER_DURABLE, PEER_IN)
    tally, done = Tally(), 0
    while done < messages:
        batch = await pull.fetch(BATCH, timeout=10)
        tally.note(len(batch))
        for message in batch:
            await message.ack()
        done += len(batch)
    await client.flush()
    tally.end()
    tally.write(Path(tally_file))
    await client.close()


if __name__ == "__main__":
    run(main())
