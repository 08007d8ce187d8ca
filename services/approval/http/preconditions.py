"""The headers that prove what a caller saw, and that make a repeated request harmless."""

import hashlib
import re
from typing import NamedTuple

from fastapi import Request

from services.approval.http.answers import Refusal
from services.approval.problems import Problem
from services.approval.store.idempotency import Attempt

_ETAG = re.compile(r'"(\d{1,18})-([0-9a-f]{64})"')
_KEY_LIMIT = 200


class Seen(NamedTuple):
    """The text that was on the caller's screen."""

    epoch: int
    commitment: str


def seen(request: Request) -> Seen:
    """The `If-Match` header.

    Raises:
        Refusal: it is missing (428), or no ETag of an obligation.
    """
    header = request.headers.get("if-match", "").strip()
    if not header:
        raise Refusal(Problem("precondition-required", {"header": "If-Match"}))
    match = _ETAG.fullmatch(header)
    if match is None:
        raise Refusal(
            Problem("invalid", {"field": "If-Match", "why": 'the ETag of the item is wanted: "<epoch>-<commitment>"'})
        )
    return Seen(int(match[1]), match[2])


async def attempt(request: Request, caller: str) -> Attempt:
    """The `Idempotency-Key` header with the digest of all that was asked.

    Raises:
        Refusal: it is missing (428), or longer than 200 characters.
    """
    key = request.headers.get("idempotency-key", "").strip()
    if not key:
        raise Refusal(Problem("precondition-required", {"header": "Idempotency-Key"}))
    if len(key) > _KEY_LIMIT:
        raise Refusal(Problem("unfit", {"field": "Idempotency-Key", "size": len(key), "limit": _KEY_LIMIT}))
    head = f"{request.method} {request.url.path}\n{request.headers.get('if-match', '')}\n"
    return Attempt(caller, key, hashlib.sha256(head.encode() + await request.body()).digest())
