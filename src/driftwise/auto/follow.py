"""Rows followed from one search to the next: each new reading adds a row to W = L⁻¹."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.gp.linalg import cholesky, extend_inverse_lower, invert_lower
from driftwise.auto.data import Observations
from driftwise.auto.rows import Row
from driftwise.auto.search import FAINT, Pool, prior_of
from driftwise.auto.sheaf import FAR, Sheaf, _targets, fold
from driftwise.auto.weights import path
from driftwise.auto.window import Window
from driftwise.records import Array

SURPRISE = 4.0  # nats below the median of the last readings
USUAL = 40  # readings that this median is of
EVERY = 8  # numbers: something may have happened at these in any case


@dataclass(frozen=True, eq=False)
class Followed:
    """Rows after all readings so far, with W for each; `known` readings were those of the search."""

    sheaf: Sheaf
    W: tuple[Array, ...]
    start: Array  # the weights after the search: (R, w)
    known: int
    jitter: float = 0.0

    @classmethod
    def of(cls, pool: Pool) -> Followed:
        sheaf, jitter, W = pool.sheaf, 0.0, []
        window = sheaf.window
        T = window.in_time(sheaf.rows)
        for i, row in enumerate(sheaf.rows):
            A = window.covariance(row, window.in_space(sheaf.table, row), T)
            L, more = cholesky(A, _noises(sheaf, i))
            W.append(np.asfortranarray(invert_lower(L)))
            jitter = max(jitter, more)
        return cls(sheaf, tuple(W), pool.weights, len(window), jitter)

    @property
    def window(self) -> Window:
        return self.sheaf.window

    def after(self, later: Observations) -> Followed:
        """After one more reading."""
        sheaf, window = self.sheaf, self.window.followed_by(later)
        new = len(window) - 1
        T, K = window.in_time(sheaf.rows, new), dict[object, Array]()
        ls, variances, errors = [], np.empty(len(sheaf)), np.empty((len(sheaf), len(window.warps)))
        for i, (row, W) in enumerate(zip(sheaf.rows, self.W, strict=True)):
            key = row.kernel, row.bends
            if key not in K:
                K[key] = window.in_space(sheaf.table, row, new)
            [k] = window.covariance(row, K[key], T, new)
            l = W @ k[:-1]
            noise = window.noises(row)[-1]
            variances[i] = max(k[-1] - float(l @ l), 1e-10) + noise
            z = _z(sheaf, i)
            errors[i] = _targets(sheaf.table, window, row)[:, -1] - z @ l
            ls.append(l)
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
        made = replace(made, labels=labels)
        pivots = np.sqrt(variances + FAR * labels[:, -1])
        grown = tuple(
            extend_inverse_lower(W, l[None, :], np.array([[1 / p]])) for W, l, p in zip(self.W, ls, pivots, strict=True)
        )
        return replace(self, sheaf=made, W=grown)

    @cached_property
    def density(self) -> Array:
        """The log density of each reading since the search, and USUAL before, under the mixture: (n,)."""
        return Pool(self.sheaf, self.start).density

    def dates(self) -> list[int]:
        """Numbers since the search at which something may have happened: surprises, and multiples of EVERY.

        The newest is none of them, since the next one will tell a far reading from a change.
        """
        numbers = self.window.data.numbers
        new, newest = numbers[self.known :], int(numbers[-1])
        usual = float(np.median(self.density[-USUAL:]))
        low = self.density[self.known :] < usual - SURPRISE
        found = {int(number) for number, surprise in zip(new, low, strict=True) if surprise or number % EVERY == 0}
        return sorted(found - {newest})

    def with_dates(self) -> tuple[Sheaf, tuple[Array, ...], Array]:
        """The rows, those of dates since the search too, and the weights of all now."""
        table, window = self.sheaf.table, self.window
        undated = [i for i, row in enumerate(self.sheaf.rows) if not row.date]
        dates = self.dates() if undated and table.changes and len(window) > self.known else []
        if not dates:
            return self.sheaf, self.W, self._weights(self.sheaf)
        head = max(undated, key=lambda i: float(self.start[i].sum()))
        rows = [row for number in dates for row in table.dated(self.sheaf.rows[head], number)]
        fresh = [row for row in rows if row.since]
        made, W = _made(fold(table, window, fresh, np.zeros(len(window), dtype=bool))), list(self.W)
        T = window.in_time(fresh)
        for i, row in enumerate(fresh):
            A = window.covariance(row, window.in_space(table, row), T)
            W.append(invert_lower(cholesky(A, _noises(made, i))[0]))
        sheaf = self.sheaf.beside(made)
        for row in (row for row in rows if row.shift):
            one = self._shifted(head, row)
            sheaf = sheaf.beside(one.sheaf)
            W.append(one.W[0])
        return sheaf, tuple(W), self._weights(sheaf)

    def _shifted(self, head: int, row: Row) -> Followed:
        """The row `head` with a shift since the search: the same up to its date, and then folded on."""
        place, first = self.window.data.place(row.shift), int(self.sheaf.first[head])
        data = self.window.data
        before = replace(self.window, data=data.only(np.arange(place)))
        one = self.sheaf.only([head])
        sheaf = Sheaf(
            one.table, before, (row,), one.variances[:, :place], one.errors[:, :, :place], one.labels[:, :place]
        )
        W = self.W[head][: place - first, : place - first]
        made = Followed(sheaf, (W,), np.ones((1, len(self.window.warps))), place)
        for i in range(place, len(data)):
            made = made.after(data.only(np.arange(i, i + 1)))
        return made

    def _weights(self, sheaf: Sheaf) -> Array:
        added = len(sheaf) - len(self.start)
        start = np.vstack([self.start, np.zeros((added, self.start.shape[1]))])
        prior = prior_of(sheaf.rows, start.shape[1]) if any(not row.date for row in sheaf.rows) else start
        return path(sheaf, prior, start, self.known)[-1]

    @cached_property
    def leading(self) -> tuple[Sheaf, tuple[Array, ...], Array]:
        """The rows that are heard, W for each, and the weights, heaviest first.

        With one reading after it a change cannot be told from a far reading: it carries its weight and is not heard.
        """
        sheaf, W, weights = self.with_dates()
        newest = int(self.window.data.numbers[-1]) if len(self.window) else 0
        w = np.where([row.date == newest and newest > 0 for row in sheaf.rows], 0.0, weights.sum(axis=1))
        order = np.argsort(-w, kind="stable")
        order = order[w[order] >= FAINT * w.max()]
        kept = weights[order]
        return sheaf.only(order), tuple(W[i] for i in order), kept / kept.sum()


def _noises(sheaf: Sheaf, i: int) -> Array:
    """What is on the diagonal of a row's matrix beside the covariance."""
    f = int(sheaf.first[i])
    far = FAR * sheaf.labels[i, f:]
    if sheaf.known is None:
        return sheaf.window.noises(sheaf.rows[i])[f:] + far
    known = sheaf.known[i, f:] * sheaf.variances[i, f:]
    return np.where(known > 0, known, sheaf.window.noises(sheaf.rows[i])[f:]) + far


def _z(sheaf: Sheaf, i: int) -> Array:
    """z of a row: (w, n − first)."""
    f = int(sheaf.first[i])
    return sheaf.errors[i, :, f:] / np.sqrt(sheaf.variances[i, f:] + FAR * sheaf.labels[i, f:])


def _made(pieces: object) -> Sheaf:
    """What a generator of pieces returns."""
    while True:
        try:
            next(pieces)  # type: ignore[call-overload]
        except StopIteration as done:
            found: Sheaf = done.value
            return found


def shares(weights: Sequence[float]) -> Array:
    return np.asarray(weights) / np.sum(weights)
