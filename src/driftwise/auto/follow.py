"""Rows followed from one search to the next: each new reading adds a row to W = L⁻¹."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.auto.data import Observations
from driftwise.auto.pieces import made_at_once
from driftwise.auto.rows import Row
from driftwise.auto.search import FAINT, Pool, prior_of
from driftwise.auto.sheaf import FAR, Sheaf, fold, targets_of
from driftwise.auto.weights import path
from driftwise.auto.window import Readings
from driftwise.gp.linalg import cholesky, extend_inverse_lower, invert_lower
from driftwise.records import Array

SURPRISE = 4.0  # nats below the median of the last readings
USUAL = 40  # readings that this median is of
EVERY = 8  # numbers: something may have happened at these in any case


@dataclass(frozen=True, eq=False)
class Following:
    """Rows after all readings so far, with W for each; `known` readings were those of the search."""

    sheaf: Sheaf
    W: tuple[Array, ...]
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
        T, K = window.in_time(sheaf.rows, new), dict[object, Array]()
        added, variances, errors = [], np.empty(len(sheaf)), np.empty((len(sheaf), len(window.warps)))
        for i, (row, W) in enumerate(zip(sheaf.rows, self.W, strict=True)):
            key = row.kernel, row.bends
            if key not in K:
                K[key] = window.in_space(sheaf.table, row, new)
            [k] = window.covariance(row, K[key], T, new)
            new_row = W @ k[:-1]
            variances[i] = max(k[-1] - float(new_row @ new_row), 1e-10) + window.noises(row)[-1]
            errors[i] = targets_of(sheaf.table, window, row)[:, -1] - self.z[i] @ new_row
            added.append(new_row)
        made = Sheaf(
            sheaf.table,
            window,
            sheaf.rows,
            np.hstack([sheaf.variances, variances[:, None]]),
            np.concatenate([sheaf.errors, errors[:, :, None]], axis=2),
            np.hstack([sheaf.labels, np.zeros((len(sheaf), 1), dtype=bool)]),
        )
        labels = made.labels.copy()
        labels[:, -1] = made.judged.far[:, -1]
        made = replace(made, labels=labels) if labels[:, -1].any() else made
        pivots = np.sqrt(variances + FAR * labels[:, -1])
        grown = tuple(
            extend_inverse_lower(W, r[None, :], np.array([[1 / p]]))
            for W, r, p in zip(self.W, added, pivots, strict=True)
        )
        return replace(self, sheaf=made, W=grown)

    def _refolded(self, window: Readings) -> Following:
        """Where noise is known the scales of all rows change with each reading, and so do all factors."""
        sheaf = made_at_once(fold(self.sheaf.table, window, self.sheaf.rows, np.zeros(len(window), dtype=bool)))
        return replace(self, sheaf=sheaf, W=inverses(sheaf)[0])

    @cached_property
    def z(self) -> list[Array]:
        return [z_of(self.sheaf, i) for i in range(len(self.sheaf))]

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
        sheaf, W = self.sheaf.beside(made), [*self.W, *inverses(made)[0]]
        for row in (row for row in rows if row.shift):
            one = self._shifted(head, row)
            sheaf, W = sheaf.beside(one.sheaf), [*W, *one.W]
        start = np.vstack([self.start, np.zeros((len(rows), self.start.shape[1]))])
        return replace(self, sheaf=sheaf, W=tuple(W), start=start)

    def _shifted(self, head: int, row: Row) -> Following:
        """The row `head` with a shift since the search: the same up to its date, and then folded on."""
        data, first = self.window.data, int(self.sheaf.first[head])
        place, one = data.place(row.shift), self.sheaf.only([head])
        before = replace(self.window, data=data.only(np.arange(place)))
        sheaf = Sheaf(
            one.table, before, (row,), one.variances[:, :place], one.errors[:, :, :place], one.labels[:, :place]
        )
        W = self.W[head][: place - first, : place - first]
        made = Following(sheaf, (W,), np.ones((1, len(self.window.warps))), place)
        for i in range(place, len(data)):
            made = made._joined(data.only(np.arange(i, i + 1)))
        return made

    @cached_property
    def weights(self) -> Array:
        """The weights now: (R, w)."""
        prior = prior_of(self.sheaf.rows, self.start.shape[1])
        return np.asarray(path(self.sheaf, prior, self.start, self.known)[-1])

    @cached_property
    def leading(self) -> tuple[Sheaf, tuple[Array, ...], Array]:
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
        return sheaf.only(order), tuple(W[i] for i in order), kept / kept.sum()


def inverses(sheaf: Sheaf) -> tuple[tuple[Array, ...], float]:
    """W = L⁻¹ of every row, and the largest jitter."""
    window, made, jitter = sheaf.window, [], 0.0
    T, K = window.in_time(sheaf.rows), dict[object, Array]()
    for i, row in enumerate(sheaf.rows):
        key = row.kernel, row.bends
        if key not in K:
            K[key] = window.in_space(sheaf.table, row)
        L, more = cholesky(window.covariance(row, K[key], T), noises_of(sheaf, i))
        made.append(np.asfortranarray(invert_lower(L)))
        jitter = max(jitter, more)
    return tuple(made), jitter


def noises_of(sheaf: Sheaf, i: int) -> Array:
    """What is on the diagonal of a row's matrix beside the covariance."""
    f = int(sheaf.first[i])
    far, assumed = FAR * sheaf.labels[i, f:], sheaf.window.noises(sheaf.rows[i])[f:]
    if sheaf.known is None:
        return assumed + far
    known = sheaf.known[i, f:] * sheaf.variances[i, f:]
    return np.where(known > 0, known, assumed) + far


def z_of(sheaf: Sheaf, i: int) -> Array:
    """z of a row, with 0 in the place of far readings: (w, n − first)."""
    f, far = int(sheaf.first[i]), sheaf.labels[i]
    left = np.where(far, targets_of(sheaf.table, sheaf.window, sheaf.rows[i]), 0.0) if far.any() else 0.0
    return np.asarray(((sheaf.errors[i] - left) / np.sqrt(sheaf.variances[i] + FAR * far))[:, f:])
