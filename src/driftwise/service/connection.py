"""Requests to a service: pooled connections, one time-out for a call, and retries with back-off within it."""

from __future__ import annotations

import json
import os
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any
from urllib.parse import urlsplit

import httpx
import numpy as np

from driftwise import checks, errors
from driftwise.checks import shown
from driftwise.concurrency.pauses import Pauses
from driftwise.errors import AccessError, DriftwiseError, InvalidInput, StoreError
from driftwise.service.wire import VERSION
from driftwise.study import remote

TOKEN = "DRIFTWISE_TOKEN"
TIMEOUT = 10.0  # seconds that a call may take in all, with what is tried again
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0  # seconds between two tries: twice as long each time, and at random
LATER = (429, 502, 503, 504)  # the service may answer otherwise in a moment
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
CONNECTIONS = httpx.Limits(max_connections=64, max_keepalive_connections=16, keepalive_expiry=4.0)


@dataclass(eq=False)
class Connection:
    """The way to a service. Copies of a process, and threads, may use it at the same time."""

    address: str
    given_token: str | None = None  # None: that of the environment
    timeout: float = TIMEOUT
    _clients: dict[int, httpx.Client] = field(default_factory=dict, repr=False)  # by process: a fork has its own
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def to(cls, path: Any, token: str | None, timeout: float | None = None) -> Connection:
        if not remote.is_address(path) or not urlsplit(path).netloc or len(path.split()) > 1:
            raise InvalidInput(f"path must be the address of a service, got {shown(path)}; as https://host:port")
        if token is not None and (not isinstance(token, str) or not token.isascii() or not token.isprintable()):
            raise InvalidInput("token must be text as `driftwise token create` prints it")
        given = str(path).rstrip("/"), token, TIMEOUT if timeout is None else checks.positive("timeout", timeout)
        with _known_lock:
            found = _known.get(given)
            if found is None:
                found = _known[given] = cls(*given)
                weakref.finalize(found, _close_all, found._clients)
        return found

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: Mapping[str, Any] | None = None,
        repeatable: bool = True,
        lines: bool = False,
    ) -> Any:
        """The answer as JSON; an error of the service is raised here. Whatever is `repeatable` is tried again."""
        content = None if body is None else _lines(body) if lines else _written(body)
        kind = "application/x-ndjson" if lines else "application/json"
        headers = {} if content is None else {"Content-Type": kind}
        time_left, pauses = _TimeLeft(self.timeout), Pauses(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            answer: httpx.Response | None = None
            try:
                request = self._request(method, path, query, content, headers, time_left)
                answer = self._client().send(request)
                if answer.status_code not in LATER:
                    return _read(answer)
                failure: DriftwiseError = _error(answer)
                again = repeatable or answer.status_code == 429
            except httpx.TransportError as error:
                failure, again = self._unreachable(error), repeatable or isinstance(error, NOT_SENT)
            asked = 0.0 if answer is None else _seconds(answer.headers.get("retry-after"))
            wait = max(asked, pauses.next())
            if not again or wait >= time_left.seconds:
                raise failure
            time.sleep(wait)

    def lines(self, path: str, *, query: Mapping[str, Any] | None = None) -> Iterator[str]:
        """A stream of lines. If it breaks off it is begun again, without the lines that were there.

        The time-out is for each line.
        """
        done, time_left, pauses = 0, _TimeLeft(self.timeout), Pauses(FIRST_PAUSE, LONGEST_PAUSE)
        while True:
            try:
                for i, line in enumerate(self._stream(path, query, time_left)):
                    if i >= done:
                        yield line
                        done, time_left = done + 1, _TimeLeft(self.timeout)
                        pauses = Pauses(FIRST_PAUSE, LONGEST_PAUSE)
                return
            except (httpx.TransportError, _Later) as error:
                failure = error.failure if isinstance(error, _Later) else self._unreachable(error)
            pause = pauses.next()
            if pause >= time_left.seconds:
                raise failure
            time.sleep(pause)

    def _stream(self, path: str, query: Mapping[str, Any] | None, time_left: _TimeLeft) -> Iterator[str]:
        answer = self._client().send(self._request("GET", path, query, None, {}, time_left), stream=True)
        try:
            if answer.status_code >= 400:
                answer.read()
                if answer.status_code in LATER:
                    raise _Later(_error(answer))
                raise _error(answer)
            yield from answer.iter_lines()
        finally:
            answer.close()

    def _request(
        self,
        method: str,
        path: str,
        query: Mapping[str, Any] | None,
        content: bytes | None,
        headers: dict[str, str],
        time_left: _TimeLeft,
    ) -> httpx.Request:
        token = self.given_token or os.environ.get(TOKEN)
        if token:
            headers = headers | {"Authorization": f"Bearer {token}"}
        found = {name: value for name, value in (query or {}).items() if value is not None}
        url = f"{self.address}/{VERSION}{path}"
        more: dict[str, Any] = {"headers": headers, "extensions": {"timeout": time_left}}
        try:
            return self._client().build_request(method, url, params=found or None, content=content, **more)
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, UnicodeError) as error:
            raise InvalidInput(f"path must be the address of a service, got {shown(self.address)}: {error}") from None

    def _client(self) -> httpx.Client:
        with self._lock:
            client = self._clients.get(os.getpid())
            if client is None:
                client = self._clients[os.getpid()] = httpx.Client(limits=CONNECTIONS)
        return client

    def close(self) -> None:
        with self._lock:
            _close_all(self._clients)

    def _unreachable(self, error: Exception) -> StoreError:
        why = str(error) or type(error).__name__
        return StoreError(
            f"{self.address}: no answer within {self.timeout:g} seconds ({why}); try again, or give a longer timeout"
        )


class _TimeLeft:
    """What is left of the time of a call. httpx asks anew for each part of a request, instead of giving each all of it.

    A connection has half of it: a host may have two addresses, of which one does not answer.
    """

    def __init__(self, timeout: float) -> None:
        self._end = time.monotonic() + timeout

    @property
    def seconds(self) -> float:
        return max(self._end - time.monotonic(), 0.001)

    def get(self, part: str, default: Any = None) -> float:
        return self.seconds / 2 if part == "connect" else self.seconds


_known: weakref.WeakValueDictionary[tuple[str, str | None, float], Connection] = weakref.WeakValueDictionary()
_known_lock = threading.Lock()


def _close_all(clients: dict[int, httpx.Client]) -> None:
    """Close what this process opened. A parent's connections are its own."""
    client = clients.pop(os.getpid(), None)
    if client is not None:
        client.close()


class _Later(Exception):
    """An answer that may be another one in a moment."""

    def __init__(self, failure: DriftwiseError) -> None:
        super().__init__(str(failure))
        self.failure = failure


def _read(answer: httpx.Response) -> Any:
    if answer.status_code >= 300:
        raise _error(answer)
    return answer.json() if answer.content else None


def _error(answer: httpx.Response) -> DriftwiseError:
    """The exception that the service raised, or the nearest one of ours."""
    try:
        said = answer.json()
        kind, detail = said["error"], str(said["detail"])
    except (ValueError, KeyError, TypeError):
        return StoreError(f"{answer.url.host} answered {answer.status_code}; is this the address of a service?")
    found = getattr(errors, str(kind), None)
    is_ours = isinstance(found, type) and issubclass(found, DriftwiseError)
    if is_ours and found is not DriftwiseError:
        return found(detail)  # type: ignore[misc]
    return AccessError(detail) if answer.status_code in (401, 403) else StoreError(detail)


def _seconds(text: str | None) -> float:
    return min(float(text), 10.0) if text is not None and text.isdigit() else 0.0


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Real):
        return float(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise InvalidInput(f"a value must be a number, a text, true, false or None, got {shown(value)}")


def _written(body: Any) -> bytes:
    try:
        return json.dumps(body, default=_plain).encode()
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{shown(body)} cannot be written as JSON: {error}") from None


def _lines(rows: list[Any]) -> bytes:
    return b"".join(_written(row) + b"\n" for row in rows)
