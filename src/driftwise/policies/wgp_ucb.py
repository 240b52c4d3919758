"""WGP-UCB (Deng et al. 2022): GP-UCB whose observations fade by a factor per step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.gp.posterior import Posterior
from driftwise.policies.base import UcbPolicy, discount
from driftwise.policies.beliefs.faded import WeightedPosterior
from driftwise.policies.setup import BAND, DRIFT, LENGTH, MODEL, Setup, takes
from driftwise.records import Array, Ask, Observation

UNWEIGHTED = "it is proved for observations that count alike, and these fade"
CUTOFF = 1e-6  # an observation of less weight than this is dropped: it has noise variance 10⁶ λ


@dataclass(frozen=True, eq=False)
class Aging:
    """The observations that may still count, and their numbers."""

    posterior: Posterior
    numbers: Array  # (n,)


@dataclass(frozen=True)
class WgpUcb(UcbPolicy[Aging]):
    """x_t = argmax μ̃ + β_t σ̃, with weights η^{t−1−s} on the samples s < t. O(w³ + w²·n) a step, w = ln 10⁻⁶ / ln η.

    Must be known: η, which is 1 − γ_T^{−¼} (P_T/T)^½ where the horizon is given, with P_T = 1 where the budget is not.
    The paper's width is width="realised": β_t = B + (R/√λ) √(2γ̄ + 2 ln(T/δ)), γ̄ the samples' double-weighted gain. The
    paper has ln(1/δ); the union bound over T is needed, as a sum that fades has a supremum that grows with T.
    norm="double" has the narrower σ́ in place of σ̃: with a linear kernel that is d-linucb.

    >>> from driftwise import Candidates
    >>> policy = WgpUcb.of(Candidates([[0.0], [1.0]]), eta=0.9)
    >>> policy.window
    132
    """

    name: ClassVar[str] = "wgp-ucb"
    shared = takes(*MODEL, *BAND, *DRIFT)

    eta: float
    norm: str = "single"

    def __post_init__(self) -> None:
        self.settle(eta=discount, norm=partial(checks.one_of, known=("single", "double")))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        eta: Annotated[float | None, "factor per step by which old samples lose weight"] = None,
        norm: Annotated[str, "single: the paper's standard deviation; double: the narrower one"] = "single",
        **given: Any,
    ) -> WgpUcb:
        setup = cls.setup(space, given)
        beta = setup.beta(events=lambda T: T, unproved={"mixture": UNWEIGHTED})
        return cls(setup.model, beta, _eta(setup) if eta is None else eta, norm)

    @property
    def window(self) -> int | None:
        """How many of the newest observations can have a weight of CUTOFF or more; None: all."""
        return None if self.eta == 1 else 1 + math.floor(math.log(CUTOFF) / math.log(self.eta))

    @property
    def memory(self) -> int | None:
        return self.window

    def start(self) -> Aging:
        model = self.model
        return Aging(Posterior(model.kernel, model.noise, model.standardise), np.zeros(0))

    def update(self, state: Aging, seen: Observation) -> Aging:
        # a window of at most all there is: the posterior then depends on its contents alone, and is not factorised here
        keep = len(state.numbers) + 1 if self.window is None else min(self.window, len(state.numbers) + 1)
        posterior = state.posterior.observe(seen, keep=keep)
        return Aging(posterior, np.append(state.numbers, seen.number)[-keep:])

    def belief(self, state: Aging, ask: Ask) -> WeightedPosterior:
        u = self.eta ** (ask.number - 1 - state.numbers)
        drop = int(np.count_nonzero(u < CUTOFF))  # the oldest
        kept = state.posterior.select(np.arange(drop, len(u))) if drop else state.posterior
        return WeightedPosterior.of(kept, u[drop:], double=self.norm == "double")

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.eta ** float(newest - number) >= CUTOFF


def _eta(setup: Setup) -> float:
    """1 − γ_T^{−¼} (P_T/T)^½, where the paper has a weighted gain, which depends on η; γ_T is at least that."""
    if setup.horizon is None:
        return 1 - 1 / LENGTH
    return max(1 - math.sqrt(setup.variation / setup.horizon) / setup.gain(setup.horizon) ** 0.25, 0.01)
