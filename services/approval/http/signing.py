"""Who is asking: a person's session (cookie), a local token, or an outside agent's key (bearer).

Laws
- What came by cookie changes nothing without the session's CSRF token in `X-CSRF-Token`.
- A key is nobody: where a person is needed it is refused, whatever its scopes.
- The built-in sign-in exists in the local profile only; its routes answer 404 elsewhere.
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict

from services.approval.config import Config
from services.approval.desk import Desk
from services.approval.facts import Person
from services.approval.filing import clean_line
from services.approval.http.answers import Refusal, answer
from services.approval.people import Right, may, rights
from services.approval.problems import Problem
from services.approval.store import signing_in
from services.approval.store.signing_in import ApiKey, Session
from shared.db import Database

LOCAL_COOKIE = "chancela-approval"
SECURE_COOKIE = "__Host-chancela"
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_SITE = frozenset({"same-origin", "none"})


class Door:
    """Sessions of this service: in its own schema, under its own cookie."""

    def __init__(self, config: Config, db: Database, desk: Desk) -> None:
        self._config = config
        self._db = db
        self._desk = desk
        self.has_local_sign_in = config.local_sign_in
        self.cookie = LOCAL_COOKIE if config.profile == "local" else SECURE_COOKIE

    async def caller(self, request: Request) -> Session | ApiKey | None:
        """Whoever the request proves to come from; its CSRF token is checked here, once for all routes."""
        bearer = request.headers.get("authorization", "")
        if bearer:
            kind, _, secret = bearer.partition(" ")
            return await self._by_bearer(secret.strip()) if kind.lower() == "bearer" else None
        secret = request.cookies.get(self.cookie, "")
        session = await self._session(secret) if secret else None
        if session is None or session.is_token:
            return None
        if request.method not in _SAFE and not _is_same(request.headers.get("x-csrf-token", ""), session.csrf):
            raise Refusal(Problem("csrf"))
        return session

    async def _by_bearer(self, secret: str) -> Session | ApiKey | None:
        if secret.startswith(signing_in.KEY_PREFIX):
            return await self._key(secret)
        if not (secret.startswith(signing_in.TOKEN_PREFIX) and self.has_local_sign_in):
            return None
        session = await self._session(secret)
        return session if session is not None and session.is_token else None

    async def _session(self, secret: str) -> Session | None:
        tenant = signing_in.tenant_of(secret)
        if tenant is None:
            return None
        async with self._desk.unit(tenant, tenant) as unit:
            return await signing_in.session(unit.tx, secret)

    async def _key(self, secret: str) -> ApiKey | None:
        tenant = signing_in.tenant_of(secret)
        if tenant is None:
            return None
        async with self._desk.unit(tenant, tenant) as unit:
            return await signing_in.api_key(unit.tx, secret)

    async def begin(self, email: str, *, is_token: bool = False) -> tuple[Person, str, str] | None:
        """Sign somebody in locally: (person, secret, CSRF token); None when nobody active has this address."""
        address, _ = clean_line("email", email)
        async with self._db.transaction() as tx:
            person = await signing_in.person_of(tx, address)
            if person is None:
                return None
            secret = signing_in.new_secret(person.tenant, signing_in.TOKEN_PREFIX if is_token else "")
            csrf = secrets.token_urlsafe(24)
            expires_at = await tx.now() + timedelta(hours=self._config.session_hours)
            await tx.write([signing_in.session_begun(person, secret, csrf, expires_at, is_token=is_token)])
        return person, secret.text, csrf

    async def end(self, request: Request) -> None:
        secret = request.cookies.get(self.cookie, "")
        tenant = signing_in.tenant_of(secret)
        if tenant is not None:
            async with self._desk.unit(tenant, tenant) as unit:
                await unit.tx.write([signing_in.session_ended(secret)])

    def set_cookie(self, response: Response, secret: str) -> None:
        """`__Host-` needs https; on a laptop's loopback there is none."""
        response.set_cookie(
            self.cookie, secret, max_age=int(self._config.session_hours * 3600), path="/", httponly=True,
            samesite="lax", secure=self.cookie == SECURE_COOKIE,
        )  # fmt: skip


def _is_same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())


def door_of(request: Request) -> Door:
    return request.app.state.door


def desk_of(request: Request) -> Desk:
    return request.app.state.desk


async def who(request: Request) -> Session | None:
    """The signed-in person, None for nobody: for pages, which send people to the sign-in."""
    caller = await door_of(request).caller(request)
    if not isinstance(caller, Session):
        return None
    request.state.language = caller.person.language
    return caller


async def signed_in(request: Request) -> Session:
    """The signed-in person.

    Raises:
        Refusal: nobody is signed in, or a key asks for what only people may do.
    """
    caller = await door_of(request).caller(request)
    if isinstance(caller, ApiKey):
        raise Refusal(Problem("no-right", {"right": "person"}))
    if caller is None:
        raise Refusal(Problem("not-signed-in"))
    request.state.language = caller.person.language
    return caller


async def person_or_key(request: Request) -> Person | ApiKey:
    caller = await door_of(request).caller(request)
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
    """JSON `{"email"}` is answered with the person and the CSRF token; a form with a redirect to the queue."""
    door = _local(request)
    is_form = not request.headers.get("content-type", "").startswith("application/json")
    email = str((await request.form()).get("email", "")) if is_form else await _email(request)
    begun = await door.begin(email)
    if begun is None:
        if is_form:
            return RedirectResponse("/sign-in?unknown=1", 303)
        raise Refusal(Problem("not-signed-in"))
    person, secret, csrf = begun
    response: Response = RedirectResponse("/approvals", 303) if is_form else answer(_me(person, csrf))
    door.set_cookie(response, secret)
    return response


@router.post("/sign-out", summary="Sign out", status_code=204)
async def sign_out(request: Request, _session: Somebody) -> Response:
    """End the session; the cookie is worth nothing from now on."""
    door = door_of(request)
    await door.end(request)
    response = Response(status_code=204)
    response.delete_cookie(door.cookie, path="/", secure=door.cookie == SECURE_COOKIE, httponly=True, samesite="lax")
    return response


@router.post("/v1/local/token", summary="A bearer token that acts as a person (local profile only)")
async def local_token(request: Request, asked: SignIn) -> Response:
    begun = await _local(request).begin(asked.email, is_token=True)
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


def _local(request: Request) -> Door:
    """The door, where the built-in sign-in exists, and only for requests that our own pages or scripts make."""
    door = door_of(request)
    if not door.has_local_sign_in:
        raise Refusal(Problem("not-found", {"what": "page"}))
    if request.headers.get("sec-fetch-site", "none") not in _OWN_SITE:
        raise Refusal(Problem("csrf"))
    return door


async def _email(request: Request) -> str:
    try:
        return SignIn.model_validate_json(await request.body()).email
    except ValueError as error:
        raise Refusal(Problem("invalid", {"field": "email", "why": "a JSON object with email is wanted"})) from error
