"""What any channel says about a webhook and about a send, in words that no vendor owns.

A codec (`contracts/channels/<name>.py`) turns bytes into these values and these values into bytes; it does no I/O.

Laws
- A webhook is either `Rejected` (not authentic, not readable, not ours: answered 4xx) or a `ChannelEvent` (answered
  2xx). What is authentic but uninteresting is `Ignored`; authentic but unusable is `Malformed`, kept in quarantine.
- Direction and chat come from the message, never from the name of the event. Chats never answered are never heard.
- `dedup_key` names the fact, not the delivery: two copies of one message share it whatever ids the copies carry. The
  shell inserts it in one atomic statement. Events without a key are idempotent by nature. `Malformed` has none on
  purpose: the readable copy of a message may follow an unreadable one and must not look like its duplicate.
- Delivery levels only move forward: pending < sent < delivered < read < played, jumps allowed, unknown levels ignored.
  `failed` is accepted only while no device has the message (delivered and beyond stay), and then it is terminal:
  nothing but a person's retry, which is another send, leaves it.
- A send that is not known to be refused is `Uncertain`. `TryAgain` is said only for the closed list of answers that
  prove that nothing was accepted. Details are fixed sentences: the vendor's answer may echo the customer's text.
- Every text here is valid UTF-8 without NUL, so that Postgres and JSON take it unchanged.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple

import msgspec

Level = Literal["pending", "sent", "delivered", "read", "played", "failed"]
MediaKind = Literal["image", "video", "audio", "voice", "document", "sticker", "location", "contact", "call"]
ChatKind = Literal["direct", "group", "status", "broadcast", "newsletter", "system", "unknown"]
Action = Literal[
    "inbound",
    "inbound_no_draft",
    "ignore",
    "quarantine",
    "duplicate",
    "context_only",
    "reaction",
    "edit_update",
    "revoke_update",
    "ack_update",
    "session_update",
    "reject_400",
    "reject_401",
    "reject_403",
]

TEXT_LIMIT_BYTES: Final = 65_536


class DedupKey(NamedTuple):
    """What is unique about a fact of a channel: the columns of the atomic insert."""

    session: str
    direction: Literal["in", "out", "edit", "revoke", "reaction"]
    fact: str


class Heard(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind"):
    """Base of every event. `event_id` names one delivery (for logs); `occurred_at` is the sender's clock, never later
    than our own.
    """

    session: str
    event_id: str
    occurred_at: datetime

    @property
    def dedup_key(self) -> DedupKey | None:
        return None


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file that came with a message. `url` needs the channel's key and is None when there is nothing to fetch."""

    mime_type: str = ""
    file_name: str | None = None
    url: str | None = None


class Inbound(Heard, frozen=True, kw_only=True, tag="inbound"):
    """A counterparty wrote in a direct chat. Reply to `chat`, unchanged; `phone` and `lid` only match people.

    `text` may be empty when `is_draftable` is false: kept and shown, but no draft starts from it alone.
    """

    stanza_id: str
    message_id: str
    chat: str
    sender: str
    sender_name: str
    phone: str | None = None
    lid: str | None = None
    text: str
    is_draftable: bool
    media_kind: MediaKind | None = None
    attachment: Attachment | None = None
    quoted_stanza_id: str | None = None
    quoted_text: str | None = None
    sent_at: datetime
    is_backlog: bool = False

    @property
    def dedup_key(self) -> DedupKey:
        return DedupKey(self.session, "in", self.stanza_id)


class FromMe(Heard, frozen=True, kw_only=True, tag="from_me"):
    """Sent by our own account: the echo of our send or a person on the phone. The shell tells them apart by matching
    `stanza_id`, else chat and text, against sends in flight; `source` is the vendor's guess and proves nothing.
    """

    stanza_id: str
    message_id: str
    chat: str
    phone: str | None = None
    lid: str | None = None
    text: str
    source: str
    sent_at: datetime

    @property
    def dedup_key(self) -> DedupKey:
        return DedupKey(self.session, "out", self.stanza_id)


class Edited(Heard, frozen=True, kw_only=True, tag="edited"):
    """An earlier message now says `text`; the latest `sent_at` wins. `event_key` names this edit, not its target."""

    target_stanza_id: str
    chat: str
    is_from_me: bool
    text: str
    sent_at: datetime
    event_key: str

    @property
    def dedup_key(self) -> DedupKey:
        return DedupKey(self.session, "edit", self.event_key)


class Revoked(Heard, frozen=True, kw_only=True, tag="revoked"):
    """An earlier message was deleted for everyone. `chat` is None when the vendor named only the target."""

    target_stanza_id: str
    chat: str | None
    is_from_me: bool

    @property
    def dedup_key(self) -> DedupKey:
        return DedupKey(self.session, "revoke", self.target_stanza_id)


class Reacted(Heard, frozen=True, kw_only=True, tag="reacted"):
    """An emoji was put on a message, or taken off (`emoji` is empty). Never starts a draft, never is an opt-out."""

    target_stanza_id: str
    chat: str
    is_from_me: bool
    emoji: str
    event_key: str

    @property
    def dedup_key(self) -> DedupKey:
        return DedupKey(self.session, "reaction", self.event_key)


class DeliveryError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a channel gave up. `is_account_restricted` concerns the number, not this message: pause first contacts."""

    code: str
    reason: str
    until: datetime | None = None
    is_account_restricted: bool = False


class Acked(Heard, frozen=True, kw_only=True, tag="acked"):
    """News about a message of ours, possibly before our send call returned. `level` is None when it says nothing."""

    stanza_id: str
    chat: str
    level: Level | None
    name: str
    error: DeliveryError | None = None


class SessionChanged(Heard, frozen=True, kw_only=True, tag="session_changed"):
    """The account's connection changed. Every status that is not known to be ready is not ready."""

    status: str
    is_ready: bool


class Ignored(Heard, frozen=True, kw_only=True, tag="ignored"):
    """Authentic and of no interest: counted by `reason`, answered 2xx."""

    reason: str
    detail: str


class Malformed(Heard, frozen=True, kw_only=True, tag="malformed"):
    """Authentic and not usable: stored for a person. `reason` is a stable code, `detail` a sentence."""

    reason: str
    detail: str
    chat: str | None = None
    stanza_id: str | None = None


class Rejected(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", tag="rejected"):
    """Not taken: 400 not readable, 401 not authentic or not fresh, 403 of a session that is not ours."""

    status: Literal[400, 401, 403]
    code: str
    detail: str


ChannelEvent = Inbound | FromMe | Edited | Revoked | Reacted | Acked | SessionChanged | Ignored | Malformed

_ACTIONS: Final[Mapping[type[Heard], Action]] = {
    FromMe: "context_only",
    Edited: "edit_update",
    Revoked: "revoke_update",
    Reacted: "reaction",
    Acked: "ack_update",
    SessionChanged: "session_update",
    Ignored: "ignore",
    Malformed: "quarantine",
}


_REJECTIONS: Final[Mapping[int, Action]] = {400: "reject_400", 401: "reject_401", 403: "reject_403"}


def decide_action(
    event: ChannelEvent | Rejected, *, is_duplicate: bool = False, is_target_known: bool = True
) -> Action:
    """What becomes of an event, given the two facts that only a store knows.

    Args:
        event: What the codec said.
        is_duplicate: The atomic insert of `event.dedup_key` found a row (always false for events without a key).
        is_target_known: The target of an edit or a revocation is stored, whoever wrote it. Without it the change is
            kept in quarantine: there is nothing to change yet. Reactions and acks wait for their message instead.
    """
    if isinstance(event, Rejected):
        return _REJECTIONS[event.status]
    if is_duplicate and event.dedup_key is not None:
        return "duplicate"
    if isinstance(event, Inbound):
        return "inbound" if event.is_draftable else "inbound_no_draft"
    if isinstance(event, Edited | Revoked) and not is_target_known:
        return "quarantine"
    return _ACTIONS[type(event)]


_PROGRESS: Final[Mapping[Level | None, int]] = {
    None: 0,
    "pending": 1,
    "sent": 2,
    "delivered": 3,
    "read": 4,
    "played": 5,
}


def advance(current: Level | None, new: Level | None) -> Level | None:
    """The level to store after hearing `new` (None: no news, or none yet). The law is at the head of this file."""
    if current == "failed":
        return current
    if new == "failed":
        return new if _PROGRESS[current] < _PROGRESS["delivered"] else current
    return new if _PROGRESS[new] > _PROGRESS[current] else current


# ------------------------------------------------------------------------------------------------------------- sending


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request without address and credential: the shell adds its base URL and the channel's key header."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    headers: Mapping[str, str]
    body: bytes = b""


class CannotSend(msgspec.Struct, frozen=True, kw_only=True):
    """Refused before any transport: this text or this chat is never given to the channel."""

    code: str
    detail: str


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The channel answered. `retry_after` is the header as it came."""

    status: int
    body: bytes = b""
    retry_after: str | None = None


class ConnectionRefused(msgspec.Struct, frozen=True):
    """No connection was made: not one byte of the request left."""


class TimedOut(msgspec.Struct, frozen=True):
    """The request left, wholly or in part, and no answer came in time."""


class Broken(msgspec.Struct, frozen=True):
    """The connection broke after it was made: reset, closed, garbled."""


SendAnswer = Answer | ConnectionRefused | TimedOut | Broken


class Accepted(msgspec.Struct, frozen=True, kw_only=True, tag_field="fate", tag="accepted"):
    """The channel took it. `stanza_id` is the part that echoes and acks share; `provider_id` is the id as it came."""

    provider_id: str
    stanza_id: str


class Failed(msgspec.Struct, frozen=True, kw_only=True, tag_field="fate", tag="failed"):
    """The channel refused it clearly; a person may approve again. Never re-sent by itself."""

    code: str
    detail: str
    is_account_restricted: bool = False


class TryAgain(msgspec.Struct, frozen=True, kw_only=True, tag_field="fate", tag="try_again"):
    """Proven not accepted, and for a passing reason: re-armed within `send_by`, after the gates ran again."""

    code: str
    detail: str
    retry_after: timedelta | None = None


class Uncertain(msgspec.Struct, frozen=True, kw_only=True, tag_field="fate", tag="uncertain"):
    """Not known: held, shown, reconciled by echo, ack or lookup. Never re-sent by itself."""

    code: str
    detail: str


Fate = Accepted | Failed | TryAgain | Uncertain
