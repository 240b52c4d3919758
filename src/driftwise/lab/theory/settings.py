"""What `driftwise lab theory` measures, in full and in a minute."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from driftwise.environments.catalogue import line
from driftwise.environments.drift import Draw, Drift
from driftwise.environments.noise import Gaussian
from driftwise.environments.rkhs import Whitened
from driftwise.environments.world import World
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import RBF, Kernel
from driftwise.records import Array
from driftwise.spaces import Candidates


@dataclass(frozen=True)
class Settings:
    """The sizes of every measurement. All worlds have ‖f_t‖ = B = 1 and Gaussian noise of standard deviation R."""

    R: float = 0.1
    delta: float = 0.1
    candidates: int = 50  # of [0, 1], k = RBF(0.2)
    # coverage of the bands
    runs: int = 1000
    coverage_horizon: int = 40
    coverage_length: int = 10  # H and w
    # regret over a grid of T and P_T
    horizons: tuple[int, ...] = (200, 400, 800, 1600, 3200)
    budgets: tuple[float, ...] = (1.0, 4.0, 16.0, 64.0)
    seeds: int = 8
    # the linear special case
    linear_horizons: tuple[int, ...] = (200, 800, 3200)
    linear_budgets: tuple[float, ...] = (1.0, 4.0, 16.0)
    dims: tuple[int, ...] = (2, 4, 8, 16)
    linear_points: int = 200
    linear_seeds: int = 8
    # γ
    gain_points: int = 1000
    gain_samples: int = 2000
    # every bound, held against many runs
    held_runs: int = 1000
    held_candidates: int = 25
    held_horizon: int = 500
    held_budgets: tuple[float, ...] = (0.0, 0.5, 4.0)
    # bounds and regret over T and over P_T, in one picture
    drawn_runs: int = 200
    drawn_horizon: int = 2000
    drawn_budget: float = 2.0

    def __post_init__(self) -> None:
        if max(self.budgets) > 2 * (min(self.horizons) - 1):
            raise InvalidInput(
                f"a budget is at most 2(T − 1), as ‖f_t‖ = 1; got {max(self.budgets):g} with T = {min(self.horizons)}"
            )


FULL = Settings()
QUICK = replace(
    FULL,
    runs=100,
    horizons=(100, 200, 400, 800),
    budgets=(1.0, 4.0, 16.0),
    seeds=3,
    linear_horizons=(100, 400),
    linear_budgets=(1.0, 4.0),
    dims=(2, 8),
    linear_seeds=3,
    gain_points=300,
    gain_samples=500,
    held_runs=100,
    held_horizon=100,
    drawn_runs=20,
    drawn_horizon=200,
)


@dataclass(frozen=True)
class Turning(Drift):
    """f_t = cos(θ_t) g + sin(θ_t) h, θ_t = (t − 1)·`angle`, g and h orthonormal; on an orthonormal basis (`Whitened`).

    So ‖f_t‖ = 1 and ‖f_{t+1} − f_t‖ = 2 |sin(angle/2)| at every step: B and P_T are exact.
    """

    angle: float

    @classmethod
    def of(cls, budget: float, horizon: int) -> Turning:
        """P_T = (T − 1) · 2 sin(angle/2) = `budget`."""
        return cls(2 * math.asin(budget / (2 * (horizon - 1))))

    def at(self, t: int, draw: Draw, before: Array | None) -> Array:
        g, h = _unit(draw(0)), draw(1)
        h = _unit(h - (g @ h) * g)
        return math.cos((t - 1) * self.angle) * g + math.sin((t - 1) * self.angle) * h


def _unit(z: Array) -> Array:
    return z / math.sqrt(z @ z)


def turning(kernel: Kernel, points: Candidates, *, budget: float, horizon: int, R: float, seed: int) -> World:
    """A world of norm 1 that turns by P_T = `budget` in all."""
    return World(points, Whitened(kernel, points), Turning.of(budget, horizon), Gaussian(R), seed, horizon, "turning")


def smooth(settings: Settings) -> tuple[Kernel, Candidates]:
    """The kernel and the candidates of everything but the linear case."""
    return RBF(0.2), line(settings.candidates)
