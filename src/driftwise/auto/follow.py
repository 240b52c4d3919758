"""Rows followed from one search to the next: each new reading adds a row to W = L⁻¹."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.auto.data import Observations
from driftwise.auto.pieces import made_at_once
from driftwise.auto.rows import Hypotheses, Row
from driftwise.auto.search import FAINT, Pool, prior_of
from driftwise.auto.sheaf import Sheaf, fold, targets_of
from driftwise.auto.weights import path
from driftwise.auto.window import Readings
from driftwise.gp.linalg import cholesky, invert_lower
from driftwise.gp.noise import LEAST
from driftwise.records import Array

SURPRISE = 4.0  # nats below the median of the last readings
USUAL = 40  # readings that this median is of
EVERY = 8  # numbers: something may have happened at these in any case


@dataclass(frozen=True, eq=False)
class Following:
    """Rows after all readings so far, with W for each; `known` readings were those of the search."""

    sheaf: Sheaf
    W: Array  # L⁻¹, 0 before a row's first reading: (R, n, n)
    start: Array  # the weights after the search: (R, w)
    known: int
    jitter: float = 0.0

    @classmethod
    def of(cls, pool: Pool) -> Following:
        W, jitter = inverses(pool.sheaf)
        return cls(pool.sheaf, W, pool.weights, len(pool.sheaf.window), jitter)

    @property
    def window(self) -> Readings:
        return self.sheaf.window

    def after(self, later: Observations) -> Following:
        """After one more reading; what may have happened at the one before it is a row from now on."""
        made = self._joined(later)
        number = int(self.window.data.numbers[-1]) if len(self.window) > self.known else 0
        return made.with_date(number) if number and (number % EVERY == 0 or self.surprised) else made

    def _joined(self, later: Observations) -> Following:
        sheaf, window = self.sheaf, self.window.followed_by(later)
        if window.data.known_std is not None:
            return self._refolded(window)
        new = len(window) - 1
        k = covariances(sheaf.table, window, sheaf.rows, new)[:, 0]
        z = (self.W @ k[:, :-1, None])[:, :, 0]
        noises = np.array([window.noises(row)[-1] for row in sheaf.rows])
        variances = np.maximum(k[:, -1] - np.square(z).sum(axis=1), LEAST) + noises
        targets = np.array([targets_of(sheaf.table, window, row)[:, -1] for row in sheaf.rows])
        errors = targets - (sheaf.z @ z[:, :, None])[:, :, 0]
        made = Sheaf(
            sheaf.table,
            window,
            sheaf.rows,
            np.hstack([sheaf.variances, variances[:, None]]),
            np.concatenate([sheaf.errors, errors[:, :, None]], axis=2),
            np.hstack([sheaf.labels, np.zeros((len(sheaf), 1), dtype=bool)]),
        )
        if made.judged.far[:, -1].any():
            labels = made.labels.copy()
            labels[:, -1] = made.judged.far[:, -1]
            made = replace(made, labels=labels)
        W = np.zeros((len(sheaf), new + 1, new + 1))
        W[:, :new, :new], W[:, new, new] = self.W, 1 / np.sqrt(made.pivots[:, -1])
        W[:, new, :new] = -W[:, new, new, None] * (z[:, None, :] @ self.W)[:, 0]
        return replace(self, sheaf=made, W=W)

    def _refolded(self, window: Readings) -> Following:
        """Where noise is known the scales of all rows change with each reading, and so do all factors."""
        sheaf = made_at_once(fold(self.sheaf.table, window, self.sheaf.rows, np.zeros(len(window), dtype=bool)))
        return replace(self, sheaf=sheaf, W=inverses(sheaf)[0])

    @property
    def surprised(self) -> bool:
        """Whether the newest reading is far less likely than usual."""
        density = Pool(self.sheaf, self.weights).density
        return bool(density[-1] < np.median(density[-USUAL:]) - SURPRISE)

    def with_date(self, number: int) -> Following:
        """With the rows for which something happened at this observation, which is not the newest."""
        table, window = self.sheaf.table, self.window
        undated = [i for i, row in enumerate(self.sheaf.rows) if not row.date]
        if not undated:
            return self
        head = max(undated, key=lambda i: float(self.start[i].sum()))
        rows = table.dated(self.sheaf.rows[head], number)
        fresh = [row for row in rows if row.since]
        if not rows:
            return self
        made = made_at_once(fold(table, window, fresh, np.zeros(len(window), dtype=bool)))
        sheaf, W = self.sheaf.beside(made), [self.W, inverses(made)[0]]
        for row in (row for row in rows if row.shift):
            one = self._shifted(head, row)
            sheaf, W = sheaf.beside(one.sheaf), [*W, one.W]
        start = np.vstack([self.start, np.zeros((len(rows), self.start.shape[1]))])
        return replace(self, sheaf=sheaf, W=np.concatenate(W), start=start)

    def _shifted(self, head: int, row: Row) -> Following:
        """The row `head` with a shift since the search: the same up to its date, and then folded on."""
        data = self.window.data
        place, one = data.place(row.shift), self.sheaf.only([head])
        before = replace(self.window, data=data.only(np.arange(place)))
        sheaf = Sheaf(
            one.table, before, (row,), one.variances[:, :place], one.errors[:, :, :place], one.labels[:, :place]
        )
        W = self.W[head, :place, :place]
        made = Following(sheaf, W[None], np.ones((1, len(self.window.warps))), place)
        for i in range(place, len(data)):
            made = made._joined(data.only(np.arange(i, i + 1)))
        return made

    @cached_property
    def weights(self) -> Array:
        """The weights now: (R, w)."""
        prior = prior_of(self.sheaf.rows, self.start.shape[1])
        return np.asarray(path(self.sheaf, prior, self.start, self.known)[-1])

    @cached_property
    def leading(self) -> tuple[Sheaf, Array, Array]:
        """The rows that are heard, W for each, and the weights, heaviest first.

        With one reading after it a change cannot be told from a far reading: it carries its weight and is not heard.
        """
        sheaf, W, weights = self.sheaf, self.W, self.weights
        newest = int(self.window.data.numbers[-1]) if len(self.window) else 0
        w = np.where([row.date == newest and newest > 0 for row in sheaf.rows], 0.0, weights.sum(axis=1))
        order = np.argsort(-w, kind="stable")
        heard = order[w[order] >= FAINT * w.max()]
        # and one that knows what was before the last change, to compare with
        before = [i for i in order.tolist() if not sheaf.rows[i].since and i not in heard][:1]
        order = np.append(heard, before[: int(all(sheaf.rows[i].since for i in heard))]).astype(np.intp)
        kept = weights[order]
        return sheaf.only(order), W[order], kept / kept.sum()


def inverses(sheaf: Sheaf) -> tuple[Array, float]:
    """W = L⁻¹ of every row, 0 before its first reading, (R, n, n), and the largest jitter."""
    made, jitter = covariances(sheaf.table, sheaf.window, sheaf.rows), 0.0
    for i, f in enumerate(sheaf.first.tolist()):
        L, more = cholesky(made[i, f:, f:], sheaf.noises[i, f:])
        made[i, f:, f:] = invert_lower(L)
        jitter = max(jitter, more)
    return made, jitter


def covariances(table: Hypotheses, window: Readings, rows: Sequence[Row], new: int = 0) -> Array:
    """Of the readings from index `new` on with all, for every row, 0 before its first reading: (R, n − new, n)."""
    T, K = window.in_time(rows, new), dict[object, Array]()
    made = np.zeros((len(rows), len(window) - new, len(window)))
    for each, row in zip(made, rows, strict=True):
        key, first = (row.kernel, row.bends), window.first(row)
        if key not in K:
            K[key] = window.in_space(table, row, new)
        each[max(first - new, 0) :, first:] = window.covariance(row, K[key], T, new)
    return made
