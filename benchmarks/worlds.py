"""Worlds that drift, for closed loops that are like real ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise.gp.kernels import Kernel
from driftwise.records import Array


@dataclass(frozen=True, eq=False)
class Drifting:
    """f_t(x) = Σ_j a_j cos(ω_j t + φ_j) k(x, c_j), observed with Gaussian noise of standard deviation 0.1."""

    kernel: Kernel
    centres: Array
    amplitude: Array
    phase: Array
    speed: Array

    @classmethod
    def of(cls, kernel: Kernel, *, dim: int, seed: int = 0) -> Drifting:
        rng = np.random.default_rng(seed)
        m = 12 * dim
        return cls(kernel, rng.random((m, dim)), rng.standard_normal(m), 6.28 * rng.random(m), 0.05 * rng.random(m))

    def observe(self, t: int, x: Array) -> float:
        value = self.kernel(x[None], self.centres)[0] @ (self.amplitude * np.cos(self.speed * t + self.phase))
        return float(value + 0.1 * np.random.default_rng(t).standard_normal())

    def on(self, points: Array) -> OnPoints:
        """The same at finitely many points, all at once."""
        return OnPoints(self, self.kernel(points, self.centres))


@dataclass(frozen=True, eq=False)
class OnPoints:
    world: Drifting
    features: Array  # (n, m)

    def values(self, t: int) -> Array:
        """What is observed at every point: (n,)."""
        world, noise = self.world, np.random.default_rng(t).standard_normal()
        return self.features @ (world.amplitude * np.cos(world.speed * t + world.phase)) + 0.1 * noise
