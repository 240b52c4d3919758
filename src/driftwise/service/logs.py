"""Structured logs: one JSON object a line, with neither secrets nor values of studies."""

from __future__ import annotations

import json
import logging
import random
import sys
import time
from datetime import UTC, datetime
from typing import Any

from prometheus_client import Histogram

from driftwise.service.limits import App, Message, Receive, Send
from driftwise.service.telemetry import Telemetry

logger = logging.getLogger("driftwise.service")


class JsonLines(logging.Formatter):
    """A record as a line of JSON. What came from outside is a JSON string, so that it cannot forge a line."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": when, "level": record.levelname.lower(), "logger": record.name}
        line["message"] = record.getMessage()
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def set_up(level: str = "info") -> None:
    """Write the logs of the service and of uvicorn to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("driftwise", "uvicorn", "uvicorn.error"):
        log = logging.getLogger(name)
        log.handlers, log.propagate = ([handler], False) if name != "uvicorn.error" else ([], True)
        log.setLevel(level.upper())
    logging.getLogger("uvicorn.access").disabled = True  # ours says the same, and the time it took


class Logged:
    """Around an app: a line and a metric for each request, its id, and a span where telemetry is on."""

    def __init__(self, app: App, telemetry: Telemetry, requests: Histogram) -> None:
        self._app, self._telemetry, self._requests = app, telemetry, requests

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        id, begun, status = f"{random.getrandbits(64):016x}", time.perf_counter(), 500
        scope.setdefault("state", {})["request_id"] = id

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", id.encode())]
            await send(message)

        with self._telemetry.span(scope) as span:
            try:
                await self._app(scope, receive, noting)
            finally:
                seconds = time.perf_counter() - begun
                route = getattr(scope.get("route"), "path", None)  # never the path: it contains names
                span(route, status, seconds)
                self._requests.labels(scope["method"], route or "none", status).observe(seconds)
                if logger.isEnabledFor(logging.INFO):
                    fields = {"request": id, "method": scope["method"], "route": route, "status": status}
                    fields |= {"ms": round(1000 * seconds, 2), "who": scope["state"].get("who")}
                    logger.info("request", extra={"fields": fields})
        return None
