"""The HTTP edge of guardrails: its pages under `/gates`, and the way in to them."""

from collections.abc import Awaitable, Callable
from typing import Final

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from services.guardrails.config import Config
from services.guardrails.people import RIGHTS
from services.guardrails.web import asking, register_pages, rules_pages, run_pages
from shared import trace
from shared.runtime import Context
from shared.web import pages, signing
from shared.web.forms import router as by_form
from shared.web.signing import Signing

HOME: Final = "/gates"
LONGEST_FORM_BYTES: Final = 256 * 1024


def app(context: Context[Config]) -> FastAPI:
    """The application; `app.state` holds `context`, `pages` and `signing` for its routes."""
    assert context.web_db is not None  # `start` has refused to go on without it
    api = FastAPI(title="Chancela gates", docs_url=None, redoc_url=None, openapi_url=None)
    api.state.signing = Signing("guardrails", context.config, context.db, context.web_db, RIGHTS)
    asking.use_pages(api, context)
    for router in (
        run_pages.router, rules_pages.router, register_pages.router, pages.router, signing.router, by_form,
    ):  # fmt: skip
        api.include_router(router)
    api.add_api_route("/", _home)
    api.middleware("http")(_bounded)
    return api


async def _home() -> Response:
    return RedirectResponse(HOME, 303)


async def _bounded(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    """A form says how long it is, and is not longer than a person writes."""
    trace.start(request.headers.get("traceparent"))
    if request.method not in signing.SAFE:
        length = request.headers.get("content-length", "")
        if not length.isdigit() or int(length) > LONGEST_FORM_BYTES:
            return Response(status_code=413 if length.isdigit() else 411)
    return await go_on(request)
