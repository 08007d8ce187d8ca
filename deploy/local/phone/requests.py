"""What every route shares: the line behind the application, and bodies that must be JSON objects."""

from typing import TYPE_CHECKING, Any

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from deploy.local.phone.waha import http_error

if TYPE_CHECKING:
    from deploy.local.phone.line import Line


def line_of(request: Request) -> "Line":
    return request.app.state.line


async def read_json(request: Request) -> dict[str, Any]:
    try:
        return msgspec.json.decode(await request.body(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as fault:
        raise HTTPException(400, f"The body must be a JSON object: {fault}") from fault


def invalid(*problems: str) -> JSONResponse:
    return JSONResponse(http_error(400, list(problems), "Bad Request"), 400)
