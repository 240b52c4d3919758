"""SW-GP-UCB (Zhou & Shroff, Algorithm 2): GP-UCB on the last w samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from driftwise import checks
from driftwise.gp.belief import Belief, Model, Width, optimistic
from driftwise.gp.grid import REFRESH
from driftwise.gp.kernels import Kernel
from driftwise.policies import options
from driftwise.records import Array, Ask, Observation
from driftwise.spaces import Space


@dataclass(frozen=True)
class Window:
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} on the last `window` samples. O(w² + w·n) a step, for ever.

    >>> from driftwise import Candidates
    >>> policy = Window.of(Candidates([[0.0], [1.0]]), window=1)
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 1.0))
    >>> len(policy.update(state, Observation(2, 2.0, (1.0,), 0.0)))
    1
    """

    name: ClassVar[str] = "sw-gp-ucb"

    model: Model
    width: Width
    window: int

    def __post_init__(self) -> None:
        options.check_parts(self)
        fix = "use gp-ucb to keep everything"
        object.__setattr__(self, "window", checks.count("window", self.window, fix=fix))

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        window: int | None = None,
        kernel: Kernel | None = None,
        noise: float = 0.01,
        width: float | str | Width = 2.0,
        B: float = 1.0,
        R: float | None = None,
        delta: float = 0.1,
        horizon: int | None = None,
        budget: float | None = None,
        standardise: bool = False,
    ) -> Window:
        model = options.model(space, kernel, noise, standardise)
        theory = options.Theory(model, B=B, R=R, delta=delta, horizon=horizon, budget=budget)
        length = theory.length("window", window)
        return cls(model, theory.width(width, events=lambda T: T), length)

    @property
    def space(self) -> Space:
        return self.model.space

    @property
    def memory(self) -> int:
        return self.window + REFRESH

    def start(self) -> Belief:
        return self.model.prior()

    def choose(self, state: Belief, ask: Ask) -> Array:
        return optimistic(self.model, state, self.width, ask)

    def update(self, state: Belief, seen: Observation) -> Belief:
        # while the window fills there is nothing to forget, and this is GP-UCB to the last bit
        return state.observe(seen, keep=self.window if len(state) >= self.window else None)

    def belief(self, state: Belief, ask: Ask) -> Belief:
        return state

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.window
