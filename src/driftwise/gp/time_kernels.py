"""How a world moves: kernels of time, most of them also as state-space models.

As a kernel, k_T(s, t), it multiplies a kernel of space (`SpaceTime`). As a state-space model (`StateSpace`) it drives a
filter: a state of m numbers whose first is the function's value, a transition Φ over a gap Δ, and the state's prior
covariance P. The two agree:

    k_T(s, s + Δ) = [Φ(Δ) P(s)]₀₀
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Protocol

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Combined, Kernel, as_kernel
from driftwise.records import Array

UNDERFLOW = 800.0  # e^−800 is 0 in float64, and no power of 800 overflows


class TimeKernel(Protocol):
    """A covariance of time; frozen. Times are real numbers in any unit."""

    @property
    def stationary(self) -> bool:
        """Whether it depends on the gap alone. If not, time counts from the first observation."""
        ...

    @property
    def unit(self) -> float:
        """Its time scale, inf if it never moves: after a million of them nothing is correlated with before."""
        ...

    def __call__(self, s: Array, t: Array) -> Array:
        """k_T(s, t): (n,), (m,) -> (n, m)."""
        ...

    def diagonal(self, t: Array) -> Array:
        """k_T(t, t): (n,)."""
        ...

    def __hash__(self) -> int: ...


class StateSpace(TimeKernel, Protocol):
    """A kernel of time that is a state-space model as well."""

    @property
    def size(self) -> int:
        """m: how many numbers the state at one point of space takes."""
        ...

    def transition(self, gaps: Array) -> Array:
        """Φ(Δ) for every gap ≥ 0: (…,) -> (…, m, m)."""
        ...

    def covariance(self, elapsed: float) -> Array:
        """P: the prior covariance of the state, (m, m)."""
        ...


class StationaryInTime:
    """What kernels of the gap alone have in common: k_T(t, t) = 1."""

    stationary: ClassVar[bool] = True

    def diagonal(self, t: Array) -> Array:
        return np.ones(len(t))


@dataclass(frozen=True)
class Forgetting(StationaryInTime):
    """k_T = (1 − ε)^{|s − t|/2}: Bogunovic et al. 2016, f_{t+1} = √(1−ε) f_t + √ε g. It reverts to the prior.

    >>> float(Forgetting(0.19).transition(np.array(1.0))[0, 0])
    0.9
    """

    epsilon: float

    size: ClassVar[int] = 1

    def __post_init__(self) -> None:
        checks.settle(self, epsilon=partial(checks.nonnegative, fix="0 is a world that stands still"))
        if self.epsilon >= 1:
            raise InvalidInput(f"epsilon must be < 1, got {checks.shown(self.epsilon)}; at 1 nothing could be learned")

    def __call__(self, s: Array, t: Array) -> Array:
        return np.exp(self._log_rho * np.abs(s[:, None] - t[None, :]))

    def transition(self, gaps: Array) -> Array:
        """ρ^Δ with ρ = √(1 − ε): over a gap Δ the drift is ε_Δ = 1 − (1 − ε)^Δ."""
        return np.exp(self._log_rho * gaps)[..., None, None]

    def covariance(self, elapsed: float) -> Array:
        return np.ones((1, 1))

    @property
    def unit(self) -> float:
        return -1 / self._log_rho if self.epsilon else math.inf

    @property
    def _log_rho(self) -> float:
        return 0.5 * math.log1p(-self.epsilon)


@dataclass(frozen=True)
class MaternInTime(StationaryInTime):
    """Matérn in time with ν = 3/2 or 5/2 and time scale ℓ; with u = |s − t|·√(2ν)/ℓ:

    k_T = (1 + u) e^−u (3/2),   (1 + u + u²/3) e^−u (5/2)

    The state is the value and its first (3/2) or first two (5/2) derivatives, in the time unit ℓ/√(2ν). There its
    generator is −I + N with N nilpotent, so that Φ = e^−u (I + N u + N² u²/2) exactly.
    """

    nu: float
    scale: float

    def __post_init__(self) -> None:
        checks.settle(self, nu=checks.real, scale=partial(checks.positive, fix="it is a time, e.g. 60 steps"))
        if self.nu not in (1.5, 2.5):
            raise InvalidInput(f"nu in time must be 1.5 or 2.5, got {self.nu:g}; for 0.5 use epsilon")

    @property
    def size(self) -> int:
        return 2 if self.nu == 1.5 else 3

    @property
    def unit(self) -> float:
        return self.scale

    def __call__(self, s: Array, t: Array) -> Array:
        u = self._units(np.abs(s[:, None] - t[None, :]))
        return (1 + u) * np.exp(-u) if self.nu == 1.5 else (1 + u + u * u / 3) * np.exp(-u)

    def transition(self, gaps: Array) -> Array:
        u = self._units(np.asarray(gaps))[..., None, None]
        N = _NILPOTENT[self.nu]
        return np.exp(-u) * (np.eye(len(N)) + N * u + N @ N * (u * u / 2))

    def covariance(self, elapsed: float) -> Array:
        """The covariances of the derivatives are those of k_T at 0: k″ = −1 and, for 5/2, k″ = −⅓, k⁗ = 1."""
        return _STATIONARY[self.nu]

    def _units(self, gaps: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.minimum(gaps * (math.sqrt(2 * self.nu) / self.scale), UNDERFLOW)


_NILPOTENT = {
    1.5: np.array([[1.0, 1.0], [-1.0, -1.0]]),
    2.5: np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [-1.0, -3.0, -2.0]]),
}
_STATIONARY = {
    1.5: np.eye(2),
    2.5: np.array([[1.0, 0.0, -1 / 3], [0.0, 1 / 3, 0.0], [-1 / 3, 0.0, 1.0]]),
}


@dataclass(frozen=True)
class Cyclic(StationaryInTime):
    """k_T = exp(−2 sin²(π|s − t|/p)/ℓ²) (1 − ε)^{|s − t|/2}: the function comes back after a period p, less and less.

    >>> k = Cyclic(24.0, roughness=1.0, epsilon=0.0)(np.array([0.0]), np.array([12.0, 24.0]))
    >>> k.round(3).tolist()
    [[0.135, 1.0]]
    """

    period: float
    roughness: float
    epsilon: float

    def __post_init__(self) -> None:
        checks.settle(
            self,
            period=partial(checks.positive, fix="it is a time, e.g. 24 hours"),
            roughness=partial(checks.positive, fix="1 is one wave a turn"),
            epsilon=lambda _, given: Forgetting(given).epsilon,
        )

    def __call__(self, s: Array, t: Array) -> Array:
        gaps = np.abs(s[:, None] - t[None, :])
        turn = np.sin((math.pi / self.period) * gaps) / self.roughness
        return np.exp(0.5 * math.log1p(-self.epsilon) * gaps - 2 * turn * turn)

    @property
    def unit(self) -> float:
        return Forgetting(self.epsilon).unit


@dataclass(frozen=True)
class Wave(StationaryInTime):
    """k_T = (1 − v + v cos(2π|s − t|/p)) (1 − ε)^{|s − t|/2}: one harmonic of period p, less and less.

    It is the covariance of √(1−v) g_0 + √v (cos(θ) g_1 + sin(θ) g_2) with θ = 2πt/p. If the share v is above ½, what
    was high half a period ago is expected to be low.

    >>> Wave(24.0, share=1.0, epsilon=0.0)(np.array([0.0]), np.array([12.0, 24.0])).round(3).tolist()
    [[-1.0, 1.0]]
    """

    period: float
    share: float
    epsilon: float

    def __post_init__(self) -> None:
        checks.settle(
            self,
            period=partial(checks.positive, fix="it is a time, e.g. 24 hours"),
            share=partial(checks.nonnegative, fix="it is a part of the variance"),
            epsilon=lambda _, given: Forgetting(given).epsilon,
        )
        if self.share > 1:
            raise InvalidInput(f"share must be ≤ 1, got {checks.shown(self.share)}; it is a part of the variance")

    def __call__(self, s: Array, t: Array) -> Array:
        gaps = np.abs(s[:, None] - t[None, :])
        turned = np.cos((2 * math.pi / self.period) * gaps)
        return np.exp(0.5 * math.log1p(-self.epsilon) * gaps) * (1 - self.share + self.share * turned)

    @property
    def unit(self) -> float:
        return Forgetting(self.epsilon).unit


@dataclass(frozen=True)
class SpaceTime(Combined):
    """k((x, s), (y, t)) = k_S(x, y) · k_T(s, t); the last coordinate is time."""

    space: Kernel
    time: TimeKernel

    def __post_init__(self) -> None:
        checks.settle(self, space=as_kernel, time=as_time_kernel)

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.space(X[:, :-1], Y[:, :-1]) * self.time(X[:, -1], Y[:, -1])

    def diagonal(self, X: Array) -> Array:
        return self.space.diagonal(X[:, :-1]) * self.time.diagonal(X[:, -1])

    def gradient(self, X: Array, Y: Array) -> Array:
        """∂/∂x, and 0 for time, which is not chosen: (n, m, d + 1)."""
        inner = self.space.gradient(X[:, :-1], Y[:, :-1]) * self.time(X[:, -1], Y[:, -1])[:, :, None]
        return np.concatenate([inner, np.zeros((*inner.shape[:2], 1))], axis=2)


def as_time_kernel(name: str, given: Any) -> TimeKernel:
    """A kernel of time, and not the class of one."""
    parts, example = ("__call__", "diagonal", "stationary"), "a kernel of time, as Forgetting(0.1)"
    kernel: TimeKernel = checks.like(name, given, parts, example)
    return kernel
