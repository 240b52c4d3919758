"""Append-only buffers that successive states share, so that a state which never changes can grow without a copy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.linalg import aligned

Column = NDArray[Any]  # (k,) or (k, m)


class SharedRows(NamedTuple):
    """The rows [start, stop) of several columns.

    A row is appended in place only if no other state appended there before, and otherwise to a copy: the rows of a
    state never change. (A tuple, because one is made at every step, in a third of the time of a frozen dataclass.)

    >>> one = SharedRows.of(np.zeros(0), room=4).append(1.0)
    >>> two, other = one.append(2.0), one.append(3.0)
    >>> [rows.views[0].tolist() for rows in (one, two, other, two.drop(1))]
    [[1.0], [1.0, 2.0], [1.0, 3.0], [2.0]]
    """

    buffers: tuple[Column, ...]
    filled: list[int]  # how many rows are written: one cell, shared by all states with these buffers
    start: int
    stop: int
    room: int  # spare rows of new buffers

    @classmethod
    def of(cls, *columns: Column, room: int) -> SharedRows:
        n = len(columns[0])
        buffers = tuple(_buffer(column, n + room) for column in columns)
        for buffer, column in zip(buffers, columns, strict=True):
            buffer[:n] = column
        return cls(buffers, [n], 0, n, room)

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def views(self) -> tuple[Column, ...]:
        """The columns, oldest row first; not to be written to."""
        kept = slice(self.start, self.stop)
        return tuple([buffer[kept] for buffer in self.buffers])  # a list is made faster than a generator

    def column(self, k: int) -> Column:
        """One column, oldest row first; not to be written to."""
        return self.buffers[k][self.start : self.stop]

    def oldest(self, k: int) -> Any:
        """The first row's number in one column."""
        return self.buffers[k].item(self.start)

    def append(self, *row: Any, drop: int = 0) -> SharedRows:
        """With one more row at the end, and without the first `drop`."""
        stop = self.stop
        if not self.filled[0] == stop < len(self.buffers[0]):
            return SharedRows.of(*self.views, room=self.room).append(*row, drop=drop)
        for buffer, value in zip(self.buffers, row, strict=True):
            buffer[stop] = value
        self.filled[0] = stop + 1
        return SharedRows(self.buffers, self.filled, self.start + drop, stop + 1, self.room)

    def drop(self, n: int) -> SharedRows:
        """Without the first n rows."""
        return SharedRows(self.buffers, self.filled, self.start + n, self.stop, self.room)


def _buffer(column: Column, rows: int) -> Column:
    wide = column.ndim == 2 and column.shape[1] >= 64
    return aligned(rows, column.shape[1]) if wide else np.empty((rows, *column.shape[1:]), dtype=column.dtype)
