"""γ_n, searched greedily, against the orders of growth that the literature gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from driftwise.gp.kernels import RBF, Kernel, Linear, Matern
from driftwise.lab.statistics import loglog_slope
from driftwise.lab.theory.settings import Settings
from driftwise.records import Array
from driftwise.theory.domains import cube
from driftwise.theory.information import greedy_gain, linear_order, matern_order, matern_order_2009, rbf_order

NOISE = 0.01

Order = Callable[[int], float]


@dataclass(frozen=True)
class GainCase:
    """A kernel in d dimensions, and the orders its γ is said to have."""

    name: str
    kernel: Kernel
    dim: int
    orders: tuple[tuple[str, Order], ...]


def _rbf(dim: int) -> GainCase:
    return GainCase(f"SE, d = {dim}", RBF(0.2), dim, (("(ln n)^{d+1}", partial(rbf_order, dim=dim)),))


def _matern(nu: float, dim: int) -> GainCase:
    orders = (
        ("2021: n^{d/(2ν+d)} (ln n)^{2ν/(2ν+d)}", partial(matern_order, dim=dim, nu=nu)),
        ("2009: n^{d(d+1)/(2ν+d(d+1))} ln n", partial(matern_order_2009, dim=dim, nu=nu)),
    )
    return GainCase(f"Matérn {nu:g}, d = {dim}", Matern(nu, 0.2), dim, orders)


def _linear(dim: int) -> GainCase:
    return GainCase(f"linear, d = {dim}", Linear(), dim, (("d ln n", partial(linear_order, dim=dim)),))


CASES = (_rbf(1), _rbf(2), _matern(1.5, 1), _matern(2.5, 1), _matern(1.5, 2), _matern(2.5, 2), _linear(2), _linear(8))


@dataclass(frozen=True)
class GainJob:
    """One curve."""

    settings: Settings
    case: int  # of CASES

    @property
    def cell(self) -> tuple[str, ...]:
        return "gain", CASES[self.case].name

    def perform(self) -> list[Growth]:
        return [growth(CASES[self.case], points=self.settings.gain_points, samples=self.settings.gain_samples)]


@dataclass(frozen=True, eq=False)
class Growth:
    """γ at some n from below (`upper` certifies it), and each order at the same n, scaled to meet it at the last."""

    case: str
    points: int
    n: Array  # (k,)
    lower: Array  # (k,)
    upper: Array  # (k,)
    orders: tuple[tuple[str, Array], ...]  # each (k,)
    slope: float  # of ln γ on ln n over the last decade
    order_slopes: tuple[float, ...]  # of each order, over the same


def jobs(settings: Settings) -> list[GainJob]:
    return [GainJob(settings, i) for i in range(len(CASES))]


def growth(case: GainCase, *, points: int, samples: int) -> Growth:
    """γ_1 … γ_samples on `points` points spread over the cube."""
    curve = greedy_gain(case.kernel, cube(case.dim, points), NOISE, samples)
    n = np.unique(np.geomspace(4, samples, 40).round().astype(int))
    lower, upper = curve.lower[n - 1], curve.upper[n - 1]
    orders = [(name, np.array([order(int(i)) for i in n])) for name, order in case.orders]
    late = n >= samples / 10
    return Growth(
        case=case.name,
        points=points,
        n=n,
        lower=lower,
        upper=upper,
        orders=tuple((name, values * (lower[-1] / values[-1])) for name, values in orders),
        slope=loglog_slope(n[late], lower[late]).slope,
        order_slopes=tuple(loglog_slope(n[late], values[late]).slope for _, values in orders),
    )
