"""Customers who write on the phone, and a person who decides what waits: by HTTP, while everything is being killed.

A request that got no answer is sent again as it was (the decision under its idempotency key), as a browser would.
"""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid5

import httpx

from deploy.local.layout import Layout

MARIA = "maria@clinica.example"
FINAL = frozenset({404, 409, 410, 412})
"""Answers to a decision that make the decider look anew: decided already, expired, another text by now."""
LOOK_SECONDS = 0.3
PATIENCE_SECONDS = 5.0
"""After this a text that the conversation has left behind is read again and confirmed."""
ANSWER_SECONDS = 20.0
LATECOMER_SECONDS = 1.0
"""Between the customers who write only because the trouble takes longer than planned."""
SYLLABLES = tuple("ba bel cor dan fir gal hum jol lim mar nor pel quin rus sol tav vel xan zim dor".split())  # noqa: SIM905 - easier to read


@dataclass
class Doubt:
    """Something happened in the conversation after the text was written; a newer text mostly comes by itself."""

    since: float
    revision: int = 0


@dataclass
class Crowd:
    """What is written and decided in one run; the seed decides who does what."""

    layout: Layout
    chats: int
    seconds: float
    seed: int
    written: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    decided: dict[str, int] = field(default_factory=dict[str, int])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    unexpected: list[str] = field(default_factory=list[str])
    begun: int = 0
    has_trouble: bool = True
    """Set false by the thread that makes it."""
    has_written_all: bool = False
    _doubts: dict[tuple[str, int], "Doubt"] = field(default_factory=dict[tuple[str, int], "Doubt"])
    _repeats: set[str] = field(default_factory=set[str])
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def run(self) -> None:
        """`chats` customers over `seconds`, more while there is trouble, and the person until `is_over`."""
        # a phone's request is not repeated: none may be sent on a connection that the phone is about to close
        fresh = httpx.Limits(max_keepalive_connections=0)
        async with (
            httpx.AsyncClient(timeout=10, trust_env=False) as client,
            httpx.AsyncClient(timeout=60, trust_env=False, limits=fresh) as phones,
        ):
            deciding = asyncio.create_task(self._decide(client))
            phone = Phone(phones, self.layout.phone_url)
            looking = asyncio.create_task(phone.look())
            async with asyncio.TaskGroup() as group:
                while self.has_trouble or not self.has_enough:
                    group.create_task(self._customer(phone, self.begun))
                    self.begun += 1
                    await asyncio.sleep(LATECOMER_SECONDS if self.has_enough else self.seconds / self.chats)
            self.has_written_all = True
            await self.is_over.wait()
            looking.cancel()
            deciding.cancel()
            await asyncio.gather(looking, deciding, return_exceptions=True)

    @property
    def has_enough(self) -> bool:
        return self.begun >= self.chats

    async def _customer(self, phone: "Phone", number: int) -> None:
        chance = random.Random(f"{self.seed}-{number}")
        chat = f"5511{700000000 + number}@c.us"
        manner = chance.choice(("once", "once", "when answered", "at once"))
        await self._write(phone, chat, chance)
        if manner == "when answered":
            await phone.answered(chat)
        if manner != "once":
            await self._write(phone, chat, chance)

    async def _write(self, phone: "Phone", chat: str, chance: random.Random) -> None:
        words = " ".join("".join(chance.choices(SYLLABLES, k=3)) for _ in range(3))
        text = f"Meu plano é {words}"
        await phone.say(chat, text)
        self.written.append((chat, text))

    # ------------------------------------------------------------------------------------------------ the person

    async def _decide(self, client: httpx.AsyncClient) -> None:
        person = Person(client, self.layout.approval_url)
        while True:
            for item in await person.waiting():
                await self._one(person, item)
            await asyncio.sleep(LOOK_SECONDS)

    async def _one(self, person: "Person", item: dict[str, Any]) -> None:
        body, kind = await self._wish(person, item)
        answer = await person.decide(item, body)
        if answer.is_success:
            self.decided[kind] = self.decided.get(kind, 0) + 1
            return
        self.refused[item["id"]] = f"{answer.status_code} {answer.text}"
        problem = answer.json()
        if answer.status_code not in FINAL:
            self.unexpected.append(f"{body}: {answer.status_code} {answer.text}")
        elif problem["type"].endswith("/repeats-uncertain"):
            self._repeats.add(item["id"])
        elif "heard_context_revision" in problem:
            text = (item["id"], item["epoch"])
            self._doubts.setdefault(text, Doubt(time.monotonic())).revision = problem["heard_context_revision"]

    async def _wish(self, person: "Person", item: dict[str, Any]) -> tuple[dict[str, Any], str]:
        doubt = self._doubts.get((item["id"], item["epoch"]))
        if doubt is not None and time.monotonic() - doubt.since > PATIENCE_SECONDS:
            return {"verb": "approve", "context_revision": doubt.revision}, "confirmed"
        chance = random.Random(f"{self.seed}-{item['id']}-{item['epoch']}").random()
        # the same text may have arrived already: a person who cannot know does not send it again
        if chance < 0.1 or item["id"] in self._repeats:
            return {"verb": "reject", "reason": "Assim não."}, "rejected"
        if chance < 0.2:
            text = await person.text_of(item)
            return {"verb": "approve", "edited_text": f"{text} Um abraço!"}, "edited"
        return {"verb": "approve"}, "approved"


@dataclass
class Person:
    """A signed-in approver. Every request is repeated until the service answers."""

    client: httpx.AsyncClient
    url: str
    token: str = ""

    async def waiting(self) -> list[dict[str, Any]]:
        answer = await self._ask("GET", "/v1/obligations?state=open&limit=100")
        return answer.json()["items"]

    async def text_of(self, item: dict[str, Any]) -> str:
        answer = await self._ask("GET", f"/v1/obligations/{item['id']}")
        return answer.json()["body"]

    async def decide(self, item: dict[str, Any], body: dict[str, Any]) -> httpx.Response:
        etag = f'"{item["epoch"]}-{item["commitment"]}"'
        key = str(uuid5(UUID(item["id"]), f"{etag}{body}"))
        headers = {"If-Match": etag, "Idempotency-Key": key}
        return await self._ask("POST", f"/v1/obligations/{item['id']}/decisions", json=body, headers=headers)

    async def _ask(self, method: str, path: str, **rest: Any) -> httpx.Response:
        headers: dict[str, str] = rest.pop("headers", {})

        async def attempt() -> httpx.Response:
            if not self.token:
                signed = await self.client.post(f"{self.url}/v1/local/token", json={"email": MARIA})
                signed.raise_for_status()
                self.token = signed.json()["token"]
            own = {**headers, "Authorization": f"Bearer {self.token}"}
            return await self.client.request(method, self.url + path, headers=own, **rest)

        return await answered(attempt)


async def answered(attempt: Callable[[], Awaitable[httpx.Response]]) -> httpx.Response:
    """The first answer that is not the service's own trouble."""
    while True:
        try:
            answer = await attempt()
        except (httpx.TransportError, httpx.HTTPStatusError):
            await asyncio.sleep(LOOK_SECONDS)
            continue
        if answer.status_code < 500:
            return answer
        await asyncio.sleep(LOOK_SECONDS)


@dataclass
class Phone:
    """The customers' phones, which are never killed: WhatsApp is not ours."""

    client: httpx.AsyncClient
    url: str
    chats_answered: set[str] = field(default_factory=set[str])
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def say(self, chat: str, text: str) -> None:
        answer = await self.client.post(
            f"{self.url}/_control/say", json={"chat": chat, "text": text, "name": "Cliente"}
        )
        answer.raise_for_status()

    async def answered(self, chat: str) -> None:
        """Until our first reply, or until the customer loses patience (it may have been rejected)."""
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                while chat not in self.chats_answered:
                    await self.news.wait()
        except TimeoutError:
            return

    async def look(self) -> None:
        while True:
            received = (await self.client.get(f"{self.url}/_control/received")).json()
            self.chats_answered |= {one["chat"] for one in received}
            self.news.set()
            self.news = asyncio.Event()
            await asyncio.sleep(1)
