"""A recording of a real system, played back: a row of rewards for each time, a column for each candidate."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from driftwise import checks
from driftwise.environments.csv_sheet import GAPS, Sheet, read_sheet
from driftwise.environments.noise import Gaussian, Noise, as_noise
from driftwise.environments.rkhs import Whitened
from driftwise.errors import InvalidInput
from driftwise.gp.kernels import Empirical, Kernel, Matern, as_kernel
from driftwise.records import Array
from driftwise.spaces import Candidates

TRAINING = 0.5  # of the rows, where a kernel is to be learned from them
SILENT = Gaussian(0.0)


@dataclass(frozen=True, eq=False)
class Recorded:
    """f_t = row t of `rewards`, (T, n), with its exact maximum. By default no noise is added to the recording."""

    rewards: Array
    space: Candidates
    kernel: Kernel
    noise: Noise = SILENT
    seed: int = 0
    name: str = "recorded"
    labels: tuple[str, ...] = ()  # the columns' headings
    times: tuple[float, ...] = ()  # of the rows; without them row t is at time t

    def __post_init__(self) -> None:
        if not isinstance(self.space, Candidates):
            raise InvalidInput(f"space must be Candidates(points), got {checks.shown(self.space)}")
        object.__setattr__(self, "rewards", checks.table("rewards", self.rewards, columns=len(self.space)))
        as_kernel("kernel", self.kernel)
        as_noise(self.noise)
        checks.seed("seed", self.seed)
        checks.name("a world's name", self.name)
        if self.times and len(self.times) != len(self.rewards):
            raise InvalidInput(f"times must have one for each row, got {len(self.times)} for {len(self.rewards)} rows")

    @property
    def horizon(self) -> int:
        """The number of rows."""
        return len(self.rewards)

    def seeded(self, seed: int) -> Recorded:
        """The same recording, with the added noise of `seed`."""
        return replace(self, seed=seed)

    def at(self, t: int) -> float:
        """The time of row t, or t where the recording has none."""
        return self.times[self._check(t) - 1] if self.times else float(t)

    def value(self, t: int, X: Array) -> Array:
        """f_t at the rows of X, which must be candidates: (n,)."""
        row = self._row(t)
        try:
            return row[[self._index[tuple(x)] for x in checks.table("X", X, columns=self.space.dim).tolist()]]
        except KeyError as error:
            raise InvalidInput(f"{error.args[0]} is none of the {len(self.space)} recorded candidates") from None

    def observe(self, t: int, x: Array) -> float:
        """f_t(x) + η_t."""
        return float(self.value(t, checks.table("x", [x]))[0]) + self.noise.draw(self.seed, t)

    def best(self, t: int) -> float:
        """max f_t."""
        return float(self._row(t).max())

    def best_x(self, t: int) -> Array:
        """The maximiser of f_t, the first one if there are several: (d,)."""
        return self.space.points[int(np.argmax(self._row(t)))]

    def variation(self, horizon: int) -> float:
        """P_T = Σ_{t<T} ‖f_{t+1} − f_t‖_H in the RKHS of `kernel` on the candidates; infinite if one leaves it."""
        moves = np.diff(self._rows(horizon), axis=0)
        basis = Whitened(self.kernel, self.space)
        Z = basis.coordinates(moves)
        missed = np.abs(Z @ basis.features(self.space.points).T - moves).max(initial=0.0)
        if missed > 1e-6 * np.abs(moves).max(initial=0.0):
            return math.inf
        return float(basis.norms(Z).sum())

    def sup_variation(self, horizon: int) -> float:
        """Σ_{t<T} max |f_{t+1} − f_t|."""
        return float(np.abs(np.diff(self._rows(horizon), axis=0)).max(axis=1).sum()) if horizon > 1 else 0.0

    def _row(self, t: int) -> Array:
        return self.rewards[self._check(checks.count("t", t, fix="steps count from 1")) - 1]

    def _rows(self, horizon: int) -> Array:
        return self.rewards[: self._check(checks.count("horizon", horizon))]

    def _check(self, t: int) -> int:
        if t > self.horizon:
            raise InvalidInput(f"the recording has {self.horizon} steps, and step {t} was asked for; lower the horizon")
        return t

    @cached_property
    def _index(self) -> dict[tuple[float, ...], int]:
        return {x: i for i, x in reversed(list(enumerate(map(tuple, self.space.points.tolist()))))}


def recorded(
    rewards: str | PathLike[str] | Array,
    points: str | PathLike[str] | Array | None = None,
    *,
    kernel: Kernel | None = None,
    train: int | None = None,
    noise_std: float = 0.0,
    seed: int = 0,
    name: str = "recorded",
    minimize: bool = False,
    time: str | None = None,
    gaps: str = "refuse",
) -> Recorded:
    """A recording from a CSV (or an array) of rewards, and one of the candidates' coordinates, a row for each.

    With coordinates the kernel is the given one, or Matérn-5/2 with a fifth of each coordinate's range as length scale.
    Without them candidates have no order, and the kernel is the empirical covariance of the first `train` rows (by
    default half of them), divided by its largest variance so that k(x, x) ≤ 1. The rows after these are played back.
    Gaussian noise of standard deviation `noise_std` is added to what is played back.

    With `minimize` the numbers are costs, and their negatives are the rewards. `time` is the heading of a column that
    holds the time of each row, as a number or as a date (ISO 8601, which becomes seconds since 1970, in UTC unless it
    says otherwise); policies get it as `at`, and regret is integrated over it. An empty cell is a gap: by default it is
    refused; gaps="previous" takes the candidate's last reward before it, gaps="drop" leaves out its row.

    >>> world = recorded(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 3.0], [2.0, 0.0]]))
    >>> world.horizon, world.best(1), world.best(2)
    (2, 3.0, 2.0)
    """
    sheet = _sheet(rewards, time, gaps)
    table, labels, times = -sheet.numbers if minimize else sheet.numbers, sheet.headings, sheet.times
    noises = Gaussian(checks.nonnegative("noise_std", noise_std))
    if points is None:
        return _without_points(table, labels, times, kernel, train, noise=noises, seed=seed, name=name)
    if train is not None:
        raise InvalidInput("train is for a kernel learned from the rewards; leave it out where points are given")
    coordinates, names = read_csv(points) if isinstance(points, str | PathLike) else (_array("points", points), ())
    if len(coordinates) != table.shape[1]:
        raise InvalidInput(
            f"points must have a row for each column of the rewards, got {len(coordinates)} for {table.shape[1]}"
        )
    space = Candidates(coordinates, names or None)
    if len(set(space.coordinates)) < len(space):
        raise InvalidInput("points must differ from one another; two rows are equal")
    used = _matern(coordinates) if kernel is None else kernel
    return Recorded(table, space, used, noises, seed, name, labels, times)


def _without_points(
    table: Array,
    labels: tuple[str, ...],
    times: tuple[float, ...],
    kernel: Kernel | None,
    train: int | None,
    **rest: Any,
) -> Recorded:
    T, n = table.shape
    if kernel is not None:
        raise InvalidInput("a kernel needs the candidates' coordinates; give points, or leave the kernel out")
    rows = int(T * TRAINING) if train is None else checks.count("train", train, least=2)
    if not 2 <= rows < T:
        raise InvalidInput(
            f"without points, at least 2 rows are needed to learn a kernel from and 1 to play back, got {rows} of {T}; "
            "give points, or more rows"
        )
    kernel = empirical(table[:rows])
    return Recorded(table[rows:], unordered(n), kernel, labels=labels, times=times[rows:], **rest)


def unordered(n: int) -> Candidates:
    """n candidates at equal distances: each has a coordinate of its own, like the values of a `Choice`.

    >>> unordered(2).points.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    return Candidates(np.eye(n))


def empirical(rewards: Array) -> Empirical:
    """The covariance of the columns of `rewards`, (T, n), divided by the largest variance among them."""
    covariance = np.atleast_2d(np.cov(rewards, rowvar=False))
    largest = float(np.diagonal(covariance).max())
    if largest <= 0:
        raise InvalidInput("every candidate's reward is constant in the training rows; take more rows, or give points")
    return Empirical(tuple(map(tuple, (covariance / largest).tolist())))


def _matern(points: Array) -> Matern:
    spans = np.ptp(points, axis=0)
    return Matern(2.5, tuple(float(0.2 * span) if span > 0 else 1.0 for span in spans))


def _array(what: str, given: Array) -> Array:
    """A table of finite numbers."""
    table = checks.table(what, given)
    if not table.size or not np.abs(table).max() <= checks.LARGEST:
        raise InvalidInput(f"{what} must be one row or more of numbers up to 1e100 in size, got shape {table.shape}")
    return table.copy()


def _sheet(given: str | PathLike[str] | Array, time: str | None, gaps: str) -> Sheet:
    """The rewards of a file or an array, without gaps, and the times of the rows."""
    if gaps not in GAPS:
        raise InvalidInput(f"gaps must be one of {', '.join(GAPS)}, got {checks.shown(gaps)}")
    if isinstance(given, str | PathLike):
        return read_sheet(given, time=time, gaps=gaps)
    if time is not None:
        raise InvalidInput("time names a column of a CSV file, and the rewards are an array; give a file")
    return Sheet(_array("rewards", given))


def read_csv(path: str | PathLike[str]) -> tuple[Array, tuple[str, ...]]:
    """The numbers of a CSV file, (rows, columns), and the headings of its first row where that is not of numbers."""
    sheet = read_sheet(path)
    return sheet.numbers, sheet.headings
