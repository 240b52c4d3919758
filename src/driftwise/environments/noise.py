"""Noise with a known sub-Gaussian constant R: E exp(λη) ≤ exp(λ²R²/2) for every λ. Draws are functions of (seed, t).

The `noise` of a world is one of these objects; its `noise.variance` is what a policy is given as its own `noise`. Where
a world takes a number, that is `noise_std`, a standard deviation.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.rng import Stream, generator


class Noise(Protocol):
    """What is added to f_t(x_t). Policies that are compared on one seed see the same noise, whatever they choose."""

    @property
    def R(self) -> float:
        """The smallest sub-Gaussian constant."""
        ...

    @property
    def variance(self) -> float:
        """E η², which the model of a policy may use as its noise variance."""
        ...

    def draw(self, seed: int, t: int) -> float:
        """η_t."""
        ...


# a number is refused, because it could be a standard deviation or a variance
as_noise = partial(checks.like, parts=("R", "variance", "draw"), example="a noise, as Gaussian(0.1)")


@dataclass(frozen=True)
class Gaussian:
    """η ~ N(0, std²); R = std. With std = 0 there is no noise.

    >>> Gaussian(0.1).draw(seed=1, t=5) == Gaussian(0.1).draw(seed=1, t=5)
    True
    """

    std: float = 0.1

    def __post_init__(self) -> None:
        checks.settle(self, std=checks.nonnegative)

    @property
    def R(self) -> float:
        return self.std

    @property
    def variance(self) -> float:
        return self.std**2

    def draw(self, seed: int, t: int) -> float:
        return self.std * float(generator(seed, t, Stream.NOISE).standard_normal()) if self.std else 0.0


@dataclass(frozen=True)
class Uniform:
    """η ~ U[−half, half]; R = half/√3, because sinh(s)/s ≤ exp(s²/6)."""

    half: float = 0.1

    def __post_init__(self) -> None:
        checks.settle(self, half=checks.nonnegative)

    @property
    def R(self) -> float:
        return self.half / math.sqrt(3)

    @property
    def variance(self) -> float:
        return self.half**2 / 3

    def draw(self, seed: int, t: int) -> float:
        return self.half * float(generator(seed, t, Stream.NOISE).uniform(-1.0, 1.0))


@dataclass(frozen=True)
class Rademacher:
    """η = ±size, each with probability ½; R = size, because cosh(s) ≤ exp(s²/2)."""

    size: float = 0.1

    def __post_init__(self) -> None:
        checks.settle(self, size=checks.nonnegative)

    @property
    def R(self) -> float:
        return self.size

    @property
    def variance(self) -> float:
        return self.size**2

    def draw(self, seed: int, t: int) -> float:
        return self.size if generator(seed, t, Stream.NOISE).random() < 0.5 else -self.size


@dataclass(frozen=True)
class Changing:
    """η_t ~ N(0, std_j²), where j is the number of `times` before t: the noise level changes.

    R is the largest std, which holds at all times. `variance` is the mean over the pieces.

    >>> noise = Changing((0.1, 0.5), (10,))
    >>> noise.std(10), noise.std(11), noise.R, round(noise.variance, 3)
    (0.1, 0.5, 0.5, 0.13)
    """

    stds: tuple[float, ...]
    times: tuple[int, ...]

    def __post_init__(self) -> None:
        stds = partial(checks.each, rule=checks.nonnegative, fix="(0.1, 0.5)")
        checks.settle(self, stds=stds, times=partial(checks.each, rule=checks.count, fix="(100,)"))
        if len(self.stds) != len(self.times) + 1 or list(self.times) != sorted(set(self.times)):
            raise InvalidInput(f"stds must be one more than the times, which increase, got {self.stds}, {self.times}")

    def std(self, t: int) -> float:
        """The standard deviation at step t. A time is the last step of the old one."""
        return self.stds[bisect_left(self.times, t)]

    @property
    def R(self) -> float:
        return max(self.stds)

    @property
    def variance(self) -> float:
        return math.fsum(s * s for s in self.stds) / len(self.stds)

    def draw(self, seed: int, t: int) -> float:
        return self.std(t) * Gaussian(1.0).draw(seed, t)
