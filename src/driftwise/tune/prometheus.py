"""A value from Prometheus: an instant query over its HTTP API."""

from __future__ import annotations

import asyncio
import json
import math

import httpx

from driftwise.checks import shown
from driftwise.errors import DriftwiseError
from driftwise.tune.live_plan import origin

SECONDS = 10.0  # for an answer
MOST_BYTES = 1_000_000  # of it
LOOKS = 20  # values of which an average is made


class SourceAway(DriftwiseError):
    """Prometheus does not answer. This says nothing about the setting, so the query is made again later."""


class SourceRefused(DriftwiseError):
    """Prometheus does not understand the query, or it does not give one number."""


def averaged(query: str, seconds: float) -> str:
    """The average of a query over the last so many seconds, looked at twenty times.

    Without the second number Prometheus would look once in its own interval, which may be a minute.

    >>> averaged("rate(hits_total[1m])", 90)
    'avg_over_time((rate(hits_total[1m]))[90000ms:4500ms])'
    """
    whole = max(round(1000 * seconds), 1)
    return f"avg_over_time(({query})[{whole}ms:{max(whole // LOOKS, 1)}ms])"


async def value(client: httpx.AsyncClient, address: str, query: str, at: float) -> float | None:
    """The value of a query at a time; None if there are no data."""
    where = origin(address)
    try:
        status, text = await _get(client, f"{address.rstrip('/')}/api/v1/query", {"query": query, "time": f"{at:.3f}"})
        body = json.loads(text)
    except (ValueError, RecursionError):
        raise SourceAway(f"{where} does not answer as Prometheus does: that is no JSON") from None
    except (httpx.HTTPError, httpx.InvalidURL, TimeoutError) as error:
        raise SourceAway(f"{where} does not answer: {error!r:.200}") from None
    if status >= 500:
        raise SourceAway(f"{where} answered {status}")
    if not isinstance(body, dict) or (body.get("status") == "success" and not isinstance(body.get("data"), dict)):
        raise SourceAway(f"{where} does not answer as Prometheus does")  # what it says is not for the reader of a plan
    if body.get("status") != "success":
        raise SourceRefused(f"Prometheus refuses the query: {str(body.get('error', ''))[:300]}")
    return number_in(body["data"])


async def _get(client: httpx.AsyncClient, url: str, params: dict[str, str]) -> tuple[int, bytes]:
    """The status and the text of an answer, which has a bounded time and size."""
    text = b""
    async with asyncio.timeout(SECONDS), client.stream("GET", url, params=params, timeout=SECONDS) as answer:
        async for part in answer.aiter_bytes():
            text += part
            if len(text) > MOST_BYTES:
                raise SourceRefused(f"the query must give one number, got more than {MOST_BYTES:,} bytes; use sum()")
        return answer.status_code, text


def number_in(data: dict[str, object]) -> float | None:
    """The one number of an answer; None if there is none, or if it is not finite."""
    kind, result = data.get("resultType"), data.get("result")
    if kind == "scalar" and isinstance(result, list):
        return _finite(result)
    if kind != "vector" or not isinstance(result, list):
        raise SourceRefused(f"the query must give one number, got a {kind}; use sum() or avg()")
    if len(result) > 1:
        raise SourceRefused(f"the query must give one series, got {len(result)}; use sum() or avg()")
    return _finite(result[0].get("value") if isinstance(result[0], dict) else None) if result else None


def _finite(sample: object) -> float | None:
    """The number of a sample, which is a time and a text."""
    try:
        number = float(sample[1])  # type: ignore[index]
    except (TypeError, ValueError, LookupError):
        raise SourceRefused(f"the query must give one number, got {shown(sample)}; use sum() or avg()") from None
    return number if math.isfinite(number) else None
