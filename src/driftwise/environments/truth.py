"""What a simulated world truly is, as far as second moments say it: the Gaussian process with its mean and covariance.

f_t = Σ c_i(t) φ_i, where c(t) combines independent draws of coefficients with mean 0 and covariance S, by weights that
depend on time alone. Then, with the drift's own `covariance` ρ(s, t) = Cov[c(s), c(t)]/S,

    Cov[f_s(x), f_t(y)] = φ(x)ᵀ S φ(y) · ρ(s, t)

and a level that moves by itself adds its own covariance. Where draws are Gaussian, as on the candidates of the drift
zoo, this is all there is to know. Elsewhere it is what the best linear prediction needs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol

import numpy as np

from driftwise import checks
from driftwise.environments.levels import Levelled, Lifted
from driftwise.environments.noise import Noise
from driftwise.environments.rkhs import Basis, Coordinates, Whitened
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Combined, Kernel, Level, Sum
from driftwise.gp.time_kernels import SpaceTime
from driftwise.records import Array
from driftwise.rng import generator

DRAWS = 2**14  # from which S is estimated where it is not known: eigenvalues are then within 10% for 40 coefficients


@dataclass(frozen=True)
class WorldTruth:
    """The covariance of a world's f_t(x) over rows (x, t), and its noise. The mean is 0."""

    kernel: Kernel
    noise: Noise


class Moves(Protocol):
    """What knows its covariance over time, step by step: a drift, in units of one draw's, or a level."""

    def covariance(self, s: Array, t: Array) -> Array:
        """Of step s with step t, element by element."""
        ...


@dataclass(frozen=True)
class InSteps:
    """A drift, or the path of a level, as a kernel of time. Time is the number of the step."""

    moves: Moves

    stationary: ClassVar[bool] = False
    unit: ClassVar[float] = 1.0

    def __call__(self, s: Array, t: Array) -> Array:
        return self.moves.covariance(s[:, None], t[None, :])

    def diagonal(self, t: Array) -> Array:
        return self.moves.covariance(t, t)


@dataclass(frozen=True)
class Spanned(Combined):
    """k(x, y) = φ(x)ᵀ S φ(y): of Σ c_i φ_i on a basis, where S is the covariance of its draws."""

    basis: Basis

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.basis.features(X) @ moments(self.basis) @ self.basis.features(Y).T

    def diagonal(self, X: Array) -> Array:
        F = self.basis.features(X)
        return np.einsum("nm,nm->n", F @ moments(self.basis), F)

    def gradient(self, X: Array, Y: Array) -> Array:
        weights = moments(self.basis) @ self.basis.features(Y).T  # (m, k)
        return np.einsum("nmd,mk->nkd", self.basis.gradient(X), weights)


@lru_cache(maxsize=8)
def moments(basis: Basis) -> Array:
    """S, the mean of ccᵀ over DRAWS draws of a basis: (m, m). A fixed norm, for example, makes coefficients depend."""
    C = np.array([basis.draw(generator(0, j)) for j in range(DRAWS)])
    return C.T @ C / DRAWS


def covariance_of(basis: Basis) -> Kernel:
    """φ(x)ᵀ S φ(y)."""
    return basis.kernel if isinstance(basis, Whitened | Coordinates) else Spanned(basis)


def in_space_and_time(basis: Basis, drift: Any) -> Kernel:
    """The covariance of the functions of a basis that move by a drift, over rows (x, t)."""
    if isinstance(basis, Lifted) and isinstance(drift, Levelled):
        level = SpaceTime(Level(1.0), InSteps(_known(drift.level)))
        return Sum(in_space_and_time(basis.basis, drift.drift), level)
    return SpaceTime(covariance_of(basis), InSteps(_known(drift)))


def _known(moves: Any) -> Moves:
    if not hasattr(moves, "covariance"):
        raise unknown(f"{type(moves).__name__} has no covariance(s, t)")
    found: Moves = moves
    return found


def unknown(why: str) -> InvalidInput:
    """The error of a world that cannot say what it is."""
    return InvalidInput(
        f"this world cannot say what it is, because {why}; leave oracle out, or run it on worlds that can, as those of "
        "the suite drift-zoo"
    )


def truth_of(world: Any) -> WorldTruth:
    """What a world says that it is, if it can."""
    if not hasattr(world, "truth"):
        raise unknown(f"{checks.shown(world)} has no truth()")
    found: WorldTruth = world.truth()
    return found
