"""What the two policies for heavy tails share: their features, and their widths for points that follow no rewards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Width
from driftwise.gp.kernels import RBF
from driftwise.policies.beliefs.features import Features, Nystrom, Quadrature
from driftwise.policies.beliefs.landmarks import landmarks
from driftwise.policies.setup import PROVED, Setup, representatives

FIXED = "fixed-design"
MOST, TOLERANCE = 60, 0.05  # Nyström features by default: until they leave out a twentieth of the deviation
MOMENTS = "it is for sub-Gaussian noise, and here only a moment is bounded; give width='fixed-design', or a number"
KINDS = ("nystrom", "quadrature")

Kind = Annotated[str, "nystrom: of landmarks, for any kernel; quadrature: of a Gauss–Hermite rule, for RBF"]
Rank = Annotated[int | None, "number of features m at most; None: as the kernel needs, at most 60"]

feature_map = partial(
    checks.like, parts=("kernel", "rank", "__call__", "gradient"), example="features, as Nystrom(kernel, landmarks)"
)


def chosen_features(setup: Setup, kind: str, rank: int | None) -> Features:
    """The features by name, `rank` of them at most."""
    kernel, X = setup.model.kernel, representatives(setup.space)
    most = MOST if rank is None else checks.count("rank", rank, most=1000)
    if checks.one_of("features", kind, KINDS) == "nystrom":
        taken = landmarks(kernel, X, most=most, tolerance=TOLERANCE if rank is None else 0.0)
        return Nystrom(kernel, tuple(map(tuple, X[taken].tolist())))
    if not isinstance(kernel, RBF):
        raise InvalidInput(f"features='quadrature' are those of an RBF kernel, got {checks.shown(kernel)}")
    nodes = math.floor((most / 2) ** (1 / setup.space.dim) + 1e-9)
    if nodes < 2:
        raise InvalidInput(f"features='quadrature' has 2·q^d features and q ≥ 2, got rank {most} for d = {X.shape[1]}")
    return Quadrature(kernel, setup.space.dim, nodes)


def fixed_design(setup: Setup, features: Features, own: Mapping[str, Callable[[], Width]]) -> Width:
    """The width, of which FIXED is proved with Nyström features alone."""
    unproved = dict.fromkeys(PROVED, MOMENTS)
    if not isinstance(features, Nystrom):
        unproved[FIXED] = "it is proved for functions that features project, as features='nystrom' do"
    return setup.beta(unproved=unproved, own=own)


def widened(belief: Belief, B: float, noise: float) -> float:
    """√(B² + β²), β = B(1 + √(Σρ²/λ)) + c/√λ, where |f − μ| ≤ Bρ + β√(σ² − ρ²) and `noise` is c (docs/theory.md)."""
    left_out = getattr(belief, "left_out", 0.0)
    beta = B * (1 + math.sqrt(left_out / belief.noise)) + noise / math.sqrt(belief.noise)
    return math.hypot(B, beta)
