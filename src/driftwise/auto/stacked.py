"""Several experts at one time, stacked so that they are evaluated at once, and the exploration bonus of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from driftwise.auto.experts import Shape
from driftwise.auto.forecasts import Fit
from driftwise.gp.linalg import times_lower
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

STABLE = 400  # steps for which a world without abrupt changes so far is expected to have none
SHORTEST = 100  # steps for which a discovery pays at least


_Z = np.linspace(0.0, 5.0, 1001)
_STEPS = _Z / (np.exp(-0.5 * _Z**2) / math.sqrt(2 * math.pi) - _Z * ndtr(-_Z))


def break_even_width(steps: float) -> float:
    """z with H E[(f − z)⁺] = z, f standard normal, H the `steps` for which a discovery pays.

    If a setting of value z is known, trying another costs z on average and gains (f − z)⁺ in each step from then on.

    >>> [round(break_even_width(H), 2) for H in (20.0, 200.0, 2000.0)]
    [1.18, 1.95, 2.63]
    """
    return float(np.interp(steps, _STEPS, _Z))


@lru_cache(maxsize=512)
def _correlated_steps(time: TimeKernel, steps: int) -> float:
    """Σρ(τ) over so many steps."""
    return float(time(np.zeros(1), np.arange(1.0, steps + 1)).sum())


@dataclass(frozen=True, eq=False)
class Predictor:
    """One expert at one time: what μ_e and σ_e are made of."""

    fit: Fit
    weight: float
    decay: Array  # ρ_e = k_T(now, t_s): (n − first,), and a 1 for each pending point
    level: Array  # v k_h(now, t_s): the same
    level_variance: float  # v, 0 without a moving level
    age: int  # how many numbers ago its first observation was
    with_pending: Fit  # the fit with the pending points among its observations

    @property
    def shape(self) -> Shape:
        return self.fit.expert.shape

    @cached_property
    def bonus(self) -> float:
        """The factor of σ_e at which exploring just pays.

        A discovery pays for Σρ(τ) steps: over STABLE of them, or over as many as the expert's function has lasted. A
        world that changed abruptly will change again. So after a restart it is as many as there were before it, if
        these are fewer than STABLE.
        """
        since = self.fit.expert.since
        ahead = max(self.age, min(since - 1, STABLE) if since else STABLE)
        return break_even_width(max(_correlated_steps(self.fit.expert.time, ahead), SHORTEST))


@dataclass(frozen=True, eq=False)
class Stacked:
    """Predictors of E experts about n points, stacked; 0 for the points before an expert's first."""

    predictors: tuple[Predictor, ...]
    n: int

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The different shapes."""
        return tuple(dict.fromkeys(p.shape for p in self.predictors))

    @cached_property
    def shape_index(self) -> NDArray[np.intp]:
        """The index of each expert's shape among them: (E,)."""
        return np.array([self.shapes.index(p.shape) for p in self.predictors])

    @cached_property
    def weight(self) -> Array:
        """w_e: (E,)."""
        return np.array([p.weight for p in self.predictors])

    @cached_property
    def scale(self) -> Array:
        """s_e: (E,)."""
        return np.array([p.fit.scale for p in self.predictors])

    @cached_property
    def bonus(self) -> Array:
        """b_e: (E,)."""
        return np.array([p.bonus for p in self.predictors])

    @cached_property
    def decay(self) -> Array:
        """ρ_e: (E, n)."""
        return self._stack([p.decay for p in self.predictors])

    @cached_property
    def level(self) -> Array:
        """v k_h(now, t_s): (E, n)."""
        return self._stack([p.level for p in self.predictors])

    @cached_property
    def level_variance(self) -> Array:
        """v_e: (E,)."""
        return np.array([p.level_variance for p in self.predictors])

    @cached_property
    def alpha(self) -> Array:
        """A⁻¹y, 0 for pending points: (E, n)."""
        return self._stack([np.append(p.fit.alpha, np.zeros(len(p.decay) - len(p.fit.alpha))) for p in self.predictors])

    def _stack(self, rows: Sequence[Array]) -> Array:
        stack = np.zeros((len(rows), self.n))
        for whole, row in zip(stack, rows, strict=True):
            whole[self.n - len(row) :] = row
        return stack

    def moments(self, k: Array, prior: Array, *, level: bool) -> tuple[Array, Array, Array]:
        """μ_e, σ_e, both (E, m), and v = k_eᵀW_eᵀ, (E, m, n), from each shape's k(x), (S, m, n), and k(x, x), (S, m).

        They are those of the reward with its moving `level`, or of the function alone.
        """
        ke, prior = k[self.shape_index] * self.decay[:, None, :], prior[self.shape_index]
        if level and self.level_variance.any():
            ke, prior = ke + self.level[:, None, :], prior + self.level_variance[:, None]
        mean, v = (ke @ self.alpha[:, :, None])[:, :, 0], self.times_factor(ke)
        variance = prior - np.einsum("emn,emn->em", v, v)
        # rounding can leave −1e−17
        return mean, self.scale[:, None] * np.sqrt(np.maximum(np.minimum(variance, prior), 0.0)), v

    def times_factor(self, X: Array, *, transposed: bool = False) -> Array:
        """X_e W_eᵀ, or `transposed` X_e W_e, for (E, m, n): v = k_eᵀW_eᵀ, and k_eᵀA_e⁻¹ = vW_e."""
        product = np.zeros(X.shape)
        for of_expert, x, predictor in zip(product, X, self.predictors, strict=True):
            used = slice(self.n - len(predictor.decay), None)
            of_expert[:, used] = times_lower(x[:, used], predictor.with_pending.W, transposed=transposed)
        return product

    def kernel_weights(self, s: int, on_kernel: Array, on_prior: Array) -> Array:
        """Σ_e w_e c_e∘ρ_e and Σ_e w_e o_e over the experts of shape s, side by side: (m, n + m).

        These are the coefficients of ∂k(x, x_s)/∂x, from `on_kernel` c, (E, m, n), and of ½∂k(x, x)/∂x, on a diagonal,
        from `on_prior` o, (E, m).
        """
        its = self.shape_index == s
        m, rows = on_prior.shape[1], np.arange(on_prior.shape[1])
        C = np.zeros((m, self.n + m))
        C[:, : self.n] = np.einsum("e,emn,en->mn", self.weight[its], on_kernel[its], self.decay[its])
        C[rows, self.n + rows] = self.weight[its] @ on_prior[its]
        return C
