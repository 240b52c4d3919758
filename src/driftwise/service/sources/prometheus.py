"""A value from Prometheus: an instant query over its HTTP API."""

from __future__ import annotations

import math

import httpx

from driftwise.errors import DriftwiseError

SECONDS = 10.0  # for an answer
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
    try:
        answer = await client.get(
            f"{address.rstrip('/')}/api/v1/query", params={"query": query, "time": f"{at:.3f}"}, timeout=SECONDS
        )
        body = answer.json()
    except (httpx.HTTPError, ValueError) as error:
        raise SourceAway(f"{address} does not answer: {error!r:.200}") from None
    if answer.status_code >= 500:
        raise SourceAway(f"{address} answered {answer.status_code}")
    if body.get("status") != "success":
        raise SourceRefused(f"Prometheus refuses the query: {str(body.get('error', ''))[:300]}")
    return number_in(body["data"])


def number_in(data: dict[str, object]) -> float | None:
    """The one number of an answer; None if there is none, or if it is not finite."""
    kind, result = data.get("resultType"), data.get("result")
    if kind == "scalar" and isinstance(result, list):
        return _finite(result[1])
    if kind != "vector" or not isinstance(result, list):
        raise SourceRefused(f"the query must give one number, got a {kind}; use sum() or avg()")
    if len(result) > 1:
        raise SourceRefused(f"the query must give one series, got {len(result)}; use sum() or avg()")
    return _finite(result[0]["value"][1]) if result else None


def _finite(text: str) -> float | None:
    number = float(text)
    return number if math.isfinite(number) else None
