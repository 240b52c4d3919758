"""The experts of a bank about one time, stacked so that they are heard at once, and how bold each of them is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from driftwise.auto.experts import Fit, Shape
from driftwise.gp.linalg import times_lower
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

STANDS = 400  # steps for which a world that never changed abruptly is expected not to
SHORTEST = 100  # steps for which anything that is found is good


_Z = np.linspace(0.0, 5.0, 1001)
_STEPS = _Z / (np.exp(-0.5 * _Z**2) / math.sqrt(2 * math.pi) - _Z * ndtr(-_Z))


def worth_a_look(steps: float) -> float:
    """z with H E[(f − z)⁺] = z, f standard normal, H the `steps` for which what is found is good.

    Where z is known to be had, a look elsewhere costs z on average and brings (f − z)⁺ in each step from then on.

    >>> [round(worth_a_look(H), 2) for H in (20.0, 200.0, 2000.0)]
    [1.18, 1.95, 2.63]
    """
    return float(np.interp(steps, _STEPS, _Z))


@lru_cache(maxsize=512)
def _lasting(time: TimeKernel, steps: int) -> float:
    """Σρ(τ) over so many steps."""
    return float(time(np.zeros(1), np.arange(1.0, steps + 1)).sum())


@dataclass(frozen=True, eq=False)
class Voice:
    """One expert about one time: what μ_e and σ_e are made of."""

    fit: Fit
    weight: float
    fade: Array  # ρ_e: (n − first,), and as many ones as there are pending points
    lift: Array  # v k_h(now, t_s): the same
    stood: int  # how many numbers ago its memory begins
    imagined: Fit  # with the pending points among its observations

    @property
    def shape(self) -> Shape:
        return self.fit.expert.shape

    @cached_property
    def boldness(self) -> float:
        """The width at which looking where nothing is known just pays.

        What is found there is good for Σρ(τ) steps: over STANDS of them, or as many as the world stood so far; where it
        changed abruptly it will change again, so that only the latter count.
        """
        ahead = max(self.stood, 0 if self.fit.expert.since else STANDS)
        return worth_a_look(max(_lasting(self.fit.expert.time, ahead), SHORTEST))


@dataclass(frozen=True, eq=False)
class Chorus:
    """Voices that are heard together, stacked: of E experts about n points, 0 where a memory does not reach."""

    voices: tuple[Voice, ...]
    n: int

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """The different ones."""
        return tuple(dict.fromkeys(v.shape for v in self.voices))

    @cached_property
    def which(self) -> NDArray[np.intp]:
        """The place of each voice's shape among them: (E,)."""
        return np.array([self.shapes.index(v.shape) for v in self.voices])

    @cached_property
    def weight(self) -> Array:
        return np.array([v.weight for v in self.voices])

    @cached_property
    def scale(self) -> Array:
        """s_e: (E,)."""
        return np.array([v.fit.scale for v in self.voices])

    @cached_property
    def boldness(self) -> Array:
        return np.array([v.boldness for v in self.voices])

    @cached_property
    def fade(self) -> Array:
        return self._stacked([v.fade for v in self.voices])

    @cached_property
    def lift(self) -> Array:
        return self._stacked([v.lift for v in self.voices])

    @cached_property
    def alpha(self) -> Array:
        """A⁻¹y, nothing for pending points: (E, n)."""
        return self._stacked([np.append(v.fit.alpha, np.zeros(len(v.fade) - len(v.fit.alpha))) for v in self.voices])

    @cached_property
    def tides(self) -> Array:
        """v_e, 0 where there is none: (E,)."""
        return np.array([v.fit.expert.tide.variance if v.fit.expert.tide else 0.0 for v in self.voices])

    def _stacked(self, rows: Sequence[Array]) -> Array:
        stack = np.zeros((len(rows), self.n))
        for whole, row in zip(stack, rows, strict=True):
            whole[self.n - len(row) :] = row
        return stack

    def moments(self, k: Array, prior: Array, *, tide: bool) -> tuple[Array, Array, Array]:
        """μ_e, σ_e, both (E, m), and v = k_eᵀW_eᵀ, (E, m, n), from each shape's k(x), (S, m, n), and k(x, x), (S, m).

        Of the reward with the `tide`, else of the rest.
        """
        ke, prior = k[self.which] * self.fade[:, None, :], prior[self.which]
        if tide and self.tides.any():
            ke, prior = ke + self.lift[:, None, :], prior + self.tides[:, None]
        mean, v = (ke @ self.alpha[:, :, None])[:, :, 0], self.times_factor(ke)
        variance = prior - np.einsum("emn,emn->em", v, v)
        # rounding can leave −1e−17
        return mean, self.scale[:, None] * np.sqrt(np.minimum(np.maximum(variance, 0.0), prior)), v

    def times_factor(self, X: Array, *, transposed: bool = False) -> Array:
        """X_e W_eᵀ, or `transposed` X_e W_e: k_eᵀA_e⁻¹ = vᵀW_e. (E, m, n); it is put in the place of X."""
        for x, voice in zip(X, self.voices, strict=True):
            part = x[:, self.n - len(voice.fade) :]
            part[:] = times_lower(part, voice.imagined.W, transposed=transposed)
        return X
