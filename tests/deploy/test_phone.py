"""The phone simulator over real HTTP: WAHA's REST shapes, signed webhooks, faults, and what survives a restart."""

import hashlib
import hmac
import http.client
import re
import socket
import urllib.error
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.deploy.programs import ask, free_port, running, wait_until
from tests.deploy.receiver import Posted, Receiver, receiving

KEY, API_KEY, SESSION = "webhook-key", "api-key", "atendimento"
ANA, LUCIA, JOAO = "5511900001234@c.us", "990000000000234@lid", "552190004321@c.us"


@dataclass
class Phone:
    address: str
    heard: Receiver

    def control(self, name: str, **body: Any) -> Any:
        status, answer = ask(f"{self.address}/_control/{name}", body)
        assert status < 400, answer
        return answer

    def received(self) -> list[dict[str, Any]]:
        return ask(f"{self.address}/_control/received")[1]

    def api(self, path: str, body: Any = None, key: str = API_KEY) -> tuple[int, Any]:
        return ask(f"{self.address}/api/{path}", body, {"X-Api-Key": key})

    def send(self, text: str, chat: str = ANA, **more: Any) -> tuple[int, Any]:
        return self.api("sendText", {"session": SESSION, "chatId": chat, "text": text, **more})

    def texts(self, chat: str = ANA) -> list[str]:
        """Oldest first."""
        status, found = self.api(f"{SESSION}/chats/{quote(chat)}/messages?limit=100")
        assert status == 200
        return [message["body"] for message in reversed(found)]

    def message(self, chat: str, stanza: str) -> tuple[int, Any]:
        return self.api(f"{SESSION}/chats/{quote(chat)}/messages/true_{quote(chat)}_{stanza}")


@pytest.fixture(scope="module")
def heard() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


@pytest.fixture(scope="module")
def options(heard: Receiver) -> list[str]:
    names = (
        ("--webhook", heard.url),
        ("--key", KEY),
        ("--api-key", API_KEY),
        ("--session", SESSION),
        ("--retry-delay", "0.05"),
    )
    return [word for pair in names for word in pair]


@pytest.fixture(scope="module")
def shared_phone(heard: Receiver, options: list[str]) -> Iterator[Phone]:
    with running("deploy.local.phone", free_port(), *options, "--metadata", "tenant=clinica-sol") as address:
        yield Phone(address, heard)


@pytest.fixture
def phone(shared_phone: Phone) -> Phone:
    """One process for the module; each test starts from a new phone and a receiver that heard nothing."""
    wait_until(lambda: state(shared_phone)["pending"] == 0, "the events of the test before")
    shared_phone.control("forget")
    shared_phone.heard.posted.clear()
    shared_phone.heard.refusals = 0
    return shared_phone


def state(phone: Phone) -> dict[str, Any]:
    return ask(f"{phone.address}/_control/state")[1]


def payloads(posted: list[Posted]) -> list[dict[str, Any]]:
    return [one.event["payload"] for one in posted]


def test_a_customers_message_is_posted_signed_over_its_raw_bytes(phone: Phone) -> None:
    said = phone.control("say", chat=ANA, text="Oi, vocês abrem amanhã? 😊")
    [posted] = phone.heard.wait_for("message.any")
    headers, event = posted.headers, posted.event
    assert headers["X-Webhook-Hmac"] == hmac.new(KEY.encode(), posted.body, hashlib.sha512).hexdigest()
    assert headers["X-Webhook-Hmac-Algorithm"] == "sha512"
    assert headers["User-Agent"].startswith("WAHA/")
    assert headers["X-Webhook-Timestamp"] == str(event["timestamp"])
    assert re.fullmatch(r"[0-9a-z]{26}", headers["X-Webhook-Request-Id"])
    assert "amanhã? 😊".encode() in posted.body
    assert re.fullmatch(r"evt_[0-9a-z]{26}", event["id"])
    assert (event["session"], event["engine"], event["metadata"]) == (SESSION, "NOWEB", {"tenant": "clinica-sol"})
    payload = event["payload"]
    assert payload["id"] == said["id"] == f"false_{ANA}_{said['stanza']}"
    assert (payload["from"], payload["fromMe"], payload["body"]) == (ANA, False, "Oi, vocês abrem amanhã? 😊")
    assert payload["_data"]["key"]["remoteJid"] == "5511900001234@s.whatsapp.net"


def test_a_lid_chat_carries_its_phone_only_as_a_hint(phone: Phone) -> None:
    phone.control("say", chat=LUCIA, text="oi")
    [payload] = payloads(phone.heard.wait_for("message.any"))
    assert payload["from"] == LUCIA
    assert payload["_data"]["key"]["remoteJidAlt"] == "5531900004567@s.whatsapp.net"
    assert phone.api(f"{SESSION}/lids/{quote(LUCIA)}") == (200, {"lid": LUCIA, "pn": "5531900004567@c.us"})
    assert phone.api(f"{SESSION}/lids/1{quote(LUCIA)}")[1]["pn"] is None


def test_a_refused_webhook_is_repeated_unchanged_until_it_is_taken(phone: Phone) -> None:
    phone.heard.refusals = 2
    phone.control("say", chat=ANA, text="oi")
    posted = phone.heard.wait_for("message.any", 3)
    assert len({(one.body, one.headers["X-Webhook-Request-Id"], one.headers["X-Webhook-Hmac"]) for one in posted}) == 1
    wait_until(lambda: state(phone)["pending"] == 0, "the event to be settled")
    assert len(phone.heard.events("message.any")) == 3


def test_attempts_end_where_the_policy_says(heard: Receiver, options: list[str]) -> None:
    heard.posted.clear()
    heard.refusals = 3
    with running("deploy.local.phone", free_port(), *options, "--retry-attempts", "3") as address:
        ask(f"{address}/_control/say", {"chat": ANA, "text": "oi"})
        phone = Phone(address, heard)
        wait_until(lambda: state(phone)["pending"] == 0, "the courier to give up")
        assert len(heard.posted) == 3
        assert phone.api(f"{SESSION}/chats/{quote(ANA)}/messages")[1][0]["ackName"] == "ERROR"


def test_a_sent_text_is_answered_echoed_and_acknowledged(phone: Phone) -> None:
    status, answer = phone.send("Abrimos às 8h.")
    assert status == 201
    assert (answer["fromMe"], answer["source"], answer["ackName"]) == (True, "api", "PENDING")
    [echo] = payloads(phone.heard.wait_for("message.any"))
    assert (echo["id"], echo["from"], echo["source"], echo["body"]) == (answer["id"], ANA, "api", "Abrimos às 8h.")
    acks = payloads(phone.heard.wait_for("message.ack", 2))
    assert [(ack["id"], ack["ack"]) for ack in acks] == [(answer["id"], 1), (answer["id"], 2)]


def test_an_open_chat_reads_what_arrives(phone: Phone) -> None:
    phone.send("antes")
    phone.heard.wait_for("message.ack", 2)
    phone.control("open", chat=ANA)
    assert payloads(phone.heard.wait_for("message.ack", 3))[-1]["ackName"] == "READ"
    phone.send("depois")
    acks = payloads(phone.heard.wait_for("message.ack", 6))
    assert [ack["ack"] for ack in acks] == [1, 2, 3, 1, 2, 3]


def test_the_same_id_twice_keeps_the_oldest_and_counts_both(phone: Phone) -> None:
    _, new = phone.api(f"{SESSION}/new-message-id")
    assert new["id"].startswith("3EB0")
    first, second = phone.send("primeiro", id=new["id"]), phone.send("segundo", id=new["id"])
    assert (first[0], second[0]) == (201, 201)
    assert first[1]["id"] == second[1]["id"]
    assert phone.texts() == ["primeiro"]
    assert [(one["text"], one["outcome"], one["attempts"]) for one in phone.received()] == [
        ("primeiro", "sent", 2),
        ("segundo", "repeated", 2),
    ]
    assert phone.message(ANA, new["id"])[1]["body"] == "primeiro"


def test_texts_are_kept_as_they_came_in_order_of_arrival(phone: Phone) -> None:
    texts = ["  espaços  ", "linha\r\nlinha", "e\u0301 \u200b 👩🏽‍⚕️", "<b>&amp;"]
    for text in texts:
        phone.send(text)
    assert [one["text"] for one in phone.received()] == texts
    assert phone.texts() == texts


@pytest.mark.parametrize(
    ("mode", "status", "is_sent"),
    [
        ("500", 500, False),
        ("500_463", 500, False),
        ("422", 422, False),
        ("400", 400, False),
        ("201_empty", 201, True),
        ("shape_key", 201, True),
        ("shape_serialized", 201, True),
    ],
)
def test_the_next_send_fails_as_asked_and_only_that_one(phone: Phone, mode: str, status: int, is_sent: bool) -> None:
    phone.control("fail_next", mode=mode)
    assert phone.send("um")[0] == status
    assert phone.texts() == (["um"] if is_sent else [])
    assert phone.send("dois")[1]["body"] == "dois"


def test_answers_take_the_shapes_seen_in_the_wild(phone: Phone) -> None:
    for mode in ("500_463", "201_empty", "shape_key", "shape_serialized"):
        phone.control("fail_next", mode=mode)
    restricted, empty, key, serialized = (phone.send(text, id=f"3EB0{place}")[1] for place, text in enumerate("abcd"))
    assert restricted["exception"]["message"] == "2 UNKNOWN: server returned error 463"
    assert restricted["request"]["body"]["text"] == "a"
    assert empty is None
    assert key["key"] == {"remoteJid": "5511900001234@s.whatsapp.net", "fromMe": True, "id": "3EB02"}
    assert serialized["id"]["_serialized"] == f"true_{ANA}_3EB03"


@pytest.mark.parametrize(("mode", "texts"), [("reset_after_body", ["oi"]), ("refuse_connection", [])])
def test_a_cut_connection_gives_no_answer(phone: Phone, mode: str, texts: list[str]) -> None:
    phone.control("fail_next", mode=mode)
    with pytest.raises((ConnectionError, urllib.error.URLError)) as cut:
        phone.send("oi")
    assert not isinstance(cut.value, urllib.error.HTTPError)
    assert phone.texts() == texts


def test_a_send_that_times_out_has_left_unless_it_was_told_not_to(phone: Phone) -> None:
    port = int(phone.address.rsplit(":", 1)[1])
    for text, is_sent in (("saiu", True), ("não saiu", False)):
        phone.control("fail_next", mode="timeout", sent=is_sent)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=0.5)
        body = f'{{"session":"{SESSION}","chatId":"{ANA}","text":"{text}"}}'.encode()
        connection.request("POST", "/api/sendText", body, {"X-Api-Key": API_KEY})
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
    assert phone.texts() == ["saiu"]
    assert [one["text"] for one in phone.received()] == ["saiu", "não saiu"]


def test_a_wrong_key_and_a_bad_body_are_refused_in_wahas_shapes(phone: Phone) -> None:
    assert phone.api(f"sessions/{SESSION}", key="wrong") == (401, {"message": "Unauthorized", "statusCode": 401})
    assert phone.api("sendText", {"session": SESSION, "text": "oi"})[0] == 400
    assert phone.api("sendText", "[1]")[0] == 400
    assert phone.api("sendText", {"session": "outra", "chatId": ANA, "text": "oi"})[0] == 404
    assert phone.texts() == []


def test_a_session_that_is_down_sends_nothing_and_hears_later(phone: Phone) -> None:
    phone.control("session", status="STOPPED")
    status, answer = phone.send("oi")
    assert (status, answer["status"], answer["expected"]) == (422, "STOPPED", ["WORKING"])
    for text in ("um", "dois"):
        phone.control("say", chat=ANA, text=text)
    assert phone.api(f"sessions/{SESSION}")[1]["status"] == "STOPPED"
    phone.control("session", status="WORKING")
    assert [payload["body"] for payload in payloads(phone.heard.wait_for("message.any", 2))] == ["um", "dois"]
    assert [payload["status"] for payload in payloads(phone.heard.wait_for("session.status", 2))] == [
        "STOPPED",
        "WORKING",
    ]


def test_edits_and_revokes_name_the_message_that_they_change(phone: Phone) -> None:
    said = phone.control("say", chat=ANA, text="são 2 bolos")
    phone.control("edit", chat=ANA, text="são 3 bolos")
    phone.control("revoke", chat=ANA, id=said["id"])
    [edited] = payloads(phone.heard.wait_for("message.edited"))
    [revoked] = payloads(phone.heard.wait_for("message.revoked"))
    assert (edited["editedMessageId"], edited["body"]) == (said["stanza"], "são 3 bolos")
    assert edited["id"] != said["id"]
    assert (revoked["revokedMessageId"], revoked["before"], revoked["after"]["body"]) == (said["stanza"], None, None)


def test_the_owners_own_reply_is_from_us_but_not_from_the_api(phone: Phone) -> None:
    phone.control("owner_reply", chat=ANA, text="já resolvo")
    [payload] = payloads(phone.heard.wait_for("message.any"))
    assert (payload["fromMe"], payload["source"], payload["body"]) == (True, "app", "já resolvo")
    assert phone.received() == []


def test_any_payload_can_be_said_and_exact_bytes_are_signed(phone: Phone) -> None:
    phone.control("say_raw", payload={"id": None, "body": 7})
    phone.control("say_raw", payload={"event": "message.hologram", "session": SESSION, "payload": {"id": "x"}})
    phone.control("say_raw", raw_body='{"event":"message.any" }')
    wait_until(lambda: len(phone.heard.posted) == 3, "three events")
    message, hologram, raw = phone.heard.posted
    assert (message.event["event"], message.event["payload"]) == ("message.any", {"id": None, "body": 7})
    assert hologram.event["event"] == "message.hologram"
    assert raw.body == b'{"event":"message.any" }'
    assert raw.headers["X-Webhook-Hmac"] == hmac.new(KEY.encode(), raw.body, hashlib.sha512).hexdigest()


@pytest.mark.parametrize(
    ("asked", "found"),
    [("552190004321", JOAO), ("5521990004321", JOAO), ("+55 11 90000-1234", ANA), ("5511999999999", None)],
)
def test_numbers_are_found_in_both_brazilian_forms(phone: Phone, asked: str, found: str | None) -> None:
    _, answer = phone.api(f"contacts/check-exists?phone={quote(asked)}&session={SESSION}")
    assert (answer["numberExists"], answer.get("chatId")) == (found is not None, found)


def test_typing_and_seen_are_taken_for_a_known_chat(phone: Phone) -> None:
    phone.control("say", chat=ANA, text="oi")
    phone.heard.wait_for("message.any")
    for action in ("startTyping", "stopTyping", "sendSeen"):
        assert phone.api(action, {"session": SESSION, "chatId": ANA})[0] == 201
    assert phone.api(f"{SESSION}/chats/{quote(ANA)}/messages")[1][0]["ackName"] == "READ"


def test_conversations_and_their_order_survive_a_restart(heard: Receiver, options: list[str], tmp_path: Path) -> None:
    kept = [*options, "--state", str(tmp_path / "phone.sqlite")]
    with running("deploy.local.phone", free_port(), *kept) as address:
        phone = Phone(address, heard)
        phone.control("say", chat=ANA, text="um")
        phone.send("dois", id="3EB0AA")
        phone.control("say", chat=ANA, text="três")
        phone.control("session", status="FAILED")
    with running("deploy.local.phone", free_port(), *kept) as address:
        phone = Phone(address, heard)
        assert phone.api(f"sessions/{SESSION}")[1]["status"] == "FAILED"
        phone.control("session", status="WORKING")
        assert phone.texts() == ["um", "dois", "três"]
        assert phone.send("outra", id="3EB0AA")[1]["body"] == "dois"
        assert [one["attempts"] for one in phone.received()] == [2, 2]


def test_the_control_api_refuses_foreign_names_and_plain_forms(phone: Phone) -> None:
    say = f"{phone.address}/_control/say"
    assert ask(say, {"chat": ANA, "text": "oi"}, {"Host": "phone.example"})[0] == 403
    assert ask(say, {"chat": ANA, "text": "oi"}, {"Content-Type": "text/plain"})[0] == 415
    assert ask(f"{phone.address}/_control/fail_next", {"mode": "magic"})[0] == 400
    assert phone.texts() == []


def test_the_page_is_strict_framed_only_by_the_named_origins_and_speaks_two_languages(
    heard: Receiver, options: list[str]
) -> None:
    port = free_port()
    with running("deploy.local.phone", port, *options, "--frame-ancestor", "http://127.0.0.1:8080"):
        policy, portuguese = page(port, "pt-BR")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert policy.endswith("frame-ancestors http://127.0.0.1:8080")
        assert '<html lang="pt-BR">' in portuguese
        assert '<html lang="en">' in page(port, "en-GB,en;q=0.8")[1]
        assert '<html lang="en">' in page(port, "pt-BR", "/?lang=en")[1]
        assert not re.search(r"<style|\sstyle=|<script>|\son\w+=", portuguese)


def page(port: int, language: str, path: str = "/") -> tuple[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path, headers={"Accept-Language": language})
        answer = connection.getresponse()
        return answer.headers["Content-Security-Policy"], answer.read().decode()
    finally:
        connection.close()


def test_the_page_hears_each_change_and_opens_its_chat_while_it_is_there(phone: Phone) -> None:
    port = int(phone.address.rsplit(":", 1)[1])
    with (
        socket.create_connection(("127.0.0.1", port), timeout=5) as stream,
        stream.makefile("r", encoding="utf-8") as lines,
    ):
        stream.sendall(f"GET /_live?chat={quote(ANA)} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
        next(line for line in lines if line.startswith("data: "))
        phone.send("Olá, Ana")
        assert "Olá, Ana" in next(line for line in lines if "Olá, Ana" in line)
        assert payloads(phone.heard.wait_for("message.ack", 3))[-1]["ackName"] == "READ"
