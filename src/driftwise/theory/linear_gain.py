"""γ of the linear kernel on the whole of [0, 1]^d, in any dimension: from above by symmetry (docs/theory.md).

A design is a measure of mass n on the cube, and its gain ½ ln det(I + M/λ), M = ∫ x xᵀ, is concave and does not change
if coordinates are exchanged. So a best one is symmetric, and made of corners, as the gain grows with M. With k ones in
a corner drawn at random, M has the eigenvalues n E[k²]/d, once, and n (d E[k] − E[k²])/(d(d − 1)), d − 1 times. The
best E[k] for a given s = E[k²] mixes two neighbours k, and what is left is a concave function of s alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from driftwise import checks
from driftwise.gp.kernels import Kernel, Linear, Scaled
from driftwise.records import Array, Point
from driftwise.theory.information import MaximumGain

CORNERS = 1024  # at most, from which γ is searched from below
ROUNDS = 80  # of a search by thirds: an interval of d² ends below rounding
ROUNDING = 1e-9  # of the maximum, by which it is raised


@dataclass(frozen=True)
class LinearGain:
    """n ↦ γ_n of c·xᵀy on all of [0, 1]^d: from below by corners, from above by `linear_ceiling`.

    >>> gain = LinearGain.of(Linear(), 30, 1.0)
    >>> gain(100) <= gain.upper(100) <= 1.02 * gain(100)
    True
    """

    corners: MaximumGain
    scale: float  # c

    @classmethod
    def of(cls, kernel: Kernel, dim: int, noise: float) -> LinearGain:
        return cls(MaximumGain(kernel, noise, tuple(map(tuple, corners(dim).tolist()))), scale_of(kernel))

    def __call__(self, n: int) -> float:
        return self.corners(n)

    def upper(self, n: int) -> float:
        """The design's maximum; for few points n times the first gain, in the far corner, or what all corners say."""
        found = min(linear_ceiling(n, self.dim, self.noise / self.scale), n * self.corners(1))
        return min(found, self.corners.upper(n)) if len(self.points) == 2**self.dim else found

    @property
    def dim(self) -> int:
        return len(self.points[0])

    @property
    def kernel(self) -> Kernel:
        return self.corners.kernel

    @property
    def noise(self) -> float:
        return self.corners.noise

    @property
    def points(self) -> tuple[Point, ...]:
        return self.corners.points


def linear_ceiling(n: int, dim: int, noise: float) -> float:
    """The largest ½ ln det(I + M/λ) of designs of n points of [0, 1]^d with the kernel xᵀy: at least γ_n.

    >>> round(linear_ceiling(3, 1, 1.0), 6) == round(0.5 * math.log(4), 6)
    True
    """
    d, noise = checks.count("dim", dim), checks.positive("noise", noise)
    share = checks.count("n", n, least=0) / (d * noise)

    def gained(s: float) -> float:
        k = min(math.isqrt(int(s)), d - 1)
        ones = k + (s - k * k) / (2 * k + 1)  # E[k], between (k², k) and its neighbour
        rest = (d - 1) / 2 * math.log1p(share * (d * ones - s) / (d - 1)) if d > 1 else 0.0
        return 0.5 * math.log1p(share * s) + rest

    low, high = 0.0, float(d * d)
    for _ in range(ROUNDS):
        third = (high - low) / 3
        if gained(low + third) < gained(high - third):
            low += third
        else:
            high -= third
    return (1 + ROUNDING) * gained((low + high) / 2)


def corners(dim: int) -> Array:
    """Corners of [0, 1]^dim, all of them up to dim = 10: (≤ 1,024, dim).

    Beyond, they are drawn at random with (d + 1)/2 ones on average, as the best designs have for large n.

    >>> corners(2).tolist()
    [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    """
    if 2 ** checks.count("dim", dim, most=10_000) <= CORNERS:
        return np.array(np.meshgrid(*[[0.0, 1.0]] * dim, indexing="ij")).reshape(dim, -1).T
    drawn = np.random.default_rng(0).random((CORNERS - 1, dim)) < 0.5 + 0.5 / dim
    return np.vstack([np.ones((1, dim)), np.unique(drawn.astype(float), axis=0)])


def is_linear(kernel: Kernel) -> bool:
    """Whether it is c·xᵀy."""
    return is_linear(kernel.kernel) if isinstance(kernel, Scaled) else isinstance(kernel, Linear)


def scale_of(kernel: Kernel) -> float:
    """c of c·xᵀy."""
    if isinstance(kernel, Scaled):
        return kernel.variance * scale_of(kernel.kernel)
    return 1.0
