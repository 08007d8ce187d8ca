"""What the phone remembers: chats, messages in order, every sendText in order of arrival. The only SQL here."""

import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy.local.phone.waha import ERROR, READ, SERVER, WORKING, Chat, Message

SCHEMA = """
create table if not exists chat (id text primary key, name text not null, phone text);
create table if not exists message (
    seq integer primary key, chat text not null, stanza text not null, from_me integer not null, source text not null,
    body text not null, at_seconds integer not null, ack integer not null, edited integer not null default 0,
    revoked integer not null default 0, told integer not null default 0, unique (chat, from_me, stanza)
);
create table if not exists request (
    seq integer primary key, chat text not null, stanza text, text text not null, at_ms integer not null,
    outcome text not null
);
create table if not exists status (seq integer primary key, status text not null, at_ms integer not null);
"""
COLUMNS = "chat, stanza, from_me, source, body, at_seconds, ack, edited, revoked"
CONTACTS = (
    Chat("5511900001234@c.us", "Ana P.", "5511900001234"),
    Chat("552190004321@c.us", "João Ribeiro", "552190004321"),
    Chat("990000000000234@lid", "Lúcia M.", "5531900004567"),
    Chat("15550100234@c.us", "Mary Smith", "15550100234"),
)


@dataclass(frozen=True)
class Request:
    """One sendText as it arrived; `attempts` counts the requests with this id in this chat."""

    seq: int
    id: str | None
    chat: str
    text: str
    at_ms: int
    outcome: str
    attempts: int


class Store:
    def __init__(self, path: Path | None, at_ms: int) -> None:
        self.sql = sqlite3.connect(path or ":memory:", isolation_level=None)
        self.sql.executescript("pragma journal_mode = wal; pragma synchronous = normal;" + SCHEMA)
        for chat in CONTACTS:
            self.keep_chat(chat)
        if not self.statuses():
            self.add_status(WORKING, at_ms)

    def close(self) -> None:
        self.sql.close()

    def keep_chat(self, chat: Chat) -> None:
        self.sql.execute("insert or ignore into chat values (?, ?, ?)", (chat.id, chat.name, chat.phone))

    def rename_chat(self, chat: str, name: str) -> None:
        self.sql.execute("update chat set name = ? where id = ?", (name, chat))

    def chats(self) -> list[Chat]:
        return [Chat(*row) for row in self.sql.execute("select id, name, phone from chat order by rowid")]

    def chat(self, chat: str) -> Chat | None:
        return next((one for one in self.chats() if one.id == chat), None)

    def add(self, message: Message) -> Message:
        """Keep the message; a second one with the same id in the same chat changes nothing, and the oldest stays."""
        self.sql.execute(
            f"insert or ignore into message ({COLUMNS}) values (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - constant names
            tuple(vars(message).values()),
        )
        kept = self.message(message.chat, message.stanza)
        assert kept is not None
        return kept

    def read(self, where: str, *values: Any) -> list[Message]:
        rows = self.sql.execute(f"select {COLUMNS} from message where {where} order by seq", values)  # noqa: S608 - our own conditions
        return [
            Message(chat, stanza, bool(from_me), source, body, at_seconds, ack, bool(edited), bool(revoked))
            for chat, stanza, from_me, source, body, at_seconds, ack, edited, revoked in rows
        ]

    def message(self, chat: str, stanza: str) -> Message | None:
        return next(iter(self.read("chat = ? and stanza = ?", chat, stanza)), None)

    def messages(self, chat: str) -> list[Message]:
        return self.read("chat = ?", chat)

    def last_from_customer(self, chat: str) -> Message | None:
        return next(reversed(self.read("chat = ? and from_me = 0 and revoked = 0", chat)), None)

    def ours_unread(self, chat: str) -> list[Message]:
        return self.read("chat = ? and from_me = 1 and ack between 0 and 2", chat)

    def untold(self) -> list[Message]:
        """What customers wrote while the session was down: it is heard when the session works again."""
        return self.read("from_me = 0 and told = 0")

    def mark_told(self, message: Message) -> None:
        self.change(message, "told = 1")

    def raise_ack(self, message: Message, ack: int) -> bool:
        """Acks only move forward, and an error is left only for a better state."""
        if ack == ERROR:
            return self.change(message, f"ack = {ERROR}", f"ack <= {SERVER}")
        return self.change(message, f"ack = {ack}", f"ack < {ack}")

    def edit(self, message: Message, body: str) -> None:
        self.sql.execute(
            "update message set body = ?, edited = 1 where chat = ? and stanza = ?",
            (body, message.chat, message.stanza),
        )

    def revoke(self, message: Message) -> None:
        self.change(message, "body = '', revoked = 1")

    def mark_seen(self, chat: str) -> None:
        """Our side looked at the chat: the customer's ticks turn blue."""
        self.sql.execute(f"update message set ack = {READ} where chat = ? and from_me = 0 and told = 1", (chat,))  # noqa: S608 - a constant

    def change(self, message: Message, what: str, only_if: str = "true") -> bool:
        statement = f"update message set {what} where chat = ? and stanza = ? and {only_if}"  # noqa: S608 - our own words
        return self.sql.execute(statement, (message.chat, message.stanza)).rowcount > 0

    def forget(self, at_ms: int) -> None:
        self.sql.executescript("delete from message; delete from request; delete from status;")
        self.add_status(WORKING, at_ms)

    def add_request(self, chat: str, stanza: str | None, text: str, at_ms: int) -> int:
        statement = "insert into request (chat, stanza, text, at_ms, outcome) values (?, ?, ?, ?, 'open')"
        seq = self.sql.execute(statement, (chat, stanza, text, at_ms)).lastrowid
        assert seq is not None
        return seq

    def settle_request(self, seq: int, outcome: str) -> None:
        self.sql.execute("update request set outcome = ? where seq = ?", (outcome, seq))

    def requests(self) -> list[Request]:
        rows = self.sql.execute(
            "select seq, stanza, chat, text, at_ms, outcome,"
            " iif(stanza is null, 1, count(*) over (partition by chat, stanza)) from request order by seq"
        )
        return [Request(*row) for row in rows]

    def add_status(self, status: str, at_ms: int) -> None:
        self.sql.execute("insert into status (status, at_ms) values (?, ?)", (status, at_ms))

    def statuses(self) -> list[tuple[str, int]]:
        """The newest five, oldest first."""
        rows = self.sql.execute("select status, at_ms from status order by seq desc limit 5").fetchall()
        return [(status, at_ms) for status, at_ms in reversed(rows)]
