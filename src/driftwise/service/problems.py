"""Errors as application/problem+json (RFC 9457): what went wrong, and the rule, the value and the fix."""

from __future__ import annotations

import json
import logging
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import Match

from driftwise import errors
from driftwise.checks import shown
from driftwise.service.settings import ServiceSettings

MEDIA = "application/problem+json"
SECONDS_TO_WAIT = 1  # before the next try, where the store is busy or away

logger = logging.getLogger("driftwise.service")


class ProblemDetails(BaseModel):
    """An error. `error` is the name of the exception that the Python client raises."""

    type: str = "about:blank"
    title: str
    status: int
    detail: Annotated[str, Field(description="A sentence with the rule, the value and the fix.")]
    error: Annotated[str, Field(description="The class in driftwise.errors.")]
    rule: str | None = None
    value: str | None = None
    fix: str | None = None


class Refused(errors.DriftwiseError):
    """A request that is refused before it reaches a study."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status, self.headers = status, {name.replace("_", "-"): value for name, value in headers.items()}


TITLES = {
    400: "The request is malformed",
    401: "A token is needed",
    403: "The token does not allow this",
    404: "There is nothing of this name",
    405: "The method is not allowed here",
    409: "This contradicts what is stored",
    411: "The length is missing",
    413: "The request is too large",
    415: "The media type is not supported",
    422: "A value breaks a rule",
    408: "The request took too long to arrive",
    421: "The service is not addressed by this name",
    429: "Too many requests",
    500: "The service has a bug",
    503: "The store is not available",
    504: "The answer took too long",
}
STATUS = (  # the first that fits
    (errors.NotFoundError, 404),
    (errors.InvalidInput, 422),
    (errors.ConflictError, 409),
    (errors.StoreError, 503),
    (errors.MissingExtra, 422),
)


def parts(message: str) -> tuple[str, str | None, str | None]:
    """The rule, the value and the fix of a message. All of ours have the same form.

    >>> parts("window must be ≥ 1, got 0; use gp-ucb to keep everything")
    ('window must be ≥ 1', '0', 'use gp-ucb to keep everything')
    >>> parts("reward must be finite, got inf")
    ('reward must be finite', 'inf', None)
    """
    head, _, fix = message.partition("; ")
    rule, _, value = head.partition(", got ")
    return rule, value or None, fix or None


# the exceptions of what is refused before it reaches a study
RAISED = {401: "AccessError", 403: "AccessError", 421: "AccessError", 404: "NotFoundError", 409: "ConflictError"}
RAISED |= {400: "InvalidInput", 405: "InvalidInput", 411: "InvalidInput", 413: "InvalidInput", 415: "InvalidInput"}
RAISED |= {422: "InvalidInput"}


def problem(status: int, detail: str, *, error: str | None = None, **headers: str) -> Response:
    """The answer that says what went wrong."""
    error = error or RAISED.get(status, "StoreError")
    rule, value, fix = parts(detail)
    body = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    body |= {"error": error, "rule": rule, "value": value, "fix": fix}
    text = json.dumps(body, ensure_ascii=False)
    return Response(text.encode("utf-8", "replace"), status, headers=headers, media_type=MEDIA)


def of_error(error: Exception, settings: ServiceSettings) -> Response:
    """The answer to any exception."""
    if isinstance(error, Refused):
        return problem(error.status, str(error), **error.headers)
    if isinstance(error, errors.DriftwiseError):
        status = next((status for kind, status in STATUS if isinstance(error, kind)), 500)
        waiting = {"Retry-After": str(SECONDS_TO_WAIT)} if status == 503 else {}
        detail = settings.scrubbed(str(error))
        return problem(status, detail, error=type(error).__name__, **waiting)
    if isinstance(error, TimeoutError):
        return problem(504, f"a call may take {settings.seconds:g} s; try again, or with a smaller request")
    logger.error("a bug: %s", error, exc_info=error)
    return problem(500, "something unexpected happened; the log of the service says more")


def _invalid(error: RequestValidationError, kind: str | None) -> Response:
    """What does not fit the schema: the first thing that is wrong, named as it is in the request."""
    first: dict[str, Any] = dict(error.errors()[0])
    where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
    if isinstance(first.get("input"), bytes):  # FastAPI leaves a body as it is unless the header says that it is JSON
        return problem(400, f"the header Content-Type must be application/json, got {shown(kind)}; send it along")
    if first["type"] == "json_invalid":
        return problem(400, f"the body must be JSON: {first.get('ctx', {}).get('error', first['msg'])}")
    said = str(first["msg"]).removeprefix("Value error, ").replace("Input should be ", "must be ")
    got = "" if first["type"] == "missing" else f", got {shown(first.get('input'))}"
    return problem(
        400,
        f"{where}: {said[:1].lower()}{said[1:]}{got}",
    )


def install(app: FastAPI, settings: ServiceSettings) -> None:
    """Make every error of the app a problem."""

    async def ours(request: Request, error: Exception) -> Response:
        return of_error(error, settings)

    async def invalid(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return _invalid(error, request.headers.get("content-type"))

    async def http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        refused: Refused | None = request.scope["state"].get("refused")
        if refused is not None:
            return of_error(refused, settings)
        if error.status_code == 405:
            allowed = ", ".join(sorted(_methods(request)))
            return problem(405, f"the method must be {allowed}, got {request.method}", Allow=allowed)
        said = (
            "there is nothing here; /v1/openapi.json lists what there is" if error.status_code == 404 else error.detail
        )
        return problem(error.status_code, str(said), **(dict(error.headers or {})))

    app.add_exception_handler(errors.DriftwiseError, ours)
    app.add_exception_handler(TimeoutError, ours)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, http)
    app.add_exception_handler(Exception, ours)


def _methods(request: Request) -> set[str]:
    """All methods of a path. Starlette names only those of the first route that has it."""
    found = set[str]()
    for route in request.app.router.routes:
        match, _ = route.matches(request.scope)
        if match is not Match.NONE:
            found |= set(getattr(route, "methods", None) or ())
    return found


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For OpenAPI: these errors, and those that every route may answer with."""
    always = (400, 401, 403, 408, 413, 421, 422, 429, 500, 503, 504)
    content = {MEDIA: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    found = sorted({*always, *statuses})
    return {status: {"description": TITLES[status], "content": content} for status in found}
