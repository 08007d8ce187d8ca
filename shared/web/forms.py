"""The way in and out by plain forms, for services whose edge is pages alone."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from shared.web.pages import pages_of
from shared.web.returning import inside, sign_in_page
from shared.web.signing import signing_of

_OWN_SITE = frozenset({"same-origin", "none"})

router = APIRouter(include_in_schema=False)


@router.post("/sign-in")
async def sign_in(request: Request) -> Response:
    """Sign in by address, in the local profile alone, and only from a page of ours."""
    signing = signing_of(request)
    if not signing.settings.local_sign_in or request.headers.get("sec-fetch-site", "none") not in _OWN_SITE:
        return RedirectResponse("/sign-in", 303)
    form = await request.form()
    back = inside(str(form.get("next", "")))
    email = "".join(c for c in str(form.get("email", "")) if c.isprintable())
    begun = await signing.begin_locally(email, replaces=signing.cookies.secret(request))
    if begun is None:
        return RedirectResponse(sign_in_page(back, "unknown"), 303)
    response = RedirectResponse(back, 303)
    signing.keep(response, begun[1])
    return response


@router.post("/sign-out")
async def sign_out(request: Request) -> Response:
    """End the session here, and at the identity provider where there is one."""
    signing = signing_of(request)
    if await signing.of_cookie(request) is None:
        return RedirectResponse("/sign-in", 303)
    there = await signing.end(request)
    response = RedirectResponse(there, 303) if there == "/sign-in" else _onward(request, there)
    signing.cookies.drop_secret(response)
    return response


def _onward(request: Request, there: str) -> Response:
    """A page that leads on: browsers follow no form to another host than ours (`form-action`)."""
    return pages_of(request).html(request, "signed_out.html", there=there)
