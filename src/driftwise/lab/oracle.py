"""The reference `oracle` of the lab: optimism that is told what the world truly is. It is no policy for a live system.

It maximises μ + βσ under the world's own covariance in space and time and its own noise (`environments/truth.py`), on
all observations. In the lab it stands at each of five widths β, so that the best of them in hindsight can be taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

from driftwise import checks
from driftwise.environments.noise import Changing
from driftwise.environments.truth import WorldTruth, truth_of
from driftwise.environments.world import SeededEnvironment
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, optimistic_in
from driftwise.gp.posterior import Posterior
from driftwise.policies import BasePolicy, Decision
from driftwise.policies.beliefs.space_time import SpaceTimePosterior
from driftwise.policies.registry import ORACLE
from driftwise.records import Ask, Observation
from driftwise.spaces import Space
from driftwise.theory.widths import Constant

WIDTHS = (0.5, 1.0, 1.5, 2.0, 3.0)
LEAST = 1e-6  # variance of the noise at least: a world may have none


@dataclass(frozen=True, eq=False)
class InLabTime(SpaceTimePosterior):
    """A belief over rows (x, t), where t is the number of the step in the lab, as the world itself counts."""

    @property
    def _clock(self) -> float:
        return self.now


@dataclass(frozen=True)
class Oracle(BasePolicy[InLabTime]):
    """x_t = argmax μ_{t−1} + β σ_{t−1}, on all observations, under what the world says that it is. O(t²) per step."""

    name: ClassVar[str] = ORACLE

    space: Space
    truth: WorldTruth
    width: float

    def __post_init__(self) -> None:
        self.settle(width=checks.nonnegative)

    def start(self) -> InLabTime:
        return InLabTime(Posterior(self.truth.kernel, max(self.truth.noise.variance, LEAST)))

    def decide(self, state: InLabTime, ask: Ask) -> Decision:
        belief = self.belief(state, ask)
        return Decision(optimistic_in(self.space, belief, Constant(self.width), ask), belief.jitter)

    def update(self, state: InLabTime, seen: Observation) -> InLabTime:
        noise = self.truth.noise
        if isinstance(noise, Changing):
            seen = replace(seen, std=noise.std(seen.number))
        told = state.observe(seen)
        assert isinstance(told, InLabTime)
        return told

    def belief(self, state: InLabTime, ask: Ask) -> Belief:
        return state.at(ask.at)


@dataclass(frozen=True)
class Reference:
    """The oracle at one width, as an entrant of the lab."""

    width: float

    name: ClassVar[str] = ORACLE

    @property
    def label(self) -> str:
        return f"{ORACLE}:width={self.width:g}"

    @property
    def options(self) -> tuple[tuple[str, Any], ...]:
        return (("width", self.width),)

    def on(self, world: SeededEnvironment) -> Oracle:
        """The oracle of this world, which is refused if it cannot say what it is."""
        return Oracle(world.space, truth_of(world), self.width)


def references(options: dict[str, Any]) -> tuple[Reference, ...]:
    """At the width that is given, or at each of WIDTHS.

    >>> [reference.label for reference in references({})][:2]
    ['oracle:width=0.5', 'oracle:width=1']
    """
    if options.keys() - {"width"}:
        raise InvalidInput(f"oracle has the option width alone, got {', '.join(sorted(options))}")
    widths = (options["width"],) if options else WIDTHS
    return tuple(Reference(checks.nonnegative("width", width)) for width in widths)
