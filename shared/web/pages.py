"""What every service's pages answer: HTML in the reader's language, scripts and styles, and the page to sign in on."""

from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse

from shared.db import Database
from shared.web import store
from shared.web.languages import LANGUAGES, language_of
from shared.web.rendering import TYPES, Site, headers
from shared.web.returning import inside, sign_in_page, start_page
from shared.web.signing import signing_of
from shared.web.speech import Catalogues, Speech
from shared.web.why import STATUS

_FOR_EVER: Final = "public, max-age=31536000, immutable"


class Pages(NamedTuple):
    """A service's templates and words. `db` is the bus role's: the local sign-in shows people of all tenants."""

    site: Site
    catalogues: Catalogues
    db: Database

    def speech(self, request: Request) -> Speech:
        language = reader_language(request)
        return Speech(language, self.catalogues[language])

    def html(
        self, request: Request, template: str, status: int = 200, *, frame: str = "", **values: Any
    ) -> HTMLResponse:
        say = self.speech(request)
        page = self.site.render(template, s=say, t=say.t, lang=say.language, **values)
        return HTMLResponse(page, status, headers=headers(frame))


def pages_of(request: Request) -> Pages:
    return request.app.state.pages


def reader_language(request: Request) -> str:
    """The signed-in person's language, else the browser's."""
    known = getattr(request.state, "language", "")
    return known if known in LANGUAGES else language_of(request.headers.get("accept-language", ""))


def to_sign_in(request: Request) -> Response:
    """To the sign-in, and back here from there."""
    asked = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return RedirectResponse(sign_in_page(asked), 303)


router = APIRouter(include_in_schema=False)


@router.get("/assets/{fingerprint}/{name}")
async def asset(request: Request, fingerprint: str, name: str) -> Response:
    """A script or style. Its address changes with its content."""
    site = pages_of(request).site
    content = site.assets.get(name)
    if content is None or fingerprint != site.fingerprint:
        return Response(status_code=404)
    kind = TYPES[PurePosixPath(name).suffix]
    return Response(content, media_type=kind, headers={"cache-control": _FOR_EVER, "x-content-type-options": "nosniff"})


@router.get("/sign-in")
async def sign_in(request: Request, why: str = "", next: str = "/") -> Response:  # noqa: A002 - its name in the address
    """Where to sign in; and why the last attempt did not succeed."""
    signing, pages = signing_of(request), pages_of(request)
    is_local = signing.settings.local_sign_in
    people = await _people(pages.db) if is_local else ()
    return pages.html(
        request, "sign_in.html", STATUS.get(why, 200), is_local=is_local, has_provider=signing.provider is not None,
        people=people, why=why if why in STATUS else "", back=inside(next), start=start_page(next),
    )  # fmt: skip


async def _people(db: Database) -> Any:
    async with db.autocommit() as tx:
        return await store.people(tx)
