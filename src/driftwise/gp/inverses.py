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
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray

from driftwise.gp.linalg import add_outer, cholesky, invert_positive, solve_factor
from driftwise.records import Array

Index = NDArray[np.intp]


class WindowInverse(Protocol):
    """A⁻¹ of a window, a row for each slot."""

    @property
    def jitter(self) -> float: ...
    def step(self, leaving: int | None, entering: int, counts: Index, k: Array) -> tuple[Self, Array, list[float]]:
        """Forget an observation at the slot `leaving`, if there is one, and observe one more at the slot `entering`.

        `counts`, (m,), are those of the observations that stay, and `k`, (m,), is the kernel of the candidate that
        enters and that of every slot. If m is one more than before there is a new slot, the last. Returned with U,
        (r, m), whose rows are u of what leaves and of what enters, and √g of each.
        """
        ...

    def select(self, kept: slice | Index) -> Self:
        """Of these slots alone; the others must be free."""
        ...

    def solve(self, B: Array) -> Array:
        """A⁻¹B; rows of free slots have no meaning."""
        ...


@dataclass(frozen=True, eq=False)
class Inverse:
    """P = A⁻¹ itself."""

    P: Array
    noise: float
    jitter: float = 0.0  # a well-conditioned window takes none

    @classmethod
    def of(cls, K: Array, noise: float, counts: Index) -> Inverse:
        return cls(np.ascontiguousarray(invert_positive(K, noise / counts)), noise)

    def step(self, leaving: int | None, entering: int, counts: Index, k: Array) -> tuple[Inverse, Array, list[float]]:
        P, U, roots = _grown(self.P, len(k)), np.empty((1 if leaving is None else 2, len(k))), []
        if leaving is not None:
            c = counts.item(leaving)
            roots.append((P.item(leaving, leaving) + c * (c + 1) / self.noise) ** -0.5)
            u = np.multiply(P[leaving], roots[0], out=U[0])
            P = add_outer(P, u, u, sign=-1.0)
            if not c:
                P[leaving] = P[:, leaving] = 0.0
        c, u = counts.item(entering), U[-1]
        roots.append(self._again(P, entering, c, u) if c else self._new(P, entering, k, u))
        return Inverse(add_outer(P, u, u, sign=1.0), self.noise), U, roots

    def _again(self, P: Array, i: int, c: int, u: Array) -> float:
        """One more observation of a candidate: u = p/√(c(c + 1)/λ − pᵢ) with p = A⁻¹eᵢ before. Returns √g."""
        weight = c * (c + 1) / self.noise
        root = math.sqrt(weight - P.item(i, i))
        np.divide(P[i], root, out=u)
        return root / weight

    def _new(self, P: Array, i: int, k: Array, u: Array) -> float:
        """The first one: u = (−v, 1)/√s with v = A⁻¹k before, and s = k(x, x) + λ − kᵀv. Returns √g."""
        v = np.dot(P, k)
        root = math.sqrt(max(k.item(i) - v.dot(k), 0.0) + self.noise)  # s is at least λ; rounding can leave less
        np.multiply(v, -1.0 / root, out=u)
        u[i] = 1.0 / root
        return root

    def select(self, kept: slice | Index) -> Inverse:
        return Inverse(self.P[kept][:, kept], self.noise)

    def solve(self, B: Array) -> Array:
        return self.P @ B


@dataclass(frozen=True, eq=False)
class Factor:
    """K, its diagonal Λ = diag(λ/c), and the Cholesky factor of A = K + Λ. At a free slot K is 0, and Λ is 1."""

    K: Array
    noises: Array  # (m,)
    noise: float
    known: tuple[Array, float] | None = None  # the factor and its jitter, if these are known

    def step(self, leaving: int | None, entering: int, counts: Index, k: Array) -> tuple[Factor, Array, list[float]]:
        n, m = len(self.K), len(k)
        K, noises, U, roots = _grown(self.K, m), np.ones(m), np.zeros((1 if leaving is None else 2, m)), []
        noises[:n] = self.noises
        if leaving is not None:
            U[0, :n] = self._column(leaving)
            roots.append(self._scale(U[0], leaving, counts.item(leaving)))
            if counts[leaving]:
                noises[leaving] = self.noise / counts[leaving]
            else:
                K[leaving] = K[:, leaving] = 0.0
                noises[leaving] = 1.0
        if not counts[entering]:
            K[entering] = K[:, entering] = k * (counts > 0)
            K[entering, entering] = k[entering]
        noises[entering] = self.noise / (counts[entering] + 1)
        after = Factor(K, noises, self.noise)
        U[-1] = after._column(entering)
        roots.append(self._scale(U[-1], entering, counts.item(entering)))
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


def _grown(M: Array, m: int) -> Array:
    """A copy of M, (m, m) or smaller, with zeros behind."""
    n = len(M)
    if n == m:
        return M.copy(order="C")
    grown = np.zeros((m, m))
    grown[:n, :n] = M
    return grown
