"""The WAHA codec against the labelled samples, then rule by rule."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.channel import (
    Acked,
    Action,
    ChannelEvent,
    DedupKey,
    Edited,
    FromMe,
    Inbound,
    Level,
    Malformed,
    Rejected,
    Revoked,
    advance,
    decide_action,
)
from contracts.channels import waha
from contracts.foreign import phone_aliases

SAMPLES = Path(__file__).parents[1] / "samples" / "waha.jsonl"
CASES: dict[str, dict[str, Any]] = {
    case["case"]: case for case in map(json.loads, SAMPLES.read_text(encoding="utf-8").splitlines())
}
KEY = b"a-key-for-tests"
ENVELOPE_TIME = datetime.fromtimestamp(1_790_000_000, UTC)
SESSIONS = {"atendimento"}


def sign(raw: bytes, key: bytes = KEY) -> str:
    return hmac.new(key, raw, hashlib.sha512).hexdigest()


def raw_of(case: dict[str, Any]) -> bytes:
    if encoded := case.get("raw_body_b64"):
        return base64.b64decode(encoded)
    if case.get("raw_body") is not None:
        return case["raw_body"].encode()
    return json.dumps(case["payload"], ensure_ascii=False, separators=(",", ":")).encode()


def heard(case: dict[str, Any]) -> ChannelEvent | Rejected:
    raw, key = raw_of(case), case.get("hmac_key", KEY.decode()).encode()
    headers = case.get("headers") or {"X-Webhook-Hmac": sign(raw), "X-Webhook-Hmac-Algorithm": "sha512"}
    arrived_at = ENVELOPE_TIME + timedelta(minutes=1, seconds=case.get("arrival_delay_seconds", 0))
    return waha.authenticate(headers, raw, key) or waha.parse(raw, sessions=SESSIONS, arrived_at=arrived_at)


class Ledger:
    """The two facts that a store adds: which keys were seen, which messages are kept."""

    def __init__(self, own: Iterable[str]) -> None:
        self.keys: set[DedupKey] = set()
        self.stanzas = {message_id.split("_")[2] for message_id in own}

    def hear(self, case: dict[str, Any]) -> Action:
        event = heard(case)
        key = None if isinstance(event, Rejected) else event.dedup_key
        is_target_known = isinstance(event, Edited | Revoked) and event.target_stanza_id in self.stanzas
        action = decide_action(event, is_duplicate=key in self.keys, is_target_known=is_target_known)
        if key is not None:
            self.keys.add(key)
        if isinstance(event, Inbound | FromMe):
            self.stanzas.add(event.stanza_id)
        return action


def heard_before(case: dict[str, Any]) -> list[dict[str, Any]]:
    first = CASES.get(case.get("after", ""))
    return [*heard_before(first), first] if first else []


@pytest.mark.parametrize("name", CASES)
def test_a_shell_that_adds_two_facts_gives_every_sample_its_action(name: str) -> None:
    case = CASES[name]
    ledger = Ledger([case["needs_own_sent_message"]] if "needs_own_sent_message" in case else [])
    for earlier in heard_before(case):
        ledger.hear(earlier)
    assert ledger.hear(case) == case["action"], case["expect"]


# ------------------------------------------------------------------------------------------------------------ messages


def message(event: str = "message", *, engine: str = "NOWEB", me: object = None, **fields: object) -> dict[str, Any]:
    payload: dict[str, object] = {
        "id": "false_5511900001234@c.us_3A628B49D96DCDE97A43",
        "timestamp": 1_789_999_998,
        "from": "5511900001234@c.us",
        "fromMe": False,
        "source": "app",
        "to": None,
        "body": "oi",
        "hasMedia": False,
        "media": None,
    }
    own = {"id": "5511900000001@c.us", "lid": "990000000000001@lid", "jid": "5511900000001:12@s.whatsapp.net"}
    return {
        "id": "evt_01k00000000000000000000001",
        "timestamp": 1_790_000_000_000,
        "event": event,
        "session": "atendimento",
        "me": me or own,
        "payload": payload | fields,
        "engine": engine,
    }


def parse(envelope: object, **options: Any) -> ChannelEvent | Rejected:
    arrived_at = options.pop("arrived_at", ENVELOPE_TIME + timedelta(minutes=1))
    return waha.parse(json.dumps(envelope).encode(), sessions=SESSIONS, arrived_at=arrived_at, **options)


def inbound(**fields: object) -> Inbound:
    event = parse(message(**fields))  # pyright: ignore[reportArgumentType]  # a keyword may be any payload field
    assert isinstance(event, Inbound), event
    return event


IMAGE = {"url": "http://waha:3000/api/files/a/1.jpg", "mimetype": "image/jpeg", "filename": None, "error": None}
VCARD = "BEGIN:VCARD\nVERSION:3.0\nFN:Carla\nEND:VCARD"


@pytest.mark.parametrize(
    ("fields", "action", "kind"),
    [
        ({"body": ""}, "quarantine", None),
        ({"body": 7}, "quarantine", None),
        ({"body": "\u200b\u2060\u3164"}, "quarantine", None),
        ({"body": "a\u0000b"}, "inbound", None),
        ({"body": "👍"}, "inbound", None),
        ({"hasMedia": True, "media": IMAGE}, "inbound", "image"),
        ({"hasMedia": True, "media": IMAGE | {"mimetype": "video/mp4"}, "body": "olha"}, "inbound", "video"),
        ({"hasMedia": True, "media": IMAGE | {"mimetype": "video/mp4"}, "body": None}, "inbound_no_draft", "video"),
        ({"hasMedia": True, "media": IMAGE | {"error": "403"}}, "inbound_no_draft", "image"),
        (
            {"hasMedia": True, "media": IMAGE | {"mimetype": "audio/ogg; codecs=opus"}, "body": None},
            "inbound_no_draft",
            "voice",
        ),
        (
            {"hasMedia": True, "media": IMAGE | {"mimetype": "application/pdf", "filename": "a.pdf"}, "body": "a.pdf"},
            "inbound_no_draft",
            "document",
        ),
        ({"hasMedia": True, "media": None, "body": None}, "inbound_no_draft", "document"),
        ({"location": {"latitude": "-23.55", "longitude": "-46.63"}, "body": None}, "inbound", "location"),
        ({"location": {"latitude": "-23.55", "longitude": "-46.63"}, "body": "/9j/4AAQ"}, "inbound", "location"),
        ({"location": {"latitude": 123, "longitude": None}, "body": None}, "quarantine", None),
        ({"vCards": [VCARD], "body": None}, "inbound_no_draft", "contact"),
        ({"vCards": [], "body": VCARD}, "inbound_no_draft", "contact"),
        ({"timestamp": 1_789_999_998 - 5 * 3600}, "inbound", None),
        ({"timestamp": 1_789_999_998 - 3 * 86_400}, "inbound_no_draft", None),
    ],
)
def test_what_was_said_decides_whether_a_draft_may_start(
    fields: dict[str, object], action: Action, kind: str | None
) -> None:
    event = parse(message(**fields))  # pyright: ignore[reportArgumentType]  # a keyword may be any payload field
    assert decide_action(event) == action
    assert getattr(event, "media_kind", None) == kind


def test_a_location_is_told_in_words_without_its_thumbnail() -> None:
    place = {"latitude": "-23.55", "longitude": "-46.63", "name": "Padaria", "address": "Rua A, 1"}
    assert inbound(location=place, body="/9j/4AAQ").text == "📍 Padaria, Rua A, 1 (-23.55, -46.63)"
    assert inbound(location={"latitude": 0, "longitude": 1.5}, body=None).text == "📍 (0, 1.5)"


@pytest.mark.parametrize(
    ("event", "fields", "action"),
    [
        ("message", {"id": "false_120363000000000777@g.us_3A71_5511900001234@c.us"}, "ignore"),
        ("message.any", {"id": "true_120363000000000777@g.us_3A71_5511900001234@c.us", "fromMe": True}, "ignore"),
        ("message", {"id": "false_status@broadcast_3A71_5511900001234@c.us"}, "ignore"),
        ("message", {"id": "false_120363000000000999@newsletter_3A71"}, "ignore"),
        ("message", {"id": "false_0@c.us_3A71"}, "ignore"),
        ("message", {"from": "status@broadcast"}, "ignore"),
        ("message.any", {"id": "true_1@c.us_3A", "fromMe": True, "from": "1@s.whatsapp.net", "to": "1@c.us"}, "ignore"),
        ("message", {"id": "false_1@hologram_3A71"}, "quarantine"),
        ("message", {"id": "3A71"}, "quarantine"),
        ("message", {"id": "false_5511900001234@c.us_"}, "quarantine"),
        ("message", {"id": ["x"]}, "quarantine"),
        ("message.any", {"id": "true_5511900000001@c.us_3A71", "fromMe": True}, "ignore"),
        ("message.any", {"id": "true_5511900001234@c.us_3EB0", "fromMe": True, "body": None}, "context_only"),
        ("message", {"id": "true_5511900001234@c.us_3EB0", "fromMe": None}, "context_only"),
        ("message", {"id": "false_5511900001234@c.us_3EB0", "fromMe": True}, "context_only"),
        ("message.ack", {"id": "true_120363000000000777@g.us_3A71", "fromMe": True, "ack": 2}, "ignore"),
        ("message.ack", {"id": "false_5511900001234@c.us_3A71", "fromMe": False, "ack": 3}, "ignore"),
        ("message.ack", {"ack": 3, "id": None}, "quarantine"),
        ("message.reaction", {"reaction": None}, "quarantine"),
        (
            "message.reaction",
            {"id": "false_1203@g.us_3A_1@c.us", "reaction": {"text": "a", "messageId": "b"}},
            "ignore",
        ),
        ("message.edited", {"editedMessageId": None}, "quarantine"),
        ("message.edited", {"id": "false_1203@g.us_3A_1@c.us", "editedMessageId": "3A"}, "ignore"),
        ("message.revoked", {"after": None, "before": None}, "quarantine"),
        ("message.revoked", {"after": None, "before": None, "revokedMessageId": "3A"}, "revoke_update"),
        ("message.revoked", {"after": {"id": "false_1@g.us_3A_2@c.us"}, "revokedMessageId": "3A"}, "ignore"),
        ("session.status", {"status": "WORKING"}, "session_update"),
        ("session.status", {"status": None}, "quarantine"),
        ("call.received", {"id": "CALL2", "from": "990000000000234:5@lid", "isGroup": False}, "inbound_no_draft"),
        ("call.received", {"id": "CALL2", "isGroup": True}, "ignore"),
        ("call.received", {"id": None}, "quarantine"),
        ("call.received", {"from": None}, "quarantine"),
        ("call.accepted", {"id": "CALL2"}, "ignore"),
        ("state.change", {}, "ignore"),
        ("", {}, "quarantine"),
    ],
)
def test_chat_direction_and_event_decide_who_hears_it(event: str, fields: dict[str, object], action: Action) -> None:
    assert decide_action(parse(message(event, **fields))) == action  # pyright: ignore[reportArgumentType]  # any field


def test_a_chat_is_answered_where_it_wrote_and_hints_only_name_the_person() -> None:
    chat = {"id": "false_990000000000234:5@lid_3A25", "from": "990000000000234:5@lid"}
    noweb = inbound(**chat, _data={"key": {"remoteJidAlt": "5511900001234@s.whatsapp.net"}, "pushName": "Ana"})
    gows = inbound(**chat, _data={"Info": {"SenderAlt": "5511900001234:7@s.whatsapp.net", "PushName": "Ana"}})
    alone = inbound(**chat, _data={"key": {"remoteJidAlt": None}})
    assert (noweb.chat, noweb.sender, noweb.phone, noweb.lid, noweb.sender_name) == (
        "990000000000234@lid",
        "990000000000234@lid",
        "5511900001234",
        "990000000000234@lid",
        "Ana",
    )
    assert (gows.phone, gows.sender_name) == ("5511900001234", "Ana")
    assert alone.phone is None


def test_our_own_number_is_never_taken_for_the_customers() -> None:
    sent = message("message.any", id="true_990000000000234@lid_3EB0", fromMe=True, to="5511900000001@c.us")
    event = parse(sent)
    assert isinstance(event, FromMe)
    assert (event.chat, event.phone, event.lid) == ("990000000000234@lid", None, "990000000000234@lid")


def test_two_copies_of_one_message_share_their_key_whatever_their_ids() -> None:
    lid = inbound(id="false_990000000000234@lid_3AAF")
    phone = inbound(id={"fromMe": False, "remote": "5511900001234@c.us", "id": "3AAF"})
    assert lid.dedup_key == phone.dedup_key == ("atendimento", "in", "3AAF")
    assert phone.message_id == "false_5511900001234@c.us_3AAF"


def test_an_edit_that_reuses_its_targets_id_is_not_a_copy_of_the_first_edit() -> None:
    first, again, other = (
        parse(message("message.edited", editedMessageId="3A628B49D96DCDE97A43", body=body)) for body in ("a", "a", "b")
    )
    assert not isinstance(first, Rejected)
    assert not isinstance(again, Rejected)
    assert not isinstance(other, Rejected)
    assert first.dedup_key == again.dedup_key != other.dedup_key


def test_an_unreadable_copy_never_makes_the_readable_one_a_duplicate() -> None:
    event = parse(message(body=None))
    assert isinstance(event, Malformed)
    assert event.stanza_id == inbound().stanza_id
    assert event.dedup_key is None


@pytest.mark.parametrize(
    "timestamp",
    [
        1_789_999_998,
        1_789_999_998.0,
        "1789999998",
        1_789_999_998_000,
        {"low": 1_789_999_998, "high": 0, "unsigned": True},
        {"low": 1_789_999_998 - 2**32, "high": 0},
        "2026-09-21T14:13:18Z",
    ],
)
def test_every_spelling_of_a_time_is_the_same_time(timestamp: object) -> None:
    assert inbound(timestamp=timestamp).sent_at == datetime(2026, 9, 21, 14, 13, 18, tzinfo=UTC)


@pytest.mark.parametrize("timestamp", [None, True, 0, -5, "soon", 1e300, {"low": None}, {}, [], "2026-09-21T14:13:18"])
def test_a_time_that_is_none_falls_back_to_the_envelopes(timestamp: object) -> None:
    assert inbound(timestamp=timestamp).sent_at == ENVELOPE_TIME


def test_a_time_ahead_of_our_clock_is_clamped_to_arrival() -> None:
    assert inbound(timestamp=1_790_007_200).sent_at == ENVELOPE_TIME + timedelta(minutes=1)


def test_freshness_covers_the_retry_horizon_and_no_more() -> None:
    on_time = parse(message(), arrived_at=ENVELOPE_TIME + timedelta(hours=36))
    late = parse(message(), arrived_at=ENVELOPE_TIME + timedelta(hours=41))
    configured = parse(message(), arrived_at=ENVELOPE_TIME + timedelta(hours=1), freshness=timedelta(minutes=15))
    assert decide_action(on_time) == "inbound"
    assert [decide_action(each) for each in (late, configured)] == ["reject_401", "reject_401"]


def test_a_body_without_any_signed_time_is_kept_but_not_trusted() -> None:
    envelope = message(timestamp=None) | {"timestamp": None}
    assert decide_action(parse(envelope)) == "quarantine"


def test_a_long_text_is_cut_with_a_visible_mark_and_never_inside_a_character() -> None:
    whole, cut = inbound(body="é" * 32_768), inbound(body="é" * 40_000)
    assert whole.text == "é" * 32_768
    assert cut.text.endswith("… [truncated: 80000 bytes in full]")
    assert len(cut.text.encode()) <= 65_536
    assert "\ufffd" not in cut.text


@pytest.mark.parametrize("body", ["👩🏽‍🍳👍🏿 top!!! 🇧🇷", "هل لديكم خبز", "p̀́̂e", " oi \n", "PA\u200bRAR"])
def test_what_people_wrote_is_kept_byte_for_byte(body: str) -> None:
    assert inbound(body=body).text == body


def test_half_a_character_or_nul_becomes_the_replacement_character() -> None:
    event = inbound(body="oi \ud83d tudo\u0000bem")
    assert event.text == "oi \ufffd tudo\ufffdbem"
    assert msgspec.json.decode(msgspec.json.encode(event), type=ChannelEvent) == event


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"[]",
        b"null",
        b'"a"',
        b"{",
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        b'"\xff"',
        b'{"a":' + b"9" * 5000 + b"}",
        '{"event":"message"}'.encode("utf-16"),
    ],
)
def test_what_is_not_one_json_object_in_utf8_is_refused_as_unreadable(raw: bytes) -> None:
    assert decide_action(waha.parse(raw, sessions=SESSIONS, arrived_at=ENVELOPE_TIME)) == "reject_400"


# ----------------------------------------------------------------------------------------------------------- signature

DOC_BODY = b'{"event":"message","session":"default","engine":"WEBJS"}'
DOC_DIGEST = (
    "208f8a55dde9e05519e898b10b89bf0d0b3b0fdf11fdbf09b6b90476301b98d8"
    "097c462b2b17a6ce93b6b47a136cf2e78a33a63f6752c2c1631777076153fa89"
)


def test_the_published_vector_verifies() -> None:
    headers = {"x-webhook-hmac": DOC_DIGEST, "x-webhook-hmac-algorithm": "sha512"}
    assert waha.authenticate(headers, DOC_BODY, b"my-secret-key") is None


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Webhook-Hmac-Algorithm": "sha512"},
        {"X-Webhook-Hmac": ""},
        {"X-Webhook-Hmac": sign(DOC_BODY)[:-1]},
        {"X-Webhook-Hmac": "g" * 128},
        {"X-Webhook-Hmac": "٣" * 128},
        {"X-Webhook-Hmac": "sha512=" + sign(DOC_BODY)},
        {"X-Webhook-Hmac": sign(DOC_BODY) + "\n"},
        {"X-Webhook-Hmac": sign(DOC_BODY) + ", " + sign(DOC_BODY)},
        {"X-Webhook-Hmac": sign(DOC_BODY, b"another key")},
        {"X-Webhook-Hmac": sign(DOC_BODY + b"\n")},
        {"X-Webhook-Hmac": sign(b"1790000000000." + DOC_BODY), "X-Webhook-Hmac-Version": "2"},
        {"X-Webhook-Hmac": sign(DOC_BODY), "X-Webhook-Hmac-Algorithm": "sha1"},
        {"X-Webhook-Hmac": sign(DOC_BODY), "X-Webhook-Hmac-Algorithm": ""},
        {"X-Webhook-Hmac": sign(DOC_BODY), "x-webhook-hmac": sign(DOC_BODY)},
    ],
)
def test_anything_but_one_right_sha512_signature_is_refused(headers: dict[str, str]) -> None:
    refusal = waha.authenticate(headers, DOC_BODY, KEY)
    assert refusal is not None
    assert decide_action(refusal) == "reject_401"


def test_an_empty_key_opens_nothing() -> None:
    assert waha.authenticate({"X-Webhook-Hmac": sign(DOC_BODY, b"")}, DOC_BODY, b"") is not None


# ---------------------------------------------------------------------------------------------------------------- acks


@pytest.mark.parametrize(
    ("current", "new", "kept"),
    [
        (None, "sent", "sent"),
        ("read", "delivered", "read"),
        ("delivered", "played", "played"),
        ("sent", None, "sent"),
        ("sent", "failed", "failed"),
        (None, "failed", "failed"),
        ("delivered", "failed", "delivered"),
        ("failed", "read", "failed"),
    ],
)
def test_a_delivery_level_never_moves_back(current: Level | None, new: Level | None, kept: Level) -> None:
    assert advance(current, new) == kept


@pytest.mark.parametrize(
    ("ack", "name", "level"),
    [
        (-1, "ERROR", "failed"),
        ("3", "READ", "read"),
        (3.0, "READ", "read"),
        (None, "READ", "read"),
        (None, "UNKNOWN", None),
        (9, "X", None),
    ],
)
def test_an_ack_says_its_level_by_number_else_by_name(ack: object, name: str, level: Level | None) -> None:
    event = parse(message("message.ack", id="true_5511900001234@c.us_3EB0", fromMe=True, ack=ack, ackName=name))
    assert isinstance(event, Acked)
    assert event.level == level


def test_error_463_says_until_when_the_number_is_restricted() -> None:
    event = heard(CASES["ack_error_463"])
    assert isinstance(event, Acked)
    assert event.error is not None
    assert (event.error.code, event.error.is_account_restricted) == ("463", True)
    assert event.error.until == datetime(2026, 9, 23, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("phone", "forms"),
    [
        ("552190004321", ("552190004321", "5521990004321")),
        ("5521990004321", ("5521990004321", "552190004321")),
        ("+55 31 98888-8888", ("5531988888888", "553188888888")),
        ("551133334444", ("551133334444",)),
        ("14155550100", ("14155550100",)),
        ("", ("",)),
    ],
)
def test_a_brazilian_mobile_has_two_forms_and_others_one(phone: str, forms: tuple[str, ...]) -> None:
    assert phone_aliases(phone) == forms


# ---------------------------------------------------------------------------------------------------------------- fuzz

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
EVENTS = st.sampled_from(
    [
        "message",
        "message.any",
        "message.edited",
        "message.revoked",
        "message.reaction",
        "message.ack",
        "session.status",
        "call.received",
    ]
)
IDS = st.sampled_from(["true_5511900001234@c.us_3EB0", {"fromMe": True, "remote": {"user": "1", "server": "lid"}}])
FIELDS = [
    "timestamp",
    "from",
    "fromMe",
    "to",
    "body",
    "hasMedia",
    "media",
    "mediaUrl",
    "location",
    "vCards",
    "replyTo",
    "reaction",
    "editedMessageId",
    "after",
    "before",
    "revokedMessageId",
    "ack",
    "ackName",
    "error",
    "status",
    "_data",
]


@given(st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_bytes_make_the_codec_raise(raw: bytes) -> None:
    waha.authenticate({"X-Webhook-Hmac": raw.decode("latin-1")}, raw, KEY)
    assert waha.parse(raw, sessions=SESSIONS, arrived_at=ENVELOPE_TIME) is not None


@given(EVENTS, st.dictionaries(st.sampled_from(FIELDS), JSON), JSON | IDS, JSON, JSON)
@settings(max_examples=300, deadline=None)
def test_no_json_makes_the_codec_raise_and_every_event_can_be_stored(
    name: str, fields: dict[str, object], identity: object, me: object, timestamp: object
) -> None:
    event = parse(message(name, **fields | {"id": identity}) | {"me": me, "timestamp": timestamp})  # pyright: ignore[reportArgumentType]  # any field
    assert decide_action(event)
    if not isinstance(event, Rejected):
        assert msgspec.json.decode(msgspec.json.encode(event), type=ChannelEvent) == event
