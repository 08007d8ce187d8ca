"""WAHA's REST API, as far as a sender and an intake use it. Every route asks for `X-Api-Key` when one is set."""

import asyncio
import hmac
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import unquote

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deploy.local.phone import waha
from deploy.local.phone.connection import cut
from deploy.local.phone.line import Line
from deploy.local.phone.requests import invalid, line_of, read_json
from deploy.local.phone.stamps import now_ms, stanza_of_web
from deploy.local.phone.waha import WORKING, Message

Endpoint = Callable[[Request], Awaitable[Response]]
MESSAGES_AT_ONCE = 100
BRAZIL, NINTH_DIGIT_AT = "55", 4


def guarded(endpoint: Endpoint) -> Endpoint:
    async def guard(request: Request) -> Response:
        expected = line_of(request).settings.api_key
        given = request.headers.get("X-Api-Key") or request.query_params.get("x-api-key", "")
        if expected and not hmac.compare_digest(given.encode(), expected.encode()):
            return JSONResponse(waha.http_error(401, "Unauthorized"), 401)
        return await endpoint(request)

    return guard


def session_problem(line: Line, session: Any) -> Response | None:
    """404 for a session that does not exist, 422 for one that is not working: nothing was sent."""
    if session != line.settings.me.session:
        return JSONResponse(waha.http_error(404, f'Session "{session}" does not exist', "Not Found"), 404)
    if line.status != WORKING:
        return JSONResponse(waha.session_error(line.settings.me.session, line.status), 422)
    return None


def chat_id_of(value: str) -> str:
    """WAHA takes both domains of a phone number and a LID with or without its device part."""
    number, _, domain = value.partition("@")
    if domain == "lid":
        return f"{number.split(':')[0]}@lid"
    return f"{number.split(':')[0]}@c.us" if domain in ("", "c.us", "s.whatsapp.net") else value


async def send_text(request: Request) -> Response:
    line, body = line_of(request), await read_json(request)
    session, chat, text, stanza = (body.get(name) for name in ("session", "chatId", "text", "id"))
    if not isinstance(chat, str) or not chat or not isinstance(text, str):
        return invalid("chatId should be a string", "text should be a string")
    if stanza is not None and not isinstance(stanza, str):
        return invalid("id should be a string")
    chat = chat_id_of(chat)
    seq = line.store.add_request(chat, stanza, text, now_ms())
    if problem := session_problem(line, session):
        line.store.settle_request(seq, str(problem.status_code))
        return problem
    fault = line.faults.popleft() if line.faults else None
    if fault and not fault.is_sent:
        line.store.settle_request(seq, f"fault {fault.mode}")
        return await failing(request, fault.mode, body, None)
    message, is_new = line.send(chat, text, stanza)
    line.store.settle_request(seq, ("sent" if is_new else "repeated") + (f", fault {fault.mode}" if fault else ""))
    return await failing(request, fault.mode, body, message) if fault else JSONResponse(sent(line, message), 201)


def sent(line: Line, message: Message) -> waha.Shape:
    """The answer is written while the message is still on its way: the ack is pending."""
    pending = Message(
        message.chat, message.stanza, True, message.source, message.body, message.at_seconds, waha.PENDING
    )
    return waha.message_payload(pending, line.chat(message.chat))


async def failing(request: Request, mode: str, body: dict[str, Any], message: Message | None) -> Response:
    line = line_of(request)
    if mode == "timeout":
        ends = [asyncio.create_task(line.is_closing.wait()), asyncio.create_task(gone(request))]
        await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        for end in ends:
            end.cancel()
    if mode == "reset_after_body":
        cut(request)
    shape, status = fault_answer(line, mode, body, message)
    return Response(status_code=status) if shape is None else JSONResponse(shape, status)


def fault_answer(line: Line, mode: str, body: dict[str, Any], message: Message | None) -> tuple[waha.Shape | None, int]:
    text = "2 UNKNOWN: server returned error 463" if mode == "500_463" else "Internal error"
    answers: dict[str, tuple[waha.Shape | None, int]] = {
        "201_empty": (None, 201),
        "400": (waha.http_error(400, ["chatId must be a valid chat id"], "Bad Request"), 400),
        "422": (waha.session_error(line.settings.me.session, "STARTING"), 422),
    }
    if message:
        answers |= {
            "shape_key": (waha.sent_as_key(message), 201),
            "shape_serialized": (waha.sent_as_serialized(message), 201),
        }
    return answers.get(mode, (waha.server_error(text, "/api/sendText", body, now_ms()), 500))


async def gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def chat_action(act: Callable[[Line, str], None]) -> Endpoint:
    async def endpoint(request: Request) -> Response:
        line, body = line_of(request), await read_json(request)
        if not isinstance(body.get("chatId"), str):
            return invalid("chatId should be a string")
        if problem := session_problem(line, body.get("session")):
            return problem
        act(line, chat_id_of(body["chatId"]))
        return JSONResponse({"result": True}, 201)

    return endpoint


async def new_message_id(request: Request) -> Response:
    problem = session_problem(line_of(request), request.path_params["session"])
    return problem or JSONResponse({"id": stanza_of_web()})


async def session(request: Request) -> Response:
    line = line_of(request)
    me = line.settings.me
    if request.path_params["session"] != me.session:
        return JSONResponse(waha.http_error(404, "Session not found", "Not Found"), 404)
    config = {"metadata": dict(me.metadata), "webhooks": [{"url": line.settings.webhook}]}
    shape = {"name": me.session, "status": line.status, "config": config, "engine": {"engine": "NOWEB"}}
    return JSONResponse(shape | {"me": me.shape if line.status == WORKING else None})


async def messages(request: Request) -> Response:
    """Newest first, as WAHA sorts them."""
    line, chat_id = line_of(request), chat_id_of(unquote(request.path_params["chat"]))
    if problem := session_problem(line, request.path_params["session"]):
        return problem
    limit, offset = (request.query_params.get(name, preset) for name, preset in (("limit", "10"), ("offset", "0")))
    if not limit.isdecimal() or not offset.isdecimal():
        return invalid("limit and offset must be integer numbers")
    newest = line.store.messages(chat_id)[::-1][int(offset) : int(offset) + min(int(limit), MESSAGES_AT_ONCE)]
    return JSONResponse([waha.message_payload(message, line.chat(chat_id)) for message in newest])


async def message(request: Request) -> Response:
    line, chat_id = line_of(request), chat_id_of(unquote(request.path_params["chat"]))
    if problem := session_problem(line, request.path_params["session"]):
        return problem
    found = line.store.message(chat_id, unquote(request.path_params["message"]).rsplit("_", 1)[-1])
    if found is None:
        return JSONResponse(waha.http_error(404, "Message not found", "Not Found"), 404)
    return JSONResponse(waha.message_payload(found, line.chat(chat_id)))


async def check_exists(request: Request) -> Response:
    line, digits = line_of(request), "".join(filter(str.isdigit, request.query_params.get("phone", "")))
    if problem := session_problem(line, request.query_params.get("session")):
        return problem
    forms = {digits, without_ninth_digit(digits)}
    known = [
        chat for chat in line.store.chats() if chat.phone and {chat.phone, without_ninth_digit(chat.phone)} & forms
    ]
    found = {"numberExists": True, "chatId": f"{known[0].phone}@c.us"} if known else {"numberExists": False}
    return JSONResponse(found)


def without_ninth_digit(digits: str) -> str:
    """Brazilian mobile numbers live on WhatsApp with eight or nine digits."""
    is_long = digits.startswith(BRAZIL) and len(digits) == len("5511900001234")
    return digits[:NINTH_DIGIT_AT] + digits[NINTH_DIGIT_AT + 1 :] if is_long else digits


async def lid(request: Request) -> Response:
    line, asked = line_of(request), chat_id_of(f"{unquote(request.path_params['lid']).removesuffix('@lid')}@lid")
    if problem := session_problem(line, request.path_params["session"]):
        return problem
    chat = line.store.chat(asked)
    return JSONResponse({"lid": asked, "pn": f"{chat.phone}@c.us" if chat and chat.phone else None})


def start_typing(line: Line, chat_id: str) -> None:
    line.type(chat_id, is_typing=True)


def stop_typing(line: Line, chat_id: str) -> None:
    line.type(chat_id, is_typing=False)


async def ping(_: Request) -> Response:
    return JSONResponse({"message": "pong"})


ROUTES = [
    Route("/ping", ping),
    Route("/api/sendText", guarded(send_text), methods=["POST"]),
    Route("/api/sendSeen", guarded(chat_action(Line.see)), methods=["POST"]),
    Route("/api/startTyping", guarded(chat_action(start_typing)), methods=["POST"]),
    Route("/api/stopTyping", guarded(chat_action(stop_typing)), methods=["POST"]),
    Route("/api/contacts/check-exists", guarded(check_exists)),
    Route("/api/sessions/{session}", guarded(session)),
    Route("/api/{session}/new-message-id", guarded(new_message_id)),
    Route("/api/{session}/chats/{chat}/messages", guarded(messages)),
    Route("/api/{session}/chats/{chat}/messages/{message}", guarded(message)),
    Route("/api/{session}/lids/{lid}", guarded(lid)),
]
