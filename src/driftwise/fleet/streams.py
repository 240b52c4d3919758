"""What a shard knows of each of its keys: how often it was asked, what is awaited, and its newest observations.

A key is a row of every array here. Candidates are meant by their index. Observations of a row lie in a ring, in the
order of their numbers; a ring grows by doubling up to what the policy remembers, so that young keys are small.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftwise.fleet.columns import KeyColumns
from driftwise.records import Array

Rows = NDArray[np.int64]
Places = NDArray[np.int32]  # indices of candidates

FIRST = 8  # columns of a new ring


def span(rows: Rows) -> slice | Rows:
    """Rows that follow each other as a slice, with which arrays are read and written many times faster."""
    first, count = (int(rows[0]), len(rows)) if len(rows) else (0, 0)
    if count > 1 and rows[-1] - first == count - 1 and bool((rows[1:] > rows[:-1]).all()):
        return slice(first, first + count)
    return rows


class Streams(KeyColumns):
    """The state of all keys as a struct of arrays. `memory` is how many observations a policy needs; None is all."""

    def __init__(self, memory: int | None, patience: int) -> None:
        self.memory, self.patience = memory, patience
        self.asked = np.zeros(0, np.int32)  # the number of the newest suggestion
        self.told = np.zeros(0, np.int32)  # rewards so far
        self.lesson = np.zeros(0, np.int32)  # what it began with: which of the lessons of `together`, 0 is none
        self.held = np.zeros(0, np.int64)  # observations that were ever put into the ring
        self.numbers, self.where = np.zeros((0, FIRST), np.int32), np.zeros((0, FIRST), np.int32)
        self.y = np.zeros((0, FIRST))
        self.awaited = np.zeros((0, 1), np.int32)  # numbers of suggestions without a reward; 0 is a free place
        self.awaited_where = np.zeros((0, 1), np.int32)

    # --- rows -------------------------------------------------------------------------------------------------------

    def add(self, count: int, lesson: int = 0) -> None:
        """`count` new keys, of which nothing is known but what others taught."""
        self.add_rows(count)
        self.lesson[self.size - count : self.size] = lesson

    # --- suggestions ------------------------------------------------------------------------------------------------

    def waits(self, rows: Rows) -> NDArray[np.bool_]:
        """Which of the rows have suggestions that the next one has to know of."""
        at = span(rows)
        expired = np.maximum(self.asked[at] - self.patience, 0)
        return np.asarray((self.awaited[at] > expired[:, None]).any(axis=1))

    def awaited_by(self, row: int) -> Places:
        """The candidates of these suggestions, in the order in which they were made."""
        numbers = self.awaited[row]
        order = np.argsort(numbers, kind="stable")
        kept = order[numbers[order] > max(int(self.asked[row]) - self.patience, 0)]
        return np.asarray(self.awaited_where[row, kept])

    def suggest(self, rows: Rows, where: Places) -> None:
        """Each of the rows, all different, is asked once more and gets these candidates."""
        self.asked[rows] += 1
        free = self.awaited[rows] == 0
        if not free.any(axis=1).all() and self.awaited.shape[1] < self.patience:
            extra = min(self.awaited.shape[1], self.patience - self.awaited.shape[1])
            self.awaited = np.pad(self.awaited, ((0, 0), (0, extra)))
            self.awaited_where = np.pad(self.awaited_where, ((0, 0), (0, extra)))
            free = self.awaited[rows] == 0
        # the place of the oldest one where none is free: it was made `patience` suggestions ago and is given up
        place = np.where(free.any(axis=1), free.argmax(axis=1), self.awaited[rows].argmin(axis=1))
        self.awaited[rows, place] = self.asked[rows]
        self.awaited_where[rows, place] = where

    def places(self, rows: Rows, numbers: NDArray[np.int32]) -> NDArray[np.intp]:
        """In which place each suggestion is awaited; −1 if it is not."""
        found = self.awaited[rows] == numbers[:, None]
        return np.where(found.any(axis=1), found.argmax(axis=1), -1)

    # --- observations -----------------------------------------------------------------------------------------------

    def newest(self, rows: Rows) -> NDArray[np.int32]:
        """The greatest number that has a reward; 0 if there is none."""
        last = (self.held[rows] - 1) % self.numbers.shape[1]
        return np.where(self.held[rows] > 0, self.numbers[rows, last], 0)

    def append(self, rows: Rows, numbers: NDArray[np.int32], where: Places, y: Array) -> None:
        """Observations of different rows, whose numbers are greater than all before."""
        if len(rows):
            self._make_room(int(self.held[rows].max()) + 1)
        column = self.held[rows] % self.numbers.shape[1]
        self.numbers[rows, column], self.where[rows, column], self.y[rows, column] = numbers, where, y
        self.held[rows] += 1

    def insert(self, row: int, number: int, where: int, y: float) -> bool:
        """An observation that comes late, in the place of its number. False if nothing that old is remembered."""
        numbers, places, rewards = self.contents(row)
        if self.memory is not None and len(numbers) >= self.memory and number < numbers[0]:
            return False
        at = int(np.searchsorted(numbers, number))
        self._make_room(len(numbers) + 1)
        kept = slice(-self.numbers.shape[1], None)
        total = int(self.held[row]) + 1
        columns = np.arange(total - len(numbers) - 1, total)[kept] % self.numbers.shape[1]
        self.numbers[row, columns] = np.insert(numbers, at, number)[kept]
        self.where[row, columns] = np.insert(places, at, where)[kept]
        self.y[row, columns] = np.insert(rewards, at, y)[kept]
        self.held[row] = total
        return True

    def contents(self, row: int) -> tuple[NDArray[np.int32], Places, Array]:
        """Numbers, candidates and rewards of a row, oldest first."""
        held, columns = int(self.held[row]), self.numbers.shape[1]
        kept = np.arange(max(held - columns, 0), held) % columns
        return self.numbers[row, kept], self.where[row, kept], self.y[row, kept]

    def tables(self, rows: Rows) -> tuple[NDArray[np.int32], Places, Array, Rows]:
        """The same of many rows, (r, columns) each, and how many of the columns each row uses."""
        columns = self.numbers.shape[1]
        counts = np.minimum(self.held[rows], columns)
        order = ((self.held[rows] - counts)[:, None] + np.arange(columns)) % columns
        return (
            np.take_along_axis(self.numbers[rows], order, 1),
            np.take_along_axis(self.where[rows], order, 1),
            np.take_along_axis(self.y[rows], order, 1),
            counts,
        )

    def _make_room(self, needed: int) -> None:
        columns = self.numbers.shape[1]
        while columns < needed and (self.memory is None or columns < self.memory):
            columns = 2 * columns if self.memory is None else min(2 * columns, self.memory)
        extra = columns - self.numbers.shape[1]
        if extra:  # no ring has been full so far, so that all begin in the first column
            wider = ((0, 0), (0, extra))
            self.numbers, self.where, self.y = (
                np.pad(self.numbers, wider),
                np.pad(self.where, wider),
                np.pad(self.y, wider),
            )
