"""People's way into the pages of a service, and out: sessions of its own, at the provider's word.

Laws
- A session begins with a secret that nobody has seen; the one that the browser brought ends then. What a browser brings
  is never taken over.
- A browser comes back with the very sign-in that it began, within PENDING_SECONDS, once.
- Whatever goes wrong on the way leaves no session, and a page that says what to do.
- What came by cookie changes nothing without the session's CSRF token, in a header or in its form.
"""

import asyncio
import hmac
import secrets
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse

from shared import log
from shared.clock import monotonic, utc_now
from shared.config import ConfigError
from shared.db import Database
from shared.web import claims, provider, store
from shared.web.bounds import Failures
from shared.web.claims import ClaimsMapping, Identity
from shared.web.cookies import PENDING_SECONDS, Cookies
from shared.web.id_token import ProviderDown, SignInError
from shared.web.people import Person
from shared.web.provider import CALLBACK, Pending, Provider, Verified
from shared.web.returning import inside, sign_in_page
from shared.web.secret import new_secret, tenant_of
from shared.web.settings import PagesConfig
from shared.web.store import Proof, Session
from shared.web.why import Why

AT_ONCE: Final = 8
"""So many wait for the provider at the same time; further ones are told to come again."""
SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
FORM_FIELD: Final = "csrf"
BY_ITSELF: Final = "x-by-itself"
_log = log.get(__name__)


class NotConfirmed(Exception):  # noqa: N818 - names what is missing
    """A request that came by cookie brought no CSRF token of its session."""


class Signing:
    """Sessions, and the provider where one is set. One for each service."""

    def __init__(
        self, service: str, settings: PagesConfig, db: Database, web_db: Database, roles: Collection[str]
    ) -> None:
        """Take the settings.

        Args:
            service: whose pages; names the cookie of the local profile.
            settings: how people sign in.
            db: the bus role's connections: finds out whose tenant somebody is, locally.
            web_db: the web role's, which see one tenant at a time.
            roles: those that the service knows.

        Raises:
            ConfigError: the mapping is none, or a file of the provider's cannot be read.
        """
        self.settings = settings
        self.cookies = Cookies(service, settings.profile)
        self.provider = Provider(settings) if settings.oidc_issuer else None
        self._mapping = _mapping(settings, roles) if settings.oidc_issuer else None
        self._db = db
        self._web = web_db
        self._failures = Failures()
        self._turns = asyncio.Semaphore(AT_ONCE)

    # ----------------------------------------------------------------------------------------------------- sessions

    async def session(self, secret: str, prefix: str = "", *, is_used: bool = True) -> Session | None:
        """The living session of a secret."""
        tenant = tenant_of(secret, prefix)
        if tenant is None:
            return None
        async with self._web.transaction(tenant) as tx:
            idle = timedelta(minutes=self.settings.session_idle_minutes)
            return await store.session(tx, secret, idle, is_used=is_used)

    async def of_cookie(self, request: Request) -> Session | None:
        """The session of the browser.

        Raises:
            NotConfirmed: the request would change something, and is not confirmed by a page of this session.
        """
        session = await self.session(self.cookies.secret(request), is_used=not _is_by_itself(request))
        if session is None or session.is_token:
            return None
        if request.method not in SAFE and not await _is_confirmed(request, session):
            raise NotConfirmed
        return session

    async def begin(self, person: Person, proof: Proof, *, prefix: str = "", replaces: str = "") -> tuple[str, str]:
        """A new session in the place of the browser's old one; returns its secret and its CSRF token."""
        secret, csrf = new_secret(person.tenant, prefix), secrets.token_urlsafe(24)
        lasts = timedelta(hours=self.settings.session_hours)
        async with self._web.transaction(person.tenant) as tx:
            await store.begin_session(tx, person, secret, csrf=csrf, lasts=lasts, proof=proof, is_token=bool(prefix))
        await self._ended(replaces)
        return secret.text, csrf

    async def begin_locally(
        self, email: str, *, prefix: str = "", replaces: str = ""
    ) -> tuple[Person, str, str] | None:
        """Sign somebody in by their address: (person, secret, CSRF token); None when nobody active has it."""
        async with self._db.transaction() as tx:
            person = await store.person_of(tx, email)
        if person is None:
            return None
        return person, *await self.begin(person, Proof(utc_now()), prefix=prefix, replaces=replaces)

    def keep(self, response: Response, secret: str) -> None:
        self.cookies.keep_secret(response, secret, self.settings.session_hours * 3600)

    async def end(self, request: Request) -> str:
        """End the browser's session here; returns the page that ends it at the provider, or our own."""
        token = await self._ended(self.cookies.secret(request))
        if self.provider is None or token is None:
            return "/sign-in"
        try:
            return await self.provider.way_out(token) or "/sign-in"
        except ProviderDown as error:
            _log.warning("a session ended here alone", error=str(error))
            return "/sign-in"

    async def _ended(self, secret: str) -> str | None:
        tenant = tenant_of(secret)
        if tenant is None:
            return None
        async with self._web.transaction(tenant) as tx:
            return await store.end_session(tx, secret)

    # ------------------------------------------------------------------------------------------------------ step-up

    def is_fresh(self, session: Session) -> bool:
        """Whether the person has proved who they are recently and strongly enough for a critical decision.

        Where nothing was asked of them (the local sign-in) nothing can be asked again.
        """
        wanted = self.settings.step_up_minutes * 60
        if self.provider is None or not wanted:
            return True
        is_strong = not self.settings.step_up_acr or session.acr == self.settings.step_up_acr
        return is_strong and session.age_seconds is not None and session.age_seconds <= wanted

    # ------------------------------------------------------------------------------------------- the provider's word

    async def way_in(self, back: str, *, is_fresh_wanted: bool) -> tuple[str, Pending]:
        """The provider's page, and the sign-in that begins there.

        Raises:
            ProviderDown: it does not answer.
        """
        assert self.provider is not None
        known = self.settings
        pending = (
            provider.begin(back, max_age_seconds=int(known.step_up_minutes * 60), acr=known.step_up_acr)
            if is_fresh_wanted
            else provider.begin(back)
        )
        return await self.provider.way_in(pending), pending

    async def come_back(self, request: Request) -> tuple[str, str] | Why:
        """The secret of a new session and the page to go to; or why there is none."""
        address, now = request.client.host if request.client else "", monotonic()
        if self._turns.locked() or self._failures.are_too_many(address, now):
            return "busy"
        async with self._turns:
            came = await self._come_back(request)
        if isinstance(came, str):
            self._failures.add(address, now)
            _log.warning("nobody was signed in", why=came)
        return came

    async def _come_back(self, request: Request) -> tuple[str, str] | Why:
        pending, told = self.cookies.begun(request), request.query_params
        if pending is None or not _is_same(told.get("state", ""), pending.state) or _is_over(pending):
            return "too_late"
        if told.get("iss", self.settings.oidc_issuer) != self.settings.oidc_issuer:
            return "not_verified"
        if "error" in told or not told.get("code"):
            return "declined"
        try:
            verified = await self._verified(told["code"], pending)
        except SignInError as error:
            _log.warning("the identity provider's answer does not serve", error=str(error))
            return error.why
        return await self._let_in(verified, pending, self.cookies.secret(request))

    async def _verified(self, code: str, pending: Pending) -> Verified:
        assert self.provider is not None
        assert self._mapping is not None
        mapping = self._mapping
        return await self.provider.verified(code, pending, lambda said: not mapping.is_answered_by(said))

    async def _let_in(self, verified: Verified, pending: Pending, replaces: str) -> tuple[str, str] | Why:
        assert self._mapping is not None
        identity = claims.identify(verified.claims, self._mapping)
        if not isinstance(identity, Identity):
            return identity
        async with self._web.transaction(identity.person.tenant) as tx:
            if not identity.person.roles:
                await store.roles_gone(tx, identity.person.tenant, identity.subject)
                return "no_role"
            person = await store.take_person(tx, identity)
        if not isinstance(person, Person):
            return person
        secret, _ = await self.begin(person, _proof(verified), replaces=replaces)
        return secret, inside(pending.back)


def _mapping(settings: PagesConfig, roles: Collection[str]) -> ClaimsMapping:
    try:
        return claims.read_mapping(settings.oidc_mapping, roles)
    except claims.MappingError as error:
        raise ConfigError(f"CHANCELA_OIDC_MAPPING: {error}") from error


def _proof(verified: Verified) -> Proof:
    at, acr = verified.claims.get("auth_time"), verified.claims.get("acr")
    is_told = isinstance(at, int | float)
    return Proof(
        min(datetime.fromtimestamp(at, UTC), utc_now()) if is_told else None,
        acr if isinstance(acr, str) else "",
        verified.id_token,
    )


def _is_over(pending: Pending) -> bool:
    return not 0 <= utc_now().timestamp() - pending.begun_at <= PENDING_SECONDS


def _is_same(left: str, right: str) -> bool:
    return hmac.compare_digest(left.encode(), right.encode())


def _is_by_itself(request: Request) -> bool:
    """Whether an open page asks, without anybody before it: that keeps no session alive."""
    return BY_ITSELF in request.headers or request.headers.get("accept") == "text/event-stream"


async def _is_confirmed(request: Request, session: Session) -> bool:
    brought = request.headers.get("x-csrf-token", "")
    if not brought and request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded"):
        brought = str((await request.form()).get(FORM_FIELD, ""))
    return _is_same(brought, session.csrf)


# ------------------------------------------------------------------------------------------------------------ routes


def signing_of(request: Request) -> Signing:
    return request.app.state.signing


router = APIRouter(include_in_schema=False)


@router.get("/sign-in/start")
async def start(request: Request, next: str = "/", fresh: bool = False) -> Response:  # noqa: A002 - its name in the address
    """To the provider."""
    signing, back = signing_of(request), inside(next)
    if signing.provider is None:
        return RedirectResponse(sign_in_page(back), 303)
    try:
        url, pending = await signing.way_in(back, is_fresh_wanted=fresh)
    except ProviderDown as error:
        _log.warning("the identity provider does not answer", error=str(error))
        return RedirectResponse(sign_in_page(back, "provider_down"), 303)
    response = RedirectResponse(url, 303)
    signing.cookies.keep_begun(response, pending)
    return _private(response)


@router.get(CALLBACK)
async def come_back(request: Request) -> Response:
    """From the provider, with a code."""
    signing = signing_of(request)
    if signing.provider is None:
        return RedirectResponse("/sign-in", 303)
    came: Any = await signing.come_back(request)
    if isinstance(came, str):
        pending = signing.cookies.begun(request)
        response = RedirectResponse(sign_in_page(pending.back if pending else "", came), 303)  # pyright: ignore[reportArgumentType] - a Why
    else:
        secret, back = came
        response = RedirectResponse(back, 303)
        signing.keep(response, secret)
    signing.cookies.drop_begun(response)
    return _private(response)


def _private(response: Response) -> Response:
    response.headers["cache-control"] = "no-store"
    response.headers["referrer-policy"] = "no-referrer"
    return response
