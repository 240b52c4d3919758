"""Counts as metrics in Prometheus' text format, by its own library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest

from driftwise.log import Counts
from driftwise.service.answered import BOUNDS, Answered

STUDY = {
    "rewards": "Observations that have a reward.",
    "failed": "Observations of settings that failed.",
    "unanswered": "Suggestions that have no outcome, however old they are.",
    "abandoned": "Suggestions that were abandoned.",
    "corrected": "Corrections and retractions.",
    "jittered": "Suggestions that needed jitter.",
}


class Figures:
    """What the library asks for its metrics: they are made when they are read."""

    def __init__(self, counts: Mapping[str, Counts], requests: Answered, streams: int) -> None:
        self._counts, self._requests, self._streams = counts, requests, streams

    def collect(self) -> Iterator[Metric]:
        for name, meaning in STUDY.items():
            gauge = GaugeMetricFamily(f"driftwise_study_{name}", meaning, labels=["study"])
            for study, counts in self._counts.items():
                gauge.add_metric([study], getattr(counts, name))
            yield gauge
        yield GaugeMetricFamily("driftwise_studies", "Studies of the store.", value=len(self._counts))
        yield GaugeMetricFamily("driftwise_event_streams", "Pages that are open.", value=self._streams)
        times = HistogramMetricFamily(
            "driftwise_request_seconds", "Time to answer a request.", labels=["method", "route", "status"]
        )
        for (method, route, status), seen in self._requests.items():
            total, buckets = 0, []
            for bound, count in zip((*map(str, BOUNDS), "+Inf"), seen.counts, strict=True):
                total += count
                buckets.append((bound, total))
            times.add_metric([method, route, str(status)], buckets=buckets, sum_value=seen.seconds)
        yield times


def text_of(counts: Mapping[str, Counts], requests: Answered, streams: int) -> bytes:
    """All metrics, as Prometheus reads them."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(counts, requests, streams))
    return generate_latest(registry)
