"""Routes that are called often, without what FastAPI does for whatever a route might have.

A request that is as it should be is answered here. Any other goes the ordinary way, which says what is wrong with it.
The description in OpenAPI is the ordinary one.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, get_type_hints

from fastapi import Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.requests import ClientDisconnect

from driftwise.errors import NotFoundError
from driftwise.service.access import caller, unescaped


class QuickRoute(APIRoute):
    """A route of a study: `async def route(request, name, body, who)`, where `who` is annotated by `needs`."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        ordinary, endpoint = super().get_route_handler(), self.endpoint
        hints = get_type_hints(endpoint, include_extras=True)
        body, reply = TypeAdapter(hints["body"]), TypeAdapter(hints["return"])
        checked = hints["who"].__metadata__[0].dependency

        async def quick(request: Request) -> Response:
            if request.headers.get("content-type") != "application/json":
                return await ordinary(request)
            try:
                given, name = body.validate_json(await request.body()), unescaped(request.path_params["name"])
            except (ValidationError, ClientDisconnect, NotFoundError):
                return await ordinary(request)
            who = await checked(request, await caller(request))
            found = await endpoint(request=request, name=name, body=given, who=who)
            return Response(reply.dump_json(found), media_type="application/json")

        return quick
