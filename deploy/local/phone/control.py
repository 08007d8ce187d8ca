"""`/_control/…`: act as a customer, as the owner, or as bad luck. Loopback only, JSON only (so no foreign page can).

say {chat, text, name?} · say_raw {payload} or {raw_body} · edit {chat, id?, text} · revoke {chat, id?}
open {chat, open?} · owner_reply {chat, text} · session {status} · fail_next {mode, count?, sent?}
    forget {} → as a new phone
received → every sendText in order of arrival · state → session, pending and failing webhooks
"""

from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, cast

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from deploy.local.phone.line import Fault, Line
from deploy.local.phone.requests import invalid, line_of, read_json
from deploy.local.phone.rest import chat_id_of
from deploy.local.phone.stamps import now_ms
from deploy.local.phone.waha import STATUSES, Me, Message, envelope

LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
IS_SENT = {
    "refuse_connection": False, "timeout": True, "reset_after_body": True, "500": False, "500_463": False, "422": False,
    "201_empty": True, "400": False, "shape_key": True, "shape_serialized": True,
}  # fmt: skip

Body = dict[str, Any]
Act = Callable[[Line, Body], Response]


def is_loopback(request: Request) -> bool:
    """Both ends: the caller's address, and the name that it used (a foreign name may resolve to this machine)."""
    return bool(request.client and request.client.host in LOOPBACK and request.url.hostname in LOOPBACK)


def local(act: Act) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        if not is_loopback(request):
            return JSONResponse({"message": "The control API answers on this machine only."}, 403)
        if request.method == "POST" and not request.headers.get("Content-Type", "").startswith("application/json"):
            return JSONResponse({"message": "Send JSON, with Content-Type: application/json."}, 415)
        return act(line_of(request), await read_json(request) if request.method == "POST" else {})

    return endpoint


def words(body: Body, *names: str) -> list[str] | Response:
    """The named fields, each a text that is not empty."""
    bad = [name for name in names if not isinstance(body.get(name), str) or not body[name]]
    return invalid(*(f"{name} must be a text" for name in bad)) if bad else [body[name] for name in names]


def accepted(message: Message) -> Response:
    return JSONResponse({"id": message.id, "stanza": message.stanza, "chat": message.chat}, 201)


def say(line: Line, body: Body) -> Response:
    given = words(body, "chat", "text")
    return (
        given if isinstance(given, Response) else accepted(line.say(chat_id_of(given[0]), given[1], body.get("name")))
    )


def say_raw(line: Line, body: Body) -> Response:
    """Any payload: a whole envelope (has `event`), a message's payload, or exact bytes, signed as they are."""
    at_ms = now_ms()
    if isinstance(raw := body.get("raw_body"), str):
        line.post_bytes(raw.encode("utf-8", "surrogatepass"), at_ms)
    else:
        payload = cast("Body", body["payload"]) if isinstance(body.get("payload"), dict) else None
        is_whole = payload is not None and "event" in payload
        line.post(
            payload if payload and is_whole else raw_envelope(body.get("payload"), line.settings.me, at_ms), at_ms
        )
    return JSONResponse({"posted": True}, 202)


def raw_envelope(payload: Any, me: Me, at_ms: int) -> Body:
    return envelope("message.any", payload, me, f"evt_{at_ms:026d}", at_ms)


def target(line: Line, body: Body) -> Message | Response:
    """The message named by `id` (whole or bare), else the customer's last one."""
    chat = chat_id_of(str(body.get("chat", "")))
    named = str(body["id"]).rsplit("_", 1)[-1] if body.get("id") else None
    found = line.store.message(chat, named) if named else line.store.last_from_customer(chat)
    return found or JSONResponse({"message": f"There is no such message in the chat {chat!r}."}, 404)


def edit(line: Line, body: Body) -> Response:
    found, given = target(line, body), words(body, "text")
    if isinstance(found, Response) or isinstance(given, Response):
        return found if isinstance(found, Response) else invalid("text must be a text")
    line.edit(found, given[0])
    return accepted(found)


def revoke(line: Line, body: Body) -> Response:
    found = target(line, body)
    if isinstance(found, Message):
        line.revoke(found)
        return accepted(found)
    return found


def open_chat(line: Line, body: Body) -> Response:
    given = words(body, "chat")
    if isinstance(given, Response):
        return given
    chat = chat_id_of(given[0])
    (line.leave_chat if body.get("open") is False else line.open_chat)(chat)
    return JSONResponse({"open": line.open[chat] > 0})


def owner_reply(line: Line, body: Body) -> Response:
    given = words(body, "chat", "text")
    return given if isinstance(given, Response) else accepted(line.owner_reply(chat_id_of(given[0]), given[1]))


def session(line: Line, body: Body) -> Response:
    if body.get("status") not in STATUSES:
        return invalid(f"status must be one of {', '.join(STATUSES)}")
    line.set_status(body["status"])
    return JSONResponse({"status": line.status})


def fail_next(line: Line, body: Body) -> Response:
    mode, count, is_sent = body.get("mode"), body.get("count", 1), body.get("sent")
    if mode not in IS_SENT:
        return invalid(f"mode must be one of {', '.join(IS_SENT)}")
    if not isinstance(count, int) or count < 0:
        return invalid("count must be a number of requests; 0 clears what is waiting")
    if not count:
        line.faults.clear()
    line.faults.extend([Fault(mode, IS_SENT[mode] if is_sent is None else bool(is_sent))] * count)
    return JSONResponse({"waiting": [fault.mode for fault in line.faults]})


def forget(line: Line, _: Body) -> Response:
    line.forget()
    return JSONResponse({"forgotten": True})


def received(line: Line, _: Body) -> Response:
    return JSONResponse([asdict(request) for request in line.store.requests()])


def state(line: Line, _: Body) -> Response:
    courier = line.courier
    return JSONResponse({"session": line.status, "pending": courier.pending, "failing": courier.failing})


POSTS: dict[str, Act] = {
    "say": say,
    "say_raw": say_raw,
    "edit": edit,
    "revoke": revoke,
    "open": open_chat,
    "owner_reply": owner_reply,
    "session": session,
    "fail_next": fail_next,
    "forget": forget,
}
GETS: dict[str, Act] = {"received": received, "state": state}
ROUTES = [
    *(Route(f"/_control/{name}", local(act), methods=["POST"]) for name, act in POSTS.items()),
    *(Route(f"/_control/{name}", local(act)) for name, act in GETS.items()),
]
