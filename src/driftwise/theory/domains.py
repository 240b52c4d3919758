"""The points on which γ is computed for the whole of [0, 1]^d: as many as it takes, or a word if they are too few."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from driftwise import checks
from driftwise.gp.kernels import Kernel
from driftwise.records import Array
from driftwise.theory.information import MaximumGain
from driftwise.theory.linear_gain import LinearGain, is_linear

DIMENSIONS, POINTS = 1000, 10_000  # of which γ is computed: a table of 80 MB at most
FIRST, LAST = 128, 1024  # points of the first and of the last refinement
AGREE = 0.01  # two refinements agree if γ differs by no more than this share


@dataclass(frozen=True)
class Domain:
    """Points that stand for [0, 1]^d: γ on them is γ of the cube from below, and of the cube itself if `exact`.

    `growth` says by which share γ grew when their number was last doubled; None: they were given, not refined.
    """

    gain: MaximumGain | LinearGain
    growth: float | None = None

    @property
    def exact(self) -> bool:
        return isinstance(self.gain, LinearGain)

    def with_noise(self, noise: float) -> MaximumGain | LinearGain:
        """γ on the same points with another λ."""
        if noise == self.gain.noise:
            return self.gain
        if isinstance(self.gain, LinearGain):
            return LinearGain.of(self.gain.kernel, self.gain.dim, noise)
        return MaximumGain(self.gain.kernel, noise, self.gain.points)

    @property
    def points(self) -> int:
        return len(self.gain.points)

    @property
    def settled(self) -> bool:
        """Whether more points would change little."""
        return self.exact or (self.growth is not None and self.growth <= AGREE)


def domain(kernel: Kernel, dim: int, noise: float, n: int, *, points: int | None = None) -> Domain:
    """The points for γ_n: as many as given, else doubled until both ends of γ's interval agree to 1%, or to 1,024.

    A linear kernel needs no points: its γ is bounded on the whole cube, in any dimension.

    >>> from driftwise.gp.kernels import Linear
    >>> domain(Linear(), 40, 1.0, 10).exact
    True
    """
    if is_linear(kernel) and points is None:
        return Domain(LinearGain.of(kernel, dim, noise))
    if points is not None:
        return Domain(_gain(kernel, noise, cube(dim, points)))
    size, found = FIRST, _gain(kernel, noise, cube(dim, FIRST))
    while True:
        size, before = 2 * size, found
        found = _gain(kernel, noise, cube(dim, size))
        growth = max(_change(before(n), found(n)), _change(before.upper(n), found.upper(n)))
        if growth <= AGREE or size >= LAST:
            return Domain(found, growth=growth)


def cube(dim: int, n: int) -> Array:
    """About n points spread over [0, 1]^dim, on which γ is computed: (n, dim).

    >>> cube(1, 3).ravel().tolist()
    [0.0, 0.5, 1.0]
    """
    n = checks.count("points", n, least=2, most=POINTS)
    if checks.count("dim", dim, most=DIMENSIONS) == 1:
        return np.linspace(0.0, 1.0, n)[:, None]
    from scipy.stats import qmc  # slow to import

    spread: Array = qmc.Sobol(dim, scramble=True, rng=np.random.default_rng(0)).random_base2((n - 1).bit_length())
    return spread[:n]


def _change(before: float, after: float) -> float:
    return abs(after - before) / max(after, 1e-300)


def _gain(kernel: Kernel, noise: float, points: Array) -> MaximumGain:
    return MaximumGain(kernel, noise, tuple(map(tuple, points.tolist())))
