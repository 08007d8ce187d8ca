"""The edge: bytes of a webhook in, an answer in milliseconds out.

Laws
- The signature is checked over the raw bytes before anything is read; what fails is counted and dropped, never kept.
- 2xx is said only after the commit. WAHA retries on every other status, so what is authentic but of no use is 2xx too.
- Errors are problem documents (RFC 9457); nothing of the body is ever in one, nor in a log line.
"""

import traceback
from collections.abc import Mapping
from datetime import timedelta
from typing import Final
from uuid import UUID

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from starlette.requests import ClientDisconnect

from contracts.channel import Action, ChannelEvent, Rejected, decide_action
from contracts.channels import waha
from services.ingest import metrics, webhook
from services.ingest.config import Channel, Config, load_channels
from services.ingest.hearing import Decision
from shared import log, trace
from shared.clock import utc_now
from shared.db import LOST_RACE, TRANSIENT
from shared.runtime import Context

LONGEST_BODY_BYTES: Final = 3 * 1024 * 1024
RETRY_AFTER_SECONDS: Final = 5
_TITLES: Final = {
    400: "The request cannot be read",
    401: "The webhook is not authentic",
    403: "The session is not this channel's",
    404: "There is nothing at this address",
    405: "This address takes only POST",
    413: "The webhook is too large",
    500: "The webhook could not be handled",
    503: "Try again soon",
}

_log = log.get(__name__)


def app(context: Context[Config]) -> FastAPI:
    """The ASGI application; reads the channels file, whose keys stay in memory."""
    channels = load_channels(context.config.channels_file)
    pages = FastAPI(title="Chancela ingest", docs_url=None, redoc_url=None)

    @pages.post("/webhooks/waha/{channel}")
    async def receive(channel: str, request: Request) -> JSONResponse:  # pyright: ignore[reportUnusedFunction] - the router holds it
        """Take one webhook of WAHA; `channel` is the channel's id or slug.

        200 `{action, id}`; problem documents: 400 not JSON, 401 not authentic or not fresh, 403 of another session,
        404 no such channel, 413 over 3 MiB, 503 try again.
        """
        trace.start(request.headers.get("traceparent"))
        with metrics.SECONDS.time():
            known = channels.at(channel)
            if known is None:
                return _problem(404, "channel_unknown", "No channel has this id or slug. Check the webhook's address.")
            return await _receive(context, known, request)

    for status in (404, 405):
        pages.add_exception_handler(status, _nothing_here)
    return pages


async def _receive(context: Context[Config], channel: Channel, request: Request) -> JSONResponse:
    try:
        raw = await _body(request)
    except ClientDisconnect:
        return _problem(400, "cut_short", "The connection ended before the body did.")
    if raw is None:
        return _problem(413, "body_too_large", f"A webhook has at most {LONGEST_BODY_BYTES} bytes.")
    event = _read(context.config, channel, request.headers, raw)
    if isinstance(event, Rejected):
        action = decide_action(event)
        metrics.answered(channel.slug, action)
        return _problem(event.status, event.code, event.detail, action=action)
    return await _hear(context, channel, event, raw)


async def _body(request: Request) -> bytes | None:
    """The raw bytes; None as soon as there are too many, announced or not."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > LONGEST_BODY_BYTES:
        return None
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_BODY_BYTES:
            return None
    return bytes(body)


def _read(config: Config, channel: Channel, headers: Mapping[str, str], raw: bytes) -> ChannelEvent | Rejected:
    return waha.authenticate(headers, raw, channel.hmac_key.encode()) or waha.parse(
        raw,
        sessions={channel.session},
        arrived_at=utc_now(),
        freshness=timedelta(hours=config.webhook_freshness_hours),
    )


async def _hear(context: Context[Config], channel: Channel, event: ChannelEvent, raw: bytes) -> JSONResponse:
    cause = webhook.cause_of(channel, event)
    try:
        decision = await _hear_once_more_if_beaten(context, channel, event, raw, cause)
    except TRANSIENT as error:
        _log.warning("a webhook must come again", channel=channel.slug, error=type(error).__name__)
        again = {"Retry-After": str(RETRY_AFTER_SECONDS)}
        return _problem(503, "database_unavailable", "Nothing was taken. Send the webhook again.", headers=again)
    except Exception as error:  # noqa: BLE001 - a bug of ours: the sender retries, the log gets the place but no values
        where = "".join(traceback.format_tb(error.__traceback__))
        _log.error("a webhook failed", channel=channel.slug, error=type(error).__name__, where=where)
        return _problem(500, "webhook_failed", "Nothing was taken. The cause is in the log of ingest.")
    metrics.answered(channel.slug, decision.action)
    metrics.opted(decision.opt_out)
    return JSONResponse({"action": decision.action, "id": str(cause)})


async def _hear_once_more_if_beaten(
    context: Context[Config], channel: Channel, event: ChannelEvent, raw: bytes, cause: UUID
) -> Decision:
    """A webhook and the bus may want the same two rows in the other order; the loser of that is free to go at once."""
    try:
        return await webhook.hear(context, channel, event, raw, cause)
    except LOST_RACE:
        return await webhook.hear(context, channel, event, raw, cause)


async def _nothing_here(_request: Request, error: Exception) -> JSONResponse:
    status = getattr(error, "status_code", 404)
    return _problem(status, "no_such_page", "Webhooks are posted to /webhooks/waha/{channel}.")


def _problem(
    status: int, code: str, detail: str, *, action: Action | None = None, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """A problem document; `action` is set where the codec judged the webhook."""
    metrics.rejected(code)
    document = {"type": f"urn:chancela:problem:{code}", "title": _TITLES[status], "status": status, "detail": detail}
    if action is not None:
        document["action"] = action
    return JSONResponse(document, status, headers, "application/problem+json")
