"""The whole service as an ASGI app."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import version
from typing import Any, Protocol, cast

from fastapi import APIRouter, FastAPI, Request

from driftwise.service import access, problems
from driftwise.service.api import asking, events, log, saying, sessions, studies
from driftwise.service.api.replies import Health
from driftwise.service.api.strict import OftenRoute
from driftwise.service.headers import Headers
from driftwise.service.limits import Bounded
from driftwise.service.logs import Logged
from driftwise.service.service import Service, service_of
from driftwise.service.settings import ServiceSettings
from driftwise.service.telemetry import Telemetry

READY_SECONDS = 5.0  # within which a store that is there answers
PARTS = ("dashboard", "flags", "metrics", "sources", "fleets")  # with `install`, where they are present


class Background(Protocol):
    """What a part does while the app runs."""

    async def start(self) -> None: ...
    async def stop(self) -> None: ...


class Installed(Protocol):
    """A package that adds its routes to an app, and may return what it does in the background."""

    def install(self, app: FastAPI, service: Service) -> Background | None: ...


def create_app(settings: ServiceSettings) -> FastAPI:
    """The app that serves the studies of `settings.store`."""
    service = Service.of(settings)

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        async with service.studies:
            running: list[Background] = [service.audit, *background]
            for each in running:
                await each.start()
            yield
            for each in reversed(running):
                await each.stop()

    app = FastAPI(
        title="driftwise",
        version=version("driftwise"),
        description="Studies that are tuned while the world changes: ask for a setting, tell the reward.",
        lifespan=life,
        docs_url=None,  # its pages take scripts from elsewhere
        redoc_url=None,
        openapi_url="/v1/openapi.json",
        separate_input_output_schemas=False,
    )
    app.state.service = service
    problems.install(app, settings)
    for name, call in asking.OFTEN.items():
        app.router.routes.append(OftenRoute(f"/v1/studies/{{name}}/{name}", call, methods=["POST"]))
    for module in (asking, saying, log, studies, sessions, events):
        app.include_router(module.router, prefix="/v1")
    app.include_router(_health())
    background = [made for part in _parts() if (made := part.install(app, service)) is not None]

    app.add_middleware(Bounded, settings=settings)
    app.add_middleware(Headers, settings=settings, needs_token=partial(access.needs_token, service))
    app.add_middleware(Logged, telemetry=Telemetry(), requests=service.requests)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _parts() -> list[Installed]:
    found = (name for part in PARTS if importlib.util.find_spec(name := f"driftwise.service.{part}") is not None)
    return [cast(Installed, importlib.import_module(name)) for name in found]


def _health() -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthy() -> Health:
        """Whether the process answers."""
        return Health(status="ok")

    @router.get("/readyz", responses=problems.answers())
    async def ready(request: Request) -> Health:
        """Whether the store answers, too. A load balancer should send requests only if it does."""
        service = service_of(request)
        try:
            async with asyncio.timeout(READY_SECONDS):
                await service.studies.run(lambda: service.database.counts(()))
        except TimeoutError:
            raise problems.Refused(503, f"the store must answer within {READY_SECONDS:g} s; wait for it") from None
        return Health(status="ok")

    return router


def _openapi(app: FastAPI) -> dict[str, Any]:
    """FastAPI's own description, and the schema of problems, which it does not know of."""
    if not app.openapi_schema:
        schema = FastAPI.openapi(app)
        parts = schema.setdefault("components", {}).setdefault("schemas", {})
        parts["ProblemDetails"] = problems.ProblemDetails.model_json_schema()
        for unused in ("HTTPValidationError", "ValidationError"):
            parts.pop(unused, None)
        schema["components"]["securitySchemes"] = access.SCHEMES
        for route in (
            route for path, all_ in schema["paths"].items() if path.startswith("/v1/") for route in all_.values()
        ):
            route["security"] = [{name: []} for name in access.SCHEMES]
    return app.openapi_schema or {}
