"""Bounds on what a client may do: how often, how much, how slowly."""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from cachetools import LRUCache

from driftwise.service.problems import Refused, of_error
from driftwise.service.settings import ServiceSettings

CALLERS = 10_000  # whose rates are known at the same time

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Any, Receive, Send], Awaitable[None]]


class Rates:
    """A token bucket for each caller: `requests_per_second` on average, `burst` at once."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._rate, self._burst = settings.requests_per_second, float(settings.burst)
        self._buckets: LRUCache[str, tuple[float, float]] = LRUCache(CALLERS)  # when, and what was left then

    async def take(self, caller: str) -> None:
        """Count a request, or refuse it."""
        now = time.monotonic()
        when, left = self._buckets.get(caller, (now, self._burst))
        left = min(left + (now - when) * self._rate, self._burst)
        wait = (1 - left) / self._rate
        self._buckets[caller] = (now, left if wait > 0 else left - 1)
        if wait > 0:
            raise Refused(
                429,
                f"a caller may make {self._rate:g} requests a second; wait {wait:.1f} s",
                Retry_After=str(math.ceil(wait)),
            )


class Seats:
    """So many at the same time, of one caller a tenth of them, and no more."""

    def __init__(self, most: int) -> None:
        self._most, self._each, self._taken = most, max(most // 10, 1), Counter[str]()

    @property
    def taken(self) -> int:
        return self._taken.total()

    def enter(self, caller: str) -> bool:
        if self.taken >= self._most or self._taken[caller] >= self._each:
            return False
        self._taken[caller] += 1
        return True

    def leave(self, caller: str) -> None:
        self._taken[caller] -= 1
        if not self._taken[caller]:
            del self._taken[caller]


class Bounded:
    """Around an app: bodies of a bounded size that arrive in time, and answers in time.

    A route that reads a stream says how much it takes by `allow`.
    """

    def __init__(self, app: App, settings: ServiceSettings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        begun, read, end = False, 0, time.monotonic() + self._settings.body_seconds
        scope["state"]["most_bytes"] = self._settings.body_bytes

        def noted(error: Refused) -> Refused:
            scope["state"]["refused"] = error  # FastAPI would say only that the body cannot be read
            return error

        async def bounded() -> Message:
            nonlocal read
            if read < 0:  # the whole body was read: what comes next is that the client has gone
                return await receive()
            try:
                left = end - time.monotonic() if scope["state"]["most_bytes"] == self._settings.body_bytes else math.inf
                async with asyncio.timeout(min(self._settings.idle_seconds, left)):
                    message = await receive()
            except TimeoutError:
                raise noted(Refused(408, self._too_slow, Connection="close")) from None
            read += len(message.get("body", b""))
            most = scope["state"]["most_bytes"]
            if read > most:
                raise noted(too_large(read, most))
            if not message.get("more_body", False):
                read = -1
            return message

        async def noting(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            length = _length(scope)
            if length is not None and length > self._most(scope):
                raise too_large(length, self._most(scope))
            await self._app(scope, bounded, noting)
        except Exception as error:
            if begun:
                raise
            await of_error(error, self._settings)(scope, receive, send)
        return None

    @property
    def _too_slow(self) -> str:
        idle, all_ = self._settings.idle_seconds, self._settings.body_seconds
        return f"a body must not pause for {idle:g} s and must arrive within {all_:g} s; send it again"

    def _most(self, scope: Any) -> int:
        streamed = scope["method"] == "POST" and scope["path"].endswith("/observations")
        return self._settings.import_bytes if streamed else self._settings.body_bytes


def too_large(size: int, most: int) -> Refused:
    return Refused(413, f"a body may have {most:,} bytes, got {size:,}; send less at a time", Connection="close")


def allow(request: Any, most: int) -> None:
    """Let the body of this request be larger than others."""
    request.scope["state"]["most_bytes"] = most


def _length(scope: Any) -> int | None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit():
            return int(value)
    return None
