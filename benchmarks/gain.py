"""The information gain: greedy maximisation, lazily, against evaluating every candidate at every step."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import driftwise as dw
from benchmarks.measure import Result, Stopwatch, duration
from driftwise.records import Array
from driftwise.theory.information import greedy_gain

NOISE = 0.01


def run() -> Iterator[Result]:
    kernel, points = dw.Matern(2.5, 0.2), np.random.default_rng(0).random((2500, 2))
    ours, theirs = Stopwatch(), Stopwatch()
    short = ours(lambda: greedy_gain(kernel, points, NOISE, 300))
    plain_gain = theirs(lambda: plain(kernel(points, points), 300))
    assert abs(float(short.lower[-1]) - plain_gain) < 1e-6 * plain_gain, "the two gains differ"
    yield Result(
        what="information gain, n = 300 of 2,500 candidates",
        ours=duration(ours.median),
        theirs=f"{duration(theirs.median)} (every candidate, every step)",
        ratio=theirs.median / ours.median,
    )
    full = Stopwatch()
    full(lambda: greedy_gain(kernel, points, NOISE, 1000))
    yield Result("information gain, n = 1,000 of 2,500", duration(full.median), target="seconds", met=full.median < 10)


def plain(K: Array, n: int) -> float:
    """Greedy: the point of largest variance, n times, by rank-one updates of the whole covariance."""
    C, gain = K.copy(), 0.0
    for _ in range(n):
        i = int(np.argmax(np.diagonal(C)))
        gain += 0.5 * np.log1p(C[i, i] / NOISE)
        C -= np.outer(C[i], C[i] / (C[i, i] + NOISE))
    return float(gain)
