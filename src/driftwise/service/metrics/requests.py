"""What was answered, and how long that took: one histogram for each route."""

from __future__ import annotations

import bisect
import time
from dataclasses import dataclass, field
from typing import Any

from driftwise.service.limits import App, Message, Receive, Send

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds


@dataclass
class Histogram:
    """Times, counted by size."""

    counts: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect.bisect_left(BOUNDS, seconds)] += 1
        self.seconds += seconds


Answered = dict[tuple[str, str, int], Histogram]


class Requests:
    """Times by method, route and status. Routes are a few; what does not exist is one of them."""

    def __init__(self) -> None:
        self.seen: Answered = {}

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self.seen.setdefault((method, route, status), Histogram()).add(seconds)

    def snapshot(self) -> Answered:
        """What was seen until now, which does not change any more."""
        return {key: Histogram(list(each.counts), each.seconds) for key, each in self.seen.items()}


class TimedAnswers:
    """Around an app: counts every answer under the pattern of its path, never under a name that a caller chose."""

    def __init__(self, app: App, requests: Requests) -> None:
        self._app, self._requests = app, requests

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "none")
            self._requests.add(scope["method"], route, status, time.perf_counter() - began)
        return None
