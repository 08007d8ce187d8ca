"""The provider's word on a person: an id token, and what makes it count. Pure: keys and the clock are arguments.

Laws
- A key of the provider's has signed it, by one of ALGORITHMS: none of them is keyed by something that others hold.
- Issuer, audience, expiry and nonce are those of this sign-in.
- Where the person was to be asked again, the token says that they were.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

import msgspec
from authlib.oidc.core import CodeIDToken
from joserfc import jwk, jwt
from joserfc.errors import BadSignatureError, InvalidKeyIdError, JoseError
from joserfc.jws import JWSRegistry

from shared.web.why import Why

ALGORITHMS: Final = (
    "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519",
)  # fmt: skip
LEEWAY_SECONDS: Final = 30
"""Between the provider's clock and ours."""

Claims = dict[str, Any]
KeySet = jwk.KeySet


class SignInError(Exception):
    """Somebody could not be signed in by the provider; `why` is what they are told."""

    why: Why = "not_verified"


class ProviderDown(SignInError):  # noqa: N818 - names what happened
    """The provider does not answer, or answers what no provider should."""

    why = "provider_down"


class NotVerified(SignInError):  # noqa: N818 - names what happened
    """What came back is not the provider's answer to this sign-in."""


class OtherKey(NotVerified):
    """No key that we know has signed it; the provider may have a new one."""


class NotFresh(SignInError):  # noqa: N818 - names what happened
    """The provider did not make the person prove anew who they are, or not as strongly as was asked."""

    why = "not_fresh"


class Expected(msgspec.Struct, frozen=True, kw_only=True):
    """What an id token must say."""

    issuer: str
    client_id: str
    nonce: str
    max_age_seconds: int | None = None
    acr: str = ""


def key_set(document: Mapping[str, Any]) -> KeySet:
    """The signing keys of a JWK set; keys of kinds that we do not know stay unused."""
    found: list[Any] = []
    for one in document["keys"]:
        if one.get("kty") == "oct" or one.get("use", "sig") != "sig":
            continue
        with suppress(JoseError, ValueError, KeyError, TypeError):
            found.append(jwk.import_key(one))
    return KeySet(found)


def read(token: str, keys: KeySet, expected: Expected, access_token: str, now: datetime) -> Claims:
    """The claims of an id token.

    Raises:
        OtherKey: it is signed by none of these keys.
        NotVerified: it does not count for another reason.
        NotFresh: it counts, but the person was to be asked again.
    """
    try:
        found = jwt.decode(token, keys, registry=JWSRegistry(algorithms=list(ALGORITHMS), strict_check_header=False))
        claims = CodeIDToken(
            found.claims,
            found.header,
            {
                "iss": {"essential": True, "value": expected.issuer},
                "aud": {"essential": True, "value": expected.client_id},
                "sub": {"essential": True},
            },
            {"nonce": expected.nonce, "client_id": expected.client_id, "access_token": access_token},
        )
        claims.validate(int(now.timestamp()), LEEWAY_SECONDS)  # pyright: ignore[reportUnknownMemberType] - untyped
    except (InvalidKeyIdError, BadSignatureError) as error:
        raise OtherKey(f"the id token is signed by no key of the provider's: {error}") from error
    except (JoseError, ValueError, TypeError) as error:
        raise NotVerified(f"the id token does not verify: {error!r}") from error
    plain: Claims = dict(claims)
    _must_be_fresh(plain, expected, now)
    return plain


def _must_be_fresh(claims: Claims, expected: Expected, now: datetime) -> None:
    if expected.max_age_seconds is not None:
        at = claims.get("auth_time")
        if not isinstance(at, int | float) or now.timestamp() - at > expected.max_age_seconds + LEEWAY_SECONDS:
            raise NotFresh(f"auth_time is {at}")
    if expected.acr and claims.get("acr") != expected.acr:
        raise NotFresh(f"acr is {claims.get('acr')}")
