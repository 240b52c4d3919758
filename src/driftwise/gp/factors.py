"""A covariance of candidates by a few factors that they share, and a part of its own for each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.distances import check_points
from driftwise.gp.kernels import Combined, candidate_index
from driftwise.records import Array, Point


@dataclass(frozen=True)
class Factors(Combined):
    """k(i, j) = Σ_r L_ir L_jr + own_i·1[i = j]: positive semi-definite whatever the loadings L, (n, r), are.

    Candidates are told by their coordinates `points`; without them, like those of `Empirical`.

    >>> Factors(((1.0,), (2.0,)), (0.5, 0.5))(np.eye(2), np.eye(2)).tolist()
    [[1.5, 2.0], [2.0, 4.5]]
    """

    loadings: tuple[tuple[float, ...], ...]
    own: tuple[float, ...]
    points: tuple[Point, ...] = ()
    means: tuple[float, ...] = ()  # of the function, before anything is seen; without them 0

    def __post_init__(self) -> None:
        L = checks.table("loadings", self.loadings)
        own = checks.each("own", self.own, checks.nonnegative, "(0.1, 0.1)")
        if len(own) != len(L) or not np.abs(L).max(initial=0.0) <= checks.LARGEST:
            raise InvalidInput(f"own must be one for each of the {len(L)} candidates, got {len(own)}")
        if self.points and len(self.points) != len(L):
            raise InvalidInput(f"points must be one for each of the {len(L)} candidates, got {len(self.points)}")
        object.__setattr__(self, "loadings", tuple(map(tuple, L.tolist())))
        object.__setattr__(self, "own", own)
        object.__setattr__(self, "means", checks.each("means", self.means, checks.size, "(0.0, 1.0)"))
        if self.means and len(self.means) != len(L):
            raise InvalidInput(f"means must be one for each of the {len(L)} candidates, got {len(self.means)}")

    @cached_property
    def matrix(self) -> Array:
        """All of it, factor by factor, so that its bits depend on nothing else: (n, n)."""
        L = np.array(self.loadings)
        C = np.diag(np.array(self.own))
        for factor in L.T:
            C += factor[:, None] * factor
        return C

    def __call__(self, X: Array, Y: Array) -> Array:
        return self.matrix[np.ix_(self._index(X), self._index(Y))]

    def mean(self, X: Array) -> Array:
        """What a policy that can have a prior mean expects at the rows of X: (n,)."""
        return np.array(self.means)[self._index(X)] if self.means else np.zeros(len(X))

    def diagonal(self, X: Array) -> Array:
        index = self._index(X)
        return self.matrix[index, index]

    def gradient(self, X: Array, Y: Array) -> Array:
        raise InvalidInput("a covariance of candidates has no gradient; use it on Candidates")

    def _index(self, X: Array) -> NDArray[np.intp]:
        if not self.points:
            return candidate_index(X, len(self.own))
        check_points(X)
        try:
            return np.array([self._places[tuple(x)] for x in X.tolist()], dtype=np.intp)
        except KeyError:
            got = checks.shown(X.tolist())
            raise InvalidInput(f"the covariance is of {len(self.own)} candidates, got others: {got}") from None

    @cached_property
    def _places(self) -> dict[Point, int]:
        return {point: place for place, point in enumerate(self.points)}
