"""R-GP-UCB as Bogunovic, Scarlett & Cevher 2016 set it: restarts whose interval follows from the drift rate ε."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Model, Width
from driftwise.gp.kernels import RBF, Kernel, Matern, Scaled
from driftwise.gp.time_kernels import Forgetting
from driftwise.policies import options
from driftwise.policies.restart import Block, Restart
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space


@dataclass(frozen=True)
class TvRestart:
    """r-gp-ucb with the interval N = ⌈min(T, 12 ε^{−1/4})⌉ (RBF) or ⌈min(T, 24 ε^{−1/(4−c)})⌉ (Matérn).

    Must be known: ε, as for tv-gp-ucb, and the horizon T if there is one. O(N² + N·n) a step at most.

    >>> from driftwise import RBF, Candidates
    >>> TvRestart.of(Candidates([[0.0], [1.0]]), epsilon=0.01, kernel=RBF(0.2)).interval
    38
    """

    name: ClassVar[str] = "tv-r-gp-ucb"

    model: Model
    width: Width
    epsilon: float
    horizon: int | None = None

    def __post_init__(self) -> None:
        options.check_parts(self)
        fix = "a world that stands still needs no restarts: use gp-ucb"
        object.__setattr__(self, "epsilon", Forgetting(checks.positive("epsilon", self.epsilon, fix=fix)).epsilon)
        if self.horizon is not None:
            object.__setattr__(self, "horizon", checks.count("horizon", self.horizon))
        _ = self.interval  # refuses a kernel of which N is not known

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        epsilon: float = 0.01,
        horizon: int | None = None,
        kernel: Kernel | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        B: float = 1.0,
        R: float | None = None,
        delta: float = 0.1,
        standardise: bool = False,
    ) -> TvRestart:
        model = options.model(space, kernel, noise, standardise)
        theory = options.Theory(model, B=B, R=R, delta=delta, horizon=horizon)
        return cls(model, theory.width(width), epsilon, horizon)

    @property
    def interval(self) -> int:
        """N."""
        return self.restart.interval

    @cached_property
    def restart(self) -> Restart:
        """The policy it is."""
        N = min(interval_of(self.epsilon, self.model.kernel, self.model.space.dim), checks.MOST)
        return Restart(self.model, self.width, N if self.horizon is None else min(self.horizon, N))

    @property
    def space(self) -> Space:
        return self.model.space

    @property
    def memory(self) -> int:
        return self.restart.memory

    def start(self) -> Block:
        return self.restart.start()

    def choose(self, state: Block, ask: Ask) -> Array:
        return self.restart.choose(state, ask)

    def update(self, state: Block, seen: Observation) -> Block:
        return self.restart.update(state, seen)

    def belief(self, state: Block, ask: Ask) -> Belief:
        return self.restart.belief(state, ask)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.restart.remembers(number, newest=newest, newer=newer)


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
