"""The customers' phone at `/`: one page, live by server-sent events, in Portuguese or English."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from string import Template
from typing import Any

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from deploy.local.phone.control import is_loopback
from deploy.local.phone.line import Line
from deploy.local.phone.requests import line_of
from deploy.local.phone.texts import TEXTS
from deploy.local.phone.waha import Chat, Message

FOLDER = Path(__file__).parent / "page"
FILES = {"phone.js": "text/javascript", "phone.css": "text/css", "icon.svg": "image/svg+xml"}
MESSAGES_SHOWN = 200
HEARTBEAT_SECONDS = 15


def policy(ancestors: tuple[str, ...]) -> str:
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; "
        f"form-action 'self'; frame-ancestors {' '.join(ancestors) or chr(39) + 'none' + chr(39)}"
    )


def language_of(request: Request) -> str:
    asked = request.query_params.get("lang") or request.headers.get("Accept-Language", "pt")
    return "en" if asked.lower().startswith("en") else "pt"


async def index(request: Request) -> Response:
    line, texts = line_of(request), TEXTS[language_of(request)]
    page = Template((FOLDER / "phone.html").read_text("utf-8"))
    named = {"business": line.settings.me.name, "texts": json.dumps(texts, ensure_ascii=False)} | texts
    return HTMLResponse(
        page.substitute({name: escaped(value) for name, value in named.items()}),
        headers={
            "Content-Security-Policy": policy(line.settings.frame_ancestors),
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Cache-Control": "no-store",
        },
    )


def escaped(text: str) -> str:
    for letter, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(letter, entity)
    return text


async def file(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in FILES:
        return Response(status_code=404)
    headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-cache"}
    return FileResponse(FOLDER / name, media_type=FILES[name], headers=headers)


async def live(request: Request) -> Response:
    """What the phone shows now, and again at each change; while it is open, its chat counts as open."""
    if not is_loopback(request):
        return Response(status_code=403)
    line = line_of(request)
    chats = [chat.id for chat in line.store.chats()]
    asked = request.query_params.get("chat", "")
    chat = asked if asked in chats else chats[0]
    is_visible = request.query_params.get("visible") != "0"
    return StreamingResponse(
        views(line, chat, is_visible), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def views(line: Line, chat: str, is_visible: bool) -> AsyncIterator[str]:
    if is_visible:
        line.open_chat(chat)
    try:
        while not line.is_closing.is_set():
            news = line.news
            yield f"data: {json.dumps(view(line, chat), ensure_ascii=False)}\n\n"
            try:
                async with asyncio.timeout(HEARTBEAT_SECONDS):
                    await news.wait()
            except TimeoutError:
                yield ": still here\n\n"
    finally:
        if is_visible:
            line.leave_chat(chat)


def view(line: Line, chat: str) -> dict[str, Any]:
    return {
        "session": line.status,
        "failing": line.courier.failing,
        "chat": chat,
        "typing": chat in line.typing,
        "chats": [row(line, one) for one in line.store.chats()],
        "messages": [bubble(message) for message in line.store.messages(chat)[-MESSAGES_SHOWN:]],
    }


def row(line: Line, chat: Chat) -> dict[str, Any]:
    return {"id": chat.id, "name": chat.name, "unread": len(line.store.ours_unread(chat.id))}


def bubble(message: Message) -> dict[str, Any]:
    return {
        "id": message.stanza,
        "mine": not message.from_me,
        "by_hand": message.from_me and message.source == "app",
        "text": message.body,
        "at": message.at_seconds,
        "ack": message.ack,
        "edited": message.edited,
        "revoked": message.revoked,
    }


ROUTES = [Route("/", index), Route("/page/{name}", file), Route("/_live", live)]
