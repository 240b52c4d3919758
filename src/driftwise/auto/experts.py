"""What one expert assumes: a kernel of space, a kernel of time, a noise ratio, a level, and what changed when."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array

Stretch = tuple[float, ...]
Shape = tuple[int, Stretch]  # a kernel's index in the bank, and the factors of its length scales


@dataclass(frozen=True)
class MovingLevel:
    """A level h(t) that moves on its own, alike for all settings: variance relative to the signal's, and k_h."""

    variance: float
    time: TimeKernel


@dataclass(frozen=True)
class Expert:
    """What one expert assumes; `kernel` is an index in the bank, `since` the number of the first observation it uses.

    `noise` is the noise ratio now; `earlier` are the ones before, each with the number up to which it held.

    >>> from driftwise.gp.time_kernels import Forgetting
    >>> Expert(0, Forgetting(0.0), 0.1, earlier=((3, 0.01),)).noises(np.arange(1, 5)).tolist()
    [0.01, 0.01, 0.1, 0.1]
    """

    kernel: int
    time: TimeKernel
    noise: float
    since: int = 0
    earlier: tuple[tuple[int, float], ...] = ()
    level: MovingLevel | None = None
    stretch: Stretch = ()  # factors of the kernel's length scales, along each coordinate
    shifts: tuple[int, ...] = ()  # the numbers from which on the level is another one

    @cached_property
    def shape(self) -> Shape:
        """What it assumes about the function in space."""
        return self.kernel, self.stretch

    @cached_property
    def last_change(self) -> int:
        """The number of its last change, of the function, of the noise or of the level; 0 if there was none."""
        return max(self.since, self.noise_changed, self.shifted)

    @property
    def noise_changed(self) -> int:
        """The number of the last change of its noise, 0 if there was none."""
        return self.earlier[-1][0] if self.earlier else 0

    @property
    def shifted(self) -> int:
        """The number of the last change of its level alone, 0 if there was none."""
        return self.shifts[-1] if self.shifts else 0

    def dated(self, number: int) -> Expert:
        """A copy whose last change, whatever that was, was at observation `number`; a restart if there was none."""
        if self.shifts and self.shifted == self.last_change:
            return replace(self, shifts=(*self.shifts[:-1], number))
        if not self.earlier:
            return replace(self, since=number)
        *earlier, (_, noise) = self.earlier
        return replace(self, earlier=(*earlier, (number, noise)))

    @cached_property
    def unchanged(self) -> Expert:
        """What it was before the last change of its noise or its level: itself if there was none."""
        if self.shifted > self.noise_changed:
            return replace(self, shifts=self.shifts[:-1])
        if not self.earlier:
            return self
        *earlier, (_, noise) = self.earlier
        return replace(self, noise=noise, earlier=tuple(earlier))

    @property
    def first_noise(self) -> float:
        return self.earlier[0][1] if self.earlier else self.noise

    def noises(self, numbers: NDArray[np.int64]) -> Array:
        """The noise ratio of each observation: (n,)."""
        noises = np.full(len(numbers), self.noise)
        for until, noise in reversed(self.earlier):
            noises[numbers < until] = noise
        return noises
