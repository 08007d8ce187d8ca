"""The pages: sign-in, the queue with its decision screen, and the parts of it that live updates fetch.

Laws
- A GET changes nothing. Decisions go through the JSON API, with the preconditions that the page carries.
- Every page is rendered from the same read models as the API; a page never decides what may be decided.
"""

from typing import Annotated, Any, Final
from urllib.parse import urlsplit
from uuid import UUID

from fastapi import APIRouter, Depends, FastAPI, Query, Request, Response
from fastapi.responses import RedirectResponse

from services.approval.config import Config
from services.approval.facts import State
from services.approval.http.signing import desk_of, who
from services.approval.people import may
from services.approval.store import pages, views
from services.approval.web import showing
from services.approval.web.rendering import SITE
from services.approval.web.timeline import timeline
from services.approval.web.words import CATALOGUES
from shared.ids import new_id
from shared.runtime import Context
from shared.web import texts
from shared.web.pages import Pages, pages_of, to_sign_in
from shared.web.pages import router as everywhere
from shared.web.store import Session
from shared.web.times import TIME_ZONE_COOKIE, Clock, zone_of

SHOWS: Final[dict[str, tuple[State, ...]]] = {
    "open": ("open",),
    "leaving": ("approved", "waiting_agent"),
    "unsettled": ("uncertain", "failed"),
}
QUEUE_LINES: Final = 80

router = APIRouter(include_in_schema=False)


def mount(api: FastAPI, context: Context[Config]) -> None:
    """Add the pages to the application."""
    api.state.pages = Pages(SITE, CATALOGUES, context.db)
    api.include_router(everywhere)
    api.include_router(router)


MaybeSession = Annotated[Session | None, Depends(who)]


@router.get("/")
async def home(request: Request, session: MaybeSession, item: UUID | None = None, show: str = "open") -> Response:
    """In the local profile the customers' phone beside the approvals; elsewhere the approvals."""
    config = desk_of(request).config
    if config.profile != "local" or not config.phone_url:
        return RedirectResponse("/approvals", 303)
    return await _desk(request, session, item, show, phone_url=config.phone_url)


@router.get("/approvals")
async def queue(request: Request, session: MaybeSession, show: str = "open") -> Response:
    return await _desk(request, session, None, show)


@router.get("/approvals/{obligation_id}")
async def decision(request: Request, session: MaybeSession, obligation_id: UUID, show: str = "open") -> Response:
    return await _desk(request, session, obligation_id, show)


async def _desk(
    request: Request, session: Session | None, chosen: UUID | None, show: str, *, phone_url: str = ""
) -> Response:
    if session is None:
        return to_sign_in(request)
    show = show if show in SHOWS else "open"
    rail = await _rail(request, session, show, chosen)
    first = chosen or (rail["items"][0].id if rail["items"] else None)
    item = await _item(request, session, first, None) if first else {"item": None}
    is_missing = chosen is not None and item["item"] is None
    return pages_of(request).html(
        request, "desk.html", 404 if is_missing else 200, frame=_origin(phone_url), **rail | item | {"chosen": first},
        session=session, phone_url=phone_url, is_missing=is_missing,
        home="/" if phone_url else "/approvals",
    )  # fmt: skip


@router.get("/parts/queue")
async def queue_part(
    request: Request, session: MaybeSession, show: str = "open", chosen: UUID | None = None
) -> Response:
    """The rail alone, for a live update."""
    if session is None:
        return Response(status_code=401)
    rail = await _rail(request, session, show if show in SHOWS else "open", chosen)
    return pages_of(request).html(request, "parts/rail.html", session=session, home="/approvals", **rail)


@router.get("/parts/items/{obligation_id}")
async def item_part(
    request: Request, session: MaybeSession, obligation_id: UUID, seen: Annotated[int | None, Query(ge=1)] = None
) -> Response:
    """One item alone; `seen` is the epoch that was on this person's screen, to show what changed since."""
    if session is None:
        return Response(status_code=401)
    item = await _item(request, session, obligation_id, seen)
    is_missing = item["item"] is None
    status = 404 if is_missing else 200
    return pages_of(request).html(
        request, "parts/item.html", status, session=session, is_missing=is_missing, **item
    )  # fmt: skip


def _clock(request: Request, now: Any) -> Clock:
    return Clock(now, zone_of(request.cookies.get(TIME_ZONE_COOKIE, "")), pages_of(request).speech(request).language)


async def _rail(request: Request, session: Session, show: str, chosen: UUID | None) -> dict[str, Any]:
    async with desk_of(request).unit(session.person.tenant, new_id()) as unit:
        items = await views.queue(unit.tx, SHOWS[show], limit=QUEUE_LINES)
        counts = await views.counts(unit.tx)
        alerts = await views.alerts(unit.tx)
        recent = await pages.recent(unit.tx)
        clock = _clock(request, await unit.tx.now())
    sums = {name: sum(counts.get(state, 0) for state in states) for name, states in SHOWS.items()}
    return {
        "items": items, "counts": sums, "alerts": showing.by_gravity(alerts), "recent": recent, "show": show,
        "shows": tuple(SHOWS), "chosen": chosen, "more": max(0, sums[show] - len(items)), "clock": clock,
        "showing": showing,
    }  # fmt: skip


async def _item(request: Request, session: Session, obligation_id: UUID, seen: int | None) -> dict[str, Any]:
    desk = desk_of(request)
    async with desk.unit(session.person.tenant, new_id()) as unit:
        item = await views.item(unit.tx, obligation_id, session.person.email, desk.policy)
        clock = _clock(request, await unit.tx.now())
    if item is None:
        return {"item": None, "clock": clock}
    say = pages_of(request).speech(request)
    return {
        "item": item, "clock": clock, "showing": showing, "texts": texts, "policy": desk.policy,
        "banners": showing.banners(item, say, clock, session.person.email),
        "comparisons": showing.comparisons(item, say, seen),
        "timeline": timeline(item, say), "reasons": showing.reasons(item), "why_not": showing.why_not(item, say),
        "may_own": may(session.person, "own"),
    }  # fmt: skip


def _origin(url: str) -> str:
    """What frame-src may name; empty for no frame."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}" if parts.scheme in {"http", "https"} and parts.netloc else ""
