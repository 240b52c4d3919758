"""The belief of all experts together: a mixture of Gaussian processes.

With weights w_e, forgetting ρ_e = k_T(now, t_s) and k_e = ρ_e∘k(x):

    μ_e = k_eᵀA_e⁻¹y,   σ_e² = s_e² (k(x,x) − |W_e k_e|²),   μ = Σ w_e μ_e,   σ² = Σ w_e (σ_e² + μ_e²) − μ²

The acquisition function is the weighted average of the experts' upper confidence bounds, Σ w_e (μ_e + β b_e σ_e), with
the exploration bonus b_e of `stacked`. If an expert has a moving level, v k_h(now, t_s) is added to k_e and v to k(x,x)
for the reward. The acquisition function leaves the level out, since it is the same for all settings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise.auto.bank import Bank
from driftwise.auto.data import Observations
from driftwise.auto.experts import Shape
from driftwise.auto.forecasts import Fit
from driftwise.auto.stacked import Predictor, Stacked
from driftwise.gp.kernels import Kernel
from driftwise.gp.slopes import weighted_gradient
from driftwise.records import Array, Observation, Point

BLOCK = 200_000  # entries of all k_e(X) computed at a time
SCANNING = 0.5  # share of the weight of the experts that are evaluated in a scan of a box
CLIMBING = 0.95  # and in the climbs that go on from there


@dataclass(frozen=True, eq=False)
class Mixture:
    """The belief of the experts in `fits`, with the weights `shares`, at time `now`. A `Belief`."""

    bank: Bank
    data: Observations
    fits: tuple[Fit, ...]
    shares: Array  # (E,)
    now: float
    pending: tuple[Point, ...] = ()

    def __len__(self) -> int:
        return len(self.data)

    def observe(self, seen: Observation, *, keep: int | None = None) -> Mixture:
        """The belief after `seen`, with the same weights."""
        window = self.data.observe(seen, keep=len(self) + 1 if keep is None else keep)
        fits = tuple(self.bank.fits([f.expert for f in self.fits], window))
        return replace(self, data=window, fits=fits, now=seen.at)

    def imagine(self, points: Sequence[Point]) -> Mixture:
        """As if the pending `points` had been answered now, at each expert's mean: σ_e shrinks, μ_e stays."""
        return replace(self, pending=(*self.pending, *map(tuple, points)))

    def long_ago(self) -> Mixture:
        """The belief, now, about the time of the oldest observation, of the experts that use that observation.

        If all experts are restarts, it is that of the heaviest as it would have been before its restart.
        """
        if not len(self):
            return self
        then = float(self.data.at[0])
        there = [i for i, f in enumerate(self.fits) if f.first == 0]
        if there:
            shares = self.shares[there] / self.shares[there].sum()
            return replace(self, fits=tuple(self.fits[i] for i in there), shares=shares, now=then)
        heaviest = self.fits[int(np.argmax(self.shares))]
        before = self.data.only(np.arange(heaviest.first))
        [old] = self.bank.fits([replace(heaviest.expert, since=0)], before)
        return replace(self, data=before, fits=(old,), shares=np.ones(1), now=then)

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ for the rows of X."""
        mean, square = np.empty(len(X)), np.empty(len(X))
        for rows, stacked, (m, s, _) in self._evaluated(X):
            mean[rows], square[rows] = stacked.weight @ m, stacked.weight @ (s * s + m * m)
        return mean, np.sqrt(np.maximum(square - mean * mean, 0.0))

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ and their gradients in x: (m,), (m,), (m, d), (m, d).

        ∇μ_e = α_eᵀ∂k_e and ½∇σ_e² = s_e² (½∂k(x,x) − (A_e⁻¹k_e)ᵀ∂k_e), so that ½∇Σ w_e (σ_e² + μ_e²) has the
        coefficients μ_e α_e − s_e² A_e⁻¹k_e of ∂k_e and s_e² of ½∂k(x,x).
        """
        mean, square = np.empty(len(X)), np.empty(len(X))
        dmean, dhalf = np.empty_like(X), np.empty_like(X)
        for rows, stacked, (m, s, v) in self._evaluated(X):
            mean[rows], square[rows] = stacked.weight @ m, stacked.weight @ (s * s + m * m)
            alpha, variance = stacked.alpha[:, None, :], (stacked.scale**2)[:, None]
            half = m[:, :, None] * alpha - variance[:, :, None] * stacked.times_factor(v, transposed=True)
            of_mean, of_half = (alpha, np.zeros(m.shape)), (half, np.broadcast_to(variance, m.shape))
            dmean[rows], dhalf[rows] = self._slopes(X[rows], stacked, of_mean, of_half)
        std = np.sqrt(np.maximum(square - mean * mean, 0.0))
        return mean, std, dmean, (dhalf - mean[:, None] * dmean) / np.maximum(std, 1e-12)[:, None]

    def optimism(self, X: Array, beta: float, *, least: float = 1.0) -> Array:
        """Σ w_e (μ_e + β b_e σ_e), of the heaviest experts that have the share `least` of the weight: (m,)."""
        total = np.empty(len(X))
        for rows, stacked, (m, s, _) in self._evaluated(X, least=least, level=False):
            total[rows] = stacked.weight @ m + (beta * stacked.weight * stacked.bonus) @ s
        return total

    def optimism_gradient(self, X: Array, beta: float, *, least: float = 1.0) -> tuple[Array, Array]:
        """The same and its gradient: (m,), (m, d). ∇σ_e = (½∇σ_e²)/σ_e, as in `predict_gradient`."""
        total, slopes = np.empty(len(X)), np.empty_like(X)
        for rows, stacked, (m, s, v) in self._evaluated(X, least=least, level=False):
            bonus = beta * stacked.bonus
            total[rows] = stacked.weight @ m + (stacked.weight * bonus) @ s
            steep = (bonus * stacked.scale**2)[:, None] / np.maximum(s, 1e-12)
            C = stacked.alpha[:, None, :] - steep[:, :, None] * stacked.times_factor(v, transposed=True)
            [slopes[rows]] = self._slopes(X[rows], stacked, (C, steep))
        return total, slopes

    def weights(self, X: Array) -> Array:
        """α(x) with μ(x) = α(x)ᵀy: (m, n)."""
        total = np.empty((len(X), len(self)))
        for rows, stacked, (_, _, v) in replace(self, pending=())._evaluated(X):
            total[rows] = np.tensordot(stacked.weight, stacked.times_factor(v, transposed=True), 1)
        return total

    @property
    def observed(self) -> Array:
        return self.data.X

    @property
    def information_gain(self) -> float:
        """½ ln det(I + K/λ), averaged over the experts by their weights."""
        gains = [np.log(f.pivots).sum() - 0.5 * np.log(f.noises).sum() for f in self.fits]
        return max(float(self.shares @ gains), 0.0)

    @property
    def noise(self) -> float:
        return float(self.shares @ [f.scale**2 * f.expert.noise for f in self.fits])

    @property
    def units(self) -> tuple[float, float]:
        return self.data.units

    @property
    def jitter(self) -> float:
        return max(f.jitter for f in self.fits)

    # --- machinery ----------------------------------------------------------------------------------------------

    @cached_property
    def _with_pending(self) -> Observations:
        """The data, and the pending points as if they had been answered now."""
        if not self.pending:
            return self.data
        p, (location, _) = len(self.pending), self.data.units
        numbers = np.arange(1, p + 1) + (self.data.numbers[-1] if len(self) else 0)
        X, at, y = np.array(self.pending), np.full(p, self.now), np.full(p, location)
        return self.data.followed_by(Observations(numbers, at, X, y, self.data.frame))

    @property
    def _X(self) -> Array:
        """The points observed, and those pending: (n + p, d)."""
        return self._with_pending.X

    @cached_property
    def _order(self) -> NDArray[np.intp]:
        return np.argsort(-self.shares, kind="stable")

    @cached_property
    def predictors(self) -> tuple[Predictor, ...]:
        """The experts at the time `now`, heaviest first."""
        data, fits = self._with_pending, [self.fits[i] for i in self._order]
        extended = self.bank.extended(fits, data, known=len(self), imagined=True) if self.pending else fits
        now = self.data.clock_at(self.now)
        return tuple(
            self._predictor(f, float(share), data, now, with_pending)
            for f, share, with_pending in zip(fits, self.shares[self._order], extended, strict=True)
        )

    def _predictor(self, f: Fit, share: float, data: Observations, now: float, with_pending: Fit) -> Predictor:
        decay = f.expert.time(np.array([now]), data.clock[f.first :])[0]
        covariance, variance = self.bank.level_covariance(f.expert, data, now)
        age = int(self.data.numbers[-1] - self.data.numbers[f.first]) if len(f.targets) else 0
        return Predictor(f, share, decay, covariance[f.first :], variance, age, with_pending)

    @cached_property
    def _stacks(self) -> dict[float, Stacked]:
        """Those asked for before, by their share of the weight: a climb asks for the same one at every step."""
        return {}

    @cached_property
    def _kernels(self) -> dict[Shape, Kernel]:
        """Made once: the check of a stretched one takes longer than a small matrix."""
        return {shape: self.bank.kernel(shape) for shape in {f.expert.shape for f in self.fits}}

    def heaviest(self, least: float) -> Stacked:
        """As few experts as have the share `least` of the weight."""
        if least not in self._stacks:
            enough = 1 + int(np.searchsorted(np.cumsum(self.shares[self._order]), least - 1e-9))
            self._stacks[least] = Stacked(self.predictors[:enough], len(self._X))
        return self._stacks[least]

    def _evaluated(
        self, X: Array, *, least: float = 1.0, level: bool = True
    ) -> Iterator[tuple[slice, Stacked, tuple[Array, Array, Array]]]:
        """The moments of the heaviest experts at the rows of X, one block of rows after the other."""
        stacked = self.heaviest(least)
        kernels = [self._kernels[shape] for shape in stacked.shapes]
        size = max(BLOCK // (len(stacked.predictors) * max(len(self._X), 1)), 1)
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            k = np.array([kernel(X[rows], self._X) for kernel in kernels])
            prior = np.array([kernel.diagonal(X[rows]) for kernel in kernels])
            mean, std, v = stacked.moments(k, prior, level=level)
            for e, predictor in enumerate(stacked.predictors):
                known = self.bank.mean(predictor.fit.expert.kernel, X[rows])
                if known is not None:
                    mean[e] += known
            yield rows, stacked, (mean, std, v)

    def _slopes(self, X: Array, stacked: Stacked, *terms: tuple[Array, Array]) -> list[Array]:
        """Σ w_e (c_e(x)ᵀ∂k_e(x)/∂x + ½o_e(x) ∂k(x, x)/∂x) for terms c, (E, m, n), and o, (E, m): (m, d) each."""
        slopes, points = [np.zeros_like(X) for _ in terms], np.vstack([self._X, X])
        for s, shape in enumerate(stacked.shapes):
            for slope, term in zip(slopes, terms, strict=True):
                slope += weighted_gradient(self._kernels[shape], X, points, stacked.kernel_weights(s, *term))
        return slopes


@dataclass(frozen=True, eq=False)
class Optimism:
    """Σ w_e (μ_e + β b_e σ_e), to be maximised; with `heaviest_only` the lightest experts are left out."""

    belief: Mixture
    beta: float
    heaviest_only: bool = False

    def __call__(self, X: Array) -> Array:
        return self.belief.optimism(X, self.beta, least=SCANNING if self.heaviest_only else 1.0)

    def gradient(self, X: Array) -> tuple[Array, Array]:
        return self.belief.optimism_gradient(X, self.beta, least=CLIMBING if self.heaviest_only else 1.0)

    def anchors(self) -> Array:
        return self.belief.observed
