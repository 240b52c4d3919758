"""Hooks for OpenTelemetry: spans and a histogram of durations, if its API is installed; otherwise nothing.

The API does nothing by itself. `opentelemetry-instrument driftwise serve`, or an SDK that the host program sets up,
decides where spans and figures go.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Done = Callable[[str | None, int, float], None]  # the route, the status and the seconds


class Telemetry:
    """Spans of requests, named by their route: never by a study, because names are the user's."""

    def __init__(self) -> None:
        self._tracer: Any = None
        if importlib.util.find_spec("opentelemetry") is None:
            return
        trace, metrics, propagate = (
            importlib.import_module(f"opentelemetry.{part}") for part in ("trace", "metrics", "propagate")
        )
        self._trace, self._extract = trace, propagate.extract
        self._tracer = trace.get_tracer("driftwise")
        meter = metrics.get_meter("driftwise")
        self._seconds = meter.create_histogram("http.server.request.duration", unit="s")

    @contextmanager
    def span(self, scope: Any) -> Iterator[Done]:
        """A span around a request. What is yielded is called when it is answered."""
        if self._tracer is None:
            yield lambda route, status, seconds: None
            return
        method = scope["method"]
        if isinstance(self._trace.get_tracer_provider(), self._trace.ProxyTracerProvider):  # nobody collects spans
            yield lambda route, status, seconds: self._seconds.record(seconds, _facts(method, route, status))
            return
        carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        kind = self._trace.SpanKind.SERVER
        with self._tracer.start_as_current_span(method, context=self._extract(carrier), kind=kind) as span:

            def done(route: str | None, status: int, seconds: float) -> None:
                facts = _facts(method, route, status)
                span.update_name(f"{method} {route}" if route else method)
                span.set_attributes(facts)
                self._seconds.record(seconds, facts)

            yield done


def _facts(method: str, route: str | None, status: int) -> dict[str, str | int]:
    facts: dict[str, str | int] = {"http.request.method": method, "http.response.status_code": status}
    return facts | {"http.route": route} if route else facts
