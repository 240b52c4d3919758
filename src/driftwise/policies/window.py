"""SW-GP-UCB (Zhou & Shroff, Algorithm 2): GP-UCB on the last w samples."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

from driftwise import checks
from driftwise.gp.belief import Conditioned
from driftwise.gp.grid import REFRESH
from driftwise.policies.base import UcbPolicy
from driftwise.policies.setup import BAND, DRIFT, MODEL, takes
from driftwise.records import Ask, Observation


@dataclass(frozen=True)
class Window(UcbPolicy[Conditioned]):
    """x_t = argmax μ_{t−1} + β_t σ_{t−1} on the last `window` samples. O(w² + w·n) per step, however long it runs.

    >>> from driftwise import Candidates
    >>> policy = Window.of(Candidates([[0.0], [1.0]]), window=1)
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 1.0))
    >>> len(policy.update(state, Observation(2, 2.0, (1.0,), 0.0)))
    1
    """

    name: ClassVar[str] = "sw-gp-ucb"
    shared = takes(*MODEL, *BAND, *DRIFT)

    window: int

    def __post_init__(self) -> None:
        self.settle(window=partial(checks.count, fix="use gp-ucb to keep everything"))

    @classmethod
    def of(
        cls, space: Any, *, window: Annotated[int | None, "number of newest samples in use"] = None, **given: Any
    ) -> Window:
        setup = cls.setup(space, given)
        return cls(setup.model, setup.beta(events=lambda T: T), setup.length("window", window))

    @property
    def memory(self) -> int:
        return self.window + REFRESH

    def start(self) -> Conditioned:
        return self.model.prior()

    def update(self, state: Conditioned, seen: Observation) -> Conditioned:
        # while the window fills there is nothing to forget, and this is GP-UCB to the last bit
        return state.observe(seen, keep=self.window if len(state) >= self.window else None)

    def belief(self, state: Conditioned, ask: Ask) -> Conditioned:
        return state

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.window
