"""R-GP-UCB as Bogunovic, Scarlett & Cevher 2016 set it: restarts whose interval follows from the drift rate ε."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Model, Width
from driftwise.gp.kernels import RBF, Kernel, Matern, Scaled
from driftwise.gp.time_kernels import Forgetting
from driftwise.policies.base import Around
from driftwise.policies.restart import Restart
from driftwise.policies.setup import BAND, MODEL, takes


@dataclass(frozen=True)
class TvRestart(Around):
    """r-gp-ucb with the interval N = ⌈min(T, 12 ε^{−1/4})⌉ (RBF) or ⌈min(T, 24 ε^{−1/(4−c)})⌉ (Matérn).

    Must be known: ε, as for tv-gp-ucb, and the horizon T if there is one. O(N² + N·n) per step at most.

    >>> from driftwise import RBF, Candidates
    >>> TvRestart.of(Candidates([[0.0], [1.0]]), epsilon=0.01, kernel=RBF(0.2)).interval
    38
    """

    name: ClassVar[str] = "tv-r-gp-ucb"
    shared = takes(*MODEL, *BAND, "horizon")

    model: Model
    width: Width
    epsilon: float
    horizon: int | None = None

    def __post_init__(self) -> None:
        self.settle(epsilon=_rate, horizon=checks.optional(checks.count))
        _ = self.interval  # refuses a kernel of which N is not known

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        epsilon: Annotated[float, "share of the variance that is new after one unit of time"] = 0.01,
        **given: Any,
    ) -> TvRestart:
        setup = cls.setup(space, given)

        def restarts(T: int) -> int:
            return -(-T // interval_of(_rate("epsilon", epsilon), setup.model.kernel, setup.space.dim))

        return cls(setup.model, setup.beta(events=restarts), epsilon, setup.horizon)

    @property
    def interval(self) -> int:
        return self.restart.interval

    @cached_property
    def restart(self) -> Restart:
        N = min(interval_of(self.epsilon, self.model.kernel, self.model.space.dim), checks.MOST)
        return Restart(self.model, self.width, N if self.horizon is None else min(self.horizon, N))

    def within(self) -> Restart:
        return self.restart


def _rate(name: str, epsilon: float) -> float:
    fix = "a world that stands still needs no restarts: use gp-ucb"
    return Forgetting(checks.positive(name, epsilon, fix=fix)).epsilon


def interval_of(epsilon: float, kernel: Kernel, d: int) -> int:
    """12 ε^{−1/4} (SE); 24 ε^{−1/(4−c)}, c = d(d+1)/(2ν + d(d+1)) (Matérn). The authors cross-validated 12 and 24."""
    while isinstance(kernel, Scaled):
        kernel = kernel.kernel
    if isinstance(kernel, RBF):
        return math.ceil(12 * epsilon ** (-1 / 4))
    if isinstance(kernel, Matern):
        c = d * (d + 1) / (2 * kernel.nu + d * (d + 1))
        return math.ceil(24 * epsilon ** (-1 / (4 - c)))
    got = checks.shown(kernel)
    raise InvalidInput(f"N is known for RBF and Matern, got {got}; use r-gp-ucb with an interval of your own")
