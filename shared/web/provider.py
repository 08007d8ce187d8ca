"""An OpenID provider: where it takes people in, and what it says of those who come back.

Laws
- What does not answer, or does not verify, is an error: nobody is half signed in.
- The provider's keys are asked for again when one is unknown, though not more often than every REFRESH_SECONDS, and
  after KEEP_SECONDS in any case: a key that the provider withdrew is not believed for longer.
"""

import asyncio
import secrets
import ssl
from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlencode

import httpx2
import msgspec
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client

from shared.clock import monotonic, utc_now
from shared.config import ConfigError
from shared.web import id_token
from shared.web.id_token import Claims, Expected, NotVerified, OtherKey, ProviderDown
from shared.web.settings import PagesConfig, is_kept_secret

KEEP_SECONDS: Final = 3600.0
REFRESH_SECONDS: Final = 10.0
ANSWER_SECONDS: Final = 5.0
CALLBACK: Final = "/sign-in/callback"

T = TypeVar("T")


class Pending(msgspec.Struct, frozen=True, kw_only=True):
    """A sign-in that was begun: what its browser keeps until the provider sends it back."""

    state: str
    nonce: str
    verifier: str
    """Of PKCE: only who began the sign-in can exchange its code."""
    back: str
    begun_at: int
    max_age_seconds: int | None = None
    acr: str = ""


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What the provider has said, and its token to remind it by."""

    claims: Claims
    id_token: str


class Metadata(msgspec.Struct, frozen=True, kw_only=True):
    """What we need of a discovery document."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str = ""
    end_session_endpoint: str = ""
    token_endpoint_auth_methods_supported: tuple[str, ...] = ("client_secret_basic",)


class KeyDocument(msgspec.Struct, frozen=True, kw_only=True):
    """A JWK set, as it is served."""

    keys: tuple[dict[str, Any], ...]


class _Kept(msgspec.Struct, frozen=True):
    """Something that the provider said, and when."""

    value: Any
    at: float

    def is_younger_than(self, seconds: float) -> bool:
        return monotonic() - self.at < seconds


def begin(back: str, *, max_age_seconds: int | None = None, acr: str = "") -> Pending:
    return Pending(
        state=secrets.token_urlsafe(24), nonce=secrets.token_urlsafe(24), verifier=secrets.token_urlsafe(48),
        back=back, begun_at=int(utc_now().timestamp()), max_age_seconds=max_age_seconds, acr=acr,
    )  # fmt: skip


class Provider:
    """The one provider of this installation."""

    def __init__(self, settings: PagesConfig) -> None:
        """Take the settings; nothing is asked of the provider yet.

        Raises:
            ConfigError: its authorities cannot be read.
        """
        self._settings = settings
        self._home = settings.public_url.rstrip("/")
        self._tls = _authorities(settings.oidc_ca_file)
        self._metadata: _Kept | None = None
        self._keys: _Kept | None = None
        self._asking = asyncio.Lock()

    async def way_in(self, pending: Pending) -> str:
        """The provider's page where this sign-in goes on.

        Raises:
            ProviderDown: it does not answer.
        """
        metadata = await self._discovered()
        asked: dict[str, Any] = {"nonce": pending.nonce}
        if pending.max_age_seconds is not None:
            asked["max_age"] = pending.max_age_seconds
        if pending.acr:
            asked["acr_values"] = pending.acr
        async with self._client(metadata) as client:
            url, _ = client.create_authorization_url(
                metadata.authorization_endpoint, state=pending.state, code_verifier=pending.verifier, **asked
            )
        return url

    async def verified(self, code: str, pending: Pending, lacks: Callable[[Claims], bool]) -> Verified:
        """What the provider says of the person whose browser brought this code.

        Args:
            code: what it gave the browser.
            pending: the sign-in that the browser began.
            lacks: whether the id token leaves something open that the provider may tell when asked.

        Raises:
            ProviderDown: it does not answer.
            NotVerified: the code or the token is not of this sign-in.
            NotFresh: it did not ask the person again, as was wanted.
        """
        metadata = await self._discovered()
        async with self._client(metadata) as client:
            answer = await _exchanged(client, metadata.token_endpoint, code, pending)
            token, access_token = answer.get("id_token"), answer.get("access_token")
            if not isinstance(token, str) or not isinstance(access_token, str):
                raise NotVerified("the code was exchanged for something else than two tokens")
            claims = await self._claims(token, access_token, pending)
            if metadata.userinfo_endpoint and lacks(claims):
                claims = await _with_userinfo(client, metadata.userinfo_endpoint, claims)
        return Verified(claims=claims, id_token=token)

    async def way_out(self, token: str) -> str:
        """The provider's page that ends its own session too; empty where it has none.

        Raises:
            ProviderDown: it does not answer.
        """
        metadata = await self._discovered()
        if not metadata.end_session_endpoint:
            return ""
        told = {"client_id": self._settings.oidc_client_id, "post_logout_redirect_uri": f"{self._home}/sign-in"}
        if token:
            told["id_token_hint"] = token
        joint = "&" if "?" in metadata.end_session_endpoint else "?"
        return f"{metadata.end_session_endpoint}{joint}{urlencode(told)}"

    def _client(self, metadata: Metadata | None = None) -> Any:
        """Authlib's client is untyped: what comes of it is checked here."""
        known, offered = self._settings, metadata.token_endpoint_auth_methods_supported if metadata else ()
        by = "client_secret_basic" if not offered or "client_secret_basic" in offered else "client_secret_post"
        return AsyncOAuth2Client(
            known.oidc_client_id, known.oidc_client_secret or None, scope=known.oidc_scopes,
            token_endpoint_auth_method=by if known.oidc_client_secret else "none", code_challenge_method="S256",
            redirect_uri=f"{self._home}{CALLBACK}", timeout=ANSWER_SECONDS, verify=self._tls,
        )  # fmt: skip

    async def _claims(self, token: str, access_token: str, pending: Pending) -> Claims:
        expected = Expected(
            issuer=self._settings.oidc_issuer, client_id=self._settings.oidc_client_id, nonce=pending.nonce,
            max_age_seconds=pending.max_age_seconds, acr=pending.acr,
        )  # fmt: skip
        try:
            return id_token.read(token, await self._key_set(KEEP_SECONDS), expected, access_token, utc_now())
        except OtherKey:
            return id_token.read(token, await self._key_set(REFRESH_SECONDS), expected, access_token, utc_now())

    async def _discovered(self) -> Metadata:
        async with self._asking:
            if self._metadata is None or not self._metadata.is_younger_than(KEEP_SECONDS):
                issuer = self._settings.oidc_issuer
                url = f"{issuer.rstrip('/')}/.well-known/openid-configuration"
                self._metadata = _Kept(_checked(await self._got(url, Metadata), issuer), monotonic())
            return self._metadata.value

    async def _key_set(self, younger_than: float) -> id_token.KeySet:
        url = (await self._discovered()).jwks_uri
        async with self._asking:
            if self._keys is None or not self._keys.is_younger_than(younger_than):
                document = await self._got(url, KeyDocument)
                self._keys = _Kept(id_token.key_set(msgspec.to_builtins(document)), monotonic())
            return self._keys.value

    async def _got(self, url: str, kind: type[T]) -> T:
        async with self._client() as client:
            return await _asked(client, url, kind, withhold_token=True)


def _authorities(file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=file or None)
    except OSError as error:
        raise ConfigError(f"CHANCELA_OIDC_CA_FILE={file} cannot be read: {error}") from error


async def _exchanged(client: Any, url: str, code: str, pending: Pending) -> dict[str, Any]:
    try:
        return await client.fetch_token(url, code=code, code_verifier=pending.verifier, grant_type="authorization_code")
    except OAuthError as error:
        raise NotVerified(f"the code was refused: {error.error}") from error  # pyright: ignore[reportUnknownMemberType] - untyped
    except (httpx2.HTTPError, ValueError) as error:
        raise ProviderDown(f"{url}: {error!r}") from error


async def _with_userinfo(client: Any, url: str, claims: Claims) -> Claims:
    """What the id token says, and what it left out; the same person's, or nothing of it counts."""
    more = await _asked(client, url, dict[str, Any])
    if more.get("sub") != claims["sub"]:
        raise NotVerified("userinfo speaks of somebody else")
    return more | claims


async def _asked(client: Any, url: str, kind: type[T], **how: Any) -> T:
    try:
        answer = await client.request("GET", url, **how)
        answer.raise_for_status()
        return msgspec.json.decode(answer.content, type=kind)
    except (httpx2.HTTPError, msgspec.MsgspecError, OAuthError) as error:
        raise ProviderDown(f"{url}: {error!r}") from error


def _checked(metadata: Metadata, issuer: str) -> Metadata:
    """A document of another issuer's, or with ways that others can read, is no document."""
    if metadata.issuer != issuer:
        raise ProviderDown(f"the discovery document is of {metadata.issuer}, not of {issuer}")
    ways = (metadata.authorization_endpoint, metadata.token_endpoint, metadata.jwks_uri)
    more = (metadata.userinfo_endpoint, metadata.end_session_endpoint)
    if bare := [url for url in (*ways, *filter(None, more)) if not is_kept_secret(url)]:
        raise ProviderDown(f"the discovery document names {bare[0]}, which is not https")
    return metadata
