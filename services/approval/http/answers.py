"""Answers and refusals: JSON of our views, and problem documents (RFC 9457) in the reader's language."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import msgspec
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from services.approval.problems import CATALOGUE, Problem, document
from shared.db import TRANSIENT
from shared.web.languages import LANGUAGES
from shared.web.pages import reader_language
from shared.web.signing import NotConfirmed

PROBLEM_TYPE = "application/problem+json"
_PRIVATE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_WORD = {400: "unreadable", 401: "not-signed-in", 404: "not-found", 405: "wrong-method"}


class Refusal(Exception):  # noqa: N818 - a problem on its way to the edge
    """Raised by routes and their dependencies; the edge answers with its problem document."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.slug)
        self.problem = problem


def answer(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(value), status, media_type="application/json", headers={**_PRIVATE, **(headers or {})}
    )


def problem_answer(request: Request, problem: Problem) -> Response:
    body = msgspec.json.encode(document(problem, reader_language(request)))
    headers = dict(_PRIVATE)
    if problem.status == 401:
        headers["www-authenticate"] = "Bearer"
    return Response(body, problem.status, media_type=PROBLEM_TYPE, headers=headers)


def or_refuse(value: Any) -> Any:
    """The value, or its refusal when it is a problem."""
    if isinstance(value, Problem):
        raise Refusal(value)
    return value


def use_problems(api: FastAPI) -> None:
    """Every refusal of this application is a problem document."""

    async def on_refusal(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refusal)
        return problem_answer(request, error.problem)

    async def on_unconfirmed(request: Request, _error: Exception) -> Response:
        return problem_answer(request, Problem("csrf"))

    async def on_invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"][1:]) or "body"
        return problem_answer(request, Problem("invalid", {"field": field, "why": first["msg"]}))

    async def on_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        slug = _WORD.get(error.status_code)
        if slug is None:
            told = {"type": "about:blank", "title": HTTPStatus(error.status_code).phrase, "status": error.status_code}
            body = msgspec.json.encode(told | {"detail": str(error.detail)})
            return Response(body, error.status_code, headers=error.headers, media_type=PROBLEM_TYPE)
        refused = problem_answer(request, Problem(slug, {"what": "page"} if slug == "not-found" else {}))
        refused.headers.update(error.headers or {})
        return refused

    async def on_bug(request: Request, _error: Exception) -> Response:
        return problem_answer(request, Problem("failed"))

    async def on_transient(request: Request, _error: Exception) -> Response:
        return problem_answer(request, Problem("unavailable"))

    api.add_exception_handler(Refusal, on_refusal)
    api.add_exception_handler(NotConfirmed, on_unconfirmed)
    api.add_exception_handler(RequestValidationError, on_invalid)
    api.add_exception_handler(HTTPException, on_http)
    api.add_exception_handler(Exception, on_bug)
    for kind in TRANSIENT:
        api.add_exception_handler(kind, on_transient)


def catalogue_entry(slug: str, language: str) -> Mapping[str, Any] | None:
    kind = CATALOGUE.get(slug)
    if kind is None:
        return None
    at = LANGUAGES.index(language)
    return {"type": f"/problems/{slug}", "status": kind.status, "title": kind.title[at], "detail": kind.detail[at]}
