"""A slide of `Posterior` against LAPACK: what the window costs where it is not a set of candidates."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg import lapack

import driftwise as dw
from benchmarks.measure import Result, alternate, duration
from driftwise.records import Observation

KERNEL = dw.Matern(2.5, 0.2)


def run() -> Iterator[Result]:
    for window in (50, 100, 200, 400):
        rng = np.random.default_rng(0)
        posterior = dw.Posterior(KERNEL, noise=0.01)
        for t in range(1, window + 1):
            posterior = posterior.observe(Observation(t, float(t), tuple(rng.random(2)), 0.0), keep=window)
        A = np.asfortranarray(posterior.K + 0.01 * np.eye(window))
        seen = Observation(window + 1, 0.0, (0.5, 0.5), 1.0)

        def slide(posterior: dw.Posterior = posterior, seen: Observation = seen, window: int = window) -> object:
            return posterior.observe(seen, keep=window)

        def factor(slide: object = slide) -> float:
            return slide().information_gain  # type: ignore[operator]

        def lapack_alone(A: np.ndarray = A) -> object:
            return lapack.dpotrf(A, lower=1, clean=1)

        slid, ready, factorised = alternate([slide, factor, lapack_alone], rounds=200)
        yield Result(
            what=f"slide of a Posterior, window {window}",
            ours=duration(slid),
            theirs=f"{duration(factorised)} (one factorisation)",
            ratio=slid / factorised,
            target="≤ 1×",
            met=slid <= factorised,
        )
        yield Result(
            what=f"… and ready to predict, window {window}",
            ours=duration(ready),
            theirs=f"{duration(factorised)} (one factorisation)",
            ratio=ready / factorised,
        )
