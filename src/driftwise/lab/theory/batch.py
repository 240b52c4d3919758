"""Many runs at once: r-gp-ucb, sw-gp-ucb and drift-aware on candidates, with one array for all runs of a step.

The arithmetic is that of the policies, and a test replays the runs with these, choice for choice.
"""

from __future__ import annotations

import math
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

    def start(self, runs: int) -> _Memory:
        """A window that is never full is a block that never ends, whose covariance is updated and not solved anew."""
        return _Block(self, runs) if self.restarts else _Window(self, runs)


@dataclass(frozen=True, eq=False)
class BatchPlayed:
    """What was chosen and rewarded, and the regret of each run."""

    chosen: Array  # (T, runs), indices
    rewards: Array  # (T, runs)
    regret: Array  # (runs,)


def play(how: BatchPlay, worlds: BatchWorlds) -> BatchPlayed:
    """All runs, step by step."""
    T, runs = worlds.noise.shape
    memory, each = how.start(runs), np.arange(runs)
    chosen, rewards, regret = np.zeros((T, runs), dtype=int), np.zeros((T, runs)), np.zeros(runs)
    for t in range(1, T + 1):
        if how.restarts and (t - 1) % how.length == 0:
            memory = how.start(runs)
        i, f = memory.index().argmax(axis=1), worlds.values(t)
        y = f[each, i] + worlds.noise[t - 1]
        memory.observe(i, y)
        chosen[t - 1], rewards[t - 1] = i, y
        regret += f.max(axis=1) - f[each, i]
    return BatchPlayed(chosen, rewards, regret)


class _Memory:
    """μ and σ² at all candidates, (runs, n), what was gained, (runs,), and the weights if drift is known."""

    def __init__(self, how: BatchPlay, runs: int) -> None:
        n = len(how.K)
        self.how, self.each = how, np.arange(runs)
        self.mean: Array = np.zeros((runs, n))
        self.var: Array = np.broadcast_to(np.diagonal(how.K), (runs, n))
        self.gain: Array = np.zeros(runs)
        self.alpha: Array = np.zeros((runs, 0, n))
        self.size = 0

    def index(self) -> Array:
        """μ + βσ + Σ_s V_s|α_s|, V of an observation by its age: (runs, n)."""
        beta = self.how.width(self.gain, self.size)
        index: Array = self.mean + beta[:, None] * np.sqrt(np.maximum(self.var, 0.0))
        if self.how.drift and self.size:
            V = self.how.drift * np.arange(self.size, 0, -1)
            index = index + np.einsum("s,rsn->rn", V, np.abs(self.alpha))
        return index

    def observe(self, i: Array, y: Array) -> None:
        raise NotImplementedError


class _Block(_Memory):
    """Nothing is forgotten: one observation is one rank-one update of the covariance."""

    def __init__(self, how: BatchPlay, runs: int) -> None:
        super().__init__(how, runs)
        self.C = np.repeat(how.K[None], runs, axis=0)  # (runs, n, n)

    def observe(self, i: Array, y: Array) -> None:
        c = self.C[self.each, i]  # (runs, n)
        s = c[self.each, i] + self.how.noise
        w = c / s[:, None]
        if self.how.drift:
            there = self.alpha[self.each, :, i]  # (runs, size)
            self.alpha = np.concatenate([self.alpha - there[:, :, None] * w[:, None], w[:, None]], axis=1)
        self.mean = self.mean + w * (y - self.mean[self.each, i])[:, None]
        self.C -= w[:, :, None] * c[:, None]
        self.var = np.diagonal(self.C, axis1=1, axis2=2)
        self.gain = self.gain + 0.5 * np.log(s / self.how.noise)
        self.size += 1


class _Window(_Memory):
    """The last `length` observations, solved anew at every step."""

    def __init__(self, how: BatchPlay, runs: int) -> None:
        super().__init__(how, runs)
        self.where, self.y = np.zeros((runs, 0), dtype=int), np.zeros((runs, 0))

    def observe(self, i: Array, y: Array) -> None:
        K, noise = self.how.K, self.how.noise
        self.where = np.column_stack([self.where, i])[:, -self.how.length :]
        self.y = np.column_stack([self.y, y])[:, -self.how.length :]
        self.size = self.where.shape[1]
        rows = K[self.where]  # (runs, w, n)
        A = np.take_along_axis(rows, np.repeat(self.where[:, None], self.size, axis=1), axis=2)
        A = A + noise * np.eye(self.size)
        self.alpha = np.asarray(np.linalg.solve(A, rows), dtype=np.float64)
        self.mean = np.einsum("rw,rwn->rn", self.y, self.alpha)
        self.var = np.diagonal(K) - np.einsum("rwn,rwn->rn", rows, self.alpha)
        log_det: Array = np.linalg.slogdet(A)[1].astype(np.float64)
        self.gain = 0.5 * (log_det - self.size * math.log(noise))
