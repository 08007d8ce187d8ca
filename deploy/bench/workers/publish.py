"""nats-py's publish into a stream, every acknowledgement awaited, 256 under way. `… NATS_URL _ MESSAGES TALLY`."""

import asyncio
from pathlib import Path

from contracts import topology
from deploy.bench import plain_nats, traffic
from deploy.bench.servers import headers
from deploy.bench.tally import Tally
from deploy.bench.workers.start import arguments, run

AT_ONCE = 256
LANES = 1000


async def main() -> None:
    nats_url, _, messages, tally_file = arguments()
    client = await plain_nats.connect(nats_url)
    inbox, missing, all_here = client.new_inbox(), 0, asyncio.Event()

    async def acknowledged(message: plain_nats.Message) -> None:
        nonlocal missing
        if b'"error"' in message.data:
            raise RuntimeError(f"the stream refused a message: {message.data!r}")
        missing -= 1
        if not missing:
            all_here.set()

    await client.subscribe(inbox, cb=acknowledged, pending_msgs_limit=-1, pending_bytes_limit=-1)
    keys = traffic.keys(LANES)
    ready = [(f"out.{keys[n % LANES]}", topology.encode(traffic.seen(keys[n % LANES])), headers(n, LANES))
             for n in range(messages)]  # fmt: skip
    tally = Tally()
    for first in range(0, messages, AT_ONCE):
        batch = ready[first : first + AT_ONCE]
        tally.note(len(batch))
        missing = len(batch)
        all_here.clear()
        for subject, payload, own in batch:
            await client.publish(subject, payload, reply=inbox, headers=own)
        await all_here.wait()
    tally.end()
    tally.write(Path(tally_file))
    await client.close()


if __name__ == "__main__":
    run(main())
