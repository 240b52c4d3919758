"""β_t, every form of it. In every file β multiplies the standard deviation, never its square.

n is the number of points in use when β_t is asked for, `len(belief)`: t − t₀ of R-GP-UCB, min(t − 1, w) of SW-GP-UCB.
The forms of the paper (`Lemma`, `Realised`, `Algorithm`) and `SrinivasRkhs` assume k(x, x) ≤ 1, and say so by
`assumes_bounded`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Width
from driftwise.gp.kernels import Matern
from driftwise.gp.posterior import Posterior
from driftwise.records import Array, Point
from driftwise.theory.dual import Envelope, envelope
from driftwise.theory.information import MaximumGain, as_gain


class _Checked:
    """A width whose fields are checked when it is made, by the rules that stand here once for all widths."""

    def __post_init__(self) -> None:
        rules: dict[str, checks.Rule] = {
            "gain": as_gain,
            "width": lambda _, given: as_width(given),
            **dict.fromkeys(("B", "R", "S", "drift"), checks.nonnegative),
            **dict.fromkeys(("L", "c1", "c2", "a", "b"), checks.positive),
            **dict.fromkeys(("unions", "dim", "window", "candidates"), checks.count),
            "delta": checks.probability,
            "discount": checks.share,
        }
        checks.settle(self, **{name: rule for name, rule in rules.items() if hasattr(self, name)})


@dataclass(frozen=True)
class Constant:
    """β_t = beta."""

    beta: float

    def __post_init__(self) -> None:
        checks.settle(self, beta=lambda _, given: checks.nonnegative("width", given))

    def __call__(self, belief: Belief, number: int) -> float:
        return self.beta


@dataclass(frozen=True)
class Lemma(_Checked):
    """Lemmas 1 and 2:  β_t = B + (R/√λ) √(2γ_n + 2 ln(m/δ)), for ‖f‖ ≤ B and R-sub-Gaussian noise.

    `unions` is m, over how many events the union bound goes: 1 if nothing is forgotten, ⌈T/H⌉ blocks of R-GP-UCB,
    T windows of SW-GP-UCB.
    """

    gain: MaximumGain
    B: float = 1.0
    R: float = 0.1
    delta: float = 0.1
    unions: int = 1

    assumes_bounded: ClassVar[bool] = True

    def __call__(self, belief: Belief, number: int) -> float:
        return confidence(_gain(self.gain, belief), belief.noise, B=self.B, R=self.R, delta=self.delta / self.unions)


@dataclass(frozen=True)
class Realised(_Checked):
    """β_t = B + (R/√λ) √(2g + 2 ln(m/δ)), g = ½ ln det(I + K/λ) of the window itself: `Lemma`, and tighter."""

    B: float = 1.0
    R: float = 0.1
    delta: float = 0.1
    unions: int = 1

    assumes_bounded: ClassVar[bool] = True

    def __call__(self, belief: Belief, number: int) -> float:
        return confidence(belief.information_gain, belief.noise, B=self.B, R=self.R, delta=self.delta / self.unions)


@dataclass(frozen=True)
class MixtureBand(_Checked):
    """β_t = √(B² + (R²/λ)(2g + 2 ln(m/δ))), g = ½ ln det(I + K/λ) of the window: never more than `Realised`.

    By the method of Flynn & Reeb (2024), with the prior (R²/λ)k for the mixture; the proof is in docs/theory.md. The
    event is about f_t itself, so that where the world moves `unions` is T with restarts, too.
    """

    B: float = 1.0
    R: float = 0.1
    delta: float = 0.1
    unions: int = 1

    assumes_bounded: ClassVar[bool] = True

    def __call__(self, belief: Belief, number: int) -> float:
        return mixture(belief.information_gain, belief.noise, B=self.B, R=self.R, delta=self.delta / self.unions)


@dataclass(frozen=True)
class DualBand(MixtureBand):
    """f(x) ≤ min_α μ_α(x) + r_α σ_α(x), over ridge regressions with other λ = α: never above μ + β σ of `MixtureBand`.

    By Flynn & Reeb (2024); the proof is in docs/theory.md. β_t is that of `MixtureBand`, for whoever asks for a number.
    """

    def index(self, belief: Belief, pending: Sequence[Point], drift: Array | None = None) -> Envelope:
        """What is maximised; `drift` bounds how far f has moved since each observation."""
        told = {"B": self.B, "R": self.R, "delta": self.delta / self.unions}
        return envelope(belief, **told, drift=drift, pending=pending)


@dataclass(frozen=True)
class Algorithm(_Checked):
    """The boxes of Algorithms 1 and 2:  β_t = B + R √(2(γ_n + 1 + ln(1/δ))).

    It is Chowdhury & Gopalan's (2017) of IGP-UCB, for λ = 1 + 2/T. At λ ≥ 1 it is at least `Lemma`'s for one event; at
    smaller λ it promises too much.
    """

    gain: MaximumGain
    B: float = 1.0
    R: float = 0.1
    delta: float = 0.1

    assumes_bounded: ClassVar[bool] = True

    def __call__(self, belief: Belief, number: int) -> float:
        return self.B + self.R * math.sqrt(2 * (_gain(self.gain, belief) + 1 + math.log(1 / self.delta)))


@dataclass(frozen=True)
class SrinivasFinite(_Checked):
    """β_t² = 2 ln(|D| t² π² / 6δ): finitely many candidates, f from the prior (Srinivas et al. 2009, Theorem 1)."""

    candidates: int
    delta: float = 0.1

    def __call__(self, belief: Belief, number: int) -> float:
        return math.sqrt(2 * math.log(self.candidates * number**2 * math.pi**2 / (6 * self.delta)))


@dataclass(frozen=True)
class SrinivasRkhs(_Checked):
    """β_t² = 2B² + 300 γ_n ln³(t/δ): ‖f‖ ≤ B (Srinivas et al. 2009, Theorem 3, where n = t − 1)."""

    gain: MaximumGain
    B: float = 1.0
    delta: float = 0.1

    assumes_bounded: ClassVar[bool] = True

    def __call__(self, belief: Belief, number: int) -> float:
        return math.sqrt(2 * self.B**2 + 300 * _gain(self.gain, belief) * math.log(number / self.delta) ** 3)


@dataclass(frozen=True)
class Bogunovic(_Checked):
    """β_t² = c₁ ln(c₂ t), or 0 where that is negative: what Bogunovic et al. (2016) use in practice.

    >>> from driftwise import RBF, Posterior
    >>> round(Bogunovic()(Posterior(RBF(0.2), 0.01), 100) ** 2, 4) == round(0.8 * math.log(400), 4)
    True
    """

    c1: float = 0.8
    c2: float = 4.0

    def __call__(self, belief: Belief, number: int) -> float:
        return math.sqrt(max(self.c1 * math.log(self.c2 * number), 0.0))


@dataclass(frozen=True)
class TvTheorem(_Checked):
    """β_t² = 2 ln(π²t²/2δ) + 2d ln(d b t² √ln(d a π²t²/2δ)): [0, 1]^d, f from the prior (Bogunovic et al. 2016).

    a and b are of the prior: P(sup_x |∂f/∂x_j| > L) ≤ a e^{−(L/b)²} in every direction j. A logarithm below 0 counts
    as 0, which can only widen the band.
    """

    dim: int
    a: float
    b: float
    delta: float = 0.1

    def __call__(self, belief: Belief, number: int) -> float:
        spent = math.pi**2 * number**2 / (2 * self.delta)
        slope = self.dim * self.b * number**2 * math.sqrt(max(math.log(self.dim * self.a * spent), 0.0))
        return math.sqrt(2 * math.log(spent) + 2 * self.dim * math.log(max(slope, 1.0)))


@dataclass(frozen=True)
class Doubled(_Checked):
    """2β_t, of a proof that takes the error twice."""

    width: Width

    @property
    def assumes_bounded(self) -> bool:
        return getattr(self.width, "assumes_bounded", False)

    def __call__(self, belief: Belief, number: int) -> float:
        return 2 * self.width(belief, number)


@dataclass(frozen=True)
class Permuted(_Checked):
    """R-PERP's β = B(1 + (C/√λ)√ℓ) + (R/√λ)√(2ℓ), ℓ = ln(4nQ/δ), of n candidates and Q = `unions` batches.

    The band is about the mean of f over a batch in random order (Iwazaki & Takeno 2025); C = 2√2 is proved in
    docs/theory.md, where the paper has an absolute constant without a value.
    """

    candidates: int
    unions: int
    B: float = 1.0
    R: float = 0.1
    delta: float = 0.1

    C: ClassVar[float] = 2 * math.sqrt(2)
    assumes_bounded: ClassVar[bool] = True

    def __call__(self, belief: Belief, number: int) -> float:
        log = math.log(4 * self.candidates * self.unions / self.delta)
        return self.B + (self.B * self.C * math.sqrt(log) + self.R * math.sqrt(2 * log)) / math.sqrt(belief.noise)


@dataclass(frozen=True)
class Ellipsoid(_Checked):
    """The linear bandits' β = S + (R/√λ) √(2 ln(1/δ) + d ln(1 + mL²/(λd))), for ‖θ‖ ≤ S, ‖x‖ ≤ L, R-sub-Gaussian noise.

    m = n counts the observations in use (Abbasi-Yadkori et al. 2011; Zhao et al. 2020); with discount ρ it is
    (1 − ρ^{2n})/(1 − ρ²) (Russac et al. 2019). Theirs multiplies ‖x‖_{V⁻¹}, ours √λ‖x‖_{V⁻¹}. With `unions` events it
    has ln(unions/δ): T where the past fades, ⌈T/H⌉ with restarts, where the papers have 1.
    """

    dim: int
    S: float = 1.0
    R: float = 0.1
    L: float = 1.0
    delta: float = 0.1
    discount: float = 1.0
    unions: int = 1

    def __call__(self, belief: Belief, number: int) -> float:
        m = float(len(belief))
        if self.discount < 1:
            m = (1 - self.discount ** (2 * m)) / (1 - self.discount**2)
        volume = self.dim * math.log(1 + m * self.L**2 / (belief.noise * self.dim))
        return self.S + self.R / math.sqrt(belief.noise) * math.sqrt(2 * math.log(self.unions / self.delta) + volume)


@dataclass(frozen=True)
class SlidingEllipsoid(_Checked):
    """SW-UCB's β = S + (R/√λ) √(d ln((1 + wL²/λ)/δ)) (Cheung et al. 2019), as `Ellipsoid`, of a window of w.

    With `unions` events δ is divided by their number: T windows. In one dimension d ln(1/δ) is too little, and is
    2 ln(1/δ), which the self-normalised bound has.
    """

    dim: int
    window: int
    S: float = 1.0
    R: float = 0.1
    L: float = 1.0
    delta: float = 0.1
    unions: int = 1

    def __call__(self, belief: Belief, number: int) -> float:
        volume = self.dim * math.log1p(self.window * self.L**2 / belief.noise)
        volume += max(self.dim, 2) * math.log(self.unions / self.delta)
        return self.S + self.R / math.sqrt(belief.noise) * math.sqrt(volume)


def confidence(gain: float, noise: float, *, B: float, R: float, delta: float) -> float:
    """B + (R/√λ) √(2γ + 2 ln(1/δ)): Eq. (8) of the paper, β of one self-normalised bound.

    >>> confidence(0.0, 1.0, B=1.0, R=1.0, delta=math.exp(-2))
    3.0
    """
    return B + R / math.sqrt(noise) * math.sqrt(2 * gain + 2 * math.log(1 / delta))


def mixture(gain: float, noise: float, *, B: float, R: float, delta: float) -> float:
    """√(B² + (R²/λ)(2γ + 2 ln(1/δ))): the two parts of `confidence`, as the sides of a right-angled triangle.

    >>> mixture(0.0, 1.0, B=3.0, R=2.0, delta=math.exp(-2))
    5.0
    """
    return math.hypot(B, R / math.sqrt(noise) * math.sqrt(2 * gain + 2 * math.log(1 / delta)))


def as_width(given: Any) -> Width:
    """A number, which means a constant width, or a width: one that gives a finite β of an empty belief."""
    if isinstance(given, Real) or given is None or isinstance(given, str):
        return Constant(given)  # type: ignore[arg-type]  # which refuses what is no number
    width: Width = checks.like("width", given, ("__call__",), "a number or a width, as 2.0")
    try:
        checks.nonnegative("β", width(Posterior(Matern(), 0.01), 1))
    except Exception as error:  # whatever a function does that is no width
        got = checks.shown(given)
        raise InvalidInput(f"width must give a number ≥ 0 of a belief and a step; {got}: {error}") from None
    return width


def _gain(gain: MaximumGain, belief: Belief) -> float:
    """γ_n, which the greedy search finds from below; never less than what the window has gained, so that β holds."""
    return max(gain(len(belief)), belief.information_gain)
