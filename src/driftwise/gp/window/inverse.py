"""A⁻¹ of one window while observations come and go: updated, or solved from a factor where the noise is small."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np

from driftwise.gp.linalg import add_squares, cholesky, invert_positive, solve_factor
from driftwise.gp.window.slots import Exchange, Index
from driftwise.records import Array


class WindowInverse(Protocol):
    """A⁻¹ of a window, a row for each slot."""

    @property
    def jitter(self) -> float: ...

    def exchange(self, how: Exchange) -> tuple[Self, Array, list[float]]:
        """A⁻¹ afterwards.

        If there is one slot more than before it is the last. Returned with U, (r, m), whose rows are the vectors
        of what leaves and of what enters, and √g of each.
        """
        ...

    def select(self, kept: slice | Index) -> Self:
        """Of these slots alone; the others must be free."""
        ...

    def solve(self, B: Array) -> Array:
        """A⁻¹B; rows of free slots have no meaning."""
        ...


class Inverse(NamedTuple):
    """P = A⁻¹ itself."""

    P: Array
    noise: float
    jitter: float = 0.0  # a well-conditioned window takes none

    @classmethod
    def of(cls, K: Array, noise: float, counts: Index) -> Inverse:
        return cls(np.ascontiguousarray(invert_positive(K, noise / counts)), noise)

    def exchange(self, how: Exchange) -> tuple[Inverse, Array, list[float]]:
        P, noise, _ = self
        leaving, (i, others, _), candidates, _, _, freed, gone = how
        n, m = len(P), len(candidates)
        U = np.zeros((2, m))
        c, u, out = U[0, :n], U[1, :n], 0.0
        if leaving is not None:
            s, staying, _ = leaving
            out = (P.item(s, s) + staying * (staying + 1) / noise) ** -0.5
            np.multiply(P[s], out, out=c)
        if others:
            into = self._again(i, others, c, u)
        else:
            into = self._first(how, c, u)
            U[1, i] = 1.0 / into
        same = m == n and not gone
        P = add_squares(P, U) if same else add_squares(_grown(P, m, gone), U[:, gone:], into=True)
        if freed is not None and freed >= gone and freed != i:
            P[freed - gone] = P[:, freed - gone] = 0.0  # not what rounding leaves
        after = Inverse(P, noise)
        return (after, U[1:], [into]) if leaving is None else (after, U, [out, into])

    def _again(self, i: int, others: int, c: Array, u: Array) -> float:
        """Writes u = p/√(c(c + 1)/λ − pᵢ) of one more observation, p = A⁻¹eᵢ without what leaves. Returns √g."""
        p, weight = self.P[i] - c.item(i) * c, _weight(others, self.noise)
        root = math.sqrt(weight - p.item(i))
        np.divide(p, root, out=u)
        return root / weight

    def _first(self, how: Exchange, c: Array, u: Array) -> float:
        """Writes u = −(A⁻¹ − c cᵀ)k/√δ of the first observation, δ = k(x, x) + λ + √δ uᵀk. Returns √g = √δ."""
        k = how.K[how.entering.slot].take(how.candidates)
        others = k[: len(c)]
        v = np.dot(self.P, others)
        v -= c.dot(others) * c
        if how.freed is not None:
            v[how.freed] = 0.0
        known = max(k.item(how.entering.slot) - v.dot(others), 0.0)  # rounding can leave less
        root = math.sqrt(known + self.noise)
        np.multiply(v, -1.0 / root, out=u)
        return root

    def select(self, kept: slice | Index) -> Inverse:
        return Inverse(np.ascontiguousarray(self.P[kept][:, kept]), self.noise)

    def solve(self, B: Array) -> Array:
        return self.P @ B


@dataclass(frozen=True, eq=False)
class Factor:
    """K, its diagonal Λ = diag(λ/c), and the Cholesky factor of A = K + Λ. At a free slot K is 0, and Λ is 1."""

    K: Array
    noises: Array  # (m,)
    noise: float
    known: tuple[Array, float] | None = None  # the factor and its jitter, if these are known

    def exchange(self, how: Exchange) -> tuple[Factor, Array, list[float]]:
        gone, m, (entering, stay, _) = how.gone, len(how.candidates), how.entering
        K, noises, i = _grown(self.K, m, gone), np.ones(m - gone), entering - gone
        noises[: len(self.K) - gone] = self.noises[gone:]
        U, roots = np.zeros((1 if how.leaving is None else 2, m)), []
        if how.leaving is not None:
            leaving, left, _ = how.leaving
            U[0, : len(self.K)] = self._column(leaving)
            roots.append(self._scale(U[0], leaving, left))
            if left:
                noises[leaving - gone] = self.noise / left
            elif leaving >= gone:
                K[leaving - gone] = K[:, leaving - gone] = 0.0
                noises[leaving - gone] = 1.0
        if not stay:
            k = how.K[entering].take(how.candidates)
            K[i] = K[:, i] = k[gone:] * (K.diagonal() > 0)
            K[i, i] = k[entering]
        noises[i] = self.noise / (stay + 1)
        after = Factor(K, noises, self.noise)
        U[-1, gone:] = after._column(i)
        roots.append(self._scale(U[-1], entering, stay))
        return after, U, roots

    def _scale(self, z: Array, i: int, c: int) -> float:
        """Turn z into u = √g z, in place. Returns √g."""
        root: float = (z.item(i) + _weight(c, self.noise)) ** -0.5
        z *= root
        return root

    def _column(self, i: int) -> Array:
        """A⁻¹eᵢ."""
        unit = np.zeros(len(self.K))
        unit[i] = 1.0
        return self.solve(unit)

    @cached_property
    def _factor(self) -> tuple[Array, float]:
        return cholesky(self.K, self.noises) if self.known is None else self.known

    @property
    def jitter(self) -> float:
        return self._factor[1]

    def select(self, kept: slice | Index) -> Factor:
        L, jitter = self._factor  # a free slot is a row and a column of the identity in it
        return Factor(
            self.K[kept][:, kept], self.noises[kept], self.noise, (np.asfortranarray(L[kept][:, kept]), jitter)
        )

    def solve(self, B: Array) -> Array:
        return solve_factor(self._factor[0], B)


def _weight(c: int, noise: float) -> float:
    """c(c + 1)/λ, by which the precision of c observations and of one more differ."""
    return c * (c + 1) / noise


def _grown(M: Array, m: int, gone: int) -> Array:
    """M, (m, m) or smaller, with zeros behind, and without the first rows and columns that are `gone`."""
    n = len(M) - gone
    if n == m:
        return M.copy()
    grown = np.empty((m - gone, m - gone))
    grown[:n, :n] = M[gone:, gone:]
    if n < len(grown):
        grown[n:] = grown[:, n:] = 0.0
    return grown
