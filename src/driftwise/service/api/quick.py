"""Routes that are called often, without what FastAPI and Starlette do for whatever a route might have.

A request that is as it should be is answered here. Any other goes the ordinary way, which says what is wrong with it.
The description in OpenAPI is the ordinary one.
"""

from __future__ import annotations

from typing import Any, get_type_hints

from fastapi import APIRouter, Request, Response
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError

from driftwise.errors import NotFoundError
from driftwise.service.access import caller, unescaped
from driftwise.service.limits import App, Message, Receive, Send

STUDIES = "/v1/studies"


class QuickCall:
    """A route of a study: `async def route(request, name, body, who)`, where `who` is annotated by `needs`."""

    def __init__(self, route: APIRoute) -> None:
        hints = get_type_hints(route.endpoint, include_extras=True)
        self.route = route
        self._body, self._reply = TypeAdapter(hints["body"]), TypeAdapter(hints["return"])
        self._checked = hints["who"].__metadata__[0].dependency

    async def answer(self, request: Request, name: str, body: bytes) -> Response | None:
        """The answer; None if the request is not as it should be."""
        try:
            given, study = self._body.validate_json(body), unescaped(name)
        except (ValidationError, NotFoundError):
            return None
        who = await self._checked(request, await caller(request))
        found = await self.route.endpoint(request=request, name=study, body=given, who=who)
        return Response(self._reply.dump_json(found), media_type="application/json")


class Quick:
    """Around an app: answers the routes of a router by itself."""

    def __init__(self, app: App, router: APIRouter) -> None:
        self._app = app
        routes = (route for route in router.routes if isinstance(route, APIRoute))
        self._calls = {route.path.rpartition("/")[2]: QuickCall(route) for route in routes}

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        call, name = self._found(scope)
        if call is None or (b"content-type", b"application/json") not in scope["headers"]:
            return await self._app(scope, receive, send)
        body, message = b"", await receive()
        while message["type"] == "http.request" and message.get("more_body", False):
            body, message = body + message.get("body", b""), await receive()
        body += message.get("body", b"")
        scope["path_params"], scope["route"] = {"name": name}, call.route
        answer = await call.answer(Request(scope, receive), name, body) if message["type"] == "http.request" else None
        if answer is None:
            return await self._app(scope, _again(body, message, receive), send)
        return await answer(scope, receive, send)

    def _found(self, scope: Any) -> tuple[QuickCall | None, str]:
        if scope["type"] != "http" or scope["method"] != "POST":
            return None, ""
        parts = scope["path"].rsplit("/", 2)
        return (self._calls.get(parts[2]), parts[1]) if len(parts) == 3 and parts[0] == STUDIES else (None, "")


def _again(body: bytes, last: Message, receive: Receive) -> Receive:
    """What was received already, and then the rest."""
    waiting = [{**last, "body": body} if last["type"] == "http.request" else last]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
