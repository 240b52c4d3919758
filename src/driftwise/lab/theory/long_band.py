"""Whether the bands of wgp-ucb cover over very many steps: all runs at once, in as many features as the kernel needs.

With features φ of the candidates, K = ΦΦᵀ up to rounding, a fading regression is three sums, G = Σ u_s φφᵀ, G̃ = Σ u_s²
φφᵀ and b = Σ u_s φ y_s, of which each step multiplies the first and the last by η, and the second by η². A test holds
mean, deviation and width to those of the policy, which drops what has faded to less than 10⁻⁶.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from driftwise.gp.kernels import RBF
from driftwise.lab.theory.every_band import DELTA, NOISE, BandCase, R
from driftwise.records import Array
from driftwise.rng import Stream, generator

NEGLIGIBLE = 1e-10  # eigenvalues of K, as a part of the largest, that are left out


@dataclass(eq=False)
class FadedRuns:
    """The three sums of all runs, and what they say at all candidates."""

    phi: Array  # Φ, (n, r)
    eta: float
    double: bool
    G: Array  # (runs, r, r)
    squared: Array  # G̃, (runs, r, r)
    b: Array  # (runs, r)

    @classmethod
    def start(cls, case: BandCase, runs: int) -> FadedRuns:
        values, vectors = np.linalg.eigh(RBF(0.2)(case.points, case.points))
        kept = values > NEGLIGIBLE * values[-1]
        phi = vectors[:, kept] * np.sqrt(values[kept])
        nothing = np.zeros((runs, phi.shape[1], phi.shape[1]))
        options = case.options
        return cls(phi, options["eta"], options["norm"] == "double", nothing, nothing, nothing[:, 0])

    def observe(self, chosen: Array, y: Array) -> None:
        x = self.phi[chosen]  # (runs, r)
        outer = x[:, :, None] * x[:, None]
        self.G = self.eta * self.G + outer
        self.squared = self.eta**2 * self.squared + outer
        self.b = self.eta * self.b + x * y[:, None]

    def predict(self) -> tuple[Array, Array, Array]:
        """μ̃ and σ̃, or σ́, at all candidates, (runs, n) each, and the double-weighted gain, (runs,)."""
        eye = NOISE * np.eye(self.phi.shape[1])
        V = self.squared + eye
        P = self.phi @ np.linalg.inv(self.G + eye)  # (runs, n, r)
        mean = np.einsum("rnk,rk->rn", P, self.b)
        explained = (P @ V) * P if self.double else P * self.phi
        gain = 0.5 * (np.linalg.slogdet(V)[1] - len(eye) * math.log(NOISE))
        return mean, np.sqrt(NOISE * explained.sum(axis=2)), gain


def long_failures(case: BandCase, *, runs: int, horizon: int, unions: int | None = None) -> int:
    """How many of `runs` leave the band of wgp-ucb, noise alone: `every_band.failures`, many times faster."""
    made = case.made(horizon, 0.0)
    events = math.log((made.width.unions if unions is None else unions) / DELTA)  # type: ignore[attr-defined]
    gamma = getattr(made.width, "gain", lambda n: 0.0)  # type: ignore[attr-defined]  # of a lemma
    state, left = FadedRuns.start(case, runs), np.zeros(runs, dtype=bool)
    rng, window = generator(0, runs, Stream.WORLD), made.memory or horizon
    for t in range(1, horizon + 1):
        mean, std, gain = state.predict()
        gained = np.maximum(gain, gamma(min(t - 1, window)))
        beta = R / math.sqrt(NOISE) * np.sqrt(2 * gained + 2 * events)
        left |= (np.abs(mean) > beta[:, None] * std + 1e-9).any(axis=1)
        if left.all():
            break
        state.observe((mean + beta[:, None] * std).argmax(axis=1), R * rng.standard_normal(runs))
    return int(left.sum())
