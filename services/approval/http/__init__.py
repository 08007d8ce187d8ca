"""The HTTP edge of approval: API, sign-in, events and pages. Problem documents exist only here."""

from collections.abc import Awaitable, Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Final

from fastapi import FastAPI, Request, Response

from services.approval.config import Config
from services.approval.desk import Desk
from services.approval.http import auditing, conversations, drafts, events, obligations, signing
from services.approval.http.answers import Refusal, answer, catalogue_entry, use_problems
from services.approval.people import RIGHTS
from services.approval.problems import Problem
from services.approval.terms import terms
from shared import trace
from shared.runtime import Context
from shared.web.pages import reader_language
from shared.web.signing import Signing
from shared.web.signing import router as way_in

PAGES: Final = "services.approval.web.pages"
ROUTERS: Final = (
    obligations.router,
    conversations.router,
    drafts.router,
    auditing.router,
    events.router,
    signing.router,
    way_in,
)


def app(context: Context[Config]) -> FastAPI:
    """The application; `app.state` holds `desk`, `signing` and `feed` for its routes."""
    api = FastAPI(title="Chancela approval", version="1", docs_url=None, redoc_url=None, openapi_url="/v1/openapi.json")
    desk = Desk(context, terms(context.config))
    api.state.desk = desk
    assert context.web_db is not None  # `start` has refused to go on without it
    api.state.signing = Signing("approval", context.config, context.db, context.web_db, RIGHTS)
    api.state.feed = events.Feed(context.db)
    use_problems(api)
    for router in ROUTERS:
        api.include_router(router)
    api.add_api_route("/problems/{slug}", problem_type, summary="What a problem type means", tags=["problems"])
    if find_spec(PAGES) is not None:
        import_module(PAGES).mount(api, context)
    api.middleware("http")(_traced)
    return api


async def problem_type(request: Request, slug: str) -> Response:
    """An entry of the catalogue of problems."""
    entry = catalogue_entry(slug, reader_language(request))
    if entry is None:
        raise Refusal(Problem("not-found", {"what": "problem"}))
    return answer(entry)


async def _traced(request: Request, go_on: Callable[[Request], Awaitable[Response]]) -> Response:
    trace.start(request.headers.get("traceparent"))
    return await go_on(request)
