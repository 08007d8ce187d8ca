"""One running system for many journeys, and a customer's chat in it: what people do, and what can be waited for."""

import secrets
from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import httpx

from deploy.demo.events import Observer, until
from deploy.demo.outside import Outside, Shape, customer_message, envelope
from deploy.local.layout import CHANNEL, RULES
from deploy.local.processes import Command
from deploy.local.stack import Stack

MARIA, JOHN, VERA = "maria@clinica.example", "john@clinica.example", "vera@clinica.example"
DEADLINE_SECONDS = 60.0
CALL_TIMEOUT_SECONDS = 2.0
SETTINGS = {
    "ingest": {"ECHO_HOLD_SECONDS": "5", "ECHO_HEARING_SECONDS": "2"},
    "conversador": {"BURST_DEBOUNCE_SECONDS": "0.2", "CLOSING_ATTEMPTS": "1"},
    "delivery": {"CALL_TIMEOUT_SECONDS": str(CALL_TIMEOUT_SECONDS)},
}
PROVES_NOTHING_SENT = frozenset({"422", "fault 422"})
DISCLOSURE = RULES["disclosures"]["pt-BR"]
Event = Mapping[str, Any]


class World:
    """The system, an eye on its outboxes, and the hands of everybody outside."""

    def __init__(self, stack: Stack, client: httpx.AsyncClient, observer: Observer) -> None:
        self.stack = stack
        self.outside = Outside(stack.layout, client)
        self.observer = observer

    def chat(self) -> "Chat":
        number = secrets.randbelow(10**8)
        return Chat(self, f"55119{number:08d}@c.us", " ".join(_word() for _ in range(3)))

    async def look_again(self) -> None:
        """The database was away, and with it the connection that we look through."""
        self.observer = await Observer.open(self.stack.superuser_url())

    @contextmanager
    def running_with(self, service: str, **settings: str) -> Generator[None]:
        """A service with other settings, for a while."""
        usual = self.stack.processes[service].command
        own = {f"CHANCELA_{name}": value for name, value in settings.items()}
        self._start_anew(service, replace(usual, env={**(usual.env or {}), **own}))
        try:
            yield
        finally:
            self._start_anew(service, usual)

    def _start_anew(self, service: str, command: Command) -> None:
        self.stack.processes.stop(service)
        self.stack.processes.start(service, command)
        self.stack.wait_ready()

    async def unapproved(self) -> list[Shape]:
        """Requests at the channel beyond the approvals of exactly that text for exactly that chat."""
        approved = Counter(await self.observer.approved())
        extra: list[Shape] = []
        for request in await self.outside.received():
            approved[request["chat"], request["text"]] -= PROVES_NOTHING_SENT.isdisjoint({request["outcome"]})
            if approved[request["chat"], request["text"]] < 0:
                extra.append(request)
        return extra

    async def stranger(self) -> str:
        """An approver of another house."""
        email = f"{secrets.token_hex(6)}@elsewhere.example"
        await self.observer.add_person(uuid4(), email, "approver")
        return email

    async def alerts(self) -> list[Shape]:
        return (await self.outside.get(JOHN, "/v1/alerts?limit=200")).json()["items"]


def _word() -> str:
    """A word that no other text holds: drafts about it are no copies of each other."""
    return "".join(secrets.choice("bdfglmnprtv") + secrets.choice("aeiou") for _ in range(4)).capitalize()


async def shortly(condition: Callable[[], Awaitable[Any]], what: str, seconds: float = DEADLINE_SECONDS) -> Any:
    """Wait for a truthy answer; past the deadline it is an error that names what did not come."""
    found = await until(condition, seconds)
    assert found, f"this did not happen within {seconds:.0f} s: {what}"
    return found


@dataclass
class Chat:
    """One customer's chat. `words` are in what this customer says, so that each draft is one of its own."""

    world: World
    id: str
    words: str

    # ----------------------------------------------------------------------------------------------- the customer

    async def writes(self, text: str = "") -> str:
        """On the phone; returns the message's id."""
        said = await self.world.outside.phone("say", chat=self.id, text=text or f"Oi! Meu plano é {self.words}")
        return said["id"]

    async def posts(self, text: str | None, **more: Any) -> str:
        """A webhook of exactly this form; returns the action that answers it."""
        answer = await self.world.outside.webhook(envelope("message.any", customer_message(self.id, text, **more)))
        return answer.json()["action"]

    async def echoes(self, text: str, stanza: str) -> str:
        """The channel reports a message of our own account."""
        return await self.posts(text, id=f"true_{self.id}_{stanza}", fromMe=True, source="api")

    async def acks(self, stanza: str, level: int) -> None:
        payload = {"id": f"true_{self.id}_{stanza}", "from": self.id, "fromMe": True, "ack": level}
        answer = await self.world.outside.webhook(envelope("message.ack", payload))
        assert answer.json()["action"] == "ack_update"

    # ---------------------------------------------------------------------------------------------------- people

    async def item(self) -> Shape:
        """The newest item of this conversation as a person sees it."""
        filed = await self.said("DraftFiled")
        return await self.item_of(filed[-1]["obligation_id"])

    async def item_of(self, obligation: str) -> Shape:
        answer = await self.world.outside.get(JOHN, f"/v1/obligations/{obligation}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def decide(self, item: Shape, verb: str, *, person: str = JOHN, **body: Any) -> httpx.Response:
        return await self.world.outside.decide(person, item["id"], item["etag"], {"verb": verb, **body})

    async def approves(self, item: Shape, **body: Any) -> None:
        answer = await self.decide(item, "approve", **body)
        assert answer.status_code == 200, answer.text

    async def owns(self, change: str, version: int) -> httpx.Response:
        path = f"/v1/conversations/{await self.conversation()}/{change}"
        return await self.world.outside.post(JOHN, path, {"expected_version": version})

    async def session_is(self, status: str) -> None:
        """Until every service that hears of the channel has heard it."""

        async def heard() -> bool:
            is_shown = (await self.talk())["channel_status"] == status
            return is_shown and await self.world.observer.is_all_heard(CHANNEL)

        await shortly(heard, f"the session is {status} for everybody")

    async def settles(self) -> None:
        """Until everything that was said about this conversation has been heard by all who hear it."""
        conversation = UUID(await self.conversation())
        await shortly(lambda: self.world.observer.is_all_heard(conversation), f"{self.id} comes to rest")

    async def talk(self) -> Shape:
        return (await self.world.outside.get(JOHN, f"/v1/conversations/{await self.conversation()}")).json()

    # ---------------------------------------------------------------------------------------- what came of it

    async def conversation(self) -> str:
        return await shortly(lambda: self.world.observer.conversation_of(self.id), f"{self.id} is a conversation")

    async def events(self) -> Sequence[Event]:
        return await self.world.observer.events(await self.conversation())

    async def said(self, kind: str, /, **fields: Any) -> list[Event]:
        return [
            event
            for event in await self.events()
            if event["type"] == kind and all(event.get(name) == value for name, value in fields.items())
        ]

    async def hears(self, kind: str, number: int = 1, /, **fields: Any) -> Event:
        """The message of this type that is the `number`-th about this conversation, once it was said."""

        async def found() -> Event | None:
            said = await self.said(kind, **fields)
            return said[number - 1] if len(said) >= number else None

        event = await until(found, DEADLINE_SECONDS)
        assert event, f"{kind} {fields or ''} was not said; said was {[one['type'] for one in await self.events()]}"
        return event

    async def filed(self, number: int = 1) -> Shape:
        """The item, once its text was filed for the `number`-th time."""
        await self.hears("DraftFiled", number)
        return await self.item()

    async def becomes(self, obligation: str, state: str, /, **fields: Any) -> Shape:
        """The item, once people see it in this state."""
        wanted = {"state": state, **fields}

        async def found() -> Shape | None:
            item = await self.item_of(obligation)
            return item if all(item[name] == value for name, value in wanted.items()) else None

        found_item = await until(found, DEADLINE_SECONDS)
        if not found_item:
            item = await self.item_of(obligation)
            raise AssertionError(f"wanted {wanted}, found {[(n, item[n]) for n in wanted]}, ledger {item['ledger']}")
        return found_item

    async def alerted(self, kind: str) -> Shape:
        conversation = await self.conversation()

        async def found() -> Shape | None:
            alerts = await self.world.alerts()
            return next((one for one in alerts if (one["conversation_id"], one["kind"]) == (conversation, kind)), None)

        return await shortly(found, f"an alert {kind}")

    async def requests(self) -> list[Shape]:
        """Every attempt to send into this chat."""
        return await self.world.outside.received(self.id)

    async def arrived(self, number: int = 1) -> list[str]:
        """The texts on the customer's phone, once there are so many."""

        async def found() -> list[str] | None:
            sent = [one["text"] for one in await self.requests() if one["outcome"].startswith("sent")]
            return sent if len(sent) >= number else None

        return await shortly(found, f"{number} texts on the phone of {self.id}")
