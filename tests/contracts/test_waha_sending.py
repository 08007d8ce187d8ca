"""What the WAHA codec renders, and what it concludes from an answer."""

import json
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.channel import (
    Answer,
    Broken,
    CannotSend,
    ConnectionRefused,
    Failed,
    HttpRequest,
    SendAnswer,
    TimedOut,
    TryAgain,
    Uncertain,
)
from contracts.channels import waha

STANZA = "3EB0AA11BB22CC33DD44EE"
WHOLE = f"true_5511900001234@c.us_{STANZA}"
ECHO = {"request": {"path": "/api/sendText", "body": {"text": "segredo 463"}}}
RESTRICTED = {"statusCode": 500, "exception": {"message": "2 UNKNOWN: server returned error 463"}} | ECHO
OTHER_FAULT = {"statusCode": 500, "exception": {"message": "boom"}} | ECHO


def answered(status: int, body: object = None, retry_after: str | None = None) -> Answer:
    raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return Answer(status=status, body=raw, retry_after=retry_after)


@pytest.mark.parametrize(
    ("body", "provider_id"),
    [
        ({"id": WHOLE, "fromMe": True, "ack": 0}, WHOLE),
        ({"key": {"remoteJid": "5511900001234@s.whatsapp.net", "fromMe": True, "id": STANZA}}, None),
        ({"_data": {}, "id": {"fromMe": True, "remote": "5511900001234@c.us", "_serialized": WHOLE}, "ack": 0}, WHOLE),
        ({"id": {"fromMe": True, "remote": "5511900001234@c.us", "id": STANZA}}, WHOLE),
        ({"id": STANZA}, STANZA),
    ],
)
def test_every_engines_answer_names_the_same_stanza(body: object, provider_id: str | None) -> None:
    fate = waha.fate(answered(201, body))
    assert getattr(fate, "stanza_id", None) == STANZA
    assert provider_id is None or getattr(fate, "provider_id", None) == provider_id


@pytest.mark.parametrize(
    ("answer", "expected", "code"),
    [
        (answered(201), Uncertain, "id_unknown"),
        (answered(200, b"<html>"), Uncertain, "id_unknown"),
        (answered(200, {"success": True, "message": None}), Uncertain, "id_unknown"),
        (answered(302), Uncertain, "http_302"),
        (answered(400, {"message": "bad"}), Failed, "http_400"),
        (answered(401, {"message": "Unauthorized"}), Failed, "http_401"),
        (answered(404), Failed, "http_404"),
        (answered(408), Uncertain, "http_408"),
        (answered(422, {"status": "STOPPED", "expected": ["WORKING"]}), TryAgain, "session_not_ready"),
        (answered(429, retry_after="7"), TryAgain, "rate_limited"),
        (answered(500, RESTRICTED), Failed, "account_restricted"),
        (answered(500, OTHER_FAULT), Uncertain, "http_500"),
        (answered(500), Uncertain, "http_500"),
        (answered(503, retry_after="7"), Uncertain, "http_503"),
        (ConnectionRefused(), TryAgain, "connection_refused"),
        (TimedOut(), Uncertain, "timed_out"),
        (Broken(), Uncertain, "connection_broken"),
    ],
)
def test_only_a_proof_of_refusal_settles_a_send(answer: SendAnswer, expected: type, code: str) -> None:
    fate = waha.fate(answer)
    assert isinstance(fate, expected)
    assert getattr(fate, "code", None) == code
    assert "segredo" not in str(fate)


@pytest.mark.parametrize(("header", "seconds"), [("7", 7), ("Wed, 21 Oct 2026 07:28:00 GMT", None), ("-1", None)])
def test_a_wait_is_taken_from_the_answer_only_when_it_is_a_number(header: str, seconds: int | None) -> None:
    fate = waha.fate(answered(429, retry_after=header))
    assert isinstance(fate, TryAgain)
    assert fate.retry_after == (None if seconds is None else timedelta(seconds=seconds))


def test_a_text_is_sent_as_it_is_to_the_chat_that_wrote() -> None:
    text = 'Abrimos às 8h. 👩🏽‍🍳\r\n"ok" \\ '
    request = waha.render(
        session="atendimento", chat="990000000000234@lid", text=text, reply_to="false_1@lid_3A", message_id=STANZA
    )
    assert isinstance(request, HttpRequest)
    assert (request.method, request.path) == ("POST", "/api/sendText")
    assert json.loads(request.body) == {
        "session": "atendimento",
        "chatId": "990000000000234@lid",
        "text": text,
        "linkPreview": False,
        "reply_to": "false_1@lid_3A",
        "id": STANZA,
    }
    assert "👩🏽‍🍳".encode() in request.body


@pytest.mark.parametrize(
    ("chat", "text", "code"),
    [
        ("120363000000000777@g.us", "oi", "group_chat"),
        ("status@broadcast", "oi", "status_chat"),
        ("1790000000@broadcast", "oi", "broadcast_chat"),
        ("120363000000000999@newsletter", "oi", "newsletter_chat"),
        ("5511900001234", "oi", "unknown_chat"),
        ("990000000000234:5@lid", "oi", "unknown_chat"),
        ("5511900001234@c.us", " \u200b", "text_empty"),
        ("5511900001234@c.us", "a" * 4097, "text_too_long"),
        ("5511900001234@c.us", "oi \ud83d", "text_not_utf8"),
    ],
)
def test_some_chats_and_texts_are_never_sent(chat: str, text: str, code: str) -> None:
    refusal = waha.render(session="atendimento", chat=chat, text=text)
    assert isinstance(refusal, CannotSend)
    assert refusal.code == code


def test_an_id_with_strange_characters_is_refused() -> None:
    refusal = waha.render(session="s", chat="5511900001234@c.us", text="oi", message_id="a b")
    assert isinstance(refusal, CannotSend)
    assert refusal.code == "id_invalid"


def test_a_lookup_proves_presence_or_absence_and_nothing_else() -> None:
    assert waha.ask_message("a/b", "1@lid", WHOLE).path == (
        "/api/a%2Fb/chats/1%40lid/messages/true_5511900001234%40c.us_3EB0AA11BB22CC33DD44EE"
    )
    answers: list[SendAnswer] = [answered(200, {"id": WHOLE}), answered(404), answered(200), answered(500), TimedOut()]
    assert [waha.presence(each) for each in answers] == ["present", "absent", "unknown", "unknown", "unknown"]


def test_a_reserved_id_is_read_or_done_without() -> None:
    assert waha.ask_message_id("atendimento").path == "/api/atendimento/new-message-id"
    answers: list[SendAnswer] = [answered(200, {"id": STANZA}), answered(200, {"id": WHOLE}), answered(404), Broken()]
    assert [waha.message_id_of(each) for each in answers] == [STANZA, STANZA, None, None]


@given(st.sampled_from([200, 201, 400, 422, 500]), st.binary(max_size=200))
@settings(max_examples=100, deadline=None)
def test_no_answer_makes_the_codec_raise(status: int, raw: bytes) -> None:
    assert waha.fate(Answer(status=status, body=raw)) is not None
