"""The business's line: what customers, the owner and the API do to it, and the events that this causes."""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from deploy.local.phone.courier import Courier, Parcel, RetryPolicy, encode, headers_for
from deploy.local.phone.stamps import now_ms, stanza_of_phone, stanza_of_web, ulid
from deploy.local.phone.store import Store
from deploy.local.phone.waha import (
    DEVICE,
    ERROR,
    READ,
    SERVER,
    WORKING,
    Chat,
    Me,
    Message,
    ack_payload,
    edited_payload,
    envelope,
    message_payload,
    revoked_payload,
    status_payload,
)

Settled = Callable[[bool], None]


@dataclass(frozen=True)
class Settings:
    me: Me = field(default_factory=Me)
    webhook: str | None = None
    hmac_key: str | None = None
    api_key: str | None = None
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    frame_ancestors: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fault:
    """What the next sendText meets, and whether the message leaves all the same."""

    mode: str
    is_sent: bool


def ignore(_: bool) -> None:
    """Nothing waits for this event."""


class Line:
    def __init__(self, settings: Settings, store: Store) -> None:
        self.settings = settings
        self.store = store
        self.courier = Courier(settings.webhook, settings.retries, self.changed)
        self.faults: deque[Fault] = deque()
        self.typing: set[str] = set()
        self.open: Counter[str] = Counter()
        self.is_closing = asyncio.Event()
        self.version = 0
        self.news = asyncio.Event()

    def changed(self) -> None:
        self.version += 1
        self.news.set()
        self.news = asyncio.Event()

    @property
    def status(self) -> str:
        return self.store.statuses()[-1][0]

    def chat(self, chat_id: str) -> Chat:
        """The chat with this id, opened when it is new."""
        self.store.keep_chat(Chat(chat_id, f"+{chat_id.split('@', maxsplit=1)[0]}"))
        chat = self.store.chat(chat_id)
        assert chat is not None
        return chat

    # What customers do.

    def say(self, chat_id: str, text: str, name: str | None = None) -> Message:
        self.chat(chat_id)
        if name:
            self.store.rename_chat(chat_id, name)
        message = self.store.add(Message(chat_id, stanza_of_phone(), False, "app", text, now_ms() // 1000, SERVER))
        self.tell_untold()
        self.changed()
        return message

    def tell_untold(self) -> None:
        for message in self.store.untold() if self.status == WORKING else []:
            self.store.mark_told(message)
            heard = replace(message, ack=DEVICE)
            self.emit("message.any", message_payload(heard, self.chat(message.chat)), self.ticks(message))

    def ticks(self, message: Message) -> Settled:
        def settled(was_taken: bool) -> None:
            self.store.raise_ack(message, DEVICE if was_taken else ERROR)
            self.changed()

        return settled

    def edit(self, message: Message, text: str) -> None:
        self.store.edit(message, text)
        action = replace(message, stanza=stanza_of_phone(), body=text, at_seconds=now_ms() // 1000, ack=DEVICE)
        self.emit("message.edited", edited_payload(action, message.stanza, self.chat(message.chat)))
        self.changed()

    def revoke(self, message: Message) -> None:
        self.store.revoke(message)
        action = replace(message, stanza=stanza_of_phone(), at_seconds=now_ms() // 1000, revoked=True, ack=DEVICE)
        self.emit("message.revoked", revoked_payload(action, message.stanza, self.chat(message.chat)))
        self.changed()

    def open_chat(self, chat_id: str) -> None:
        self.open[chat_id] += 1
        self.read_ours(chat_id)

    def leave_chat(self, chat_id: str) -> None:
        self.open[chat_id] = max(0, self.open[chat_id] - 1)

    def read_ours(self, chat_id: str) -> None:
        if self.open[chat_id]:
            for message in self.store.ours_unread(chat_id):
                self.raise_ack(message, READ)

    # What the business does, through the API or by hand on its phone.

    def send(self, chat_id: str, text: str, stanza: str | None) -> tuple[Message, bool]:
        """Put a text into the chat; false when this id was there before (the oldest stays)."""
        if stanza and (before := self.store.message(chat_id, stanza)):
            return before, False
        return self.speak(chat_id, text, stanza or stanza_of_web(), "api"), True

    def owner_reply(self, chat_id: str, text: str) -> Message:
        return self.speak(chat_id, text, stanza_of_web(), "app")

    def speak(self, chat_id: str, text: str, stanza: str, source: str) -> Message:
        chat = self.chat(chat_id)
        message = self.store.add(Message(chat_id, stanza, True, source, text, now_ms() // 1000, SERVER))
        self.typing.discard(chat_id)
        self.emit("message.any", message_payload(message, chat))
        self.emit("message.ack", ack_payload(message, SERVER))
        self.raise_ack(message, DEVICE)
        self.read_ours(chat_id)
        self.changed()
        return message

    def raise_ack(self, message: Message, ack: int) -> None:
        if self.store.raise_ack(message, ack):
            self.emit("message.ack", ack_payload(message, ack))
            self.changed()

    def see(self, chat_id: str) -> None:
        self.store.mark_seen(chat_id)
        self.changed()

    def type(self, chat_id: str, *, is_typing: bool) -> None:
        (self.typing.add if is_typing else self.typing.discard)(chat_id)
        self.changed()

    def set_status(self, status: str) -> None:
        self.store.add_status(status, now_ms())
        self.emit("session.status", status_payload(self.settings.me.session, self.store.statuses()))
        self.tell_untold()
        self.changed()

    def forget(self) -> None:
        """As a new phone, with the same contacts."""
        self.store.forget(now_ms())
        self.faults.clear()
        self.typing.clear()
        self.open.clear()
        self.changed()

    # What the webhook hears.

    def emit(self, event: str, payload: Any, settled: Settled = ignore) -> None:
        at_ms = now_ms()
        self.post(envelope(event, payload, self.settings.me, f"evt_{ulid(at_ms)}", at_ms), at_ms, settled)

    def post(self, event: dict[str, Any], at_ms: int, settled: Settled = ignore) -> None:
        self.post_bytes(encode(event), at_ms, settled)

    def post_bytes(self, body: bytes, at_ms: int, settled: Settled = ignore) -> None:
        headers = headers_for(body, self.settings.hmac_key, ulid(at_ms), at_ms)
        self.courier.post(Parcel(body, headers, settled))
