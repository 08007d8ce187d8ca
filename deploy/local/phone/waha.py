"""WAHA's shapes on the wire, NOWEB flavour: events, answers, errors. Pure: instants and ids are arguments."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

VERSION = "2026.7.1"
WORKING = "WORKING"
STATUSES = ("STOPPED", "STARTING", "SCAN_QR_CODE", WORKING, "FAILED")
ACK_NAMES = {-1: "ERROR", 0: "PENDING", 1: "SERVER", 2: "DEVICE", 3: "READ", 4: "PLAYED"}
ERROR, PENDING, SERVER, DEVICE, READ = -1, 0, 1, 2, 3

Shape = dict[str, Any]


@dataclass(frozen=True)
class Me:
    """The business's own number."""

    session: str = "atendimento"
    number: str = "5511900000001"
    lid: str = "990000000000001"
    name: str = "Clínica Sol"
    metadata: tuple[tuple[str, str], ...] = ()

    @property
    def shape(self) -> Shape:
        return {
            "id": f"{self.number}@c.us",
            "pushName": self.name,
            "lid": f"{self.lid}@lid",
            "jid": f"{self.number}:12@s.whatsapp.net",
        }


@dataclass(frozen=True)
class Chat:
    id: str
    name: str
    phone: str | None = None


@dataclass(frozen=True)
class Message:
    chat: str
    stanza: str
    from_me: bool
    source: str
    body: str
    at_seconds: int
    ack: int
    edited: bool = False
    revoked: bool = False

    @property
    def id(self) -> str:
        return f"{str(self.from_me).lower()}_{self.chat}_{self.stanza}"


def jid(chat: str) -> str:
    """The id that only `_data` uses."""
    return chat.replace("@c.us", "@s.whatsapp.net")


def key_of(message: Message, chat: Chat) -> Shape:
    key: Shape = {"remoteJid": jid(message.chat), "fromMe": message.from_me, "id": message.stanza}
    return key | ({"remoteJidAlt": f"{chat.phone}@s.whatsapp.net"} if chat.id.endswith("@lid") and chat.phone else {})


def message_payload(message: Message, chat: Chat) -> Shape:
    """NOWEB keeps the chat in `from` in both directions and leaves `to` empty."""
    body = None if message.revoked else message.body
    return {
        "id": message.id,
        "timestamp": message.at_seconds,
        "from": message.chat,
        "fromMe": message.from_me,
        "source": message.source,
        "to": None,
        "participant": None,
        "body": body,
        "hasMedia": False,
        "media": None,
        "mediaUrl": None,
        "ack": message.ack,
        "ackName": ACK_NAMES[message.ack],
        "location": None,
        "vCards": None,
        "replyTo": None,
        "_data": {
            "key": key_of(message, chat),
            "messageTimestamp": message.at_seconds,
            "pushName": None if message.from_me else chat.name,
            "broadcast": False,
            "message": {} if body is None else {"conversation": body},
            "status": message.ack + 1,
        },
    }


def edited_payload(action: Message, target: str, chat: Chat) -> Shape:
    """`id` is the edit itself; the target is a bare stanza id."""
    return message_payload(action, chat) | {"editedMessageId": target}


def revoked_payload(action: Message, target: str, chat: Chat) -> Shape:
    return {"after": message_payload(action, chat), "revokedMessageId": target, "before": None, "_data": {}}


def ack_payload(message: Message, ack: int) -> Shape:
    return {
        "id": message.id,
        "from": message.chat,
        "to": None,
        "participant": None,
        "fromMe": message.from_me,
        "ack": ack,
        "ackName": ACK_NAMES[ack],
        "_data": {},
    }


def status_payload(session: str, history: list[tuple[str, int]]) -> Shape:
    statuses = [{"status": status, "timestamp": at_ms} for status, at_ms in history]
    return {"name": session, "status": history[-1][0], "statuses": statuses, "data": None}


def envelope(event: str, payload: Any, me: Me, event_id: str, at_ms: int) -> Shape:
    return {
        "id": event_id,
        "timestamp": at_ms,
        "event": event,
        "session": me.session,
        "metadata": dict(me.metadata),
        "me": me.shape,
        "payload": payload,
        "engine": "NOWEB",
        "environment": {
            "version": VERSION,
            "engine": "NOWEB",
            "tier": "CORE",
            "browser": None,
            "platform": "linux/x64",
        },
    }


def sent_as_key(message: Message) -> Shape:
    """The engine's own shape, which some versions return as it is."""
    return {
        "key": {"remoteJid": jid(message.chat), "fromMe": True, "id": message.stanza},
        "message": {"extendedTextMessage": {"text": message.body}},
        "messageTimestamp": str(message.at_seconds),
        "status": "PENDING",
    }


def sent_as_serialized(message: Message) -> Shape:
    parts = {"fromMe": True, "remote": message.chat, "id": message.stanza, "_serialized": message.id}
    return {"_data": {}, "id": parts, "ack": PENDING}


def http_error(status: int, message: str | list[str], error: str | None = None) -> Shape:
    return {"message": message, "statusCode": status} | ({"error": error} if error else {})


def session_error(session: str, status: str) -> Shape:
    return {
        "error": "Session status is not as expected. Try again later or restart the session",
        "session": session,
        "status": status,
        "expected": [WORKING],
    }


def server_error(message: str, path: str, body: Any, at_ms: int) -> Shape:
    """WAHA echoes the request, the customer's words included."""
    instant = datetime.fromtimestamp(at_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return {
        "statusCode": 500,
        "timestamp": instant,
        "exception": {"message": message, "code": 2},
        "request": {"path": path, "method": "POST", "body": body, "query": {}},
        "version": {"version": VERSION},
    }
