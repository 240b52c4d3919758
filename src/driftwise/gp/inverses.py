"""A⁻¹ of the distinct candidates that a window has observed, while observations come and go.

c observations of a candidate are equivalent to one of their mean, with noise λ/c. So A = K + diag(λ/c) has a row for
each candidate and not for each observation. A candidate keeps its slot (its row) as long as the window has an
observation of it. The slot is free afterwards, and the row and column of A⁻¹ are 0 there. An observation changes A⁻¹
along one vector:

    forget:    A⁻¹ −= u uᵀ,    u = √g z,    z = A⁻¹eᵢ before,    1/g = zᵢ + c(c + 1)/λ
    observe:   A⁻¹ += u uᵀ,    u = √g z,    z = A⁻¹eᵢ after,     1/g = zᵢ + c(c + 1)/λ

where c is the count of candidate i without that observation. (For c = 0 this is the usual bordering of A⁻¹.)

There are two ways to keep A⁻¹, with one interface. `Inverse` updates A⁻¹ itself, the fastest, and right where A is
well conditioned; `Factor` refactorises at every step and is right always. Measured on 1,000 candidates
(docs/design.md), at λ = 1e-6 the first loses all digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.linalg import add_squares, cholesky, invert_positive, solve_factor
from driftwise.records import Array

Index = NDArray[np.intp]


class WindowInverse(Protocol):
    """A⁻¹ of a window, a row for each slot."""

    @property
    def jitter(self) -> float: ...
    def step(
        self, leaving: int | None, entering: int, staying: tuple[int, int], k: Array, gone: int
    ) -> tuple[Self, Array, list[float]]:
        """Forget an observation at the slot `leaving`, if there is one, and observe one more at the slot `entering`.

        `staying` is how many observations stay at these two slots, and `k`, (m,), is the kernel of the candidate that
        enters and that of every slot. If m is one more than before there is a new slot, the last. The first `gone`
        slots are free afterwards and left out. Returned with U, (r, m), whose rows are u of what leaves and of what
        enters, and √g of each.
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

    def step(
        self, leaving: int | None, entering: int, staying: tuple[int, int], k: Array, gone: int
    ) -> tuple[Inverse, Array, list[float]]:
        (left, c), U, roots = staying, np.zeros((2, len(k))), []  # a first row of zeros if nothing leaves
        if leaving is not None:
            roots.append(self._forget(leaving, left, U))
        freed = leaving if not left else None
        roots.append(self._again(entering, c, U) if c else self._new(entering, freed, k, U))
        P = add_squares(_grown(self.P, len(k), gone), U[:, gone:])
        if freed is not None and freed >= gone and freed != entering:
            P[freed - gone] = P[:, freed - gone] = 0.0
        return Inverse(P, self.noise), U[1 if leaving is None else 0 :], roots

    def _forget(self, i: int, c: int, U: Array) -> float:
        """Writes u of an observation that leaves. Returns √g."""
        root: float = (self.P.item(i, i) + c * (c + 1) / self.noise) ** -0.5
        np.multiply(self.P[i], root, out=U[0, : len(self.P)])
        return root

    def _again(self, i: int, c: int, U: Array) -> float:
        """One more observation of a candidate: u = p/√(c(c + 1)/λ − pᵢ) with p = A⁻¹eᵢ before. Returns √g."""
        left, u = U[:, : len(self.P)]
        p = self.P[i] - left.item(i) * left
        weight = c * (c + 1) / self.noise
        root = math.sqrt(weight - p.item(i))
        np.divide(p, root, out=u)
        return root / weight

    def _new(self, i: int, freed: int | None, k: Array, U: Array) -> float:
        """The first one: u = (−v, 1)/√s with v = A⁻¹k before, and s = k(x, x) + λ − kᵀv. Returns √g."""
        n = len(self.P)
        left, others = U[0, :n], k[:n]
        v = np.dot(self.P, others)
        v -= left.dot(others) * left
        if freed is not None:
            v[freed] = 0.0
        root = math.sqrt(max(k.item(i) - v.dot(others), 0.0) + self.noise)  # s is at least λ; rounding can leave less
        np.multiply(v, -1.0 / root, out=U[1, :n])
        U[1, i] = 1.0 / root
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

    def step(
        self, leaving: int | None, entering: int, staying: tuple[int, int], k: Array, gone: int
    ) -> tuple[Factor, Array, list[float]]:
        n, m, (left, c), i = len(self.K), len(k), staying, entering - gone
        K, noises, U, roots = _grown(self.K, m, gone), np.ones(m - gone), np.zeros((1 if leaving is None else 2, m)), []
        noises[: n - gone] = self.noises[gone:]
        if leaving is not None:
            U[0, :n] = self._column(leaving)
            roots.append(self._scale(U[0], leaving, left))
            if left:
                noises[leaving - gone] = self.noise / left
            elif leaving >= gone:
                K[leaving - gone] = K[:, leaving - gone] = 0.0
                noises[leaving - gone] = 1.0
        if not c:
            K[i] = K[:, i] = k[gone:] * (K.diagonal() > 0)
            K[i, i] = k[entering]
        noises[i] = self.noise / (c + 1)
        after = Factor(K, noises, self.noise)
        U[-1, gone:] = after._column(i)
        roots.append(self._scale(U[-1], entering, c))
        return after, U, roots

    def _scale(self, z: Array, i: int, c: int) -> float:
        """Turn z into u = √g z, in place. Returns √g."""
        root: float = (z.item(i) + c * (c + 1) / self.noise) ** -0.5
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


def _grown(M: Array, m: int, gone: int) -> Array:
    """A copy of M, (m, m) or smaller, with zeros behind, and without the first rows and columns that are `gone`."""
    n = len(M) - gone
    if n == m:
        return M.copy()
    grown = np.empty((m - gone, m - gone))
    grown[:n, :n] = M[gone:, gone:]
    if n < len(grown):
        grown[n:] = grown[:, n:] = 0.0
    return grown
