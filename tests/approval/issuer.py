"""A real OpenID provider (Canaille, through pytest-iam) that knows the approval service, and a browser between both."""

import base64
import json
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import httpx
from flask import request
from joserfc import jwk, jws, jwt

from services.approval.http import app
from tests.approval.office import TENANT, Office

HOME = "https://approval.example"
COOKIE = "__Host-chancela"
PENDING = "__Host-chancela-sign-in"
APPROVERS, VIEWERS = "chancela-approvers", "chancela-viewers"
MAPPING = {
    "tenant": {"always": str(TENANT)},
    "roles": {"claim": "groups", "values": {APPROVERS: ["approver"], VIEWERS: ["viewer"]}},
}


Token = tuple[dict[str, Any], dict[str, Any]]
"""Header and claims."""


@dataclass
class Issuer:
    """The provider, and the client that approval is there."""

    server: Any
    """A `pytest_iam.Server`; its models are made at run time, so that no type knows them."""
    client_id: str
    client_secret: str
    home: str = HOME

    @classmethod
    def knowing_us(cls, server: Any, home: str = HOME) -> "Issuer":
        """A client of its own for each test."""
        issuer = cls(server, f"approval-{uuid4().hex}", uuid4().hex, home)
        with server.app.app_context():
            client: Any = server.models.Client(
                client_id=issuer.client_id, client_secret=issuer.client_secret, client_name="Chancela", client_uri="http://127.0.0.1",
                contacts=["ops@example.com"], grant_types=["authorization_code"], response_types=["code"],
                redirect_uris=[f"{home}/sign-in/callback"], post_logout_redirect_uris=[f"{home}/sign-in"],
                scope=["openid", "email", "profile", "groups"], token_endpoint_auth_method="client_secret_basic",
            )  # fmt: skip
            server.backend.save(client)
            server.backend.update(client, audience=[client])
            server.backend.save(client)
        return issuer

    @property
    def url(self) -> str:
        return self.server.url.rstrip("/")

    def settings(self, **changed: Any) -> dict[str, Any]:
        """What makes approval a client of this provider."""
        known: dict[str, Any] = {
            "profile": "cluster", "local_sign_in": False, "people_file": "", "public_url": self.home,
            "oidc_issuer": self.url, "oidc_client_id": self.client_id, "oidc_client_secret": self.client_secret,
            "oidc_scopes": "openid email profile groups", "oidc_mapping": json.dumps(MAPPING),
        }  # fmt: skip
        return known | changed

    def person(self, email: str, *groups: str, **more: Any) -> Any:
        """Somebody with an account here."""
        with self.server.app.app_context():
            user = self.server.random_user(
                user_name=f"u{uuid4().hex}", emails=[email], formatted_name=email.partition("@")[0].title(), **more
            )
        for group in groups:
            self.join(user, group)
        return user

    def join(self, user: Any, group: str) -> None:
        models, backend = self.server.models, self.server.backend
        with self.server.app.app_context():
            known = backend.get(models.Group, display_name=group)
            if known is None:
                backend.save(models.Group(display_name=group, members=[user]))
            else:
                backend.update(known, members=[*known.members, user])
                backend.save(known)

    @property
    def keys(self) -> list[dict[str, Any]]:
        """The private keys that it signs with."""
        return self.server.app.config["CANAILLE_OIDC"]["ACTIVE_JWKS"]

    def sign(self, header: dict[str, Any], claims: dict[str, Any], key: Any = None) -> str:
        registry = jws.JWSRegistry(algorithms=list(jws.JWSRegistry.algorithms), strict_check_header=False)
        return jwt.encode(header, claims, key or jwk.import_key(self.keys[0]), registry=registry)

    @contextmanager
    def answering(self, path: str, change: Callable[[dict[str, Any]], dict[str, Any] | int]) -> Generator[None]:
        """Change what it answers at a path: another document, or a status without one."""

        def changed(response: Any) -> Any:
            if request.path != path or response.status_code != 200:
                return response
            said = change(response.json)
            if isinstance(said, int):
                response.status_code, said = said, {}
            response.set_data(json.dumps(said))
            return response

        hooks = self.server.app.after_request_funcs.setdefault(None, [])
        hooks.append(changed)
        try:
            yield
        finally:
            hooks.remove(changed)

    @contextmanager
    def minting(self, forge: Callable[["Issuer", dict[str, Any], dict[str, Any]], str]) -> Generator[None]:
        """Give out other id tokens: made of the header and the claims of the one that it would have given."""

        def changed(said: dict[str, Any]) -> dict[str, Any]:
            header, claims = read(said["id_token"])
            return said | {"id_token": forge(self, header, claims)}

        with self.answering("/oauth/token", changed):
            yield

    def leave(self, user: Any, group: str) -> None:
        models, backend = self.server.models, self.server.backend
        with self.server.app.app_context():
            known = backend.get(models.Group, display_name=group)
            backend.update(known, members=[one for one in known.members if one.id != user.id])
            backend.save(known)


def read(token: str) -> Token:
    header, claims, _ = token.split(".")
    return _part(header), _part(claims)


def _part(text: str) -> dict[str, Any]:
    return json.loads(base64.urlsafe_b64decode(f"{text}==="))


@asynccontextmanager
async def browser_of(office: Office) -> AsyncGenerator[httpx.AsyncClient]:
    """A browser's manners without a browser: cookies by host, and the provider over real HTTP."""
    own = httpx.ASGITransport(app(office.context))
    async with httpx.AsyncClient(base_url=HOME, mounts={HOME: own}) as client:
        yield client


async def walk(browser: httpx.AsyncClient, url: str = "/sign-in/start") -> httpx.Response:
    """Follow every redirect, to the last page."""
    return await browser.get(url, follow_redirects=True)


async def to_callback(browser: httpx.AsyncClient, url: str = "/sign-in/start") -> str:
    """The address by which the provider sends the browser back, not yet followed."""
    answer = await browser.get(url)
    for _ in range(10):
        following = answer.headers["location"]
        if urlsplit(following).path == "/sign-in/callback":
            return following
        answer = await browser.get(following)
    raise AssertionError("the provider does not send the browser back")


def asked(url: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}


def why(page: httpx.Response) -> str:
    """The code of the sign-in page that says what went wrong."""
    assert page.url.path == "/sign-in", page.url
    return asked(str(page.url)).get("why", "")
