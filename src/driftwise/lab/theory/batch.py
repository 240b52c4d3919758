"""Many runs at once: r-gp-ucb, sw-gp-ucb and drift-aware on candidates, with one array for all runs of a step.

The state is the posterior covariance C at all candidates. With c = C e_i and s = C_ii, an observation at i takes
ccᵀ/(s + λ) from it, and forgetting one gives ccᵀ/(λ − s) back, where s < λ. The weight of an observation at x is
C_xi/λ. That is accurate if λ is of the size of k. A test replays the runs with the policies, choice for choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from driftwise.records import Array

Widths = Callable[[Array, int], Array]  # β of each run, of what it gained, (runs,), and the observations in use


@dataclass(frozen=True, eq=False)
class BatchWorlds:
    """f_t = cos(θ_t) g + sin(θ_t) h in every run, and the noise of every step."""

    g: Array  # (runs, n)
    h: Array  # (runs, n)
    angles: Array  # θ, (T,)
    noise: Array  # (T, runs)

    def values(self, t: int) -> Array:
        """f_t at all candidates: (runs, n)."""
        angle = self.angles[t - 1]
        return np.cos(angle) * self.g + np.sin(angle) * self.h


@dataclass(frozen=True, eq=False)
class BatchPlay:
    """How all runs are played: what is remembered, the width, and how far f may move a step if that is known."""

    K: Array  # (n, n)
    noise: float  # λ
    width: Widths
    length: int
    restarts: bool
    drift: float = 0.0


@dataclass(frozen=True, eq=False)
class BatchPlayed:
    """What was chosen and rewarded, and the regret of each run."""

    chosen: Array  # (T, runs), indices
    rewards: Array  # (T, runs)
    regret: Array  # (runs,)


def play(how: BatchPlay, worlds: BatchWorlds) -> BatchPlayed:
    """All runs, step by step."""
    T, runs = worlds.noise.shape
    memory, each = BatchMemory(how, runs), np.arange(runs)
    chosen, rewards, regret = np.zeros((T, runs), dtype=int), np.zeros((T, runs)), np.zeros(runs)
    for t in range(1, T + 1):
        if how.restarts and (t - 1) % how.length == 0:
            memory = BatchMemory(how, runs)
        i, f = memory.index().argmax(axis=1), worlds.values(t)
        y = f[each, i] + worlds.noise[t - 1]
        memory.observe(i, y)
        chosen[t - 1], rewards[t - 1] = i, y
        regret += f.max(axis=1) - f[each, i]
    return BatchPlayed(chosen, rewards, regret)


class BatchMemory:
    """μ, (runs, n), C, (runs, n, n), what was gained, (runs,), and the observations in use, oldest first."""

    def __init__(self, how: BatchPlay, runs: int) -> None:
        self.how, self.each = how, np.arange(runs)
        self.mean: Array = np.zeros((runs, len(how.K)))
        self.C: Array = np.repeat(how.K[None], runs, axis=0)
        self.gain: Array = np.zeros(runs)
        self.seen: list[tuple[Array, Array]] = []  # which candidate, and the reward, of each run
        self.count, self.ages = np.zeros((2, *self.mean.shape))  # of the observations of each candidate, in sum

    @property
    def std(self) -> Array:
        variance: Array = np.diagonal(self.C, axis1=1, axis2=2)
        return np.sqrt(np.maximum(variance, 0.0))

    def index(self) -> Array:
        """μ + βσ + Σ_s V_s|α_s|, V of an observation by its age: (runs, n)."""
        index: Array = self.mean + self.how.width(self.gain, len(self.seen))[:, None] * self.std
        if self.how.drift:
            index = index + self.how.drift / self.how.noise * np.einsum("rxi,ri->rx", np.abs(self.C), self.ages)
        return index

    def observe(self, i: Array, y: Array) -> None:
        if len(self.seen) == self.how.length:
            oldest, reward = self.seen.pop(0)
            self._change(oldest, reward, -self.how.noise)
            self.count[self.each, oldest] -= 1
            self.ages[self.each, oldest] -= self.how.length
        self._change(i, y, self.how.noise)
        self.seen.append((i, y))
        self.count[self.each, i] += 1
        self.ages += self.count  # by the next step

    def _change(self, i: Array, y: Array, noise: float) -> None:
        """An observation with noise λ; one of −λ takes it back."""
        c = self.C[self.each, i]  # (runs, n)
        s = c[self.each, i] + noise
        self.mean = self.mean + c * ((y - self.mean[self.each, i]) / s)[:, None]
        self.C -= (c / s[:, None])[:, :, None] * c[:, None]
        self.gain = self.gain + 0.5 * np.log(s / noise)
