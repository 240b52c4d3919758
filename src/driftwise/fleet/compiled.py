"""Beliefs of windows in NumPy arrays, with a compiled step."""

from __future__ import annotations

import numpy as np

from driftwise.fleet.streams import Places, Rows, Streams
from driftwise.fleet.windowed import Terms
from driftwise.fleet.windows import WindowEngine
from driftwise.gp.linalg import invert_positive
from driftwise.gp.noise import location_scale
from driftwise.gp.window.blocks import near, refine
from driftwise.gp.window.compiled import choose, slide
from driftwise.records import Array

BYTES = 1 << 30  # of the beliefs that are held in memory
FEW = 16  # observations: to add up to so many one by one takes less time than to call LAPACK for each key


def compiled_engine(terms: Terms, streams: Streams, *, memory: int = BYTES) -> WindowEngine:
    """An engine whose beliefs take at most `memory` bytes."""
    beliefs = CompiledBeliefs(terms)
    return WindowEngine(terms, streams, beliefs, max(memory // beliefs.bytes_each, 1))


class CompiledBeliefs:
    """A⁻¹, mean and variance of every slot."""

    name = "compiled"

    def __init__(self, terms: Terms) -> None:
        self.terms = terms
        self.block, self.all_prior = terms.block, np.ascontiguousarray(terms.pairs.diagonal())
        w, n, self.q = terms.window, len(terms.prior), 2 if terms.model.standardise else 1
        self.P, self.mean, self.var = np.zeros((0, w, w)), np.zeros((0, self.q, n)), np.zeros((0, n))
        self.where, self.Y = np.zeros((0, w), np.int32), np.zeros((0, w))
        self.best = np.zeros(0, np.int32)
        self.bytes_each = 8 * (w * w + (1 + self.q) * n) + 12 * w

    def grow(self, slots: int) -> None:
        more = slots - len(self.best)
        for name in ("P", "mean", "var", "where", "Y", "best"):
            array = getattr(self, name)
            setattr(self, name, np.concatenate([array, np.zeros((more, *array.shape[1:]), array.dtype)]))

    def fill(self, slots: Rows, counts: Places, where: Places, y: Array) -> None:
        self.mean[slots], self.var[slots], self.where[slots], self.Y[slots] = 0.0, self.terms.prior, where, y
        few = counts <= FEW
        for step in range(int(counts[few].max(initial=0))):
            on = np.flatnonzero(few & (counts > step))
            here = np.full(len(on), step, np.int32)
            self._slide(slots[on], here, here, where[on, step], y[on, step], np.zeros(len(on)))
        for i in np.flatnonzero(~few).tolist():
            m, slot = counts[i], slots[i]
            candidates, targets = where[i, :m], np.stack([y[i, :m], np.ones(m)])[: self.q]
            K = self.terms.kernel[candidates]  # (m, n)
            P = invert_positive(self.terms.pairs[np.ix_(candidates, candidates)], np.full(m, self.terms.noise))
            solved = P @ K
            self.P[slot, :m, :m], self.mean[slot] = P, targets @ solved
            self.var[slot] -= np.einsum("mn,mn->n", K, solved)

    def slide(self, slots: Rows, counts: Places, places: Places, where: Places, y: Array, beta: Array) -> Array:
        surprises = self._slide(slots, counts, places, where, y, beta)
        self._refine(slots, np.minimum(counts + 1, self.terms.window), beta)
        return surprises

    def _slide(self, slots: Rows, counts: Places, places: Places, where: Places, y: Array, beta: Array) -> Array:
        surprises, terms = np.empty(len(slots)), self.terms
        slide(
            slots, where, y, beta, terms.pairs, terms.kernel, terms.prior, terms.noise, terms.refined,
            self.P, self.where, self.Y, counts, places, self.mean, self.var, self.best, surprises,
        )  # fmt: skip
        return surprises

    def choose(self, slots: Rows, counts: Places, beta: Array) -> None:
        choose(slots, counts, beta, self.terms.prior, self.Y, self.mean, self.var, self.best)
        self._refine(slots, counts, beta)

    def _refine(self, slots: Rows, counts: Places, beta: Array) -> None:
        if self.block > 1:
            mean, var = np.empty((self.q, self.block)), np.empty(self.block)
            refine(
                slots, counts, beta, self.terms.pairs, self.all_prior, self.P, self.where, self.Y, self.best, mean, var
            )

    def chosen(self, slots: Rows) -> Places:
        return np.asarray(self.best[slots])

    def windows(self, slots: Rows) -> tuple[Places, Array]:
        return self.where[slots], self.Y[slots]

    def predict(self, slots: Rows, counts: Places) -> tuple[Array, Array, Array]:
        return self._standardised(slots, counts, self.mean[slots], self.var[slots], self.terms.prior)

    def near(self, slots: Rows, counts: Places, firsts: Places) -> tuple[Array, Array, Array]:
        mean, var = np.empty((len(slots), self.q, self.block)), np.empty((len(slots), self.block))
        near(slots, counts, firsts, self.terms.pairs, self.P, self.where, self.Y, mean, var)
        return self._standardised(slots, counts, mean, var, self.all_prior[firsts[:, None] + np.arange(self.block)])

    def _standardised(
        self, slots: Rows, counts: Places, mean: Array, var: Array, prior: Array
    ) -> tuple[Array, Array, Array]:
        """μ, σ and units from the means of rewards and of ones, (r, q, n), and the variances, (r, n)."""
        std = np.sqrt(np.clip(var, 0.0, prior))
        if self.q == 1:
            return mean[:, 0], std, np.stack([np.zeros(len(slots)), np.ones(len(slots))])
        seen = zip(slots.tolist(), counts.tolist(), strict=True)
        units = np.array([location_scale(self.Y[slot, :m]) for slot, m in seen]).T.reshape(2, -1)
        location, scale = units[:, :, None]
        return (mean[:, 0] - location * mean[:, 1]) / scale, std, units

    def covariances(self, slot: int, count: int, candidates: Places, others: Places) -> Array:
        where, pairs = self.where[slot, :count], self.terms.pairs
        explained = pairs[np.ix_(candidates, where)] @ self.P[slot, :count, :count] @ pairs[np.ix_(where, others)]
        return np.asarray(pairs[np.ix_(candidates, others)] - explained)
