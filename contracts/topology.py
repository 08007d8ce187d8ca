"""The map: who says what, on which subject, in which stream, and who hears it.

Everything else about the bus is generated from these rows (`python -m contracts`): NATS accounts and rights, streams
and consumers, Postgres roles, the flow diagram. Laws, tested in `tests/contracts`:
- one service says a topic; at least one other service hears it; nobody hears itself;
- a topic's messages are one closed union: what must stay in order shares a topic;
- the operator role neither says nor hears anything on SEND.
"""

from collections.abc import Iterable
from datetime import date
from hashlib import sha256
from typing import Any, Literal
from uuid import UUID

import msgspec

from contracts import messages as m

SERVICES = ("ingest", "conversador", "guardrails", "approval", "delivery", "operator")
PARTITIONS = 16
MAX_PAYLOAD_BYTES = 200 * 1024
ACK_WAIT_SECONDS = 30
GENERATION_DAYS = 20
"""A lane in which nothing was said for longer is opened anew, under its next generation: its rows may go
(contracts/decisions/0011-idle-lanes-go.md). More than the 14 days for which a stream keeps messages."""

KeyKind = Literal["conversation", "contact", "channel", "tenant"]


class Topic(msgspec.Struct, frozen=True):
    """One row of the map. `said_by` publishes, `heard_by` consume, `key` orders."""

    name: str
    said_by: str
    key: KeyKind
    says: tuple[type[m.Message], ...]
    heard_by: tuple[str, ...]
    prefix: str = ""
    """Subject prefix; empty means `<said_by>.<name>`."""
    stream_name: str = ""
    """Empty means `<SAID_BY>_<NAME>`."""

    @property
    def root(self) -> str:
        """Subject without partition and key, for example `ingest.messages`; also the topic's name in code."""
        return self.prefix or f"{self.said_by}.{self.name}"

    @property
    def stream(self) -> str:
        """Its own (contracts/decisions/0014-a-stream-holds-one-topic.md), for example `INGEST_MESSAGES`."""
        return self.stream_name or f"{self.said_by}_{self.name}".upper()


def _all_but(service: str) -> tuple[str, ...]:
    return tuple(other for other in SERVICES if other != service)


TOPICS: tuple[Topic, ...] = (
    Topic(
        "messages",
        "ingest",
        "conversation",
        (m.MessageReceived, m.MessageEdited, m.MessageRevoked, m.PhoneReplied, m.MessageReacted),
        ("conversador", "guardrails", "approval", "operator", "delivery"),
    ),
    Topic("statuses", "ingest", "conversation", (m.StatusReported, m.EchoSeen), ("delivery", "guardrails", "approval")),
    Topic("channels", "ingest", "channel", (m.ChannelStatusChanged,), ("delivery", "guardrails", "approval")),
    Topic("contacts", "ingest", "contact", (m.ContactSeen,), _all_but("ingest")),
    Topic("drafts", "conversador", "conversation", (m.DraftProposed,), ("guardrails",)),
    Topic("turns", "conversador", "conversation", (m.TurnClosed, m.HandoffRequested), ("operator", "approval")),
    Topic("verdicts", "guardrails", "conversation", (m.DraftCleared, m.DraftVetoed), ("approval", "conversador")),
    Topic(
        "dispatch",
        "guardrails",
        "conversation",
        (m.DispatchCleared, m.DispatchDeferred, m.DispatchRefused),
        ("approval", "conversador"),
    ),
    Topic("consent", "guardrails", "contact", (m.ConsentChanged,), _all_but("guardrails")),
    Topic("cmd", "guardrails", "conversation", (m.SendCommand,), ("delivery",), prefix="send.cmd", stream_name="SEND"),
    Topic(
        "decisions",
        "approval",
        "conversation",
        (m.DraftFiled, m.FilingRefused, m.DraftApproved, m.DraftRejected, m.DraftSentBack, m.ApprovalEnded),
        ("guardrails", "delivery", "conversador", "operator"),
    ),
    Topic(
        "ownership",
        "approval",
        "conversation",
        (m.OwnershipChanged,),
        ("guardrails", "delivery", "conversador", "operator"),
    ),
    Topic("submitted", "approval", "conversation", (m.DraftSubmitted,), ("guardrails",)),
    Topic(
        "sends",
        "delivery",
        "conversation",
        (m.SendBegun, m.SendAccepted, m.SendUncertain, m.SendFailed, m.SendRefused, m.SendStatusChanged),
        _all_but("delivery"),
        stream_name="DELIVERY",
    ),
    Topic("cases", "operator", "conversation", (m.CaseOpened, m.CaseClosed), ("guardrails", "conversador", "approval")),
    Topic("followups", "operator", "conversation", (m.FollowUpScheduled,), ("guardrails", "conversador", "approval")),
    Topic("facts", "operator", "contact", (m.FactRecorded,), ("guardrails", "conversador", "approval")),
    Topic("alerts", "operator", "conversation", (m.AlertRaised,), ("approval",)),
)

BY_ROOT: dict[str, Topic] = {topic.root: topic for topic in TOPICS}
BY_MESSAGE: dict[type[m.Message], Topic] = {message: topic for topic in TOPICS for message in topic.says}
STREAMS: tuple[str, ...] = tuple(dict.fromkeys(topic.stream for topic in TOPICS))


def partition(key: UUID) -> int:
    """Partition of a key, 0 to 15, stable for ever."""
    return sha256(key.bytes).digest()[0] % PARTITIONS


def subject(topic: Topic, key: UUID) -> str:
    """Full subject, for example `ingest.messages.7.6f0e…`."""
    return f"{topic.root}.{partition(key)}.{key}"


def lane(topic: Topic, key: UUID, generation: int = 0) -> str:
    """Name of a lane: what is in order. The generation lets idle lanes be removed and opened anew."""
    return f"{topic.root}:{generation}:{key}"


def generation(day: date) -> int:
    """Of a lane that is opened on that day. Idle for more than GENERATION_DAYS, it is another one the next time."""
    return (day - date(1970, 1, 1)).days // GENERATION_DAYS


def topic_of_subject(text: str) -> Topic | None:
    """Topic of a full subject, None when the map does not know it."""
    return BY_ROOT.get(".".join(text.split(".")[:2]))


def heard_by(service: str) -> tuple[Topic, ...]:
    return tuple(topic for topic in TOPICS if service in topic.heard_by)


def said_by(service: str) -> tuple[Topic, ...]:
    return tuple(topic for topic in TOPICS if topic.said_by == service)


def may_read_back(service: str, stream: str) -> bool:
    """Whether a service may read messages of a stream by their number, as `chancela recover` does: what it said itself,
    and of delivery what it was told to send.
    """
    own = {topic.stream for topic in said_by(service)}
    return stream in own or (service, stream) == ("delivery", "SEND")


class Consumer(msgspec.Struct, frozen=True):
    """A durable: one service's place in one topic, and so in one stream."""

    service: str
    topic: Topic

    @property
    def stream(self) -> str:
        return self.topic.stream

    @property
    def durable(self) -> str:
        return self.service


def consumers(service: str = "") -> Iterable[Consumer]:
    """One for each topic and hearing service; of one service, or of all."""
    for topic in TOPICS:
        for hearer in topic.heard_by:
            if service in {"", hearer}:
                yield Consumer(hearer, topic)


_encoder = msgspec.json.Encoder()
_decoders: dict[str, msgspec.json.Decoder[Any]] = {}


def encode(message: m.Message) -> bytes:
    return _encoder.encode(message)


def decode(topic: Topic, payload: bytes) -> m.Message:
    """Decode a payload of a topic, tolerant of fields that a newer release appended.

    Raises:
        msgspec.ValidationError: not a message of this topic; the hearer quarantines it.
    """
    decoder = _decoders.get(topic.root)
    if decoder is None:
        union: Any = m.Redacted
        for message in topic.says:
            union = union | message
        decoder = _decoders[topic.root] = msgspec.json.Decoder(union)
    return decoder.decode(payload)


def key_of(message: m.Message) -> UUID:
    """The id that orders a message: its lane is topic × this key."""
    key = BY_MESSAGE[type(message)].key
    if isinstance(message, (m.SendCommand, m.DraftApproved)):
        return message.snapshot.conversation_id
    if key == "tenant":
        return message.tenant
    return getattr(message, f"{key}_id")
