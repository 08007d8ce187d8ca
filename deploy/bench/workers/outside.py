"""The world outside of a pipeline bench: a model that thinks for 0 ms, and a channel that takes everything.

`python -m deploy.bench.workers.outside MODEL_PORT CHANNEL_PORT`. The channel answers as WAHA does and notes when each
request had arrived; `GET /arrivals?<n>` tells what came from the n-th on, as `[[chat, time.monotonic()], …]`.
"""

import asyncio
import json
import sys
import time
from urllib.parse import urlsplit

import msgspec

from deploy.bench.wire import Answer, Asked, serve
from deploy.bench.workers.start import run
from deploy.local.model.request import ChatRequest
from deploy.local.model.rules import answer as think
from deploy.local.model.server import completion

_request = msgspec.json.Decoder(ChatRequest)


class SendText(msgspec.Struct):
    """The part of WAHA's request that matters here."""

    chatId: str  # noqa: N815 - WAHA's own name
    text: str


_send = msgspec.json.Decoder(SendText)


class World:
    def __init__(self) -> None:
        self.arrivals: list[tuple[str, float]] = []

    async def handle(self, asked: Asked) -> Answer:
        path = urlsplit(asked.path)
        match asked.method, path.path:
            case "POST", "/v1/chat/completions":
                request = _request.decode(asked.body)
                return Answer(200, json.dumps(completion(request, asked.body, think(request))).encode())
            case "POST", "/api/sendText":
                return self._take(_send.decode(asked.body))
            case "GET", "/arrivals":
                return Answer(200, msgspec.json.encode(self.arrivals[int(path.query) :]))
            case _:
                return Answer(404, b'{"statusCode":404,"message":"not part of a bench"}')

    def _take(self, sent: SendText) -> Answer:
        self.arrivals.append((sent.chatId, time.monotonic()))
        stanza = f"3EB0{len(self.arrivals):018X}"
        body = {"id": f"true_{sent.chatId}_{stanza}", "from": "5511900000001@c.us", "fromMe": True, "to": sent.chatId,
                "body": sent.text, "ack": 0, "ackName": "PENDING", "source": "api", "hasMedia": False,
                "timestamp": int(time.time())}  # fmt: skip
        return Answer(201, msgspec.json.encode(body))


async def main() -> None:
    world = World()
    servers = [await serve(world.handle, int(port)) for port in sys.argv[1:3]]
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    run(main())
