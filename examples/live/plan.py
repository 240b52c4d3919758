"""What happens when: the phases of the load, the fixed settings beside it, and what an answer costs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

# What an answer costs, in milliseconds of a processor: its own, what traffic is worth, and the memory that is reserved.
KILOBYTE = 0.5
SLOT = 0.003
OVER = "600ms"  # four scrapes

PHASES = (("day", 0.22), ("night", 0.22), ("day", 0.2), ("new", 0.36))  # kind of load, share of the time
LEVELS, SLOTS = (1, 4, 7, 9), (24, 16, 8, 1)
LEAD = 0.12  # of the time of a control: it fills its cache, and is not measured


def cost(lane: str) -> str:
    """PromQL: what an answer of a lane costs."""

    def rate(name: str) -> str:
        return f'sum(rate({name}{{lane="{lane}"}}[{OVER}]))'

    work, sent = f"1000 * {rate('live_cpu_seconds_total')}", f"{KILOBYTE} / 1000 * {rate('live_sent_bytes_total')}"
    return f'({work} + {sent}) / {rate("live_requests_total")} + {SLOT} * sum(live_slots{{lane="{lane}"}})'


def latency(lane: str) -> str:
    """PromQL: the milliseconds that a client waits for an answer of a lane."""
    seconds, count = (f'sum(rate(live_{name}_total{{lane="{lane}"}}[5s]))' for name in ("latency_seconds", "answers"))
    return f"1000 * {seconds} / {count}"


@dataclass(frozen=True)
class Span:
    """A time, in seconds since the beginning, with its kind of load; of a control also with its setting."""

    start: float
    end: float
    kind: str
    knobs: dict[str, int] | None = None


def phases(seconds: float) -> list[Span]:
    ends = list(itertools.accumulate(share * seconds for _, share in PHASES))
    return [Span(start, end, kind) for start, end, (kind, _) in zip([0.0, *ends[:-1]], ends, PHASES, strict=True)]


def controls(seconds: float, most: int) -> list[Span]:
    """Every kind of load with every fixed setting, or with the first `most` of them, over the whole time.

    A kind of load begins with the largest cache and ends with the smallest, so that each is warm when it is measured.
    """
    settings = [{"level": level, "slots": slots} for slots, level in itertools.product(SLOTS, LEVELS)][:most]
    kinds = list(dict(PHASES))
    block = seconds / len(kinds)
    each = block * (1 - LEAD) / len(settings)

    def span(i: int, j: int) -> Span:
        start = (i + LEAD) * block + j * each
        return Span(start, start + each, kinds[i], settings[j])

    return [span(i, j) for i, j in itertools.product(range(len(kinds)), range(len(settings)))]


def at(spans: list[Span], now: float) -> Span:
    """The span of a time, or the next one if it is in none; the last one ever after."""
    return next((span for span in spans if now < span.end), spans[-1])
