"""The figures of the service and of each study at `/metrics`, as Prometheus reads them.

`collect` turns counts into metrics. What is answered, and how long that takes, is counted by `Logged` in `logs`.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, Request, Response

from driftwise.service.access import Caller, needs
from driftwise.service.metrics.collect import text_of
from driftwise.service.service import Service, service_of


def install(app: FastAPI, _: Service) -> None:
    """Add the metrics to an app."""

    @app.get("/metrics", include_in_schema=False)
    async def metrics(request: Request, who: Annotated[Caller, needs("read")]) -> Response:
        """Metrics in Prometheus' text format, of the studies that the token is for."""
        service = service_of(request)
        counts = await service.studies.run(service.database.counts)
        covered = {name: each for name, each in counts.items() if who.token.covers(name)}
        answered = service.requests.snapshot()  # here, because it changes on this very thread
        text = await service.studies.run(lambda: text_of(covered, answered, service.streams.taken))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")
