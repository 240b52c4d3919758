"""The figures of the service and of each study at `/metrics`, as Prometheus reads them, by its own library.

What is answered, and how long that takes, is counted by `Logged` in `logs`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated

from fastapi import FastAPI, Request, Response
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from driftwise.log import Counts
from driftwise.service.access import Caller, needs
from driftwise.service.service import Service, service_of

STUDY = {
    "rewards": "Observations that have a reward.",
    "failed": "Observations of settings that failed.",
    "unanswered": "Suggestions that have no outcome, however old they are.",
    "abandoned": "Suggestions that were abandoned.",
    "corrected": "Corrections and retractions.",
    "jittered": "Suggestions that needed jitter.",
}


def install(app: FastAPI, _: Service) -> None:
    """Add the metrics to an app."""

    @app.get("/metrics", include_in_schema=False)
    async def metrics(request: Request, who: Annotated[Caller, needs("read")]) -> Response:
        """Metrics in Prometheus' text format, of the studies that the token is for."""
        service = service_of(request)
        counts = await service.studies.run(service.database.counts)
        covered = {name: each for name, each in counts.items() if who.token.covers(name)}
        text = await service.studies.run(lambda: text_of(covered, service.requests, service.streams.taken))
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


class Figures:
    """What the library asks for its metrics: they are made when they are read."""

    def __init__(self, counts: Mapping[str, Counts], requests: Histogram, streams: int) -> None:
        self._counts, self._requests, self._streams = counts, requests, streams

    def collect(self) -> Iterator[Metric]:
        for name, meaning in STUDY.items():
            gauge = GaugeMetricFamily(f"driftwise_study_{name}", meaning, labels=["study"])
            for study, counts in self._counts.items():
                gauge.add_metric([study], getattr(counts, name))
            yield gauge
        yield GaugeMetricFamily("driftwise_studies", "Studies of the store.", value=len(self._counts))
        yield GaugeMetricFamily("driftwise_event_streams", "Pages that are open.", value=self._streams)
        yield from self._requests.collect()


def text_of(counts: Mapping[str, Counts], requests: Histogram, streams: int) -> bytes:
    """All metrics, as Prometheus reads them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(counts, requests, streams))
    return generate_latest(registry)
