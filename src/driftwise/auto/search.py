"""One greedy loop: rows are proposed, weighed by how well they predicted the window, and dropped.

Everything is a function of the window alone, so that its cost is bounded and a replay gives the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.auto.data import Memory
from driftwise.auto.pieces import Pieces, Piecework
from driftwise.auto.rows import Hypotheses, Row
from driftwise.auto.sheaf import Labels, Sheaf, fold, nothing
from driftwise.auto.warps import Standard
from driftwise.auto.weights import path
from driftwise.auto.window import Readings
from driftwise.records import Array

LIGHT = 1e-7  # of all the weight: lighter rows leave
FEW = 6  # readings before which nothing is proposed
DATES = 6  # a grid of so many dates over the last RECENT readings
RECENT = 48
SURPRISES = 3  # and those of the lowest density
ROUNDS = 4  # rows whose edits are proposed, the heaviest first
FOLLOWED, FAINT = 12, 2e-3  # rows that are followed until the next search, and the least part of the heaviest's weight


@dataclass(frozen=True, eq=False)
class Pool:
    """Rows and their weights now: (R, w)."""

    sheaf: Sheaf
    weights: Array

    @property
    def of_row(self) -> Array:
        return self.weights.sum(axis=1)

    @property
    def rows(self) -> tuple[Row, ...]:
        return self.sheaf.rows

    def heaviest(self, count: int, wanted: Callable[[Row], bool] = lambda _: True) -> list[Row]:
        order = np.argsort(-self.of_row, kind="stable")
        return [self.rows[i] for i in order.tolist() if wanted(self.rows[i])][:count]

    @property
    def labels(self) -> Labels:
        """What the heaviest row calls far."""
        n = len(self.sheaf.window)
        return self.sheaf.labels[int(np.argmax(self.of_row))] if len(self.sheaf) else np.zeros(n, dtype=bool)

    @property
    def best(self) -> float:
        return float(self.sheaf.log_density.sum(axis=2).max(initial=-np.inf))

    @cached_property
    def density(self) -> Array:
        """The log density of each reading under the mixture, by the present weights: (n,)."""
        p, w = self.sheaf.log_density, self.weights[:, :, None]
        top = p.max(axis=(0, 1))
        return np.asarray(np.log(np.maximum((w * np.exp(p - top)).sum(axis=(0, 1)), 1e-300)) + top)


@dataclass(frozen=True, eq=False)
class Search:
    """The whole table on the memory: which rows to follow until the next search, and their weights."""

    whole: Hypotheses
    memory: Memory

    @cached_property
    def table(self) -> Hypotheses:
        """The table; with one noise only if that of every reading is known, as its rows would all be the same."""
        noises = self.whole.noises
        known = self.memory.selected.all_known
        return replace(self.whole, noises=noises[len(noises) // 2 :][:1]) if known else self.whole

    @cached_property
    def window(self) -> Readings:
        frame = self.memory.all.frame
        known = Standard(*frame.past) if frame.past is not None else None if frame.standardise else Standard()
        return Readings.of(self.memory.selected, known)

    @cached_property
    def job(self) -> Piecework[Pool]:
        return Piecework(self._pieces)

    def go_on(self, part: float, like: Search) -> None:
        """Do this part of the search, if all of it costs as much for each reading as the search `like` did."""
        growth = (len(self.window) / max(len(like.window), 1)) ** 3
        self.job.advance(part * growth * like.job.cost)

    @property
    def pool(self) -> Pool:
        return self.job.result

    def _pieces(self) -> Pieces[Pool]:
        pool = Pool(nothing(self.table, self.window), np.zeros((0, len(self.window.warps))))
        first = self.table.first
        pool = yield from self._joined(pool, first[:1])
        pool = yield from self._joined(pool, first)
        edited = set[Row]()
        for _ in range(ROUNDS if len(self.window) >= FEW else 1):
            pool = yield from self._edited(pool, edited)
        if len(self.window) >= FEW:
            for proposed in (self._cycles, self._dated, self._redated):
                pool = yield from self._joined(pool, proposed(pool))
            pool = yield from self._edited(pool, edited)
        return self._kept(pool, FOLLOWED, FAINT)

    def _edited(self, pool: Pool, edited: set[Row]) -> Pieces[Pool]:
        """With the rows that differ in one part from the heaviest whose edits were not proposed yet."""
        heads = pool.heaviest(1, lambda row: row not in edited)
        edited.update(heads)
        return (yield from self._joined(pool, [each for head in heads for each in self.table.edits(head)]))

    def _joined(self, pool: Pool, rows: Iterable[Row]) -> Pieces[Pool]:
        """The pool with these rows, without those that have no weight."""
        there = set(pool.rows)
        new = [row for row in dict.fromkeys(rows) if row not in there]
        if not new:
            return pool
        made = yield from fold(self.table, self.window, new, pool.labels, pool.best)
        sheaf = pool.sheaf.beside(made) if len(pool.sheaf) else made
        prior = prior_of(sheaf.rows, len(self.window.warps))
        pool = Pool(sheaf, path(sheaf, prior, prior, 0)[-1])
        yield 2000.0 * len(sheaf) * len(self.window)
        return self._kept(pool, len(sheaf), LIGHT)

    def _kept(self, pool: Pool, most: int, least: float) -> Pool:
        w = pool.of_row
        order = np.argsort(-w, kind="stable")[:most]
        [head] = pool.heaviest(1, lambda row: not row.date)
        its = {replace(head, time=time) for time in self.table.times}
        family = np.flatnonzero([row in its for row in pool.rows])
        order = np.union1d(order[w[order] >= least * w.max()], family)  # how the function moves may change at any time
        if len(order) == len(w):
            return pool
        return Pool(pool.sheaf.only(order), pool.weights[order] / pool.weights[order].sum())

    # --- proposals ------------------------------------------------------------------------------------------------

    def _cycles(self, pool: Pool) -> list[Row]:
        [head] = pool.heaviest(1)
        clock = self.window.data.clock
        return list(self.table.cyclic(head, float(np.ptp(clock)) if len(clock) else 0.0))

    def _dated(self, pool: Pool) -> list[Row]:
        """What may have happened at some dates: a grid of the newest readings, and those that surprised most."""
        n = len(self.window)
        grid = [n - 1 - age for age in np.linspace(1, min(RECENT, n - 2), DATES).astype(int).tolist()]
        surprises = np.argsort(pool.density[2:], kind="stable")[:SURPRISES] + 2
        heads = self._heads(pool, 2)
        return [row for p in sorted({*grid, *surprises.tolist()}) for head in heads for row in self._at(head, p)]

    def _redated(self, pool: Pool) -> list[Row]:
        """The heaviest row of a date, a few readings earlier and later."""
        found = pool.heaviest(1, lambda row: row.date > 0)
        n, out = len(self.window), []
        for row in found:
            place = self.window.data.place(row.date)
            [head] = self._heads(pool, 1)
            out = [each for p in range(max(place - 4, 1), min(place + 5, n)) for each in self._at(head, p)]
        return out

    def _heads(self, pool: Pool, count: int) -> list[Row]:
        """The heaviest undated row of each of the heaviest families."""
        found: dict[object, Row] = {}
        for row in pool.heaviest(len(pool.rows), lambda row: not row.date):
            found.setdefault(row.family, row)
        return list(found.values())[:count]

    def _at(self, head: Row, place: int) -> list[Row]:
        return self.table.dated(head, int(self.window.data.numbers[place])) if place >= FEW else []


def prior_of(rows: Sequence[Row], warps: int) -> Array:
    """The weights before anything is seen: (R, w), 0 for rows that enter at a date."""
    nats = np.array([np.inf if row.date else row.nats for row in rows])
    prior = np.exp(-nats)[:, None] * np.ones(warps) / warps
    return prior / max(float(prior.sum()), 1e-300)
