"""Windows of many keys at once: what the compiled engine and the one on a GPU have in common.

A slide is that of `driftwise.gp.window`. Whenever a number passes a multiple of `refresh` everything is computed afresh
from the window's contents. So a belief is a function of the last `window` + `refresh` observations, whenever it is made
and after whatever interruption.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np

from driftwise.errors import InvalidInput
from driftwise.fleet.engine import Numbers
from driftwise.gp.belief import Belief, Model, Width
from driftwise.policies import AnyPolicy
from driftwise.policies.restart import Restart
from driftwise.policies.window import Window
from driftwise.records import Array
from driftwise.spaces.mesh import block_of
from driftwise.theory.widths import Bogunovic, Constant, SrinivasFinite

NOBODY = cast(Belief, None)  # of widths that look at no belief
# Relative to the prior variance. Below the first, u is refined once by its residual, and below the second the error of
# explicit inverses can be above 1e-8 all the same.
REFINED_NOISE, LEAST_NOISE = 1e-2, 1e-3


@dataclass(frozen=True, eq=False)
class Terms:
    """What all keys share: candidates, kernel and noise, the window, whether it restarts, and the width."""

    model: Model
    width: Width
    window: int
    restarts: bool
    refresh: int

    @cached_property
    def points(self) -> Array:
        points = self.model.space.points
        assert points is not None
        return points

    @property
    def block(self) -> int:
        """How many candidates belong to each at which beliefs are held; 1, unless they are those of a mesh."""
        return block_of(self.model.space)

    @cached_property
    def pairs(self) -> Array:
        """k(x, x′) of all pairs of candidates: (N, N)."""
        return np.ascontiguousarray(self.model.kernel(self.points, self.points))

    @cached_property
    def kernel(self) -> Array:
        """k(x, x′) of all candidates and the first ones of all blocks, at which beliefs are held: (N, n)."""
        return self.pairs if self.block == 1 else np.ascontiguousarray(self.pairs[:, :: self.block])

    @cached_property
    def prior(self) -> Array:
        """k(x, x) where beliefs are held: (n,)."""
        return np.ascontiguousarray(self.pairs.diagonal()[:: self.block])

    @property
    def noise(self) -> float:
        return self.model.noise

    @property
    def relative_noise(self) -> float:
        return float(self.noise / self.prior.max())

    @property
    def refined(self) -> bool:
        """Whether a step refines u by its residual."""
        return self.relative_noise < REFINED_NOISE

    @property
    def memory(self) -> int:
        """Observations that a belief depends on."""
        return self.window + self.refresh

    def beta(self, numbers: Numbers) -> Array:
        """The width of each step: (r,)."""
        if isinstance(self.width, Constant):
            return np.full(len(numbers), self.width.beta)
        distinct, place = np.unique(numbers, return_inverse=True)
        return np.array([self.width(NOBODY, number) for number in distinct.tolist()])[place]

    def period(self, numbers: Numbers) -> Numbers:
        """Which period of a policy that restarts these numbers are in; else all are in one."""
        return (numbers - 1) // self.window if self.restarts else np.zeros_like(numbers)


def terms_of(policy: AnyPolicy, *, windows: int) -> Terms:
    """A policy's terms, with everything computed afresh every so many windows. What cannot be done is refused."""
    if not isinstance(policy, Window | Restart):
        raise InvalidInput(f"sw-gp-ucb and r-gp-ucb have a compiled engine, {policy.name} has none; use engine='numpy'")
    window = policy.window if isinstance(policy, Window) else policy.interval
    terms = Terms(policy.model, policy.width, window, isinstance(policy, Restart), windows * window)
    if not isinstance(policy.width, Constant | Bogunovic | SrinivasFinite):
        raise InvalidInput(
            "compiled engines take widths that follow from the step's number alone: a number, 'srinivas' or "
            f"'bogunovic'; got {type(policy.width).__name__}; use engine='numpy'"
        )
    if terms.relative_noise < LEAST_NOISE:
        raise InvalidInput(
            f"compiled engines need a noise variance of at least {LEAST_NOISE} of the kernel's, "
            f"got {terms.relative_noise:.2g}, "
            "because explicit inverses lose their digits below; use engine='numpy'"
        )
    return terms
