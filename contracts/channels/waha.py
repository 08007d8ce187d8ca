"""WAHA (an unofficial WhatsApp HTTP API): webhooks in, sendText out. Pure; facts in `07-channels`, section 1.

Laws
- The signature is HMAC-SHA512 over the raw bytes, checked before anything is read; no other algorithm is accepted.
- Only the body is signed. Freshness is judged on its own timestamp, never on a header; the window covers the sender's
  whole retry horizon (15 exponential attempts end after 18 to 36 h), replay inside the window is for dedupe to stop.
- Direction is `payload.fromMe`; the chat is the second part of `payload.id`; the class of chat is its suffix. Event
  names prove neither. Only direct chats (`@c.us`, `@lid`) are heard or answered.
- A LID is not a phone number. The chat that wrote is the chat that is answered; phone and LID hints only match people.
- `_data` is the engine's own and changes at will: it is read for the names and numbers of people, never for text.
- A 500 echoes our request back: nothing of an answer's body ever enters a detail.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, TypedDict, assert_never
from urllib.parse import quote

import msgspec

from contracts.channel import (
    Accepted,
    Acked,
    Answer,
    Attachment,
    Broken,
    CannotSend,
    ChannelEvent,
    ChatKind,
    ConnectionRefused,
    DeliveryError,
    Edited,
    Failed,
    Fate,
    FromMe,
    HttpRequest,
    Ignored,
    Inbound,
    Level,
    Malformed,
    MediaKind,
    Reacted,
    Rejected,
    Revoked,
    SendAnswer,
    SessionChanged,
    TimedOut,
    TryAgain,
    Uncertain,
)
from contracts.foreign import (
    Object,
    a_list,
    a_number,
    a_text,
    a_word,
    an_instant,
    an_integer,
    an_object,
    decoded,
    is_blank,
    storable,
)

FRESHNESS: Final = timedelta(hours=40)
BACKLOG: Final = timedelta(hours=24)
TEXT_LIMIT_CHARACTERS: Final = 4096
API_KEY_HEADER: Final = "X-Api-Key"
READY_STATUS: Final = "WORKING"

# ------------------------------------------------------------------------------------------------------------ authentic


def authenticate(headers: Mapping[str, str], raw: bytes, key: bytes) -> Rejected | None:
    """None when `raw` carries the one right signature for `key`; header names in any case. No key means no entry.

    A missing algorithm header is no downgrade (the digest is compared as sha512 all the same); another value is.
    """
    signatures = _values(headers, "x-webhook-hmac")
    if any(name.lower() != "sha512" for name in _values(headers, "x-webhook-hmac-algorithm")):
        return _unauthentic("algorithm_refused", "Only sha512 is accepted; set the webhook's HMAC algorithm to sha512.")
    if len(signatures) != 1:
        return _unauthentic("signature_missing", "Exactly one X-Webhook-Hmac is needed; set the HMAC key in WAHA.")
    if not re.fullmatch(r"[0-9a-fA-F]{128}", signatures[0]):
        return _unauthentic("signature_malformed", "X-Webhook-Hmac must be 128 hexadecimal digits.")
    expected = hmac.new(key, raw, hashlib.sha512).hexdigest()
    if not hmac.compare_digest(expected, signatures[0].lower()) or not key:
        return _unauthentic("signature_wrong", "The signature does not match these bytes and this channel's key.")
    return None


def _values(headers: Mapping[str, str], name: str) -> list[str]:
    return [value for header, value in headers.items() if header.lower() == name]


def _unauthentic(code: str, detail: str) -> Rejected:
    return Rejected(status=401, code=code, detail=detail)


# ------------------------------------------------------------------------------------------------------------- envelope


class _Head(TypedDict):
    session: str
    event_id: str
    occurred_at: datetime


class _Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """An envelope that is readable, ours and fresh; `moment` is its signed time as it came, not clamped."""

    head: _Head
    moment: datetime
    arrived_at: datetime
    backlog: timedelta
    own: frozenset[str]
    payload: Object

    def sent_at(self) -> datetime:
        return min(an_instant(self.payload.get("timestamp")) or self.moment, self.arrived_at)

    def is_backlog(self) -> bool:
        return self.moment - self.sent_at() >= self.backlog

    def event_key(self, stanza_id: str, text: str) -> str:
        """Names an edit or a reaction: engines reuse the message's own id for them, so time and text count too."""
        moment = an_instant(self.payload.get("timestamp")) or self.moment
        return f"{stanza_id}:{moment.timestamp():.3f}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def parse(
    raw: bytes,
    *,
    sessions: Collection[str],
    arrived_at: datetime,
    freshness: timedelta = FRESHNESS,
    backlog: timedelta = BACKLOG,
) -> ChannelEvent | Rejected:
    """What an authentic webhook says.

    Args:
        raw: The body, already authenticated.
        sessions: The session names that belong to this endpoint.
        arrived_at: Our clock at arrival, in UTC; later times of the sender are clamped to it.
        freshness: How old a body may be at arrival; must cover the sender's retry horizon.
        backlog: How long a message may have waited before WAHA saw it (offline phone) and still start a draft.
    """
    if (envelope := decoded(raw)) is None:
        return Rejected(status=400, code="unreadable", detail="The body is not one JSON object in UTF-8.")
    payload, name = an_object(envelope.get("payload")), a_word(envelope.get("event"))
    moment = an_instant(envelope.get("timestamp")) or an_instant(payload.get("timestamp"))
    head = _Head(
        session=a_word(envelope.get("session")),
        event_id=a_word(envelope.get("id")),
        occurred_at=min(moment or arrived_at, arrived_at),
    )
    is_complete = bool(name and head["session"]) and (name not in _READERS or isinstance(envelope.get("payload"), dict))
    if unread := _unread(head, name, is_complete=is_complete, is_ours=head["session"] in sessions):
        return unread
    if moment is None:
        return Malformed(**head, reason="time_missing", detail="No signed time: replay cannot be ruled out.")
    if arrived_at - moment > freshness:
        return _unauthentic("stale", f"The signed time is more than {freshness} ago; retries end before that.")
    own = frozenset(_own_ids(an_object(envelope.get("me"))))
    return _READERS[name](
        _Webhook(head=head, moment=moment, arrived_at=arrived_at, backlog=backlog, own=own, payload=payload)
    )


def _unread(head: _Head, name: str, *, is_complete: bool, is_ours: bool) -> Ignored | Malformed | Rejected | None:
    if not is_complete:
        return Malformed(**head, reason="envelope_incomplete", detail="Event, session and payload are all needed.")
    if not is_ours:
        return Rejected(status=403, code="session_unknown", detail="This session is not registered at this address.")
    if name not in _READERS:
        return Ignored(**head, reason="event_not_used", detail=f"Events named {name} are not used.")
    return None


# ------------------------------------------------------------------------------------------------------ chats and names

_CHAT: Final = re.compile(r"([0-9A-Za-z+-]{1,64})(?:\.[0-9]+)?(?::[0-9]+)?@([a-z.]{1,32})")  # user.agent:device@server
_KIND_BY_SERVER: Final[Mapping[str, ChatKind]] = {
    "g.us": "group",
    "broadcast": "broadcast",
    "newsletter": "newsletter",
}


def chat_id(value: object) -> str:
    """The chat in the form that WAHA answers to: no device part, `@c.us` for phones; empty when it is not a chat id."""
    found = _CHAT.fullmatch(_serialised(value).strip().lower())
    if found is None:
        return ""
    return f"{found[1]}@{'c.us' if found[2] == 's.whatsapp.net' else found[2]}"


def chat_kind(chat: str) -> ChatKind:
    """The class of a normalised chat, by its suffix. `unknown` is never heard or answered."""
    user, _, server = chat.partition("@")
    if chat == "status@broadcast":
        return "status"
    if server in {"c.us", "lid"}:
        return "system" if user == "0" else "direct" if user.isdecimal() else "unknown"
    return _KIND_BY_SERVER.get(server, "unknown")


def _own_ids(me: Object) -> set[str]:
    return {chat_id(me.get(field)) for field in ("id", "lid", "jid")} - {""}


class _Key(msgspec.Struct, frozen=True, kw_only=True):
    """A message id, `{fromMe}_{chat}_{stanza}[_{participant}]`, taken apart."""

    whole: str
    is_from_me: bool
    chat: str
    stanza_id: str


def _key(value: object) -> _Key | None:
    whole = _serialised(value)
    parts = whole.split("_", 3)
    if len(parts) < 3 or parts[0] not in {"true", "false"} or is_blank(parts[2]):
        return None
    return _Key(whole=whole, is_from_me=parts[0] == "true", chat=chat_id(parts[1]), stanza_id=parts[2])


def _serialised(value: object) -> str:
    """An id as a string: engines give it as one, as {_serialized}, as {fromMe, remote, id} or as {user, server}."""
    fields = an_object(value)
    remote = fields.get("remote") or fields.get("remoteJid")
    if not fields or not remote:
        return _flat(value)
    return _flat(value) or f"{str(fields.get('fromMe')).lower()}_{_flat(remote)}_{a_word(fields.get('id'))}"


def _flat(value: object) -> str:
    fields = an_object(value)
    whole, user = a_word(fields.get("_serialized")), a_word(fields.get("user"))
    return a_word(value) or whole or (f"{user}@{a_word(fields.get('server'))}" if user else "")


def _stanza_id(value: object) -> str:
    """The stanza of a target, which comes bare or as a whole id."""
    key = _key(value)
    return key.stanza_id if key else a_word(value)


def _subject(webhook: _Webhook, message: Object) -> _Key | Ignored | Malformed:
    """Which message of which direct chat, or why it is not answered."""
    key = _key(message.get("id"))
    if key is None:
        return _malformed(webhook, "id_missing", "Without a message id it cannot be told from its duplicates.")
    is_from_me = message.get("fromMe")
    key = msgspec.structs.replace(key, is_from_me=is_from_me if isinstance(is_from_me, bool) else key.is_from_me)
    wrote = chat_id(message.get("from"))  # either field alone is enough to keep a group or a status out
    where = key.chat if chat_kind(wrote) in {"direct", "unknown"} else wrote
    if dropped := _dropped(webhook, where, key.stanza_id):
        return dropped
    if key.is_from_me and key.chat == wrote == chat_id(message.get("to")):
        return _ignored(webhook, "self_chat")
    return key


def _dropped(webhook: _Webhook, chat: str, stanza_id: str) -> Ignored | Malformed | None:
    kind = chat_kind(chat)
    if kind == "unknown":
        return _malformed(webhook, "chat_unknown", "This class of chat is not known.", chat=chat, stanza_id=stanza_id)
    if kind != "direct":
        return _ignored(webhook, f"{kind}_chat")
    return _ignored(webhook, "self_chat") if chat in webhook.own else None


def _ignored(webhook: _Webhook, reason: str) -> Ignored:
    return Ignored(**webhook.head, reason=reason, detail="Only direct chats with other people are heard.")


def _malformed(webhook: _Webhook, reason: str, detail: str, *, chat: str = "", stanza_id: str = "") -> Malformed:
    return Malformed(**webhook.head, reason=reason, detail=detail, chat=chat or None, stanza_id=stanza_id or None)


class _People(TypedDict):
    phone: str | None
    lid: str | None


def _people(webhook: _Webhook, key: _Key) -> _People:
    """The counterparty's numbers, from the chat itself and from the engines' hints; absence is normal."""
    message = webhook.payload
    hint, info = an_object(an_object(message.get("_data")).get("key")), an_object(message.get("_data")).get("Info")
    ends = ("to", "RecipientAlt") if key.is_from_me else ("from", "SenderAlt")
    hints = (message.get(ends[0]), hint.get("remoteJidAlt"), hint.get("senderPn"), an_object(info).get(ends[1]))
    chats = [
        chat for chat in (key.chat, *map(chat_id, hints)) if chat_kind(chat) == "direct" and chat not in webhook.own
    ]
    phones = [chat.removesuffix("@c.us") for chat in chats if chat.endswith("@c.us")]
    lids = [chat for chat in chats if chat.endswith("@lid")]
    return _People(phone=next(iter(phones), None), lid=next(iter(lids), None))


def _sender_name(message: Object) -> str:
    engine = an_object(message.get("_data"))
    names = (engine.get("pushName"), engine.get("notifyName"), an_object(engine.get("Info")).get("PushName"))
    return next((name for name in (a_word(each, limit=100) for each in names) if not is_blank(name)), "")


# ------------------------------------------------------------------------------------------------------------- messages


class _Content(msgspec.Struct, frozen=True, kw_only=True):
    text: str
    is_draftable: bool
    media_kind: MediaKind | None = None
    attachment: Attachment | None = None


def _on_message(webhook: _Webhook) -> ChannelEvent:
    key = _subject(webhook, webhook.payload)
    if not isinstance(key, _Key):
        return key
    return _from_me(webhook, key) if key.is_from_me else _inbound(webhook, key)


def _from_me(webhook: _Webhook, key: _Key) -> FromMe:
    return FromMe(
        **webhook.head,
        **_people(webhook, key),
        stanza_id=key.stanza_id,
        message_id=key.whole,
        chat=key.chat,
        text=a_text(webhook.payload.get("body")),
        source=a_word(webhook.payload.get("source"), limit=20),
        sent_at=webhook.sent_at(),
    )


def _inbound(webhook: _Webhook, key: _Key) -> Inbound | Malformed:
    message = webhook.payload
    if (content := _content(message)) is None:
        return _malformed(
            webhook, "content_unsupported", "No text and no known media.", chat=key.chat, stanza_id=key.stanza_id
        )
    sender, quoted = chat_id(message.get("from")), an_object(message.get("replyTo"))
    return Inbound(
        **webhook.head,
        **_people(webhook, key),
        stanza_id=key.stanza_id,
        message_id=key.whole,
        chat=key.chat,
        sender=sender if chat_kind(sender) == "direct" else key.chat,
        sender_name=_sender_name(message),
        text=content.text,
        is_draftable=content.is_draftable and not webhook.is_backlog(),
        media_kind=content.media_kind,
        attachment=content.attachment,
        quoted_stanza_id=_stanza_id(quoted.get("id")) or None,
        quoted_text=a_word(quoted.get("body"), limit=1000) or None,
        sent_at=webhook.sent_at(),
        is_backlog=webhook.is_backlog(),
    )


def _content(message: Object) -> _Content | None:
    """What was said: a place, cards, a file or a text; None when nothing usable is there."""
    text = a_text(message.get("body"))
    if place := _place(an_object(message.get("location")), text):
        return _Content(text=place, is_draftable=True, media_kind="location")
    if a_list(message.get("vCards")) or text.startswith("BEGIN:VCARD"):
        return _Content(text="", is_draftable=False, media_kind="contact")
    media = an_object(message.get("media"))
    if message.get("hasMedia") is True or media:
        return _file(message, media, text)
    return None if is_blank(text) else _Content(text=text, is_draftable=True)


def _place(location: Object, body: str) -> str:
    """One line for a shared location: what it is called, then where it is; empty without usable coordinates."""
    latitude, longitude = a_number(location.get("latitude")), a_number(location.get("longitude"))
    if latitude is None or longitude is None or abs(latitude) > 90 or abs(longitude) > 180:
        return ""
    named = [a_word(location.get(field)).strip() for field in ("name", "address", "description")]
    if not body.startswith("/9j/"):  # WEBJS puts the map's thumbnail, a JPEG in base64, where the text should be
        named.append(body.strip())
    words = (", ".join(dict.fromkeys(filter(None, named))), f"({latitude:g}, {longitude:g})")
    return " ".join(("📍", *filter(None, words)))


def _file(message: Object, media: Object, body: str) -> _Content:
    """A file with its caption. A draft may start from a caption only when the file it speaks of can be seen."""
    name = a_word(media.get("filename"))
    caption = "" if body.strip() == name.strip() else body  # documents without caption repeat the file's name
    url = None if media.get("error") else a_word(media.get("url") or message.get("mediaUrl"), limit=2000) or None
    attachment = Attachment(mime_type=a_word(media.get("mimetype"), limit=100), file_name=name or None, url=url)
    return _Content(
        text=caption,
        is_draftable=url is not None and not is_blank(caption),
        media_kind=_media_kind(attachment.mime_type),
        attachment=attachment,
    )


_KIND_BY_TYPE: Final[Mapping[str, MediaKind]] = {"image": "image", "video": "video", "audio": "audio"}


def _media_kind(mime_type: str) -> MediaKind:
    mime_type = mime_type.lower()
    if mime_type.startswith("image/webp"):
        return "sticker"
    if mime_type.startswith("audio/ogg"):
        return "voice"
    return _KIND_BY_TYPE.get(mime_type.partition("/")[0], "document")


def _on_edited(webhook: _Webhook) -> ChannelEvent:
    key = _subject(webhook, webhook.payload)
    if not isinstance(key, _Key):
        return key
    target, text = _stanza_id(webhook.payload.get("editedMessageId")), a_text(webhook.payload.get("body"))
    if not target:
        return _malformed(webhook, "target_missing", "An edit must name the message it changes.", chat=key.chat)
    return Edited(
        **webhook.head,
        target_stanza_id=target,
        chat=key.chat,
        is_from_me=key.is_from_me,
        text=text,
        sent_at=webhook.sent_at(),
        event_key=webhook.event_key(key.stanza_id, text),
    )


def _on_revoked(webhook: _Webhook) -> ChannelEvent:
    after, before = an_object(webhook.payload.get("after")), an_object(webhook.payload.get("before"))
    message = after if _key(after.get("id")) else before
    target = _stanza_id(webhook.payload.get("revokedMessageId")) or _stanza_id(before.get("id"))
    if not target:
        return _malformed(webhook, "target_missing", "A revocation must name the message it deletes.")
    if not message:
        return Revoked(**webhook.head, target_stanza_id=target, chat=None, is_from_me=after.get("fromMe") is True)
    key = _subject(webhook, message)
    if not isinstance(key, _Key):
        return key
    return Revoked(**webhook.head, target_stanza_id=target, chat=key.chat, is_from_me=key.is_from_me)


def _on_reaction(webhook: _Webhook) -> ChannelEvent:
    key = _subject(webhook, webhook.payload)
    if not isinstance(key, _Key):
        return key
    reaction = an_object(webhook.payload.get("reaction"))
    target, emoji = _stanza_id(reaction.get("messageId")), a_word(reaction.get("text"), limit=64)
    if not target:
        return _malformed(webhook, "target_missing", "A reaction must name its message.", chat=key.chat)
    return Reacted(
        **webhook.head,
        target_stanza_id=target,
        chat=key.chat,
        is_from_me=key.is_from_me,
        emoji=emoji,
        event_key=webhook.event_key(key.stanza_id, emoji),
    )


def _on_call(webhook: _Webhook) -> ChannelEvent:
    """A call rings: shown to a person, answered by nobody here."""
    chat, call_id = chat_id(webhook.payload.get("from")), a_word(webhook.payload.get("id"))
    if webhook.payload.get("isGroup") is True:
        return _ignored(webhook, "group_chat")
    if dropped := _dropped(webhook, chat, call_id):
        return dropped
    if not call_id:
        return _malformed(webhook, "id_missing", "A call without an id cannot be told from its duplicates.", chat=chat)
    key = _Key(whole=call_id, is_from_me=False, chat=chat, stanza_id=call_id)
    return Inbound(
        **webhook.head,
        **_people(webhook, key),
        stanza_id=call_id,
        message_id=call_id,
        chat=chat,
        sender=chat,
        sender_name="",
        text="",
        is_draftable=False,
        media_kind="call",
        sent_at=webhook.sent_at(),
    )


# --------------------------------------------------------------------------------------------------- acks and sessions

_LEVELS: Final[Mapping[int, Level]] = {
    -1: "failed",
    0: "pending",
    1: "sent",
    2: "delivered",
    3: "read",
    4: "played",
}
_NAMES: Final[Mapping[str, Level]] = {
    "ERROR": "failed",
    "PENDING": "pending",
    "SERVER": "sent",
    "DEVICE": "delivered",
    "READ": "read",
    "PLAYED": "played",
}


def _on_ack(webhook: _Webhook) -> ChannelEvent:
    key = _subject(webhook, webhook.payload)
    if not isinstance(key, _Key):
        return key
    if not key.is_from_me:
        return Ignored(**webhook.head, reason="ack_of_theirs", detail="Only acks of our own messages are used.")
    number, name = an_integer(webhook.payload.get("ack")), a_word(webhook.payload.get("ackName"), limit=40)
    return Acked(
        **webhook.head,
        stanza_id=key.stanza_id,
        chat=key.chat,
        level=_NAMES.get(name) if number is None else _LEVELS.get(number),
        name=name,
        error=_delivery_error(webhook.payload.get("error")),
    )


def _delivery_error(error: object) -> DeliveryError | None:
    if not error:
        return None
    fields = an_object(error)
    number = an_integer(fields.get("code"))
    reason = a_word(fields.get("reason"), limit=200) or a_word(error, limit=200)
    return DeliveryError(
        code=a_word(fields.get("code"), limit=40) or ("" if number is None else str(number)),
        reason=reason,
        until=an_instant(fields.get("until")),
        is_account_restricted=number == 463 or reason == "account_restricted",
    )


def _on_session(webhook: _Webhook) -> ChannelEvent:
    status = a_word(webhook.payload.get("status"), limit=60)
    if is_blank(status):
        return _malformed(webhook, "status_missing", "A session event must carry a status.")
    return SessionChanged(**webhook.head, status=status, is_ready=status == READY_STATUS)


_READERS: Final[Mapping[str, Callable[[_Webhook], ChannelEvent]]] = {
    "message": _on_message,
    "message.any": _on_message,
    "message.edited": _on_edited,
    "message.revoked": _on_revoked,
    "message.reaction": _on_reaction,
    "message.ack": _on_ack,
    "session.status": _on_session,
    "call.received": _on_call,
}

# -------------------------------------------------------------------------------------------------------------- sending


def render(
    *, session: str, chat: str, text: str, reply_to: str | None = None, message_id: str | None = None
) -> HttpRequest | CannotSend:
    """The one request that sends `text`, its characters unchanged, to a direct chat; or why it is never sent.

    `message_id` comes from `ask_message_id` (NOWEB, GOWS); `reply_to` is a whole message id. Link previews are off: a
    preview would show the counterparty what nobody approved.
    """
    if (refusal := _refusal(chat, text)) is not None:
        return refusal
    if any(part is not None and not re.fullmatch(r"[!-~]{1,300}", part) for part in (reply_to, message_id)):
        return CannotSend(code="id_invalid", detail="Message ids are 1 to 300 printable ASCII characters.")
    body: dict[str, object] = {"session": session, "chatId": chat, "text": text, "linkPreview": False}
    body |= {name: value for name, value in (("reply_to", reply_to), ("id", message_id)) if value is not None}
    return HttpRequest(
        method="POST",
        path="/api/sendText",
        headers={"Content-Type": "application/json", "Accept": "application/json"},
        body=json.dumps(body, ensure_ascii=False).encode(),
    )


def _refusal(chat: str, text: str) -> CannotSend | None:
    kind = chat_kind(chat) if chat == chat_id(chat) else "unknown"
    if kind != "direct":
        return CannotSend(code=f"{kind}_chat", detail=f"Nothing is ever sent to a chat of class {kind}.")
    if is_blank(text):
        return CannotSend(code="text_empty", detail="There is no visible text to send.")
    if len(text) > TEXT_LIMIT_CHARACTERS:
        detail = f"The text has {len(text)} characters; WhatsApp takes {TEXT_LIMIT_CHARACTERS}. Shorten it."
        return CannotSend(code="text_too_long", detail=detail)
    if storable(text) != text:
        return CannotSend(code="text_not_utf8", detail="The text holds half a character or NUL. Type it again.")
    return None


def ask_message_id(session: str) -> HttpRequest:
    """Reserves the id of a message before it is sent; read the answer with `message_id_of`."""
    return _get(f"/api/{quote(session, safe='')}/new-message-id")


def ask_message(session: str, chat: str, message_id: str) -> HttpRequest:
    """Looks a message up, to settle an uncertain send; read the answer with `presence`."""
    chat_part, id_part = quote(chat, safe=""), quote(message_id, safe="")
    return _get(f"/api/{quote(session, safe='')}/chats/{chat_part}/messages/{id_part}")


def _get(path: str) -> HttpRequest:
    return HttpRequest(method="GET", path=path, headers={"Accept": "application/json"})


def message_id_of(answer: SendAnswer) -> str | None:
    """The reserved id, or None: then send without one (WEBJS has none)."""
    if not isinstance(answer, Answer) or answer.status not in range(200, 300):
        return None
    return _stanza_id((decoded(answer.body) or {}).get("id")) or None


def presence(answer: SendAnswer) -> Literal["present", "absent", "unknown"]:
    """What a lookup proves. `absent` lets a person approve again; it never re-sends by itself."""
    if not isinstance(answer, Answer):
        return "unknown"
    if answer.status == 404:
        return "absent"
    return "present" if answer.status in range(200, 300) and _accepted(answer.body) else "unknown"


def fate(answer: SendAnswer) -> Fate:
    """What became of a send. The tables: `07-channels` 1.6 and `03-approval`, Delivering."""
    match answer:
        case ConnectionRefused():
            return TryAgain(code="connection_refused", detail="WAHA could not be reached; nothing was handed over.")
        case TimedOut():
            return Uncertain(code="timed_out", detail="WAHA gave no answer in time; it may have sent the message.")
        case Broken():
            return Uncertain(code="connection_broken", detail="The connection broke; WAHA may have sent the message.")
        case Answer():
            return _fate_of_status(answer)
        case _:
            assert_never(answer)


def _fate_of_status(answer: Answer) -> Fate:
    status = answer.status
    if 200 <= status < 300:
        unknown = Uncertain(code="id_unknown", detail="WAHA took the message but named no id; its echo will tell.")
        return _accepted(answer.body) or unknown
    if status >= 400 and _is_restricted(answer.body):
        detail = "WhatsApp restricts this number (463): new chats are refused. Pause first contacts."
        return Failed(code="account_restricted", detail=detail, is_account_restricted=True)
    if status in _PASSING:
        code, detail = _PASSING[status]
        return TryAgain(code=code, detail=detail, retry_after=_retry_after(answer))
    if 400 <= status < 500 and status not in _UNSETTLED:
        return Failed(code=f"http_{status}", detail=_REFUSALS.get(status, f"WAHA refused the request ({status})."))
    return Uncertain(code=f"http_{status}", detail=f"WAHA answered {status}; it may have sent the message.")


_PASSING: Final[Mapping[int, tuple[str, str]]] = {
    422: ("session_not_ready", "The WhatsApp session is not ready (422); nothing was sent."),
    429: ("rate_limited", "WAHA asks to slow down (429); nothing was sent."),
}
_UNSETTLED: Final = frozenset({408, 499})  # said by proxies about a request whose end they did not see
_REFUSALS: Final[Mapping[int, str]] = {
    400: "WAHA refused the request as invalid (400). Check the chat and the text.",
    401: "WAHA refused the API key (401). Set the channel's key again.",
    403: "The API key may not send (403). Use a key with `send` for this session.",
    404: "WAHA does not know this session or chat (404). Check the channel's settings.",
}


def _accepted(body: bytes) -> Accepted | None:
    """The id in any of the engines' shapes: {id: text}, {id: {_serialized}}, {key: {remoteJid, fromMe, id}}."""
    answer = decoded(body) or {}
    value = answer.get("id") or answer.get("key")
    if key := _key(value):
        return Accepted(provider_id=key.whole, stanza_id=key.stanza_id)
    bare = a_word(value)
    return Accepted(provider_id=bare, stanza_id=bare) if re.fullmatch(r"[0-9A-Za-z-]{8,64}", bare) else None


def _is_restricted(body: bytes) -> bool:
    """Whether the server's own words name error 463; the echoed request, which may hold any number, is not read."""
    answer = decoded(body) or {}
    said = (answer.get("message"), answer.get("error"), an_object(answer.get("error")).get("message"))
    words = " ".join(a_word(each) for each in (*said, an_object(answer.get("exception")).get("message")))
    return re.search(r"(?<![0-9])463(?![0-9])", words) is not None


def _retry_after(answer: Answer) -> timedelta | None:
    seconds = an_integer((answer.retry_after or "").strip())
    return timedelta(seconds=min(seconds, 86_400)) if seconds is not None and seconds >= 0 else None
