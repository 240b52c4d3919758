"""ε-greedy on a sliding window, as an example of a policy of one's own."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from driftwise import (
    Array,
    Ask,
    BasePolicy,
    Decision,
    InvalidInput,
    Matern,
    Observation,
    Posterior,
    Space,
    generator,
)

KERNEL = Matern(2.5, 0.2)


@dataclass(frozen=True)
class Mean:
    """μ(x), as `space.argmax` expects it: with its gradient, and a few points to start from."""

    posterior: Posterior

    def __call__(self, X: Array) -> Array:
        return self.posterior.predict(X)[0]

    def gradient(self, X: Array) -> tuple[Array, Array]:
        mean, _, slope, _ = self.posterior.predict_gradient(X)
        return mean, slope

    def anchors(self) -> Array:
        return self.posterior.observed


@dataclass(frozen=True)
class EpsilonGreedy(BasePolicy[Posterior]):
    """x_t = argmax μ_{t−1} on the last `window` observations, but with probability ε uniform."""

    name: ClassVar[str] = "epsilon-greedy"

    space: Space
    window: Annotated[int, "number of newest observations in use"] = 60
    epsilon: Annotated[float, "probability of a choice at random"] = 0.1
    kernel: Annotated[Matern, "covariance of the rewards over the unit cube"] = KERNEL

    def __post_init__(self) -> None:
        if not 0 <= self.epsilon <= 1:
            raise InvalidInput(f"epsilon must be from 0 to 1, got {self.epsilon}; try 0.1")

    @property
    def memory(self) -> int:
        return self.window

    def start(self) -> Posterior:
        return Posterior(self.kernel, noise=0.01, standardise=True)

    def decide(self, state: Posterior, ask: Ask) -> Decision:
        rng = generator(ask.seed, ask.number)
        if rng.random() < self.epsilon:
            return Decision(self.space.sample(rng, 1)[0])
        return Decision(self.space.argmax(Mean(state), ask), state.jitter)

    def update(self, state: Posterior, seen: Observation) -> Posterior:
        return state.observe(seen, keep=self.window)

    def belief(self, state: Posterior, ask: Ask) -> Posterior:
        return state

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return newer < self.window
