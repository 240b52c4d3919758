"""Environments of one's own: a function that puts parts together, and a class from scratch."""

import math
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np

from driftwise import RBF, Array, Candidates, generator
from driftwise.environments import Expansion, Gaussian, Rotating, World
from driftwise.rng import Stream


def tide(
    *,
    seed: int = 0,
    period: Annotated[float, "steps until the world repeats"] = 50.0,
    noise_std: Annotated[float, "standard deviation of the noise"] = 0.1,
    horizon: Annotated[int, "number of steps T"] = 200,
) -> World:
    """A random function on a line that comes and goes with a period."""
    line = Candidates(np.linspace(0, 1, 41))
    basis = Expansion(RBF(0.2), line, norm=1.0)
    return World(line, basis, Rotating(period), Gaussian(noise_std), seed=seed, horizon=horizon, name="tide")


@dataclass(frozen=True)
class Hill:
    """f_t(x) = 1 − 4 (x − x*_t)² on a line, with x*_t = ½ + ½ sin(t/30 + φ) and a phase φ by the seed."""

    seed: int = 0
    horizon: int = 200
    name: str = "hill"

    @property
    def space(self) -> Candidates:
        return Candidates(np.linspace(0, 1, 41))

    @property
    def kernel(self) -> RBF:
        return RBF(0.4)

    @property
    def noise(self) -> Gaussian:
        return Gaussian(0.1)

    def seeded(self, seed: int) -> "Hill":
        return replace(self, seed=seed)

    def value(self, t: int, X: Array) -> Array:
        phase = 2 * math.pi * generator(self.seed, stream=Stream.WORLD).random()
        return 1 - 4 * (X[:, 0] - (0.5 + 0.5 * math.sin(t / 30 + phase))) ** 2

    def observe(self, t: int, x: Array) -> float:
        return float(self.value(t, x[None])[0]) + self.noise.draw(self.seed, t)

    def best(self, t: int) -> float:
        return float(self.value(t, self.space.points).max())

    def variation(self, horizon: int) -> float:
        return math.nan  # P_T is not known: these functions were not drawn from an RKHS
