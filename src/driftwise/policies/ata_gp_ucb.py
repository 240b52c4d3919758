"""ATA-GP-UCB (Chowdhury & Gopalan 2019): heavy tails, truncated anew at every step and in every direction."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.belief import Belief
from driftwise.policies.base import UcbPolicy, an_instance
from driftwise.policies.beliefs.feature_ridge import FeatureRidge
from driftwise.policies.beliefs.features import Features
from driftwise.policies.robust import FIXED, Kind, Rank, chosen_features, feature_map, fixed_design, widened
from driftwise.policies.setup import takes
from driftwise.records import Array, Ask, Observation


@dataclass(frozen=True)
class Tails:
    """E|y|^{1+α} ≤ v, α in (0, 1] the `order`; T steps are planned, or it holds for any number of them.

    ℓ_t = ln(2mT/δ), or ln(2mt(t + 1)/δ), of m features; products u_iτ y_τ with Σ_τ u_iτ² ≤ 1 are truncated at b_t =
    (v t^{(1−α)/2}/ℓ_t)^{1/(1+α)}.

    >>> round(Tails(moment=4.0, delta=0.1, horizon=100).level(9, rank=5) ** 2 * math.log(2 * 5 * 100 / 0.1), 9)
    4.0
    """

    moment: float
    order: float = 1.0
    delta: float = 0.1
    horizon: int | None = None

    def __post_init__(self) -> None:
        share = partial(checks.share, fix="1 is a bound on the second moment")
        optional = checks.optional(checks.count)
        checks.settle(self, moment=checks.positive, order=share, delta=checks.probability, horizon=optional)

    def log(self, t: int, rank: int) -> float:
        """ℓ_t."""
        events = t * (t + 1) if self.horizon is None else self.horizon
        return math.log(2 * rank * events / self.delta)

    def level(self, t: int, rank: int) -> float:
        """b_t."""
        return float((self.moment * t ** ((1 - self.order) / 2) / self.log(t, rank)) ** (1 / (1 + self.order)))


the_tails = an_instance(Tails, "a Tails(moment)")


@dataclass(frozen=True)
class AdaptiveWidth:
    """What is proved for points that do not depend on the rewards: c√(m/λ) ℓ_t b_t for the noise, c = 5/3 + √2.

    The paper has c = 4, and does not ask that of the points (docs/theory.md).
    """

    tails: Tails
    rank: int
    B: float = 1.0

    assumes_bounded: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.settle(self, tails=the_tails, rank=checks.count, B=checks.nonnegative)

    def __call__(self, belief: Belief, number: int) -> float:
        t = len(belief)
        spread = math.sqrt(self.rank) * self.tails.log(t, self.rank) * self.tails.level(t, self.rank) if t else 0.0
        return widened(belief, self.B, (5 / 3 + math.sqrt(2)) * spread)


@dataclass(frozen=True, eq=False)
class Products:
    """The features of what was observed, and the rewards."""

    phi: Array  # (t, m)
    y: Array  # (t,)
    X: Array  # (t, d)
    left_out: float = 0.0


@dataclass(frozen=True)
class AtaGpUcb(UcbPolicy[Products]):
    """x_t = argmax φᵀθ̂ + β_t σ, θ̂ = V^{−½}r, r_i = Σ_τ u_iτ y_τ over those |u_iτ y_τ| ≤ b_t, where U = V^{−½}Φᵀ.

    V is ΦᵀΦ + λI. A reward may count in one direction and not in another, and one that was cut off may count again. It
    assumes a world that stands still; put `dal` around it where it does not. Must be known: `moment` v with E|y −
    centre|^{1+α} ≤ v, in the rewards' own units and f included. Features are Nyström's, or those of a quadrature (RBF
    alone). Without truncation it is gp-ucb, as far as the features go. O(m³ + t·m²) a step, m features.

    >>> from driftwise import Candidates
    >>> policy = AtaGpUcb.of(Candidates([[0.0], [1.0]]))
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [0.0]
    """

    name: ClassVar[str] = "ata-gp-ucb"
    shared = takes("kernel", "noise", "width", "B", "delta", "horizon")

    features: Features
    tails: Tails = field(default_factory=lambda: Tails(4.0))
    centre: float = 0.0

    def __post_init__(self) -> None:
        self.settle(features=feature_map, tails=the_tails, centre=checks.size)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        moment: Annotated[float, "bound v on the moment E|y − centre|^(1+order) of the rewards"] = 4.0,
        order: Annotated[float, "α in (0, 1]; 1 is a bound on the second moment"] = 1.0,
        centre: Annotated[float, "value around which rewards are truncated"] = 0.0,
        features: Kind = "nystrom",
        rank: Rank = None,
        **given: Any,
    ) -> AtaGpUcb:
        setup = cls.setup(space, given)
        phi = chosen_features(setup, features, rank)
        tails = Tails(moment, order, setup.delta, setup.horizon)
        beta = fixed_design(setup, phi, {FIXED: lambda: AdaptiveWidth(tails, phi.rank, setup.B)})
        return cls(setup.model, beta, phi, tails, centre)

    @property
    def weighs_noise(self) -> bool:
        return False  # what is proved is about one moment for all

    def start(self) -> Products:
        return Products(np.zeros((0, self.features.rank)), np.zeros(0), np.zeros((0, self.space.dim)))

    def update(self, state: Products, seen: Observation) -> Products:
        x = np.array([seen.x])
        phi = self.features(x)
        rho2 = max(float(self.model.kernel.diagonal(x)[0] - (phi @ phi.T)[0, 0]), 0.0)
        y = np.append(state.y, seen.y - self.centre)
        return Products(np.vstack([state.phi, phi]), y, np.vstack([state.X, x]), state.left_out + rho2)

    def belief(self, state: Products, ask: Ask) -> FeatureRidge:
        theta, V = estimate(state.phi, state.y, self.model.noise, self.level(state))
        return FeatureRidge(
            self.features, self.model.noise, theta, V, state.X, state.left_out, units=(self.centre, 1.0)
        )

    def level(self, state: Products) -> float:
        """b_t, by which products are cut off now."""
        return self.tails.level(max(len(state.y), 1), self.features.rank)


def estimate(phi: Array, y: Array, noise: float, level: float) -> tuple[Array, Array]:
    """θ̂ = V^{−½}r and V: (m,), (m, m)."""
    V = phi.T @ phi + noise * np.eye(phi.shape[1])
    values, vectors = np.linalg.eigh(V)
    root = vectors / np.sqrt(values) @ vectors.T  # V^{−½}
    products = root @ phi.T * y  # u_iτ y_τ: (m, t)
    r = np.where(np.abs(products) <= level, products, 0.0).sum(axis=1)
    return root @ r, V
