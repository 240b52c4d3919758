"""TV-GP-UCB (Bogunovic, Scarlett & Cevher 2016): optimism in a world that forgets at a known rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.gp.belief import Belief
from driftwise.gp.space_time import WINDOW, Timed, TimedModel
from driftwise.gp.time_kernels import Forgetting, StateSpace
from driftwise.policies.base import UcbPolicy
from driftwise.policies.setup import BAND, MODEL, PROVED, takes
from driftwise.records import Ask, Observation

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
    authors' experiments β_t² = 0.8 ln(4t): `width="bogunovic"`.

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
        **given: Any,
    ) -> TvGpUcb:
        setup = cls.setup(space, given)
        if window is None:
            window = correlated(Forgetting(epsilon).epsilon)
        return cls(setup.model, setup.beta(unproved=dict.fromkeys(PROVED, MOVING)), epsilon, window)

    @property
    def drift(self) -> Forgetting:
        return Forgetting(self.epsilon)


def correlated(epsilon: float, *, cutoff: float = 0.01, most: int = WINDOW) -> int:
    """W = ⌈2 ln p / ln(1−ε)⌉: the steps after which the correlation (1−ε)^{W/2} is down to p; `most` at most.

    >>> correlated(0.1), correlated(0.01)
    (88, 150)
    """
    steps = 2 * math.log(cutoff) / math.log1p(-epsilon) if epsilon else math.inf
    return most if steps >= most else math.ceil(steps)
