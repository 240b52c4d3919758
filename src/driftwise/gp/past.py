"""What all candidates gave in the past, as a table: how they go together, about which level, and how far they spread.

Rows are times and columns are candidates. With z = the table less its mean over everything, the estimate is

    C = (1 − a) S + a F,   S = zᵀz/T,   F = o 11ᵀ + (v − o) I,   v and o the averages on and off the diagonal of S

S is taken about one level for all, so that it also knows which candidates were better than others; or about the mean of
each, which is then where the belief begins. F is one common factor and an own part for each. The weight a is that of
Ledoit and Wolf (2004), min(1, Σ_t ‖z_t z_tᵀ − S‖²/T² ÷ ‖S − F‖²): the less the table says about a covariance of this
size, the larger. It is LEAST at least, so that C is positive definite. What is kept of C are the factors that
candidates share, RANK at most, and for each candidate the rest of its variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from driftwise import checks, limits
from driftwise.concurrency.threads import one_thread
from driftwise.errors import InvalidInput
from driftwise.gp.factors import Factors
from driftwise.gp.pace import likeliest, likelihoods
from driftwise.gp.time_kernels import TimeKernel
from driftwise.records import Array
from driftwise.spaces import Candidates, Space

LEAST = 1e-3  # a at least, and the own part of F relative to its variance
TRUST = 0.5  # standard deviation of how far means may be from those of the past, in parts of the spread
RANK = 16  # factors at most
DIGITS = 9
LIKELIEST = (3, 2)  # kernels of time and noises that are kept
ROUNDS = 5  # of the estimate of factors and own parts

Pace = tuple[tuple[TimeKernel, ...], tuple[float, ...]]


@dataclass(frozen=True)
class Past:
    """The level and the scale of rewards, and in units of the scale how candidates go together.

    `about_level` is their covariance about the level. `about_means` has the mean of each, and the covariance about it,
    plus TRUST² times the former, since what was better need not be better any more.
    """

    level: float
    scale: float
    about_level: Factors
    about_means: Factors
    deviations: Array = field(repr=False, compare=False)  # of the rows from the means: (T, n)

    def pace(self, times: Sequence[TimeKernel], noises: Sequence[float]) -> Pace:
        """The first kernel of time and the LIKELIEST of the others, and as many noises, if rows are one step apart."""
        found = likelihoods(self.deviations, self.about_means.matrix, times, noises)
        likely, noise = likeliest(found, times=LIKELIEST[0], noises=LIKELIEST[1])
        return tuple(dict.fromkeys((times[0], *likely))), noise


@one_thread
def past(space: Space, history: Any) -> Past:
    """What a table of past rewards says about the candidates of a space.

    >>> from driftwise import Candidates
    >>> known = past(Candidates(labels=["a", "b"]), {"a": [1.0, 2.0, 3.0], "b": [3.0, 2.0, 4.0]})
    >>> known.level
    2.5
    """
    if not isinstance(space, Candidates):
        got = type(space).__name__
        raise InvalidInput(f"history is for Candidates, whose past it holds, got a {got}; leave it out")
    table = as_table(history, space)
    level, filled, missing = completed(table)
    Z = filled - level
    unit = float(np.abs(Z).max())  # so that no power is too large or too small for a float
    if not unit > max(1e-12 * abs(level), checks.SMALLEST):
        raise InvalidInput("history must have rewards that differ, got one value in all of it; leave it out")
    Z = Z / unit
    means = Z.mean(axis=0)
    C = _uncertain(shrunk(Z), missing)
    D = _uncertain(shrunk(Z - means), missing) + TRUST**2 * C
    scale = float(np.sqrt(np.diagonal(C).max() * (1 + 2 * LEAST**2)))  # k(x, x) ≤ 1 with what `factors` adds
    apart = _rounded(means / scale)
    about_level = Factors(*factors(C / scale**2), space.coordinates)
    about_means = Factors(*factors(D / scale**2), space.coordinates, apart)
    [level, spread] = _rounded(np.array([level, unit * scale]))
    return Past(level, spread, about_level, about_means, (Z - means) / scale)


def _rounded(numbers: Array) -> tuple[float, ...]:
    """To so many digits that the same table gives the same description on every machine."""
    return tuple(float(f"{number:.{DIGITS}g}") for number in numbers.tolist())


def _uncertain(C: Array, missing: Array) -> Array:
    """What nobody has seen is as uncertain as candidates are on their own."""
    own = float(np.diagonal(C).mean()) - _off_diagonal(C)
    return C + np.diag(missing * max(own, 0.0))


def negated(history: Any) -> Any:
    """A history of costs as one of rewards; what is no table of numbers is left for `past` to refuse."""
    if isinstance(history, Mapping):
        return {label: negated(column) for label, column in history.items()}
    try:
        return -np.array(history, dtype=float)
    except (TypeError, ValueError):
        return history


def as_table(history: Any, space: Candidates) -> Array:
    """A row for each time and a column for each candidate; a gap is NaN: (T, n)."""
    if isinstance(history, Mapping):
        history = _ordered(history, space)
    try:
        table = np.array(history, dtype=float)
    except (TypeError, ValueError):
        raise InvalidInput(
            "history must be a table of numbers, a row for each time and a column for each candidate, or a dict of "
            f"columns by label, all of one length; got {checks.shown(history)}"
        ) from None
    n = len(space)
    if table.ndim != 2 or table.shape[1] != n or not len(table):
        raise InvalidInput(f"history must have a row for each time and {n} columns, got shape {table.shape}")
    what = f"{table.shape[0]:,} rows × {n:,} candidates, and {n:,} × {n:,} covariances"
    limits.check("history", max(table.size, n * n), what, "give the newest rows alone")
    if np.isinf(table).any() or np.nanmax(np.abs(table), initial=0.0) > checks.LARGEST:
        raise InvalidInput("history must be of numbers up to 1e100 in size, and NaN for a gap; got one beyond")
    return table


def _ordered(history: Mapping[Any, Any], space: Candidates) -> Array:
    """Columns in the order of the labels."""
    if not space.labels:
        raise InvalidInput("history by label needs labels, got Candidates without; give a table, or labels=[...]")
    unknown = [name for name in history if name not in space.labels]
    if unknown:
        raise InvalidInput(f"history has a column {checks.shown(unknown[0])}, which is no label of the space")
    lacking = [label for label in space.labels if label not in history]
    if lacking:
        raise InvalidInput(
            f"history must have a column for each label, got none for {lacking[0]!r}; for an arm that is new give a "
            "column of NaN"
        )
    columns = [list(history[label]) if hasattr(history[label], "__iter__") else [] for label in space.labels]
    lengths = sorted({len(column) for column in columns})
    if len(lengths) > 1:
        raise InvalidInput(f"history must have columns of one length, got {lengths[0]} and {lengths[-1]} rows")
    return np.array(columns, dtype=object).reshape(len(columns), -1).T


def completed(table: Array) -> tuple[float, Array, Array]:
    """The level, the table with gaps filled, and the share of gaps in each column.

    A gap is filled with what its row and its column have in common: the row's mean of how far candidates were above
    their own mean, added to the column's mean. A column without a number has the level as its mean.
    """
    seen = np.isfinite(table)
    if not seen.any():
        raise InvalidInput("history must have a number somewhere, got gaps alone; leave it out")
    values = np.where(seen, table, 0.0)
    counts = seen.sum(axis=0)
    level = float(values.sum() / seen.sum())
    means = np.where(counts > 0, values.sum(axis=0) / np.maximum(counts, 1), level)
    above = np.where(seen, table - means, 0.0).sum(axis=1) / np.maximum(seen.sum(axis=1), 1)
    filled = np.where(seen, table, means + above[:, None])
    return float(filled.mean()), filled, 1 - counts / len(table)


def shrunk(Z: Array) -> Array:
    """C of rows z_t, (T, n): (n, n)."""
    T = len(Z)
    S = Z.T @ Z / T
    F = common(S)
    a = intensity(Z, S, F)
    C = (1 - a) * S + a * F
    return (C + C.T) / 2


def common(S: Array) -> Array:
    """F: every candidate with the average variance, every pair with the average covariance, if that is positive."""
    n = len(S)
    v = float(np.trace(S)) / n
    o = min(max(_off_diagonal(S), 0.0), (1 - LEAST) * v)
    return np.full((n, n), o) + (v - o) * np.eye(n)


def intensity(Z: Array, S: Array, F: Array) -> float:
    """a: the variance of the entries of S, relative to how far S is from F."""
    far = float(np.square(S - F).sum())
    uncertain = float((np.square(np.square(Z).sum(axis=1)).mean() - np.square(S).sum()) / len(Z))
    if len(Z) == 1 or not far > 1e-24 * float(np.square(S).sum()):
        return 1.0
    return min(max(uncertain / far, LEAST), 1.0)


def _off_diagonal(S: Array) -> float:
    n = len(S)
    return float((S.sum() - np.trace(S)) / (n * (n - 1))) if n > 1 else 0.0


def factors(C: Array) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
    """The factors that candidates share, (n, r), and what they leave of each variance, (n,), of greatest likelihood.

    Given the own parts ψ, with the eigenvalues λ and eigenvectors U of ψ^−½ C ψ^−½, it is L = ψ^½ U (λ − 1)^½
    (Jöreskog 1967), of which the RANK largest are kept, and given L it is ψ = diag(C − LLᵀ). The first ψ is what the
    others leave of each, 1/diag(C⁻¹). Eigenvectors of C itself would not do: of independent candidates they are any.
    """
    variances = np.diagonal(C)
    least = LEAST**2 * float(variances.mean())
    own = 1 / np.diagonal(np.linalg.inv(C))
    for _ in range(ROUNDS):
        own = np.maximum(own, least)
        sizes = np.sqrt(own)
        values, vectors = np.linalg.eigh(C / np.outer(sizes, sizes))
        rank = max(min(int((values > 1 + LEAST).sum()), RANK), 1)
        L = (sizes[:, None] * vectors * np.sqrt(np.maximum(values - 1 - LEAST, 0.0)))[:, : -rank - 1 : -1]
        own = variances - np.square(L).sum(axis=1)
    own = np.maximum(own, least)
    L = L * np.where(L[np.abs(L).argmax(axis=0), np.arange(rank)] < 0, -1.0, 1.0)  # the sign of a factor is arbitrary
    return tuple(map(_rounded, L)), _rounded(own)
