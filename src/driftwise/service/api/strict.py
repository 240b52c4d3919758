"""Requests whose JSON has each key once, and the routes that are called often, without what others need.

FastAPI reads a body, resolves dependencies and checks an answer in general; of a tell on SQLite that is a third of the
time of the service's processor. `often` has Starlette call such a route by itself. OpenAPI describes the ordinary one.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.routing import Match, Route

from driftwise.service.access import allowed, unescaped
from driftwise.service.api.bodies import Body

JSON = "application/json"
Call = Callable[[Request], Awaitable[Response]]


class StrictRequest(Request):
    """A request whose body must not name anything twice: which one counts, every program would decide for itself."""

    async def json(self) -> Any:
        return read(await self.body())


class StrictRoute(APIRoute):
    """A route that takes such requests."""

    def get_route_handler(self) -> Call:  # type: ignore[override]
        answer = super().get_route_handler()

        async def strictly(request: Request) -> Response:
            return await answer(StrictRequest(request.scope, request.receive))

        return strictly


def read(body: bytes, kind: str = JSON) -> Any:
    """What a body says; a body that is not said to be JSON as it is."""
    return json.loads(body, object_pairs_hook=_once) if kind.partition(";")[0].strip().lower() == JSON else body


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(key for i, (key, _) in enumerate(pairs) if key in dict(pairs[:i]))
        raise json.JSONDecodeError(f"{twice!r:.80} is there twice", "", 0)
    return found


class OftenRoute(Route):
    """A route of Starlette's that says which it is, as those of FastAPI do."""

    def matches(self, scope: Any) -> tuple[Match, Any]:
        match, child = super().matches(scope)
        return match, {**child, "route": self}


def often(route: Callable[..., Awaitable[Any]], body: type[Body], reply: Any, scope: str) -> Call:
    """What Starlette calls for `async def route(request, name, body, who)`."""
    written = TypeAdapter(reply)

    async def answer(request: Request) -> Response:
        who = await allowed(request, scope)
        try:
            given = body.model_validate(read(await request.body(), request.headers.get("content-type", "")))
        except ValidationError as error:
            raise RequestValidationError([{**each, "loc": ("body", *each["loc"])} for each in error.errors()]) from None
        except (ValueError, RecursionError) as error:
            wrong = {"type": "json_invalid", "loc": ("body",), "msg": str(error), "ctx": {"error": str(error)}}
            raise RequestValidationError([wrong]) from None
        found = await route(request, unescaped(request.path_params["name"]), given, who)
        return Response(written.dump_json(found), media_type=JSON)

    return answer
