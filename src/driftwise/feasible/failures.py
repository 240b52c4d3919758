"""Where settings fail: the probability that one works, from the last entries of the log.

Whether a setting works is seen as a telegraph process: along a line through the space the answer flips now and then,
at rates such that it works with probability π, and is forgotten over a length ℓ. Given that it works at distance s and
that the nearest failure that holds is at distance f (both in units of ℓ; a = e^{−s}, b = e^{−f}), Bayes' rule says

    odds of working = (π + (1 − π) a) (1 − b) / ((1 − a) (1 − π + π b)),

which is f/s if both are near, π/(1 − π) if both are far, and exact in one dimension with one neighbour at each side.

A failure need not hold. It may have been an accident, which happens with probability ACCIDENT anywhere; the world may
have changed since, with probability 1 − e^{−age/FADES}; and a later success at the same place refutes it. With c_j the
probability that failure j holds, the probability of working is the average over which of them is the nearest that does.

A success between a setting and a failure hides that failure: the process is Markov. What is said and recommended knows
this. Asks do not: for them every failure counts, so that they go back after each one and return step by step.

What distance means is learned, too: it may be that of all parameters together, or that of a single one ("more than 12
workers crash"). Each such hypothesis is weighted by how well it predicted the entries, one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from driftwise import limits
from driftwise.records import Array, Observation
from driftwise.spaces import Candidates, Joint, Space

ENTRIES = 200  # of the log that are looked at, at most
WORKS = 0.9  # π, the probability that a setting works of which nothing is known
LENGTH = 0.3  # ℓ, relative to the extent of the space in up to two dimensions; beyond it grows with √d
ACCIDENT = 0.02  # probability that a setting that works fails once
FADES = 40.0  # numbers after which a failure no longer holds with probability 1 − 1/e
CLOSE = 0.01  # in units of ℓ: no nearer to each other can settings be told apart
ROUNDING = 1e-9  # relative, of distances along a line
ALONE = 16  # parameters up to which each is a hypothesis of its own


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of the log: which setting was tried when, and whether it worked."""

    numbers: Array  # (n,)
    X: Array  # (n, d)
    worked: NDArray[np.bool_]  # (n,)

    @classmethod
    def of(cls, log: Sequence[Observation], dim: int) -> Entries:
        X = np.array([seen.x for seen in log]).reshape(-1, dim)
        return cls(np.array([float(seen.number) for seen in log]), X, np.array([not s.failed for s in log], dtype=bool))


@dataclass(frozen=True, eq=False)
class Failures:
    """What the entries say about where settings work."""

    entries: Entries
    scales: Array  # (H, d): 1/ℓ along each coordinate for each hypothesis, 0 where it does not matter

    @classmethod
    def of(cls, log: Sequence[Observation], space: Space) -> Failures:
        return cls(Entries.of(log, space.dim), hypotheses(space))

    def works(self, X: Array, number: int, *, hiding: bool = True) -> Array:
        """The probability that each row of X works in step `number`: (m,). `hiding`: successes hide failures."""
        total, numbers = np.empty(len(X)), len(self.scales) * len(self.entries.worked)
        size = max(limits.PART // max(numbers, self.entries.X.shape[1]), 1)
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            D = distances(X[rows], self.entries.X, self.scales)
            hidden = self._hidden(D, float(number)) if hiding else None
            total[rows] = self.weights @ self._given(D, float(number), self._real, hidden)
        return total

    @cached_property
    def _learned(self) -> tuple[Array, Array]:
        """Weights of the hypotheses, (H,), and the probability that each failure was real, (H, n), from one pass."""
        D, worked = distances(self.entries.X, self.entries.X, self.scales), self.entries.worked
        H, n = len(self.scales), len(worked)
        evidence, real = np.log(prior_weights(H)), np.zeros((H, n))
        for i in range(n):
            now = float(self.entries.numbers[i])
            before = self._given(D[:, i : i + 1, :i], now, real[:, :i])[:, 0]
            fails = 1 - before + ACCIDENT * before
            evidence += np.log(1 - fails if worked[i] else fails)
            if worked[i]:
                real[:, :i] *= self._kept(D[:, i, :i], now, real[:, :i])
            else:
                real[:, i] = (1 - before) / fails
        weights = np.exp(evidence - evidence.max())
        return weights / weights.sum(), real

    @property
    def weights(self) -> Array:
        """The probability of each hypothesis: (H,)."""
        return self._learned[0]

    @property
    def _real(self) -> Array:
        return self._learned[1]

    def _given(self, D: Array, now: float, real: Array, hidden: Array | None = None) -> Array:
        """P(works | hypothesis) at distances D, (H, m, k), from the first k entries: (H, m)."""
        k = D.shape[2]
        worked, fading = self.entries.worked[:k], self._fading(now, k)
        a = (np.exp(-D - CLOSE) * fading)[:, :, worked].max(axis=2, initial=0.0)
        f, seen = D[:, :, ~worked], fading[~worked] if hidden is None else np.maximum(fading[~worked] - hidden, 0)
        holds = real[:, None, ~worked] * seen
        order = np.argsort(f, axis=2, kind="stable")
        b = np.exp(-np.take_along_axis(f, order, 2))
        c = np.take_along_axis(np.broadcast_to(holds, f.shape), order, 2)
        none_nearer = np.cumprod(1 - c, axis=2) / np.maximum(1 - c, 1e-300)
        nearest = c * none_nearer
        total: Array = (nearest * telegraph(a[:, :, None], b)).sum(axis=2)
        return total + (1 - nearest.sum(axis=2)) * telegraph(a, np.zeros_like(a))

    def _hidden(self, D: Array, now: float) -> Array:
        """The probability that the world has not changed since a success on the way to each failure: (H, m, F).

        If it has, but not since the failure, then the failure counts: with probability fading of it less this. A
        success at the same place as the failure hides nothing.
        """
        worked, fading = self.entries.worked, self._fading(now, len(self.entries.worked))
        to_success, to_failure = D[:, :, worked], D[:, :, ~worked]
        hidden = np.zeros_like(to_failure)
        for j, rest in enumerate(np.moveaxis(self._between, 2, 0)):  # (H, S)
            on_the_way = to_success + rest[:, None, :] <= (1 + ROUNDING) * to_failure[:, :, j, None]
            on_the_way &= (rest > CLOSE)[:, None, :]
            hidden[:, :, j] = (on_the_way * fading[worked]).max(axis=2, initial=0.0)
        return hidden

    @cached_property
    def _between(self) -> Array:
        """Distances between successes and failures: (H, S, F)."""
        worked = self.entries.worked
        return distances(self.entries.X[worked], self.entries.X[~worked], self.scales)

    def _fading(self, now: float, k: int) -> Array:
        """The probability that the world has not changed since each of the first k entries: (k,)."""
        return np.exp(np.minimum(self.entries.numbers[:k] - now, 0.0) / FADES)

    def _kept(self, D: Array, now: float, real: Array) -> Array:
        """What is left of the probability that failures were real after a success at distances D: (H, k).

        By Bayes' rule it is L/(cL + 1 − c), L = P(works | failure j holds, the successes before): a success right
        beside another one says nothing, one on the way to the failure something, one at the same place refutes it.
        """
        k = D.shape[1]
        a = np.exp(-D[:, self.entries.worked[:k]]).max(axis=1, initial=0.0, keepdims=True)
        L = np.where(D > CLOSE, telegraph(np.minimum(a, 1 - 1e-12), np.exp(-D)), 0.0)
        c = real * self._fading(now, k)
        return L / np.maximum(c * L + 1 - c, 1e-300)


def telegraph(a: Array, b: Array) -> Array:
    """P(works), where a = e^{−distance to a success} < 1 and b = e^{−distance to a failure}."""
    works, fails = (WORKS + (1 - WORKS) * a) * (1 - b), (1 - a) * (1 - WORKS + WORKS * b)
    return works / (works + fails)


def distances(X: Array, Y: Array, scales: Array) -> Array:
    """Distances between the rows of X and Y, by each hypothesis: (H, m, n)."""
    matters = [scale > 0 for scale in scales]
    return np.array([cdist(X[:, j] * s[j], Y[:, j] * s[j]) for s, j in zip(scales, matters, strict=True)])


def prior_weights(H: int) -> Array:
    """Half for all parameters together, the other half shared by the single ones: (H,)."""
    return np.ones(1) if H == 1 else np.append(0.5, np.full(H - 1, 0.5 / (H - 1)))


def hypotheses(space: Space) -> Array:
    """The scales of all parameters together, and of each alone if there are several: (H, d)."""
    places, each = np.arange(space.dim), 1 / (LENGTH * extent(space))
    parts = [places[j : j + 1] for j in places] if isinstance(space, Candidates) else [places[s] for s in space.slices]
    together = each / math.sqrt(max(len(parts), 2) / 2)
    alone = [np.where(np.isin(places, part), each, 0.0) for part in parts]
    return np.array([together, *(alone if 1 < len(alone) <= ALONE else [])])


def extent(space: Space) -> Array:
    """The extent along each coordinate: 1 in a unit cube, as they come on candidates. (d,)"""
    if isinstance(space, Joint):
        return np.concatenate([extent(space.settings), extent(space.context)])
    sides = np.ptp(space.points, axis=0) if isinstance(space, Candidates) else np.ones(space.dim)
    return np.where(sides > 0, sides, 1.0)
