"""MoMA-GP-UCB (Zhou & Tan 2020): heavy tails, by the median of k estimates; every point is asked k times in a row."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Width
from driftwise.policies.base import Decision, UcbPolicy
from driftwise.policies.beliefs.feature_ridge import FeatureRidge
from driftwise.policies.beliefs.features import Features
from driftwise.policies.robust import FIXED, Kind, Rank, chosen_features, feature_map, fixed_design, widened
from driftwise.policies.setup import Setup, takes
from driftwise.records import Array, Ask, Observation, Point

BAD = 1 / 9  # the probability with which one estimate may be off by more than r = √(9vd)
REPLICAS = 5  # by default


@dataclass(frozen=True)
class MedianWidth:
    """What is proved for points that do not depend on the rewards: 3r/√λ for the noise, r² = 9·v·tr V⁻¹(V − λI).

    The paper has m in place of the trace, and does not ask that of the points (docs/theory.md).
    """

    variance: float
    B: float = 1.0

    assumes_bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.settle(self, variance=checks.positive, B=checks.nonnegative)

    def __call__(self, belief: Belief, number: int) -> float:
        effective = max(getattr(belief, "effective", 0.0), 0.0)
        return widened(belief, self.B, 3 * math.sqrt(self.variance * effective / BAD))


@dataclass(frozen=True, eq=False)
class Replicas:
    """The k regressions, what was observed, and where `epoch` is being asked: at `x`, once it has a reward."""

    V: Array  # (k, m, m)
    b: Array  # (k, m)
    X: Array  # (n, d)
    left_out: float = 0.0
    epoch: int = 0
    x: Point | None = None


@dataclass(frozen=True)
class MomaGpUcb(UcbPolicy[Replicas]):
    """x = argmax φᵀθ̂ + βσ, asked k times; θ̂ is that θ_j of k regressions whose median distance to the others is least.

    θ_j is the ridge regression of the j-th rewards of all points, and distances are in the norm of V. Nothing is
    truncated, so that rewards may be anywhere: it needs the `variance` of their noise alone, and that for the width by
    name. It assumes a world that stands still; put `dal` around it where it does not. With width="fixed-design" k is
    the least for which the median is off with probability δ at most, and the horizon must be given. With one replica it
    is gp-ucb, as far as the features go. O(k·m² + k²·m) for a reward and O(k·m³) for a new point, m features.

    >>> from driftwise import Candidates
    >>> policy = MomaGpUcb.of(Candidates([[0.0], [1.0]]), replicas=3)
    >>> state = policy.start()
    >>> for t, y in enumerate([0.1, 99.0, 0.2], start=1):
    ...     state = policy.update(state, Observation(t, float(t), (0.0,), y))
    >>> mean, _ = policy.belief(state, Ask(number=4, at=4.0)).predict(policy.space.points)
    >>> round(float(mean[0]), 3)
    0.099
    """

    name: ClassVar[str] = "moma-gp-ucb"
    restrictable: ClassVar[bool] = False  # a point is asked k times, whatever the ask
    shared = takes("kernel", "noise", "width", "B", "delta", "horizon")

    features: Features
    replicas: int = REPLICAS
    centre: float = 0.0

    def __post_init__(self) -> None:
        self.settle(features=feature_map, replicas=checks.count, centre=checks.size)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        replicas: Annotated[int | None, "how often each point is asked, k; None: 5, or as the width needs"] = None,
        variance: Annotated[float, "bound v on the variance of the noise, for width=fixed-design"] = 1.0,
        centre: Annotated[float, "what rewards are where nothing is known"] = 0.0,
        features: Kind = "nystrom",
        rank: Rank = None,
        **given: Any,
    ) -> MomaGpUcb:
        setup = cls.setup(space, given)
        phi = chosen_features(setup, features, rank)
        k = checks.count("replicas", _replicas(setup) if replicas is None else replicas)

        def median() -> Width:
            if k < (least := enough(setup.planned("width='fixed-design'"), setup.delta)):
                raise InvalidInput(f"width='fixed-design' needs replicas ≥ {least}, got {k}")
            return MedianWidth(variance, setup.B)

        return cls(setup.model, fixed_design(setup, phi, {FIXED: median}), phi, k, centre)

    @property
    def weighs_noise(self) -> bool:
        return False  # what is proved is about one variance for all

    def epoch(self, number: int) -> int:
        """Which point step `number` is asked at: the first, the second, …"""
        return (number - 1) // self.replicas

    def start(self) -> Replicas:
        k, m = self.replicas, self.features.rank
        V = np.broadcast_to(self.model.noise * np.eye(m), (k, m, m))
        return Replicas(V, np.zeros((k, m)), np.zeros((0, self.space.dim)))

    def decide(self, state: Replicas, ask: Ask) -> Decision:
        if state.x is not None and state.epoch == self.epoch(ask.number):
            return Decision(np.array(state.x))
        return super().decide(state, ask)

    def update(self, state: Replicas, seen: Observation) -> Replicas:
        x, epoch = np.array([seen.x]), self.epoch(seen.number)
        j, phi = (seen.number - 1) % self.replicas, self.features(x)[0]
        V, b = state.V.copy(), state.b.copy()
        V[j] += np.outer(phi, phi)
        b[j] += (seen.y - self.centre) * phi
        left_out = state.left_out + max(float(self.model.kernel.diagonal(x)[0] - phi @ phi), 0.0) / self.replicas
        asked = state.x if state.x is not None and state.epoch == epoch else seen.x
        return Replicas(V, b, np.vstack([state.X, x]), left_out, epoch, asked)

    def belief(self, state: Replicas, ask: Ask) -> FeatureRidge:
        V = state.V.mean(axis=0)
        thetas = np.asarray(np.linalg.solve(state.V, state.b[:, :, None])[:, :, 0], dtype=float)
        units = (self.centre, 1.0)
        theta = median_of(thetas, V)
        return FeatureRidge(self.features, self.model.noise, theta, V, state.X, state.left_out, units)


def median_of(thetas: Array, V: Array) -> Array:
    """The θ_j with the least median of ‖θ_j − θ_l‖_V over l, the first of equals: (m,)."""
    apart = thetas[:, None] - thetas
    squares = np.einsum("jlm,mn,jln->jl", apart, V, apart, optimize=True)
    return np.asarray(thetas[np.argmin(np.median(squares, axis=1))])


def enough(horizon: int, delta: float) -> int:
    """The least k with ⌈T/k⌉ (4p(1 − p))^{k/2} ≤ δ, p = 1/9: then more than half of the estimates are good, always.

    >>> enough(1000, 0.1)
    15
    """
    rate = -0.5 * math.log(4 * BAD * (1 - BAD))
    return next(k for k in itertools.count(1) if math.log(math.ceil(horizon / k) / delta) <= rate * k)


def _replicas(setup: Setup) -> int:
    by_name = isinstance(setup.width, str) and setup.width == FIXED
    return enough(setup.planned("width='fixed-design'"), setup.delta) if by_name else REPLICAS
