"""The whole system as processes: a customer's webhook in, gates, a decision, the request at the channel out.

One customer message is one webhook of a new customer: ingest → conversador (model at 0 ms) → guardrails' gates →
approval → a decision through approval's HTTP API → guardrails' dispatch chain → delivery → the channel's HTTP API.

- `webhook_ms`: from the webhook's first byte until the channel had the request, one message at a time; the decision is
  made as soon as the draft can be decided (looked for every millisecond), and its HTTP request is part of the time.
- `approve_ms`: from the first byte of the decision until the channel had the request.
- `commit_and_publish_ms`: as in the latency bench, measured between the messages.
- `per_second`: customer messages that arrived at the channel ÷ the time from the first webhook to the last arrival,
  many at once over many numbers (delivery sends one at a time for a number).
- `bus_per_second`: bus messages that all six services handled meanwhile ÷ the same time; a customer's message is heard
  by several services at each step.
- `…_cpu_ms`: CPU of each service, of the servers, and of what makes the load, per customer message that arrived.
- `arrived_share`: of the customer messages, those that arrived; below 1 something is still under way or was refused.
"""

import asyncio
import hashlib
import hmac
import time
import urllib.request
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from random import Random
from statistics import median
from typing import Any
from uuid import UUID, uuid4, uuid5

import asyncpg
import msgspec

from contracts.topology import SERVICES
from deploy.bench import cpu, worker
from deploy.bench.latency import commits, publishes, timed
from deploy.bench.rates import Values
from deploy.bench.servers import Servers
from deploy.bench.sizes import Sizes
from deploy.bench.wire import Answer, Client
from deploy.demo.outside import customer_message, envelope
from deploy.keys import read_key
from deploy.local.layout import CHANNEL, PEOPLE, SESSION, TENANT, Layout
from deploy.local.processes import Child

Say = Callable[[str], None]
NUMBERS = 32
SETTINGS = {"*": {"LOG_LEVEL": "warning"}, "conversador": {"BURST_DEBOUNCE_SECONDS": "0", "HOUSE_NAME": "Clínica Sol"}}
WEBHOOKS_AT_ONCE = 8
DECISIONS_AT_ONCE = 8
ARRIVES_WITHIN_SECONDS = 20.0
QUIET_SECONDS = 6.0
LOOK_SECONDS = 0.001
SYLLABLES = ("ba", "bel", "cor", "dan", "fir", "gal", "hum", "jol", "lim", "mar", "nor", "pel", "quin", "rus", "sol")
OPEN = """
select o.id, o.epoch, v.commitment, c.destination ->> 'chat' as chat
from approval.obligation o
join approval.version v on v.obligation_id = o.id and v.epoch = o.epoch
join approval.conversation c on c.id = o.conversation_id
where o.state = 'open' and o.tenant = $1
"""


class ManyNumbers(Layout):
    """An installation with 32 numbers, each of which may send all day."""

    def write_files(self) -> None:
        super().write_files()
        numbers = [{"channel_id": str(number_id(n)), "tenant": str(TENANT), "kind": "waha"} for n in range(NUMBERS)]
        keys = self.keys
        self._write("ingest.channels.json", [
            {**one, "slug": f"number-{n}", "session": SESSION, "name": f"number {n}",
             "hmac_key_file": str(keys / "waha.hmac")}
            for n, one in enumerate(numbers)
        ])  # fmt: skip
        since = self.number_activated_at.isoformat()
        allowed = [{**one, "activated_at": since, "daily_cap": 10_000_000} for one in numbers]
        self._write("guardrails.channels.json", allowed)
        self._write("delivery.channels.json", [
            {**one, "account": SESSION, "base_url": self.phone_url, "api_key_file": str(keys / "waha.api")}
            for one in numbers
        ])  # fmt: skip


def number_id(number: int) -> UUID:
    return uuid5(CHANNEL, str(number))


@dataclass
class Run:
    """A running system and the world around it."""

    servers: Servers
    database: Any
    ingest: Client
    approval: Client
    channel: Client
    token: str
    hmac_key: bytes
    outside_pid: int
    told: int = 0
    arrived: dict[str, float] = field(default_factory=dict[str, float])

    # ------------------------------------------------------------------------------------------------------ one by one

    async def write(self) -> str:
        """A new customer writes; returns the chat."""
        self.told += 1
        chat = f"55119{10_000_000 + self.told}@c.us"
        chance = Random(self.told)  # noqa: S311 - words, not secrets
        words = " ".join("".join(chance.choices(SYLLABLES, k=3)) for _ in range(3))
        text = f"Meu plano é {words}"
        raw = msgspec.json.encode(envelope("message.any", customer_message(chat, text)))
        signature = hmac.new(self.hmac_key, raw, hashlib.sha512).hexdigest()
        headers = {"Content-Type": "application/json", "X-Webhook-Hmac": signature,
                   "X-Webhook-Hmac-Algorithm": "sha512"}  # fmt: skip
        path = f"/webhooks/waha/number-{self.told % NUMBERS}"
        _check(await self.ingest.ask("POST", path, raw, headers))
        return chat

    async def open_item(self, chat: str) -> Any:
        """The customer's draft, as soon as it can be decided."""
        async with asyncio.timeout(ARRIVES_WITHIN_SECONDS):
            while True:
                found = await self.database.fetch(f"{OPEN} and c.destination ->> 'chat' = $2", TENANT, chat)
                if found:
                    return found[0]
                await asyncio.sleep(LOOK_SECONDS)

    async def approve(self, item: Any) -> None:
        headers = {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {self.token}",
            "If-Match": f'"{item["epoch"]}-{item["commitment"]}"',
            "Idempotency-Key": str(uuid4()),
        }
        path = f"/v1/obligations/{item['id']}/decisions"
        _check(await self.approval.ask("POST", path, b'{"verb":"approve"}', headers))

    async def arrival(self, chat: str) -> float:
        """When the channel had the request for a chat."""
        async with asyncio.timeout(ARRIVES_WITHIN_SECONDS):
            while chat not in self.arrived:
                await self.look()
                await asyncio.sleep(LOOK_SECONDS)
        return self.arrived[chat]

    async def look(self) -> None:
        answer = _check(await self.channel.ask("GET", f"/arrivals?{len(self.arrived)}"))
        self.arrived |= dict(msgspec.json.decode(answer.body, type=list[tuple[str, float]]))

    async def one_message(self) -> tuple[float, float]:
        """Seconds from the webhook, and from the decision, to the channel."""
        wrote_at = time.monotonic()
        chat = await self.write()
        item = await self.open_item(chat)
        decided_at = time.monotonic()
        await self.approve(item)
        arrived_at = await self.arrival(chat)
        return arrived_at - wrote_at, arrived_at - decided_at

    async def latencies(self, messages: int) -> Values:
        webhooks: list[float] = []
        approvals: list[float] = []
        commit_times: list[float] = []
        publish_times: list[float] = []
        async with commits(self.servers) as commit, publishes(self.servers) as publish:
            for _ in range(messages):
                commit_times.append(await timed(commit))
                publish_times.append(await timed(publish))
                webhook, approval = await self.one_message()
                webhooks.append(webhook)
                approvals.append(approval)
                await asyncio.sleep(0.05)  # the turn's closing is not part of the next message
        return {
            "webhook_ms": median(webhooks) * 1000,
            "approve_ms": median(approvals) * 1000,
            "commit_and_publish_ms": (median(commit_times) + median(publish_times)) * 1000,
        }

    # ------------------------------------------------------------------------------------------------------ all at once

    async def throughput(self, messages: int, within_seconds: float) -> Values:
        """So many customers write as fast as ingest takes it, and everything is approved."""
        before, heard_before, used_before = len(self.arrived), await self._heard(), self._used()
        wanted = before + messages
        began = time.monotonic()
        deciding = asyncio.create_task(self._decide_all())
        try:
            async with asyncio.timeout(within_seconds):
                await _at_once(WEBHOOKS_AT_ONCE, [self.write] * messages)
                await self._until_quiet(wanted)
        except TimeoutError:
            await self.look()  # the share that arrived tells
        finally:
            deciding.cancel()
            with suppress(asyncio.CancelledError):
                await deciding  # a decision that failed is told, not swallowed
        arrived = sorted(self.arrived.values())[before:]
        if not arrived:
            raise RuntimeError("no message arrived at the channel; the services' logs say why")
        seconds = arrived[-1] - began
        return {
            "per_second": len(arrived) / seconds,
            "bus_per_second": (await self._heard() - heard_before) / seconds,
            "arrived_share": len(arrived) / messages,
            **{
                f"{name}_cpu_ms": (used - used_before[name]) / len(arrived) * 1000
                for name, used in self._used().items()
            },
        }

    async def _decide_all(self) -> None:
        decided: set[UUID] = set()
        while True:
            found = [one for one in await self.database.fetch(f"{OPEN} limit 500", TENANT) if one["id"] not in decided]
            decided |= {one["id"] for one in found}
            await _at_once(DECISIONS_AT_ONCE, [lambda one=one: self.approve(one) for one in found])
            await asyncio.sleep(0.02)

    async def _until_quiet(self, wanted: int) -> None:
        last, since = len(self.arrived), time.monotonic()
        while len(self.arrived) < wanted and time.monotonic() - since < QUIET_SECONDS:
            await asyncio.sleep(0.05)
            await self.look()
            if len(self.arrived) > last:
                last, since = len(self.arrived), time.monotonic()

    async def _heard(self) -> float:
        """Bus messages that all services have handled so far, from their metrics."""
        health = self.servers.stack.layout.ports.health
        return sum([await asyncio.to_thread(_handled, health[service]) for service in SERVICES])

    def _used(self) -> Values:
        """CPU seconds so far: each service, both servers, the world outside and this process."""
        stack = self.servers.stack
        used = {service: cpu.of_process(stack.processes[service].pid) for service in SERVICES}
        own = {"outside": cpu.of_process(self.outside_pid), "bench": time.process_time()}
        servers = {
            "nats": cpu.of_process(self.servers.nats.pid),
            "postgres": cpu.of_family(self.servers.postgres_pid),
        }
        return used | servers | own

    def resident(self) -> Values:
        """Resident memory of each service, in MB."""
        processes = self.servers.stack.processes
        return {service: cpu.resident_bytes(processes[service].pid) / 2**20 for service in SERVICES}


def _check(answer: Answer) -> Answer:
    if answer.status >= 300:
        raise RuntimeError(f"a service answered {answer.status}: {answer.body[:300].decode(errors='replace')}")
    return answer


async def _at_once(workers: int, acts: Sequence[Any]) -> None:
    waiting = iter(acts)

    async def work() -> None:
        for act in waiting:
            await act()

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())


def _handled(port: int) -> float:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    heard = (line for line in lines if line.startswith("chancela_bus_heard_total{"))
    return sum(float(line.rsplit(" ", 1)[1]) for line in heard if 'result="run"' in line or 'result="drained"' in line)


@asynccontextmanager
async def started(servers: Servers) -> AsyncGenerator[Run]:
    """The world outside, and the connections to a system that runs already."""
    layout = servers.stack.layout
    ports = layout.ports
    arguments = [str(ports.model), str(ports.phone)]
    outside = Child("outside", worker.command("outside", arguments, servers.file("outside.log")))
    database = await asyncpg.connect(servers.database_url)
    clients = [Client("127.0.0.1", port) for port in (ports.ingest, ports.approval, ports.phone)]
    try:
        token = await _token(clients[1])
        key = read_key(layout.keys, "waha.hmac").encode()
        run = Run(servers, database, *clients, token=token, hmac_key=key, outside_pid=outside.pid)
        async with asyncio.timeout(20):
            while True:
                try:
                    await run.look()
                except OSError:
                    await asyncio.sleep(0.05)
                    continue
                break
        yield run
    finally:
        for client in clients:
            client.close()
        await database.close()
        outside.kill()


async def _token(approval: Client) -> str:
    body = msgspec.json.encode({"email": PEOPLE[0]["email"]})
    answer = await approval.ask("POST", "/v1/local/token", body, {"Content-Type": "application/json"})
    return msgspec.json.decode(_check(answer).body)["token"]


async def measure(servers: Servers, sizes: Sizes, ends_at: float, say: Say) -> tuple[list[Values], list[Values]]:
    """Rounds of latency and throughput, and memory: idle first, then after the last round.

    Raises:
        TimeoutError: not even one round was done at `ends_at` (`time.monotonic`).
    """
    rounds: list[Values] = []
    async with started(servers) as run:
        memory = {f"{name}_idle_mb": value for name, value in run.resident().items()}
        try:
            async with asyncio.timeout(max(ends_at - time.monotonic(), 0)):
                say("pipeline: warming up")
                await run.latencies(5)
                for number in range(sizes.pipeline_rounds):
                    say(f"pipeline: round {number + 1} of {sizes.pipeline_rounds}")
                    values = await run.latencies(sizes.pipeline_latencies)
                    rounds.append(values | await run.throughput(sizes.pipeline_messages, sizes.pipeline_seconds))
        except TimeoutError:
            if not rounds:
                raise
        memory |= {f"{name}_after_mb": value for name, value in run.resident().items()}
        memory["customer_messages"] = run.told
    return rounds, [memory]
