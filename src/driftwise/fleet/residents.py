"""Which keys have their belief in memory, and in which slot of its arrays."""

from __future__ import annotations

import numpy as np

from driftwise.fleet.streams import Rows, span


class Residents:
    """At most `most` rows have a slot; the row that was used longest ago gives up its own."""

    def __init__(self, most: int) -> None:
        self.most, self.tick = most, 0
        self.row_in, self.used = np.zeros(0, np.int64), np.zeros(0, np.int64)  # by slot; −1 is free
        self.slot_of = np.zeros(0, np.int64)  # by row, counted from 1; 0 is none

    def __len__(self) -> int:
        return len(self.row_in)

    def admit(self, rows: Rows, size: int) -> tuple[Rows, Rows]:
        """The slots of these different rows, of `size` that there are, and which of the rows are new in them."""
        if size > len(self.slot_of):
            self.slot_of = np.pad(self.slot_of, (0, max(size, 2 * len(self.slot_of)) - len(self.slot_of)))
        self.tick += 1
        slots = self.slot_of[span(rows)] - 1
        absent = np.flatnonzero(slots < 0)
        self.used[span(slots[slots >= 0] if len(absent) else slots)] = self.tick
        if len(absent):
            taken = self._take(len(absent))
            old = self.row_in[taken]
            self.slot_of[old[old >= 0]] = 0
            self.row_in[taken], self.slot_of[rows[absent]], self.used[taken] = rows[absent], taken + 1, self.tick
            slots[absent] = taken
        return slots, absent

    def dismiss(self, row: int) -> None:
        """The row's belief is wrong now."""
        if row < len(self.slot_of) and self.slot_of[row]:
            self.row_in[self.slot_of[row] - 1] = -1
            self.slot_of[row] = 0

    def _take(self, count: int) -> Rows:
        """Free slots, new ones, and then those that were used longest ago."""
        free = np.flatnonzero(self.row_in < 0)[:count]
        first, lacking = len(self.row_in), count - len(free)
        more = min(lacking, self.most - first)
        if more > 0:
            added = min(max(more, first), self.most - first)
            self.row_in = np.concatenate([self.row_in, np.full(added, -1)])
            self.used = np.concatenate([self.used, np.zeros(added, np.int64)])
            free = np.concatenate([free, np.arange(first, first + more)])
        if len(free) < count:
            others = np.flatnonzero((self.used < self.tick) & (self.row_in >= 0))
            oldest = others[np.argsort(self.used[others], kind="stable")[: count - len(free)]]
            free = np.concatenate([free, oldest])
        return free
