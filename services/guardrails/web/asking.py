"""Who asks, for what, and what they are told when they cannot have it.

Laws
- Nothing of a tenant is read before somebody is signed in, and then under that tenant's row-level security alone.
- What came by a form and was not taken comes back with what was typed, so that nobody writes it twice.
"""

import base64
import binascii
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import partial
from typing import Annotated, Any, Final, TypeVar
from uuid import UUID

import msgspec
from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException

from services.guardrails.config import Config
from services.guardrails.people import Right, may
from services.guardrails.web.rendering import SITE
from services.guardrails.web.words import CATALOGUES
from shared.clock import utc_now
from shared.db import TRANSIENT, Tx
from shared.ids import new_id
from shared.runtime import Context
from shared.web.pages import Pages, pages_of, to_sign_in
from shared.web.people import Person
from shared.web.signing import FORM_FIELD, SAFE, NotConfirmed, signing_of
from shared.web.store import Session
from shared.web.times import TIME_ZONE_COOKIE, Clock, zone_of

PAGE: Final = 50
"""Rows of a list at once."""
HIDDEN_FIELDS: Final = frozenset({FORM_FIELD, "base", "gate"})

T = TypeVar("T")


class Refused(Exception):  # noqa: N818 - names what happened
    """`code` is a page of its own: what went wrong, and what to do."""

    def __init__(self, code: str, status: int) -> None:
        super().__init__(code)
        self.code = code
        self.status = status


class NotSignedIn(Exception):  # noqa: N818 - names what is missing
    """Nobody is signed in, or no longer."""


async def _session(request: Request) -> Session:
    session = await signing_of(request).of_cookie(request)
    if session is None:
        raise NotSignedIn
    request.state.language = session.person.language
    request.state.session = session
    return session


def with_right(right: Right) -> Callable[[Request], Awaitable[Session]]:
    """A dependency: somebody who holds a right now."""

    async def somebody(request: Request) -> Session:
        session = await _session(request)
        if not may(session.person, right):
            raise Refused(f"no_right_{right}", 403)
        return session

    return somebody


Reader = Annotated[Session, Depends(with_right("read"))]
Disputer = Annotated[Session, Depends(with_right("dispute"))]
Changer = Annotated[Session, Depends(with_right("change"))]


def context_of(request: Request) -> Context[Config]:
    return request.app.state.context


@asynccontextmanager
async def looking_at(request: Request, person: Person) -> AsyncGenerator[Tx]:
    """A transaction that sees one tenant."""
    web = context_of(request).web_db
    assert web is not None  # `start` has refused to go on without it
    async with web.transaction(person.tenant) as tx:
        yield tx


@asynccontextmanager
async def changing(request: Request, person: Person) -> AsyncGenerator[Tx]:
    """As `looking_at`, to write; refused while a restored database waits to be recovered."""
    context = context_of(request)
    async with context.bus.unit(tenant=person.tenant, cause=new_id(), db=context.web_db) as unit:
        yield unit.tx


def page(request: Request, session: Session, template: str, status: int = 200, **values: Any) -> Response:
    """One of our pages, for somebody who is signed in."""
    return pages_of(request).html(
        request, template, status, session=session, may=partial(may, session.person),
        clock=clock_of(request), path=request.url.path, **values,
    )  # fmt: skip


def zone(request: Request) -> tzinfo:
    return zone_of(request.cookies.get(TIME_ZONE_COOKIE, ""))


def clock_of(request: Request) -> Clock:
    return Clock(utc_now(), zone(request), pages_of(request).speech(request).language)


def day_of(request: Request, asked: str) -> tuple[datetime, datetime] | None:
    """A calendar day of the reader's, from its first moment to the next one's; None for no day."""
    try:
        start = datetime.combine(datetime.fromisoformat(asked).date(), time(), zone(request))
        after = datetime.combine(start.date() + timedelta(days=1), time(), zone(request))
        return start.astimezone(UTC), after.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def today(request: Request) -> str:
    return utc_now().astimezone(zone(request)).date().isoformat()


def cut(rows: Sequence[T], limit: int = PAGE) -> tuple[Sequence[T], bool]:
    """The rows of one page, and whether there are more: one more than the page was asked for."""
    return rows[:limit], len(rows) > limit


def cursor(*place: Any) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(place)).decode().rstrip("=")


def place(text: str) -> tuple[datetime, UUID] | None:
    """Where a page goes on; one that is not ours is the first page."""
    try:
        return msgspec.json.decode(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)), type=tuple[datetime, UUID])
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        return None


async def form_of(request: Request) -> dict[str, str]:
    """The fields of a form; a file is none."""
    return {name: value for name, value in (await request.form()).items() if isinstance(value, str)}


# -------------------------------------------------------------------------------------------------------------- edge


def use_pages(api: FastAPI, context: Context[Config]) -> None:
    """Every refusal of this application is a page in the reader's words."""
    api.state.pages = Pages(SITE, CATALOGUES, context.db)
    api.state.context = context

    async def on_nobody(request: Request, _error: Exception) -> Response:
        return to_sign_in(request) if request.method in SAFE else await _typed(request, "ended", 401)

    async def on_unconfirmed(request: Request, _error: Exception) -> Response:
        return await _typed(request, "unconfirmed", 403)

    async def on_refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return await _typed(request, error.code, error.status)

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        code = {404: "not_found", 405: "not_found"}.get(error.status_code, "failed")
        return await _typed(request, code, error.status_code)

    async def on_invalid(request: Request, _error: Exception) -> Response:
        return await _typed(request, "not_found", 404)

    async def on_transient(request: Request, _error: Exception) -> Response:
        return await _typed(request, "unavailable", 503)

    async def on_bug(request: Request, _error: Exception) -> Response:
        return await _typed(request, "failed", 500)

    api.add_exception_handler(NotSignedIn, on_nobody)
    api.add_exception_handler(NotConfirmed, on_unconfirmed)
    api.add_exception_handler(Refused, on_refused)
    api.add_exception_handler(HTTPException, on_http)
    api.add_exception_handler(RequestValidationError, on_invalid)
    api.add_exception_handler(Exception, on_bug)
    for kind in TRANSIENT:
        api.add_exception_handler(kind, on_transient)


async def _typed(request: Request, code: str, status: int) -> Response:
    """What went wrong, with what was typed into the form: it can be copied from here."""
    is_form = request.method == "POST" and request.headers.get("content-type", "").startswith("application/x-www-form")
    typed = await form_of(request) if is_form and status != 413 else {}
    kept = {name: text for name, text in typed.items() if text.strip() and name not in HIDDEN_FIELDS}
    return pages_of(request).html(
        request, "problem.html", status, code=code, typed=kept, path="", session=getattr(request.state, "session", None)
    )


def see(where: str) -> Response:
    """To another page, after a change."""
    return RedirectResponse(where, 303)
