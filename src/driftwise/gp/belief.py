"""Upper confidence bounds, and the model they are taken from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol, Self, TypeGuard, runtime_checkable

import numpy as np

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.grid import Grid, GridPosterior
from driftwise.gp.kernels import Kernel, Matern, as_kernel
from driftwise.gp.posterior import Posterior
from driftwise.records import Array, Ask, Point
from driftwise.rng import generator
from driftwise.spaces import Space, as_space
from driftwise.spaces.maximise import Score

LARGEST_GRID = 20_000  # candidates up to which a belief is stored at all of them: one row per observation


Conditioned = Posterior | GridPosterior  # of observations one by one, so that its mean has weights on them


class Belief(Protocol):
    """What acquisition functions and widths use, of all that policies believe."""

    def __len__(self) -> int: ...
    def imagine(self, points: Sequence[Point]) -> Self: ...
    def predict(self, X: Array) -> tuple[Array, Array]: ...
    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]: ...
    @property
    def information_gain(self) -> float: ...
    @property
    def noise(self) -> float: ...
    @property
    def units(self) -> tuple[float, float]: ...
    @property
    def observed(self) -> Array: ...
    @property
    def jitter(self) -> float: ...


class Width(Protocol):
    """β_t, the factor of the standard deviation in step `number`, given the belief."""

    def __call__(self, belief: Belief, number: int) -> float: ...


@runtime_checkable
class PerEvent(Protocol):
    """A width that is proved of one event at a time, and is told by the policy over how many it is to hold."""

    @property
    def name(self) -> str: ...
    def over(self, unions: int) -> Width: ...


@runtime_checkable
class Indexed(Protocol):
    """A width whose band is no multiple of one deviation, and which says itself what is maximised."""

    def index(self, belief: Belief, pending: Sequence[Point]) -> Score: ...


@dataclass(frozen=True)
class Model:
    """The assumptions about the world: a space, a kernel on it (in its unit cube) and a noise variance λ."""

    space: Space
    kernel: Kernel = field(default_factory=Matern)
    noise: float = 0.01
    standardise: bool = False

    def __post_init__(self) -> None:
        checks.settle(
            self,
            space=lambda _, given: as_space(given),
            kernel=as_kernel,
            noise=partial(checks.positive, fix="it is a variance, e.g. 0.01"),
            standardise=checks.flag,
        )
        check_size("the kernel", self.space, limits.OBSERVATIONS)

    def prior(self) -> Conditioned:
        """Nothing observed yet."""
        if self._grid is not None:
            return GridPosterior.prior(self._grid)
        return Posterior(self.kernel, self.noise, self.standardise)

    @cached_property
    def _grid(self) -> Grid | None:
        points = self.space.points
        if points is None or len(points) > LARGEST_GRID:
            return None
        return Grid(points, self.kernel, self.noise, self.standardise)


def check_size(who: str, space: Space, observations: int, *, experts: int = 1) -> None:
    """Refuses a space with more candidates × observations, for each expert, than `limits` allows."""
    n, d = 0 if space.points is None else len(space.points), space.dim
    each = f"{observations:,} observations × ({d:,} coordinates + {n:,} candidates"
    what = each + (f" × {experts} experts)" if experts > 1 else ")")
    fix = "give fewer candidates" if n else "give fewer coordinates"
    if n and observations * (experts + d) <= limits.LARGEST:
        fix += f", at most {(limits.LARGEST // observations - d) // experts:,}"
    limits.check(who, observations * (d + experts * n), what, f"{fix}, or a shorter window where there is one")


@dataclass(frozen=True, eq=False)
class Ucb:
    """μ(x) + β σ(x)."""

    belief: Belief
    beta: float

    def __call__(self, X: Array) -> Array:
        if isinstance(self.belief, GridPosterior):
            return self.belief.upper(X, self.beta)
        mean, std = self.belief.predict(X)
        return mean + self.beta * std

    def gradient(self, X: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = self.belief.predict_gradient(X)
        return mean + self.beta * std, dmean + self.beta * dstd

    def anchors(self) -> Array:
        return self.belief.observed


def optimistic_in(space: Space, belief: Belief, width: Width, ask: Ask) -> Array:
    """x_t = argmax μ_{t−1}(x) + β_t σ_{t−1}(x), as if the pending points had been answered at the mean."""
    if _is_indexed(width):
        return space.argmax(width.index(belief, ask.pending), ask)
    beta = width(belief, ask.number)
    return space.argmax(Ucb(belief.imagine(ask.pending), beta), ask)


def _is_indexed(width: object) -> TypeGuard[Indexed]:
    """Looked up by name at every ask: to ask a Protocol takes as long as the argmax over 1,000 candidates."""
    return hasattr(width, "index")


def optimistic(model: Model, belief: Belief, width: Width, ask: Ask) -> Array:
    """The same in a model's space."""
    return optimistic_in(model.space, belief, width, ask)


def check_kernel(kernel: Kernel, space: Space) -> None:
    """Refuses a kernel that cannot be evaluated on this space now, and not at the first ask."""
    X = space.points if space.points is not None else space.sample(generator(seed=0), 8)
    with np.errstate(all="ignore"):
        largest = float(np.max(np.append(kernel.diagonal(X), np.abs(kernel(X[:1], X)))))
    if not largest <= checks.LARGEST:  # nor is nan
        raise InvalidInput(f"the kernel must be at most 1e100 on the space, got {largest:g}; use Scaled(kernel, v)")
