"""W-DBO (Bardou, Thiran & Ranieri 2024): GP-UCB in space and time that drops the observations that have gone stale."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Width
from driftwise.gp.clock import bound, middle
from driftwise.gp.kernels import RBF, Matern
from driftwise.gp.posterior import Posterior
from driftwise.gp.time_kernels import MaternInTime
from driftwise.policies.base import Decision, UcbPolicy
from driftwise.policies.beliefs.space_time import SpaceTimePosterior
from driftwise.policies.setup import takes
from driftwise.policies.w_dbo_fit import Hyper, MarginalLikelihood
from driftwise.policies.w_dbo_relevance import overlaps, relevance
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import draw
from driftwise.theory.widths import as_width

FEWEST = 2  # observations that are never dropped
LARGEST_EXPONENT = 100.0  # after any pause, however long, the budget is a number


@dataclass(frozen=True, eq=False)
class Kept:
    """What is kept, the hyper-parameters, the budget for removals, and when it was last spent."""

    belief: SpaceTimePosterior
    hyper: Hyper
    budget: float = 1.0
    cleaned: float | None = None
    last: int = 0
    latest: Observation | None = None  # the last observation, with its own time
    before: Kept | None = None  # as it was before that, while its time may turn out wrong: what is dropped is lost


@dataclass(frozen=True)
class GrowingWidth:
    """β = √(0.2 · d · ln 2n), n the observations kept."""

    dim: int

    def __call__(self, belief: Belief, number: int) -> float:
        return math.sqrt(0.2 * self.dim * math.log(2 * max(len(belief), 1)))


@dataclass(frozen=True)
class WDbo(UcbPolicy[Kept]):
    """x_t = argmax μ + βσ at (x, now); then drop the least relevant i, at the price 1 + R_i, while the budget lasts.

    The budget grows by (1 + α)^{Δt/ℓ_T}; `w_dbo_relevance.py` has the relevance R_i. The kernel is variance·k_S·k_T,
    with k_T Matérn in the user's time `at`; its four numbers are fitted by evidence each time the observation's number
    passes a multiple of `refit`, or stay as given where refit = 0. On boxes and candidates; it needs to know nothing.
    O(n³) a step and an observation dropped for the n observations kept, of which there are at most `most`. σ is that of
    the function, as in the paper; the authors' code adds the noise.

    >>> from driftwise import Candidates
    >>> policy = WDbo.of(Candidates([[0.0], [1.0]]), starts=0)
    >>> policy.choose(policy.start(), Ask(number=1, at=1.0)).tolist()
    [0.0]
    """

    name: ClassVar[str] = "w-dbo"
    shared = takes("kernel", "noise", standardise=True)

    scale: float  # ℓ_T to begin with
    nu: float  # of k_T
    alpha: float
    starts: int
    refit: int
    most: int

    def __post_init__(self) -> None:
        self.settle(
            scale=lambda _, scale: MaternInTime(self.nu, scale).scale,  # which checks them both
            alpha=partial(checks.nonnegative, fix="at 0 nothing is dropped"),
            starts=partial(checks.count, least=0),
            refit=partial(checks.count, least=0, fix="0 keeps what is given"),
            most=partial(checks.count, least=FEWEST),
        )
        if not isinstance(self.model.kernel, RBF | Matern):
            raise InvalidInput(f"w-dbo needs a kernel it can integrate, RBF or Matern; got {self.model.kernel!r:.80}")
        n, d = self.most, self.space.dim
        what = f"twice {n:,} × {n:,} observations × {d:,} coordinates"
        limits.check(self.name, 2 * n**2 * d, what, "give a smaller most, or use tv-gp-ucb")

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        scale: Annotated[float, "time scale of the drift to begin with, in units of time"] = 60.0,
        nu: Annotated[float, "smoothness of the drift in time, 1.5 or 2.5"] = 1.5,
        width: Annotated[float | Width | None, "exploration bonus β, a number or a width; None: the paper's"] = None,
        alpha: Annotated[float, "rate at which the budget for dropping observations grows"] = 0.25,
        starts: Annotated[int, "number of first points that are drawn at random"] = 15,
        refit: Annotated[int, "number of steps between fits of the hyper-parameters; 0: never"] = 10,
        most: Annotated[int, "number of observations kept, at most"] = 300,
        **given: Any,
    ) -> WDbo:
        setup = cls.setup(space, given)
        beta = GrowingWidth(setup.space.dim) if width is None else as_width(width)
        return cls(setup.model, beta, scale, nu, alpha, starts, refit, most)

    def start(self) -> Kept:
        hyper = Hyper(scale=self.scale, noise=self.model.noise)
        return Kept(SpaceTimePosterior(self._posterior(hyper)), hyper)

    def decide(self, state: Kept, ask: Ask) -> Decision:
        if ask.number <= self.starts:
            return Decision(draw(self.space, ask))
        return super().decide(state, ask)

    def update(self, state: Kept, seen: Observation) -> Kept:
        seen = replace(seen, at=bound(seen.at))
        settled = replace(self.mended(state, seen.at), before=None)
        return replace(self.observed(settled, seen), latest=seen, before=settled)

    def belief(self, state: Kept, ask: Ask) -> SpaceTimePosterior:
        at = bound(ask.at)
        return self.mended(state, at).belief.at(at)

    # --- its parts ----------------------------------------------------------------------------------------------

    def mended(self, state: Kept, time: float) -> Kept:
        """The last observation at the time that it should have, as those before and after it, `time`, suggest."""
        if state.before is None or state.latest is None:
            return state
        earlier = state.before.latest
        at = middle(earlier.at if earlier else None, state.latest.at, time)
        if at == state.latest.at:
            return state
        return replace(self.observed(state.before, replace(state.latest, at=at)), latest=state.latest)

    def observed(self, state: Kept, seen: Observation) -> Kept:
        """After `seen`: fitted where that is due, and cleaned."""
        due = self.refit and seen.number // self.refit != state.last // self.refit
        state = replace(state, belief=state.belief.observe(seen), last=seen.number)
        return self.clean(self.fit(state) if due and len(state.belief) > FEWEST else state, seen.at)

    def clean(self, state: Kept, now: float) -> Kept:
        """While b > 1 + min R: pay it and drop that observation. `most` is kept whatever it costs: our addition.

        So is that a budget left when only FEWEST remain is void: after a long pause it would empty the memory for ever.
        """
        elapsed = 0.0 if state.cleaned is None else max(now - state.cleaned, 0.0)
        budget = state.budget * (1 + self.alpha) ** min(elapsed / state.hyper.scale, LARGEST_EXPONENT)
        belief, dropped = state.belief, False
        while len(belief) > FEWEST:
            R = self.relevances(belief, state.hyper)
            i = int(np.argmin(R))
            if 1 + R[i] >= budget and len(belief) <= self.most:
                break
            budget = max(budget / (1 + float(R[i])), 1.0)
            belief, dropped = belief.select(np.delete(np.arange(len(belief)), i)), True
        void = dropped and len(belief) == FEWEST
        return replace(state, belief=belief, budget=1.0 if void else budget, cleaned=now)

    def relevances(self, belief: SpaceTimePosterior, hyper: Hyper) -> Array:
        """R_i of every observation kept, for the time after the last: (n,). Later ones count as being as long ago."""
        posterior, kernel = belief.posterior, hyper.kernel(self._kernel, self.nu)
        X, at = posterior.X[:, :-1], posterior.X[:, -1]
        C = overlaps(hyper.space(self._kernel), kernel.time, X, np.minimum(at, 2 * at[-1] - at), float(at[-1]))
        return relevance(posterior.K, posterior.noises, posterior.targets, C, hyper.variance)

    def fit(self, state: Kept) -> Kept:
        """The hyper-parameters of greatest evidence, from the last ones and from a guess by the span of the times."""
        posterior = state.belief.posterior
        X, at = posterior.X[:, :-1], posterior.X[:, -1]
        span = max(float(np.ptp(at)), 1e-9)
        scale = posterior.units[1] if posterior.standardise else 1.0
        evidence = MarginalLikelihood(self._kernel, self.nu, X, at, posterior.targets, posterior.own, scale)
        low = Hyper(variance=0.05, stretch=0.1, scale=0.5 * span / len(at), noise=1e-4)
        high = Hyper(variance=20.0, stretch=20.0, scale=100 * span, noise=1.0)
        hyper = evidence.maximise([state.hyper, Hyper(scale=span / 2)], low, high)
        fitted = replace(self._posterior(hyper), X=posterior.X, y=posterior.y, own=posterior.own)
        fitted = replace(fitted, K=fitted.kernel(posterior.X, posterior.X))
        return replace(state, belief=replace(state.belief, posterior=fitted), hyper=hyper)

    @property
    def _kernel(self) -> RBF | Matern:
        assert isinstance(self.model.kernel, RBF | Matern)
        return self.model.kernel

    def _posterior(self, hyper: Hyper) -> Posterior:
        return Posterior(hyper.kernel(self._kernel, self.nu), hyper.noise, self.model.standardise)
