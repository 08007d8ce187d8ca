"""The setup job: streams and durables as `deploy/nats/streams.json` says. Idempotent; drift is repaired and told.

Raw JetStream API requests with the admin key: partial configurations sent through a client library would reset what
they leave out (nats.py sends defaults for omitted fields).
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any

import msgspec
import nats.errors
from nats.aio.client import Client

REQUEST_SECONDS = 5.0
NOT_FOUND = (10059, 10014)


class SetupError(Exception):
    """The server refused a stream or a consumer; the message holds its words."""


class Setup:
    """Applies or checks; one connection as the admin of account BUS."""

    def __init__(self, client: Client, wanted: Mapping[str, Any], *, ack_wait_seconds: float | None = None) -> None:
        self._client = client
        self._wanted = wanted
        self._ack_wait_seconds = ack_wait_seconds

    @classmethod
    async def open(
        cls, url: str, seed: str, wanted: Mapping[str, Any], *, ack_wait_seconds: float | None = None, replicas: int = 1
    ) -> "Setup":
        """Connect with the admin key.

        Raises:
            SetupError: the server is away or does not know the key.
        """
        client = Client()
        try:
            await client.connect(
                url,
                nkeys_seed_str=seed,
                inbox_prefix="_INBOX_admin",
                allow_reconnect=False,
                connect_timeout=5,
            )
        except (nats.errors.Error, OSError) as error:
            await client.close()
            raise SetupError(f"cannot reach NATS at {url} as admin: {error}") from error
        streams = [{**stream, "num_replicas": replicas} for stream in wanted["streams"]]
        return cls(client, {**wanted, "streams": streams}, ack_wait_seconds=ack_wait_seconds)

    async def apply(self) -> list[str]:
        """Create what is missing and repair what differs; returns a line for each change."""
        return [line async for line in self._walk(repair=True)]

    async def drift(self) -> list[str]:
        """What is missing or differs, without touching it."""
        return [line async for line in self._walk(repair=False)]

    async def close(self) -> None:
        await self._client.close()

    async def _walk(self, *, repair: bool) -> AsyncIterator[str]:
        for config in self._wanted["streams"]:
            name = config["name"]
            held = await self._ask(f"$JS.API.STREAM.INFO.{name}", {})
            for line in _differences(f"stream {name}", config, held):
                yield line
            if repair and _must_write(config, held):
                verb = "UPDATE" if held else "CREATE"
                await self._demand(f"$JS.API.STREAM.{verb}.{name}", config)
        for consumer in self._consumers():
            stream, name = consumer["stream"], consumer["config"]["durable_name"]
            held = await self._ask(f"$JS.API.CONSUMER.INFO.{stream}.{name}", {})
            for line in _differences(f"consumer {stream}/{name}", consumer["config"], held):
                yield line
            if repair and _must_write(consumer["config"], held):
                body = {"stream_name": stream, "config": consumer["config"]}
                await self._demand(f"$JS.API.CONSUMER.DURABLE.CREATE.{stream}.{name}", body)

    def _consumers(self) -> Iterator[dict[str, Any]]:
        for consumer in self._wanted["consumers"]:
            config = {key: value for key, value in consumer.items() if key != "stream"}
            if self._ack_wait_seconds is not None:
                config["ack_wait"] = int(self._ack_wait_seconds * 10**9)
            yield {"stream": consumer["stream"], "config": config}

    async def _ask(self, subject: str, body: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """The held configuration, None when there is none."""
        answer = await self._request(subject, body)
        error = answer.get("error")
        if error is None:
            return answer["config"]
        if error.get("err_code") in NOT_FOUND:
            return None
        raise SetupError(f"{subject}: {error.get('description')}")

    async def _demand(self, subject: str, body: Mapping[str, Any]) -> None:
        answer = await self._request(subject, body)
        if "error" in answer:
            raise SetupError(f"{subject}: {answer['error'].get('description')}")

    async def _request(self, subject: str, body: Mapping[str, Any]) -> dict[str, Any]:
        try:
            message = await self._client.request(subject, msgspec.json.encode(body), timeout=REQUEST_SECONDS)
        except (nats.errors.Error, TimeoutError) as error:
            raise SetupError(f"{subject}: no answer from the server ({error})") from error
        return msgspec.json.decode(message.data)


def _must_write(wanted: Mapping[str, Any], held: Mapping[str, Any] | None) -> bool:
    return held is None or any(True for _ in _differences("", wanted, held))


def _differences(what: str, wanted: Mapping[str, Any], held: Mapping[str, Any] | None) -> Iterator[str]:
    if held is None:
        yield f"{what}: missing"
        return
    for key, value in wanted.items():
        if held.get(key, _absent(value)) != value:
            yield f"{what}: {key} is {held.get(key)!r}, should be {value!r}"


def _absent(value: Any) -> Any:
    """The server leaves out false, 0 and empty."""
    return type(value)()
