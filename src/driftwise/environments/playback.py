"""Coefficients and values of a world's f_t, computed a block of steps at a time; the last few blocks are stored.

A block of values is one matrix product, and always the same one, so that f_t has the same bits in whatever order the
steps are asked for. Memory is bounded: a few blocks, and for a chain the last coefficients of each block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache

import numpy as np

from driftwise import checks
from driftwise.environments.drift import Drift
from driftwise.environments.rkhs import Basis
from driftwise.errors import InvalidInput
from driftwise.records import Array
from driftwise.rng import Stream, generator

BLOCK = 64
KEPT = 4  # blocks that are stored
AHEAD = 50_000  # most steps that a chain is computed ahead
LONGEST = 100_000  # steps that are summed over


class Playback:
    """f_1, f_2, … of a drift whose functions come from `seed`."""

    def __init__(self, basis: Basis, drift: Drift, seed: int, features: Callable[[], Array]) -> None:
        """`features` gives the basis at the candidates, (n, m), when it is first needed."""
        self._drift = drift
        self._draw = lru_cache(maxsize=8)(lambda j: basis.draw(generator(seed, j, Stream.WORLD)))
        self._ends: dict[int, Array] = {}  # block ↦ its last coefficients, of chains only
        self.coefficient_block = lru_cache(maxsize=KEPT)(self._play)  # block ↦ (BLOCK, m)
        self._value_block = lru_cache(maxsize=KEPT)(lambda block: self.coefficient_block(block) @ features().T)

    def coefficients(self, t: int) -> Array:
        """The coefficients of f_t: (m,)."""
        block, row = place(t)
        return self.coefficient_block(block)[row]

    def values(self, t: int) -> Array:
        """f_t at every candidate: (n,)."""
        block, row = place(t)
        return self._value_block(block)[row]

    def coefficient_blocks(self, horizon: int) -> Iterator[Array]:
        """The coefficients of f_1 … f_T, in blocks of rows."""
        return _blocks(self.coefficient_block, horizon)

    def value_blocks(self, horizon: int) -> Iterator[Array]:
        """The values of f_1 … f_T at every candidate, in blocks of rows."""
        return _blocks(self._value_block, horizon)

    def _play(self, block: int) -> Array:
        before = self._end_of(block - 1) if self._drift.chained else None
        rows = []
        for t in range(block * BLOCK + 1, (block + 1) * BLOCK + 1):
            row = self._drift.at(t, self._draw, before)
            before = row if self._drift.chained else None
            rows.append(row)
        if before is not None:
            self._ends[block] = before
        return np.array(rows)

    def _end_of(self, block: int) -> Array | None:
        """c at the end of `block`. Earlier blocks are computed first, one after the other."""
        if (block - len(self._ends)) * BLOCK > AHEAD:
            raise InvalidInput(f"a chain is played step by step, {AHEAD:,} ahead at most, got step {block * BLOCK:,}")
        for earlier in range(len(self._ends), block + 1):
            self._play(earlier)
        return self._ends[block] if block >= 0 else None


def place(t: int) -> tuple[int, int]:
    """The block of step t, and its row there."""
    return divmod(checks.count("t", t, fix="steps count from 1") - 1, BLOCK)


def _blocks(block: Callable[[int], Array], horizon: int) -> Iterator[Array]:
    last, row = place(checks.count("horizon", horizon, most=LONGEST, fix="it is summed step by step"))
    for b in range(last):
        yield block(b)
    yield block(last)[: row + 1]
