"""Two spans of a study's log side by side: did it get better, and does it ask elsewhere?"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from driftwise.errors import InvalidInput
from driftwise.service.dashboard.views import Json, value_of
from driftwise.study import Reading, Study

MOST = 2000  # observations of a span that are read
LEVEL = 0.95


def compare(study: Study, one: tuple[int, int], other: tuple[int, int]) -> Json:
    """What each span of numbers had, and the difference of their mean rewards with a 95% interval (Welch)."""
    spans = [_span(study, *each) for each in (one, other)]
    return {"spans": [_summary(*each) for each in spans], "difference": _difference(*(rows for _, rows in spans))}


def _span(study: Study, first: int, last: int) -> tuple[tuple[int, int], Sequence[Reading]]:
    if not 1 <= first <= last:
        raise InvalidInput(f"a span goes from a number ≥ 1 to one that is no smaller, got {first} to {last}")
    return (first, last), study.sampled(MOST, first=first, last=last)


def _summary(span: tuple[int, int], rows: Sequence[Reading]) -> Json:
    values = np.array([seen.y for seen in rows if seen.reward is not None])
    return {
        "first": span[0],
        "last": span[1],
        "read": len(rows),
        "failed": sum(seen.failed for seen in rows),
        "mean": float(values.mean()) if len(values) else None,
        "std": float(values.std(ddof=1)) if len(values) > 1 else None,
        "asked": {name: _asked([seen.params[name] for seen in rows]) for name in (rows[0].params if rows else {})},
    }


def _asked(values: list[Any]) -> Json:
    """Where it asked: the quartiles of numbers, the shares of other values."""
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        low, middle, high = np.quantile(np.array(values, dtype=float), [0.25, 0.5, 0.75])
        return {"quartiles": [float(low), float(middle), float(high)]}
    shares = Counter(map(value_of, values)).most_common(5)
    return {"shares": [[str(value), count / len(values)] for value, count in shares]}


def _difference(one: Sequence[Reading], other: Sequence[Reading]) -> Json | None:
    """The second mean less the first; None if a span has fewer than two rewards."""
    a, b = (np.array([seen.y for seen in rows if seen.reward is not None]) for rows in (one, other))
    if len(a) < 2 or len(b) < 2:
        return None
    va, vb = a.var(ddof=1) / len(a), b.var(ddof=1) / len(b)
    gap = float(b.mean() - a.mean())
    if va + vb == 0:
        return {"mean": gap, "low": gap, "high": gap}
    freedom = (va + vb) ** 2 / (va**2 / (len(a) - 1) + vb**2 / (len(b) - 1))  # Welch & Satterthwaite
    half = float(special.stdtrit(freedom, (1 + LEVEL) / 2)) * math.sqrt(va + vb)
    return {"mean": gap, "low": gap - half, "high": gap + half}
