"""Our cookies: out of reach of scripts and of other sites, and under `__Host-` bound to this very host."""

import base64
import binascii
from typing import Final, Literal

import msgspec
from fastapi import Request, Response

from shared.web.provider import Pending

PENDING_SECONDS: Final = 600
"""A sign-in that was begun must come back within this."""
_pending: Final = msgspec.json.Decoder(Pending)


class Cookies:
    """The session of a browser, and the sign-in that it has begun. `__Host-` needs https; loopback has none."""

    def __init__(self, service: str, profile: Literal["local", "cluster"]) -> None:
        self.is_secure = profile == "cluster"
        self.session = "__Host-chancela" if self.is_secure else f"chancela-{service}"
        self.pending = f"{self.session}-sign-in"

    def secret(self, request: Request) -> str:
        return request.cookies.get(self.session, "")

    def keep_secret(self, response: Response, secret: str, seconds: float) -> None:
        self._set(response, self.session, secret, seconds)

    def drop_secret(self, response: Response) -> None:
        self._drop(response, self.session)

    def begun(self, request: Request) -> Pending | None:
        """The sign-in that this browser began; it is nobody's proof of anything but that."""
        try:
            return _pending.decode(base64.urlsafe_b64decode(request.cookies.get(self.pending, "")))
        except (msgspec.MsgspecError, binascii.Error, ValueError):
            return None

    def keep_begun(self, response: Response, pending: Pending) -> None:
        value = base64.urlsafe_b64encode(msgspec.json.encode(pending)).decode()
        self._set(response, self.pending, value, PENDING_SECONDS)

    def drop_begun(self, response: Response) -> None:
        self._drop(response, self.pending)

    def _set(self, response: Response, name: str, value: str, seconds: float) -> None:
        response.set_cookie(
            name, value, max_age=int(seconds), path="/", httponly=True, samesite="lax", secure=self.is_secure
        )

    def _drop(self, response: Response, name: str) -> None:
        response.delete_cookie(name, path="/", httponly=True, samesite="lax", secure=self.is_secure)
