"""What a bank of experts says of the world in words a user can use: how fast it moves, when it broke, what matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise import limits
from driftwise.auto.mixture import Mixture
from driftwise.gp.time_kernels import Cyclic, TimeKernel
from driftwise.records import Array
from driftwise.rng import generator
from driftwise.spaces import Box, Choice, Space

SAMPLE = 1024  # points of a box at which effects are measured
BINS = 8
ABOUT = 4  # numbers: changes so near each other are one
SURE = 0.5  # probability from which a change is alarming
RECENT = 24  # numbers for which it stays so
UNLIKELY = 0.01  # probability below which there was none
GAPS = np.concatenate([[0.0], np.geomspace(0.01, 1e6, 800)])  # typical ones, after which half of a function may be new


@dataclass(frozen=True)
class Change:
    """An abrupt change: what came before observation `number`, at time `at`, no longer counts."""

    number: int
    at: float
    probability: float


@dataclass(frozen=True)
class Cycle:
    """What was so a `period` ago, in the user's time, is so again."""

    period: float
    probability: float


@dataclass(frozen=True)
class Diagnosis:
    """How the world moves, as the experts see it now.

    `rate` is the share of the function's variance that is new after one typical gap between observations, as if it were
    the same in each until half of it is: 0 where it stands still, ε in f_{t+1} = √(1−ε) f_t + √ε g. Shares in `matters`
    and `moves` say what part of the variation of the function, and of its change over the observations in memory, goes
    with one parameter alone; what interactions make is in none, so they add up to at most 1 or so.
    """

    rate: float
    gap: float  # typical time between two observations
    noise: float  # standard deviation, in the user's units
    seen: int  # observations in memory
    in_use: float  # how many of them count, as if the others were forgotten
    change: Change | None  # the likeliest abrupt change among them
    alarm: bool  # whether such a change came just now
    cycle: Cycle | None  # the likeliest period, if there is one
    level: float  # how likely it is that the level of rewards moves on its own, the same for all settings
    matters: dict[str, float]
    moves: dict[str, float]


def diagnose(mixture: Mixture, space: Space) -> Diagnosis:
    """What the experts of `mixture` say about its time."""
    seen, shares = mixture.seen, mixture.shares
    X = sample(space)
    now, then = mixture.predict(X)[0], mixture.long_ago().predict(X)[0]
    return Diagnosis(
        rate=float(shares @ [rate(f.expert.time) for f in mixture.fits]),
        gap=seen.gap,
        noise=seen.units[1] * float(np.sqrt(mixture.noise)),
        seen=len(seen),
        in_use=float(sum(v.weight * float(v.fade @ v.fade) for v in mixture.voices)),
        change=likeliest_change(mixture),
        alarm=alarmed(mixture) is not None,
        cycle=likeliest_cycle(mixture),
        level=float(sum(share for f, share in zip(mixture.fits, shares, strict=True) if f.expert.tide)),
        matters=effects(X, now, space),
        moves=effects(X, now - then, space),
    )


def rate(time: TimeKernel) -> float:
    """1 − 2^(−1/τ) with ρ(τ)² = ½: what moves smoothly has hardly moved after one gap, and is gone after many.

    >>> from driftwise.gp.time_kernels import Forgetting
    >>> rate(Forgetting(0.0)), round(rate(Forgetting(0.03)), 6)
    (0.0, 0.03)
    """
    with np.errstate(divide="ignore"):
        left = -2 * np.log2(np.abs(time(np.zeros(1), GAPS)[0]))  # halvings
    if not np.any(left >= 1):
        return 0.0
    i = max(int(np.argmax(left >= 1)), 1)
    part = (1 - left[i - 1]) / (left[i] - left[i - 1]) if np.isfinite(left[i]) else 1.0
    return float(1 - 2 ** (-1 / (GAPS[i - 1] + part * (GAPS[i] - GAPS[i - 1]))))


def likeliest_change(mixture: Mixture) -> Change | None:
    """The weight of all restarts that begin at about the same number is the probability of a change there."""
    weight: dict[int, float] = {}
    for f, share in zip(mixture.fits, mixture.shares, strict=True):
        if f.expert.since:
            weight[f.expert.since] = weight.get(f.expert.since, 0.0) + float(share)
    if sum(weight.values()) < UNLIKELY:
        return None
    about = {number: sum(w for other, w in weight.items() if abs(other - number) <= ABOUT) for number in weight}
    number = max(about, key=lambda each: (about[each], weight[each]))
    place = min(mixture.seen.place(number), len(mixture.seen) - 1)
    return Change(int(mixture.seen.numbers[place]), float(mixture.seen.at[place]), min(about[number], 1.0))


def alarmed(mixture: Mixture) -> Change | None:
    """The likeliest change, if it is likely and came just now."""
    change = likeliest_change(mixture)
    if change is None or change.probability < SURE:
        return None
    return change if int(mixture.seen.numbers[-1]) - change.number < RECENT else None


def likeliest_cycle(mixture: Mixture) -> Cycle | None:
    """The weight of all experts for whom things come back after the same time is the probability that they do."""
    weight: dict[float, float] = {}
    for f, share in zip(mixture.fits, mixture.shares, strict=True):
        if isinstance(f.expert.time, Cyclic):
            period = f.expert.time.period
            weight[period] = weight.get(period, 0.0) + float(share)
    if not weight:
        return None
    period = max(weight, key=lambda each: weight[each])
    return Cycle(period * mixture.seen.gap, min(weight[period], 1.0))


def sample(space: Space) -> Array:
    """Where effects are measured: every setting where they are few, else as many as SAMPLE at random."""
    if space.points is not None:
        return space.points
    return space.sample(generator(0), limits.rows(space.dim, most=SAMPLE))


def effects(X: Array, values: Array, space: Space) -> dict[str, float]:
    """The first-order Sobol' index of every parameter: the variance of the mean of `values` given it, of all variance.

    The mean is taken in bins; what bins of finite size would show of pure chance is taken off.

    >>> from driftwise import Float
    >>> space = Box.of({"a": Float(0, 1), "b": Float(0, 1)})
    >>> X = sample(space)
    >>> {name: round(share, 1) for name, share in effects(X, 3 * X[:, 0], space).items()}
    {'a': 1.0, 'b': 0.0}
    """
    total = float(values.var())
    if not total > 1e-18:
        return dict.fromkeys(space.names, 0.0)
    return {name: _explained(_bins(X, j, space), values) / total for j, name in enumerate(space.names)}


def _explained(bins: NDArray[np.intp], values: Array) -> float:
    counts = np.bincount(bins)
    used = counts > 0
    means = np.bincount(bins, values)[used] / counts[used]
    between = float(counts[used] @ (means - values.mean()) ** 2) / len(values)
    within = float(values.var()) - between
    return max(between - within * (len(means) - 1) / max(len(values) - len(means), 1), 0.0)


def _bins(X: Array, j: int, space: Space) -> NDArray[np.intp]:
    """Which bin of parameter j every row of X is in."""
    if isinstance(space, Box):
        part = X[:, space.slices[j]]
        if isinstance(space.parameters[j][1], Choice):
            return np.argmax(part, axis=1)
        column = part[:, 0]
    else:
        column = X[:, j]
    levels, place = np.unique(column, return_inverse=True)
    return place if len(levels) <= BINS else np.argsort(np.argsort(column, kind="stable")) * BINS // len(column)
