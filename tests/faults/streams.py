"""What the nemesis asks of the cluster itself: another leader, a stream that is full."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from nats.aio.client import Client

USER = "nemesis"
ASK_SECONDS = 5.0
ATTEMPTS = 12


class Streams:
    """Requests of JetStream's own API, as a user inside the account that holds the streams."""

    def __init__(self, urls: Sequence[str], password: str) -> None:
        self._urls = list(urls)
        self._password = password

    def step_down(self, stream: str) -> None:
        """The stream and all its consumers elect other leaders."""
        asyncio.run(self._each([(f"$JS.API.STREAM.LEADER.STEPDOWN.{stream}", {})]))
        names = asyncio.run(self._one(f"$JS.API.CONSUMER.NAMES.{stream}", {}))["consumers"]
        asyncio.run(self._each([(f"$JS.API.CONSUMER.LEADER.STEPDOWN.{stream}.{name}", {}) for name in names]))

    def fill(self, stream: str, room_bytes: int) -> int:
        """Leave room for so many more bytes; returns the limit that it had.

        Raises:
            RuntimeError: the server refused.
        """
        info = asyncio.run(self._one(f"$JS.API.STREAM.INFO.{stream}", {}))
        self.limit(stream, info["state"]["bytes"] + room_bytes)
        return info["config"]["max_bytes"]

    def limit(self, stream: str, max_bytes: int) -> None:
        asyncio.run(self._limit(stream, max_bytes))

    async def _limit(self, stream: str, max_bytes: int) -> None:
        info = await self._one(f"$JS.API.STREAM.INFO.{stream}", {})
        await self._one(f"$JS.API.STREAM.UPDATE.{stream}", {**info["config"], "max_bytes": max_bytes})

    async def _one(self, subject: str, body: Mapping[str, Any]) -> Any:
        return (await self._each([(subject, body)]))[0]

    async def _each(self, requests: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any]:
        """Ask until there is an answer: while a leader is being elected nobody gives one."""
        client = Client()
        await client.connect(self._urls, user=USER, password=self._password, connect_timeout=3)
        try:
            return [await _asked(client, subject, msgspec.json.encode(body)) for subject, body in requests]
        finally:
            await client.close()


async def _asked(client: Client, subject: str, body: bytes) -> Any:
    last: Any = None
    for _ in range(ATTEMPTS):
        try:
            answer = msgspec.json.decode((await client.request(subject, body, timeout=ASK_SECONDS)).data)
        except Exception as error:  # noqa: BLE001 - a node that dies in the middle of it has many voices
            last = error
            await asyncio.sleep(0.5)
            continue
        if "error" not in answer:
            return answer
        last = answer["error"]
        await asyncio.sleep(0.5)
    raise RuntimeError(f"{subject}: {last}")
