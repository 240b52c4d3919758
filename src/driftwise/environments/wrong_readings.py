"""Gaussian noise with wrong readings among it: a share of all, or a single one."""

from __future__ import annotations

import math
from dataclasses import dataclass

from driftwise import checks
from driftwise.environments.noise import Gaussian
from driftwise.rng import Stream, generator


@dataclass(frozen=True)
class Glitches:
    """η ~ N(0, std²), and with probability `share` ±u is added, u ~ U[least, most], both signs equally likely.

    The Gaussian part is that of `Gaussian(std)`, so a world with glitches has the readings of the one without, but for
    the wrong ones. R² is at most std² + most².

    >>> noise = Glitches(0.1, 0.03, 1.0, 3.0)
    >>> sum(abs(noise.draw(0, t) - Gaussian(0.1).draw(0, t)) > 0.99 for t in range(1, 1001))
    36
    """

    std: float
    share: float
    least: float
    most: float

    def __post_init__(self) -> None:
        checks.settle(
            self, std=checks.nonnegative, share=checks.share, least=checks.nonnegative, most=checks.nonnegative
        )

    @property
    def R(self) -> float:
        return math.hypot(self.std, self.most)

    @property
    def variance(self) -> float:
        """E η²: E u² is (least² + least·most + most²)/3."""
        return self.std**2 + self.share * (self.least**2 + self.least * self.most + self.most**2) / 3

    def draw(self, seed: int, t: int) -> float:
        rng = generator(seed, t, Stream.NOISE)
        right = self.std * float(rng.standard_normal())
        hit, size, sign = rng.random(3)
        if hit >= self.share:
            return right
        return right + math.copysign(self.least + (self.most - self.least) * size, sign - 0.5)


@dataclass(frozen=True)
class OneWrong:
    """η_t ~ N(0, std²), but for the reading of step `at`, which is off by `off`. R and variance are those without it.

    >>> round(OneWrong(1.2, 65, -70.0).draw(0, 65) - Gaussian(1.2).draw(0, 65), 9)
    -70.0
    """

    std: float
    at: int
    off: float

    def __post_init__(self) -> None:
        checks.settle(self, std=checks.nonnegative, at=checks.count, off=checks.real)

    @property
    def R(self) -> float:
        return self.std

    @property
    def variance(self) -> float:
        return self.std**2

    def draw(self, seed: int, t: int) -> float:
        return Gaussian(self.std).draw(seed, t) + (self.off if t == self.at else 0.0)
