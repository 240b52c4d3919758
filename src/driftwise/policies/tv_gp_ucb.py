"""TV-GP-UCB (Bogunovic, Scarlett & Cevher 2016): optimism in a world that forgets at a known rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Width
from driftwise.gp.kernels import RBF, Kernel, Matern, Scaled
from driftwise.gp.time_kernels import Forgetting, StateSpace
from driftwise.policies.base import UcbPolicy, finite
from driftwise.policies.beliefs.space_time import WINDOW, Timed, TimedModel
from driftwise.policies.setup import BAND, MODEL, PROVED, Setup, takes
from driftwise.records import Ask, Observation
from driftwise.theory.widths import Constant, SrinivasFinite, TvTheorem

MOVING = "the lemmas are about ‖f_t‖ ≤ B with observations that count alike, and tv-gp-ucb lets f be drawn anew"


class TimedPolicy(UcbPolicy[Timed]):
    """Optimism under a kernel of space and time: on candidates a filter on all the data, elsewhere a window."""

    window: int

    @property
    def drift(self) -> StateSpace:
        """How the world moves."""
        raise NotImplementedError

    @cached_property
    def timed(self) -> TimedModel:
        """The model with its drift."""
        return TimedModel(self.model, self.drift)

    @property
    def memory(self) -> int | None:
        return None if self.timed.exact else self.window

    def start(self) -> Timed:
        return self.timed.prior()

    def update(self, state: Timed, seen: Observation) -> Timed:
        return self.timed.observe(state, seen, window=self.window)

    def belief(self, state: Timed, ask: Ask) -> Belief:
        return state.at(ask.at)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.timed.exact or newer < self.window


@dataclass(frozen=True)
class TvGpUcb(TimedPolicy):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} under f_{t+1} = √(1−ε) f_t + √ε g, that is the kernel k·(1−ε)^{|t−t′|/2}.

    Must be known: ε, the share of the variance that is new after one unit of the time `at`; too much is benign, too
    little is not. On n candidates it is an exact filter on all the data (Mandl & Kekkonen 2026), O(n²) a step for
    ever; elsewhere a Gaussian process on the last `window` observations, O(w³) a step. ε = 0 is gp-ucb. In the
    authors' experiments β_t² = 0.8 ln(4t): `width="bogunovic"`. Their theorem's is "theorem": on n candidates β_t² =
    2 ln(nπ²t²/6δ), on a box it needs `a` and `b`, and holds while nothing has left the window. Mandl & Kekkonen's
    constants are "mandl", which holds at each step with probability 1 − δ, and "mandl-epsilon", which has no δ.

    >>> from driftwise import RBF, Candidates
    >>> policy = TvGpUcb.of(Candidates([[0.0], [1.0]]), epsilon=0.19, kernel=RBF(0.1), noise=0.1)
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 1.0))
    >>> mean, std = policy.belief(state, Ask(number=2, at=2.0)).predict(policy.space.points)
    >>> bool(abs(mean[0] - 0.9 / 1.1) < 1e-12), bool(abs(std[0] ** 2 - (1 - 0.81 / 1.1)) < 1e-12)
    (True, True)
    """

    name: ClassVar[str] = "tv-gp-ucb"
    shared = takes(*MODEL, *BAND, "horizon")

    epsilon: float
    window: int

    def __post_init__(self) -> None:
        self.settle(epsilon=lambda _, given: Forgetting(given).epsilon, window=checks.count)

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        epsilon: Annotated[float, "share of the variance that is new after one unit of time"] = 0.01,
        window: Annotated[int | None, "number of newest samples in use on a box"] = None,
        a: Annotated[float | None, "of the prior's slopes, P(|∂f| > L) ≤ a exp(−(L/b)²), for width=theorem"] = None,
        b: Annotated[float | None, "the same; both are needed on a box alone"] = None,
        **given: Any,
    ) -> TvGpUcb:
        setup = cls.setup(space, given)
        if window is None:
            window = correlated(Forgetting(epsilon).epsilon)
        own = {
            "theorem": lambda: theorem(setup, a, b),
            "mandl": lambda: Constant(mandl(finite(cls.name, setup.space), setup.delta)),
            "mandl-epsilon": lambda: Constant(mandl_epsilon(setup.model.kernel, setup.space.dim, epsilon)),
        }
        return cls(setup.model, setup.beta(unproved=dict.fromkeys(PROVED, MOVING), own=own), epsilon, window)

    @property
    def drift(self) -> Forgetting:
        return Forgetting(self.epsilon)


def theorem(setup: Setup, a: float | None, b: float | None) -> Width:
    """β_t of Bogunovic et al.; on candidates the union over these, which are all there is."""
    if setup.space.points is not None:
        return SrinivasFinite(len(setup.space.points), setup.delta)
    if a is None or b is None:
        raise InvalidInput("width='theorem' needs a and b on a box: P(sup |∂f/∂x_j| > L) ≤ a exp(−(L/b)²) of the prior")
    return TvTheorem(setup.space.dim, a, b, setup.delta)


def mandl(candidates: int, delta: float) -> float:
    """β² = 2(ln(6/δ) + d ln τ) on a grid of τ^d candidates: 2 ln(6n/δ), as P(|f − μ| > βσ) ≤ e^{−β²/2} at each.

    >>> round(mandl(400, 0.1) ** 2, 2)
    20.17
    """
    return math.sqrt(2 * math.log(6 * candidates / delta))


def mandl_epsilon(kernel: Kernel, dim: int, epsilon: float) -> float:
    """β² = 2 ln 6 + a(1 + d) ln(1/ε), a = ½ (RBF) or 4ν/(8ν + 3d) (Matérn): the constant that their bound suggests.

    >>> round(mandl_epsilon(RBF(0.1), 2, 0.01) ** 2, 2)
    10.49
    """
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if not isinstance(kernel, RBF | Matern) or not epsilon:
        raise InvalidInput("width='mandl-epsilon' is known for RBF and Matern and ε > 0; give a number, as width=2.0")
    a = 0.5 if isinstance(kernel, RBF) else 4 * kernel.nu / (8 * kernel.nu + 3 * dim)
    return math.sqrt(2 * math.log(6) + a * (1 + dim) * math.log(1 / epsilon))


def correlated(epsilon: float, *, cutoff: float = 0.01, most: int = WINDOW) -> int:
    """W = ⌈2 ln p / ln(1−ε)⌉: the steps after which the correlation (1−ε)^{W/2} is down to p; `most` at most.

    >>> correlated(0.1), correlated(0.01)
    (88, 150)
    """
    steps = 2 * math.log(cutoff) / math.log1p(-epsilon) if epsilon else math.inf
    return most if steps >= most else math.ceil(steps)
