"""A Gaussian process over space and time: a filter if there are few candidates, else a window of observations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise import limits
from driftwise.gp.belief import Model
from driftwise.gp.clock import bound, reckoned
from driftwise.gp.grid import Grid, GridPosterior
from driftwise.gp.posterior import OnPosterior, Posterior
from driftwise.gp.time_kernels import SpaceTime, StateSpace
from driftwise.policies.beliefs.grid_filter import GridFilter
from driftwise.records import Array, Observation, Point

WINDOW = 150  # observations in use if there is no filter: a step is O(w³)


@dataclass(frozen=True, eq=False)
class SpaceTimePosterior(OnPosterior):
    """`Posterior` over rows (x, t), asked at (x, now). A `Belief`.

    If the kernel of time is not stationary, time counts from the first observation.
    """

    posterior: Posterior
    now: float = 0.0
    times: Array = field(default_factory=lambda: np.zeros(0), repr=False)  # (n,), as they were given

    # --- the fold -----------------------------------------------------------------------------------------------

    def at(self, time: float) -> SpaceTimePosterior:
        return replace(self, now=bound(time))

    def observe(self, seen: Observation, *, keep: int | None = None) -> SpaceTimePosterior:
        """After `seen`; with `keep` it depends on the last `keep` observations alone, to the last bit."""
        moved = self.at(seen.at)
        posterior = self.posterior.observe(replace(seen, x=(*seen.x, moved._clock)), keep=keep)
        return replace(moved, posterior=posterior, times=np.append(self.times, moved.now)[-len(posterior) :])

    def select(self, kept: NDArray[np.intp]) -> SpaceTimePosterior:
        """Of the observations at the indices `kept` alone, oldest first."""
        return replace(self, posterior=self.posterior.select(kept), times=self.times[kept])

    def imagine(self, points: Sequence[Point]) -> SpaceTimePosterior:
        """As if the pending `points` had been answered now, at the mean."""
        return replace(self, posterior=self.posterior.imagine([(*x, self._clock) for x in points]))

    # --- what it says -------------------------------------------------------------------------------------------

    def predict(self, X: Array) -> tuple[Array, Array]:
        """μ and σ at (x, now) for the rows of X."""
        return self.posterior.predict(self._timed(X))

    def predict_gradient(self, X: Array) -> tuple[Array, Array, Array, Array]:
        """μ, σ and their gradients in x: (m,), (m,), (m, d), (m, d)."""
        mean, std, dmean, dstd = self.posterior.predict_gradient(self._timed(X))
        return mean, std, dmean[:, :-1], dstd[:, :-1]

    def weights(self, X: Array) -> Array:
        """α(x) with μ(x) = α(x)ᵀy: (m, n)."""
        return self.posterior.weights(self._timed(X))

    @property
    def observed(self) -> Array:
        """The points observed, oldest first: (n, d)."""
        return self.posterior.observed[:, :-1]

    # --- machinery ----------------------------------------------------------------------------------------------

    @property
    def _kernel(self) -> SpaceTime:
        assert isinstance(self.posterior.kernel, SpaceTime)
        return self.posterior.kernel

    @property
    def _clock(self) -> float:
        """`now` as the kernel counts it."""
        time = self._kernel.time
        if time.stationary or not len(self):
            return self.now if time.stationary else 0.0
        elapsed = reckoned(np.append(self.times, self.now), time.unit, known=self.posterior.X[:, -1])
        return max(float(elapsed[-1]), 0.0)

    def _timed(self, X: Array) -> Array:
        return np.column_stack([X, np.full(len(X), self._clock)])


Timed = GridFilter | SpaceTimePosterior


@dataclass(frozen=True)
class TimedModel:
    """A model of the world with a kernel of time beside its kernel of space."""

    model: Model
    time: StateSpace
    beliefs: int = 1  # how many there are side by side

    @property
    def exact(self) -> bool:
        """Whether its belief is a filter, which uses all observations."""
        return self._grid is not None

    def prior(self) -> Timed:
        """Nothing observed yet."""
        if self._grid is not None:
            return GridFilter.prior(self._grid, self.time)
        kernel = SpaceTime(self.model.kernel, self.time)
        return SpaceTimePosterior(Posterior(kernel, self.model.noise, self.model.standardise))

    def observe(self, belief: Timed, seen: Observation, *, window: int) -> Timed:
        """`belief` after `seen`: of all observations if it is a filter, else of the last `window`."""
        return belief.observe(seen, keep=None if self.exact else window)

    @cached_property
    def _grid(self) -> Grid | None:
        prior = self.model.prior()
        if isinstance(prior, GridPosterior):
            numbers = self.beliefs * (self.time.size * len(prior.grid.points)) ** 2  # of the covariance
            return prior.grid if numbers <= limits.LARGEST else None
        return None
