"""The setup job: streams and durables as `deploy/nats/streams.json` says. Idempotent; every difference is told.

Laws
- What harms nobody is repaired: what is missing is made, a limit is widened, a protection is switched on again.
- What loses messages, moves or reinterprets them is left as it is until a person accepts it by name: who hears what,
  copies of a stream, how long and how much it keeps.
- What the map does not know is named and never touched.

Raw JetStream API requests with the admin key: partial configurations sent through a client library would reset what
they leave out (nats.py sends defaults for omitted fields).
"""

import asyncio
import ssl
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

import msgspec
import nats.errors

from shared import log
from shared.bus.link import Link, Refused, Terms, Untrusted

_log = log.get(__name__)

REQUEST_SECONDS = 5.0
PING_SECONDS = 10.0
ATTEMPTS = 3
"""A server that is just starting, or a slow handshake."""
ANOTHER_SECONDS = 1.0
ANOTHER_LOOKS = 5
NOT_FOUND = (10059, 10014)
EVERYTHING = ("*",)

HELD_BACK = {
    "retention": "messages may be dropped before everybody has heard them",
    "storage": "only a new stream has another storage",
    "subjects": "what a stream does not take any longer stays in its producer's outbox",
    "num_replicas": "copies of messages are given up, or have to be made",
    "max_age": "older messages would be dropped at once",
    "max_bytes": "a smaller stream may be full at once, and then takes nothing",
    "max_msg_size": "larger messages would be refused for ever",
    "filter_subjects": "its service skips what it did not hear so far, and never hears what is taken away",
    "filter_subject": "its service skips what it did not hear so far",
    "deliver_policy": "only a new consumer begins elsewhere",
    "ack_policy": "only a new consumer acknowledges otherwise",
    "replay_policy": "only a new consumer replays otherwise",
}
"""Field → what a silent repair could do."""
HARMLESS_WHEN_WIDER = ("max_age", "max_bytes", "max_msg_size")
USUAL: Mapping[str, Any] = {"max_waiting": 512, "compression": "none", "durable_name": None, "name": None}
"""What the server adds by itself; also everything empty, 0 or -1. None: whatever it says."""
EMPTY: tuple[Any, ...] = (None, False, 0, -1, "", [], {})


class SetupError(Exception):
    """The server refused a stream or a consumer; the message holds its words."""


class Drift(msgspec.Struct, frozen=True):
    """One difference between the map and the server."""

    what: str
    """`stream INGEST_CONTACTS`, `consumer INGEST_CONTACTS/operator`."""
    field: str
    found: str
    is_repairable: bool = True
    """False: nothing is changed before a person accepts it."""
    advice: str = ""

    @property
    def name(self) -> str:
        """What a person accepts it by."""
        return f"{self.what} {self.field}"

    def __str__(self) -> str:
        return f"{self.what}: {self.found}" + (f" ({self.advice})" if self.advice else "")


class Outcome(msgspec.Struct, frozen=True):
    """What `apply` did."""

    repaired: list[Drift]
    left: list[Drift]
    """For a person."""


class Setup:
    """Applies or checks; one connection as the admin."""

    def __init__(self, link: Link, wanted: Mapping[str, Any], *, ack_wait_seconds: float | None = None) -> None:
        self._link = link
        self._wanted = wanted
        self._ack_wait_seconds = ack_wait_seconds

    @classmethod
    async def open(
        cls,
        url: str,
        seed: str,
        wanted: Mapping[str, Any],
        *,
        ack_wait_seconds: float | None = None,
        replicas: int = 1,
        tls: ssl.SSLContext | None = None,
    ) -> "Setup":
        """Connect with the admin key.

        Raises:
            SetupError: the server is away, does not know the key or is not the one that TLS expects.
        """
        link = await _opened(Terms(tuple(url.split(",")), seed, "admin", tls, PING_SECONDS), url)
        streams = [{**stream, "num_replicas": replicas} for stream in wanted["streams"]]
        return cls(link, {**wanted, "streams": streams}, ack_wait_seconds=ack_wait_seconds)

    async def apply(self, accept: Collection[str] = ()) -> Outcome:
        """Create what is missing and repair what may be.

        Args:
            accept: names of differences that a person wants repaired too (`Drift.name`), with `*` as in file names.
        """
        outcome = Outcome([], [])
        async for drift, is_done in self._walk(repair=True, accept=accept):
            (outcome.repaired if is_done else outcome.left).append(drift)
        return outcome

    async def drift(self) -> list[Drift]:
        """What is missing, differs or is unknown, without touching it."""
        return [drift async for drift, _ in self._walk(repair=False, accept=())]

    async def close(self) -> None:
        await self._link.release()

    async def _walk(self, *, repair: bool, accept: Collection[str]) -> AsyncIterator[tuple[Drift, bool]]:
        """Every difference, and whether it was repaired."""
        absent: set[str] = set()
        for kind, what, config, address in self._parts():
            info = await self._ask(f"$JS.API.{kind}.INFO.{address}")
            found = list(_differences(what, config, info))
            wished = [one for one in found if repair and (one.is_repairable or _is_accepted(one, accept))]
            if address.partition(".")[0] in absent:
                wished = []  # its stream could not be made: said already
            refusal = ""
            if wished:
                refusal = await self._write(kind, address, _merged(config, info, found, wished), info)
            if refusal and await self._is_done_by_another(kind, what, config, address, wished):
                refusal = ""
            if info is None and (refusal or not repair):
                absent.add(address)
            for one in found:
                is_refused = bool(refusal) and one in wished
                yield msgspec.structs.replace(one, advice=refusal) if is_refused else one, one in wished and not refusal
            for one in _state(what, info):
                yield one, False
        async for one in self._foreign():
            yield one, False

    def _parts(self) -> Iterator[tuple[str, str, Mapping[str, Any], str]]:
        """Kind, name for people, wanted configuration, address; streams before their consumers."""
        for stream in self._wanted["streams"]:
            yield "STREAM", f"stream {stream['name']}", stream, stream["name"]
        for consumer in self._wanted["consumers"]:
            config = {key: value for key, value in consumer.items() if key != "stream"}
            if self._ack_wait_seconds is not None:
                config["ack_wait"] = int(self._ack_wait_seconds * 10**9)
            address = f"{consumer['stream']}.{config['durable_name']}"
            yield "CONSUMER", f"consumer {address.replace('.', '/')}", config, address

    async def _write(self, kind: str, address: str, config: Mapping[str, Any], info: Mapping[str, Any] | None) -> str:
        """Create or update; returns the server's refusal, empty when it did it."""
        if kind == "STREAM":
            answer = await self.request(f"$JS.API.STREAM.{'UPDATE' if info else 'CREATE'}.{address}", config)
        else:
            body = {"stream_name": address.partition(".")[0], "config": config}
            answer = await self.request(f"$JS.API.CONSUMER.DURABLE.CREATE.{address}", body)
        return f"the server refuses: {answer['error'].get('description')}" if "error" in answer else ""

    async def _is_done_by_another(
        self, kind: str, what: str, config: Mapping[str, Any], address: str, wished: Collection[Drift]
    ) -> bool:
        """A second setup job at the same time is refused what the first one is making (storage is counted twice)."""
        fields = {one.field for one in wished}
        for _ in range(ANOTHER_LOOKS):
            info = await self._ask(f"$JS.API.{kind}.INFO.{address}")
            if not fields & {one.field for one in _differences(what, config, info)}:
                return True
            await asyncio.sleep(ANOTHER_SECONDS / ANOTHER_LOOKS)
        return False

    async def _foreign(self) -> AsyncIterator[Drift]:
        known = {stream["name"] for stream in self._wanted["streams"]}
        durables = {(one["stream"], one["durable_name"]) for one in self._wanted["consumers"]}
        for stream in await self._names("$JS.API.STREAM.NAMES", "streams"):
            if stream not in known:
                yield Drift(f"stream {stream}", "", "is not on the map", False, "find out who made it: our keys do not")
        for stream in sorted(known):
            for name in await self._names(f"$JS.API.CONSUMER.NAMES.{stream}", "consumers"):
                if (stream, name) not in durables:
                    advice = "a service that is no more, or somebody with the admin key; it hears and holds nothing up"
                    yield Drift(f"consumer {stream}/{name}", "", "is not on the map", False, advice)

    async def _names(self, subject: str, key: str) -> list[str]:
        """All pages; none of a stream that does not exist."""
        found: list[str] = []
        while True:
            answer = await self.request(subject, {"offset": len(found)})
            page: list[str] = answer.get(key) or []
            found += page
            if not page or len(found) >= answer.get("total", 0):
                return sorted(found)

    async def _ask(self, subject: str) -> Mapping[str, Any] | None:
        """What the server knows, None when there is no such thing."""
        answer = await self.request(subject, {})
        error = answer.get("error")
        if error is None:
            return answer
        if error.get("err_code") in NOT_FOUND:
            return None
        raise SetupError(f"{subject}: {error.get('description')}")

    async def request(self, subject: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """One question to the JetStream API, as the admin; errors are in the answer.

        Raises:
            SetupError: no answer.
        """
        try:
            message = await self._link.client.request(subject, msgspec.json.encode(body), timeout=REQUEST_SECONDS)
        except (nats.errors.Error, TimeoutError) as error:
            raise SetupError(f"{subject}: no answer from the server ({error})") from error
        return msgspec.json.decode(message.data)


async def _opened(terms: Terms, url: str) -> Link:
    for attempt in range(1, ATTEMPTS + 1):
        link = Link(terms, _log_refusal)
        try:
            await link.open()
        except Refused as error:
            hint = "check CHANCELA_NATS_ADMIN_SEED and that NATS' keys.conf holds its public key"
            raise SetupError(f"NATS at {url} refuses the admin: {error.__cause__}; {hint}") from error
        except ConnectionError as error:
            if attempt == ATTEMPTS or isinstance(error, Untrusted):
                raise SetupError(f"cannot reach NATS at {url} as admin: {error}") from error
            await asyncio.sleep(1)
        else:
            return link
    raise AssertionError("the last attempt returns or raises")


def _log_refusal(error: Refused) -> None:
    """The request that was denied ends without an answer."""
    _log.error("denied", why=str(error))


def _is_accepted(drift: Drift, accept: Collection[str]) -> bool:
    return any(fnmatchcase(drift.name, one) for one in accept)


def _merged(
    wanted: Mapping[str, Any], info: Mapping[str, Any] | None, found: Collection[Drift], wished: Collection[Drift]
) -> dict[str, Any]:
    """The whole configuration as it shall be; what waits for a person stays as it is."""
    held: Mapping[str, Any] = info["config"] if info else {}
    left = {one.field for one in found if one not in wished}
    kept = {key: held[key] for key in left if key in held}
    return {key: value for key, value in wanted.items() if key not in left} | kept


def _differences(what: str, wanted: Mapping[str, Any], info: Mapping[str, Any] | None) -> Iterator[Drift]:
    if info is None:
        yield Drift(what, "", "missing")
        return
    held = info["config"]
    for key, value in wanted.items():
        is_now = held.get(key, _absent(value))
        if is_now != value and not _is_same_set(key, is_now, value):
            is_harmless = key not in HELD_BACK or _is_wider(key, is_now, value)
            yield _difference(what, key, f"{key} is {held.get(key)!r}, should be {value!r}", is_harmless)
    for key, value in held.items():
        if key not in wanted and not _is_usual(key, value):
            yield _difference(what, key, f"{key} is {value!r}, should not be set", key not in HELD_BACK)


def _difference(what: str, field: str, found: str, is_harmless: bool) -> Drift:
    if is_harmless:
        return Drift(what, field, found)
    accepted = f"`chancela bus apply --accept '{what} {field}'`, once you are sure"
    return Drift(what, field, found, False, f"never repaired by itself, as {HELD_BACK[field]}: {accepted}")


def _is_same_set(key: str, is_now: Any, value: Any) -> bool:
    return key in ("subjects", "filter_subjects") and sorted(is_now) == sorted(value)


def _is_wider(key: str, is_now: Any, value: Any) -> bool:
    """Whether what should be takes nothing away from what is. 0 and -1 mean no limit at all."""
    return key in HARMLESS_WHEN_WIDER and 0 < is_now < value


def _is_usual(key: str, value: Any) -> bool:
    if key == "metadata":
        return all(name.startswith("_nats.") for name in value)
    return value in EMPTY or (key in USUAL and USUAL[key] in (None, value))


def _absent(value: Any) -> Any:
    """The server leaves out false, 0 and empty."""
    return type(value)()


def _state(what: str, info: Mapping[str, Any] | None) -> Iterator[Drift]:
    """What no configuration shows: a pause, copies that are behind."""
    if info is None:
        return
    if info.get("paused"):
        yield Drift(what, "", "is paused, its service hears nothing", False, "resume it: `nats consumer resume`")
    cluster: Mapping[str, Any] = info.get("cluster") or {}
    replicas: list[Mapping[str, Any]] = cluster.get("replicas") or []
    for replica in replicas:
        if replica.get("offline") or not replica.get("current"):
            state = "is offline" if replica.get("offline") else "is behind"
            yield Drift(what, "", f"its copy on {replica['name']} {state}", False, "look at that server")
