"""Who is asking: a person's session (cookie), a local token, or an outside agent's key (bearer).

Laws
- What came by cookie changes nothing without the session's CSRF token (`shared/web/signing.py`).
- A key is nobody: where a person is needed it is refused, whatever its scopes.
- The built-in sign-in exists in the local profile only; its routes answer 404 elsewhere.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict

from services.approval.desk import Desk
from services.approval.filing import clean_line
from services.approval.http.answers import Refusal, answer
from services.approval.people import Right, may, rights
from services.approval.problems import Problem
from services.approval.store import keys
from services.approval.store.keys import KEY_PREFIX, ApiKey
from shared.web.people import Person
from shared.web.returning import inside, sign_in_page
from shared.web.secret import tenant_of
from shared.web.signing import Signing, signing_of
from shared.web.store import Session

TOKEN_PREFIX = "ct_"  # noqa: S105 - a prefix, not a secret
_OWN_SITE = frozenset({"same-origin", "none"})


def desk_of(request: Request) -> Desk:
    return request.app.state.desk


async def caller_of(request: Request) -> Session | ApiKey | None:
    """Whoever the request proves to come from; its CSRF token is checked here, once for all routes."""
    bearer = request.headers.get("authorization", "")
    if not bearer:
        return await signing_of(request).of_cookie(request)
    kind, _, secret = bearer.partition(" ")
    return await _by_bearer(request, secret.strip()) if kind.lower() == "bearer" else None


async def _by_bearer(request: Request, secret: str) -> Session | ApiKey | None:
    if secret.startswith(KEY_PREFIX):
        return await _key(request, secret)
    signing = signing_of(request)
    if not (secret.startswith(TOKEN_PREFIX) and signing.settings.local_sign_in):
        return None
    session = await signing.session(secret, TOKEN_PREFIX)
    return session if session is not None and session.is_token else None


async def _key(request: Request, secret: str) -> ApiKey | None:
    tenant = tenant_of(secret, KEY_PREFIX)
    if tenant is None:
        return None
    async with desk_of(request).unit(tenant, tenant) as unit:
        return await keys.api_key(unit.tx, secret)


async def who(request: Request) -> Session | None:
    """The signed-in person, None for nobody: for pages, which send people to the sign-in."""
    caller = await caller_of(request)
    if not isinstance(caller, Session):
        return None
    request.state.language = caller.person.language
    return caller


async def signed_in(request: Request) -> Session:
    """The signed-in person.

    Raises:
        Refusal: nobody is signed in, or a key asks for what only people may do.
    """
    caller = await caller_of(request)
    if isinstance(caller, ApiKey):
        raise Refusal(Problem("no-right", {"right": "person"}))
    if caller is None:
        raise Refusal(Problem("not-signed-in"))
    request.state.language = caller.person.language
    return caller


async def person_or_key(request: Request) -> Person | ApiKey:
    caller = await caller_of(request)
    if caller is None:
        raise Refusal(Problem("not-signed-in"))
    return caller.person if isinstance(caller, Session) else caller


def with_right(right: Right) -> Callable[[Request], Awaitable[Person]]:
    """A dependency: a signed-in person who holds a right now."""

    async def person_with_right(request: Request) -> Person:
        person = (await signed_in(request)).person
        if not may(person, right):
            raise Refusal(Problem("no-right", {"right": right}))
        return person

    return person_with_right


Reader = Annotated[Person, Depends(with_right("read"))]
Worker = Annotated[Person, Depends(with_right("own"))]
Auditor = Annotated[Person, Depends(with_right("audit"))]
Administrator = Annotated[Person, Depends(with_right("administer"))]
Somebody = Annotated[Session, Depends(signed_in)]
Anybody = Annotated[Person | ApiKey, Depends(person_or_key)]


class SignIn(BaseModel):
    """Who wants in (local profile)."""

    model_config = ConfigDict(extra="forbid")
    email: str


router = APIRouter(tags=["sign-in"])


@router.post("/sign-in", summary="Sign in (local profile only)")
async def sign_in(request: Request) -> Response:
    """JSON `{"email"}` is answered with the person and the CSRF token; a form is redirected to its `next`."""
    signing = _local(request)
    form = None if request.headers.get("content-type", "").startswith("application/json") else await request.form()
    email = await _email(request) if form is None else str(form.get("email", ""))
    back = "/approvals" if form is None else inside(str(form.get("next", "")))
    begun = await signing.begin_locally(_address(email), replaces=signing.cookies.secret(request))
    if begun is None:
        if form is not None:
            return RedirectResponse(sign_in_page(back, "unknown"), 303)
        raise Refusal(Problem("not-signed-in"))
    person, secret, csrf = begun
    response: Response = answer(_me(person, csrf)) if form is None else RedirectResponse(back, 303)
    signing.keep(response, secret)
    return response


@router.post("/sign-out", summary="Sign out")
async def sign_out(request: Request, _session: Somebody) -> Response:
    """End the session; the cookie is worth nothing from now on.

    `next` is where the browser goes: the page that ends the session at the identity provider too, or our sign-in. A
    form is redirected there.
    """
    signing = signing_of(request)
    page = await signing.end(request)
    is_form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    response: Response = RedirectResponse(page, 303) if is_form else answer({"next": page})
    signing.cookies.drop_secret(response)
    return response


@router.post("/v1/local/token", summary="A bearer token that acts as a person (local profile only)")
async def local_token(request: Request, asked: SignIn) -> Response:
    begun = await _local(request).begin_locally(_address(asked.email), prefix=TOKEN_PREFIX)
    if begun is None:
        raise Refusal(Problem("not-found", {"what": "person"}))
    person, secret, _ = begun
    return answer({"token": secret, "email": person.email, "roles": person.roles, "tenant": person.tenant}, 201)


@router.get("/v1/me", summary="Who I am and what I may do")
async def me(session: Somebody) -> Response:
    return answer(_me(session.person, session.csrf))


def _me(person: Person, csrf: str) -> dict[str, Any]:
    return {
        "email": person.email,
        "name": person.name,
        "language": person.language,
        "tenant": person.tenant,
        "rights": sorted(rights(person)),
        "csrf": csrf,
    }


def _local(request: Request) -> Signing:
    """The way in, where the built-in sign-in exists, and only for requests that our own pages or scripts make."""
    signing = signing_of(request)
    if not signing.settings.local_sign_in:
        raise Refusal(Problem("not-found", {"what": "page"}))
    if request.headers.get("sec-fetch-site", "none") not in _OWN_SITE:
        raise Refusal(Problem("csrf"))
    return signing


def _address(email: str) -> str:
    return clean_line("email", email)[0]


async def _email(request: Request) -> str:
    try:
        return SignIn.model_validate_json(await request.body()).email
    except ValueError as error:
        raise Refusal(Problem("invalid", {"field": "email", "why": "a JSON object with email is wanted"})) from error
