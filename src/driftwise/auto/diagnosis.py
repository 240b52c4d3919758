"""What the mixture says about the world, in words: how fast it moves, when it changed, which parameters matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise import limits
from driftwise.auto.mixture import Mixture
from driftwise.gp.time_kernels import Cyclic, TimeKernel, Wave
from driftwise.records import Array
from driftwise.rng import generator
from driftwise.spaces import Choice, Space
from driftwise.text import counted

SAMPLE = 1024  # points of a box at which effects are measured
BINS = 8
ABOUT = 4  # numbers: changes no further apart count as one
ALIKE = 1.1  # factor up to which periods count as one
LIKELY = 0.5  # probability from which on a change raises the alarm
RECENT = 24  # numbers for which the alarm stays
UNLIKELY = 0.01  # probability below which no change is reported
TURNS = 2.0  # times that the observations must span a period before it is stated
STILL = 1e-4  # rate below which the world counts as standing still: 2% in two hundred steps
POSSIBLE = 0.1  # probability below which a cycle or a moving level is not worth a sentence
GAPS = np.concatenate([[0.0], np.geomspace(0.01, 1e6, 800)])  # in typical gaps: where ρ² = ½ is looked for


@dataclass(frozen=True)
class Change:
    """An abrupt change: observations before `number`, made at time `at`, no longer count."""

    number: int
    at: float
    probability: float


@dataclass(frozen=True)
class Cycle:
    """The function, or the level of rewards, comes back after a `period`, in the user's time.

    It is stated only if the observations in memory span the period twice.
    """

    period: float
    probability: float


@dataclass(frozen=True)
class Motion:
    """The part of a diagnosis that needs no prediction, and so costs little: what each field means is said there."""

    rate: float
    change: Change | None
    alarm: bool
    cycle: Cycle | None


@dataclass(frozen=True)
class Diagnosis:
    """How the world moves, as the experts see it now.

    `rate` is the share of the function's variance that is new after one typical gap between observations, averaged
    until half of the variance is new: 0 if the world stands still, ε in f_{t+1} = √(1−ε) f_t + √ε g. `matters` and
    `moves` are first-order Sobol' indices: the share of the variance of the function, and of its change over the
    observations in memory, that each parameter explains alone. Interactions are in none, so they add up to about 1 at
    most.
    """

    rate: float
    gap: float  # typical time between two observations
    noise: float  # standard deviation, in the user's units
    seen: int  # observations in memory
    in_use: float  # the effective number of them: Σ ρ², averaged over the experts
    change: Change | None  # the most probable abrupt change among them
    alarm: bool  # whether such a change came just now
    cycle: Cycle | None  # the most probable cycle, if there is one
    level: float  # probability that the level of rewards moves on its own, the same for all settings
    matters: dict[str, float]
    moves: dict[str, float]
    outliers: tuple[int, ...] = ()  # the numbers of observations that more likely than not say nothing
    says: tuple[str, ...] = ()  # how the world moves in sentences, the pace first; they follow from the rest

    def __post_init__(self) -> None:
        object.__setattr__(self, "says", tuple(_sentences(self)))


def _sentences(found: Diagnosis) -> list[str]:
    """The only place where this is put into words: the command line, the dashboard and the service repeat them."""
    said = [
        _pace(found),
        f"{found.in_use:.0f} of the last {counted(found.seen, 'observation')} count.",
        f"The noise has a standard deviation of {found.noise:.3g}.",
    ]
    if found.cycle is not None and found.cycle.probability >= POSSIBLE:
        period, probability = found.cycle.period, found.cycle.probability
        said.append(f"The function repeats with period {period:.4g} (probability {probability:.2f}).")
    if found.level >= POSSIBLE:
        said.append(f"The level of all rewards shifts on its own (probability {found.level:.2f}).")
    return said


def _pace(found: Diagnosis) -> str:
    step = "at each step" if found.gap == 1 else f"after each step of {found.gap:.4g}"
    drifts = f"{100 * found.rate:.2g}% of the function is new {step}"
    if found.alarm:
        return f"The world changed abruptly just now{'' if found.rate < STILL else f', and drifts: {drifts}'}."
    return "The world stands still at present." if found.rate < STILL else f"The world drifts: {drifts}."


def motion(mixture: Mixture) -> Motion:
    """How the world moves, by the weights of the experts alone."""
    return Motion(
        rate=float(mixture.shares @ [rate(row.time) for row in mixture.rows]),
        change=likeliest_change(mixture),
        alarm=alarmed(mixture) is not None,
        cycle=likeliest_cycle(mixture),
    )


def diagnose(mixture: Mixture, space: Space) -> Diagnosis:
    """The diagnosis of `mixture` at its time."""
    data, shares, moving = mixture.data, mixture.shares, motion(mixture)
    X = sample(space)
    now, then = mixture.predict(X)[0], mixture.long_ago().predict(X)[0]
    return Diagnosis(
        rate=moving.rate,
        gap=data.gap,
        noise=mixture.units[1] * float(np.sqrt(mixture.noise)),
        seen=len(data),
        in_use=float(mixture.shares @ np.square(mixture.predictors.decay).sum(axis=1)),
        change=moving.change,
        alarm=moving.alarm,
        cycle=moving.cycle,
        level=float(sum(w for row, w in zip(mixture.rows, shares, strict=True) if row.level or row.shift)),
        matters=effects(X, now, space),
        moves=effects(X, now - then, space),
        outliers=outliers(mixture),
    )


def rate(time: TimeKernel) -> float:
    """1 − 2^(−1/τ) with ρ(τ)² = ½: smooth drift is hardly visible after one gap, and complete after many.

    What comes back after a period is not new: of a cycle it is the rate at which it is forgotten.

    >>> from driftwise.gp.time_kernels import Forgetting
    >>> rate(Forgetting(0.0)), round(rate(Forgetting(0.03)), 6)
    (0.0, 0.03)
    """
    if isinstance(time, Cyclic):
        return time.epsilon
    with np.errstate(divide="ignore"):
        left = -2 * np.log2(np.abs(time(np.zeros(1), GAPS)[0]))  # halvings
    if not np.any(left >= 1):
        return 0.0
    i = max(int(np.argmax(left >= 1)), 1)
    part = (1 - left[i - 1]) / (left[i] - left[i - 1]) if np.isfinite(left[i]) else 1.0
    return float(1 - 2 ** (-1 / (GAPS[i - 1] + part * (GAPS[i] - GAPS[i - 1]))))


def likeliest_change(mixture: Mixture) -> Change | None:
    """The change with the largest probability, which is the weight of all restarts at about the same number."""
    weight: dict[int, float] = {}
    for row, share in zip(mixture.rows, mixture.shares, strict=True):
        if row.since:
            weight[row.since] = weight.get(row.since, 0.0) + float(share)
    if sum(weight.values()) < UNLIKELY:
        return None
    about = {number: sum(w for other, w in weight.items() if abs(other - number) <= ABOUT) for number in weight}
    number = max(about, key=lambda each: (about[each], weight[each]))
    place = min(mixture.data.place(number), len(mixture.data) - 1)
    return Change(int(mixture.data.numbers[place]), float(mixture.data.at[place]), min(about[number], 1.0))


def alarmed(mixture: Mixture) -> Change | None:
    """The most probable change, if it is likely and recent."""
    change = likeliest_change(mixture)
    if change is None or change.probability < LIKELY:
        return None
    return change if int(mixture.data.numbers[-1]) - change.number < RECENT else None


def likeliest_cycle(mixture: Mixture) -> Cycle | None:
    """The cycle with the largest probability, which is the weight of all experts with about the same period.

    What the observations span less than TURNS times may as well be drift: it is no cycle that one could state.
    """
    weight: dict[float, float] = {}
    longest = float(np.ptp(mixture.data.clock)) / TURNS if len(mixture) else 0.0
    for row, share in zip(mixture.rows, mixture.shares, strict=True):
        times = (row.time, row.level.time if row.level else None)
        for period in {t.period for t in times if isinstance(t, Cyclic | Wave) and t.period <= longest}:
            weight[period] = weight.get(period, 0.0) + float(share)
    if not weight:
        return None
    about = {p: sum(w for q, w in weight.items() if max(p, q) <= ALIKE * min(p, q)) for p in weight}
    period = max(weight, key=lambda each: (about[each], weight[each]))
    return Cycle(period * mixture.data.gap, min(about[period], 1.0))


def outliers(mixture: Mixture) -> tuple[int, ...]:
    """The numbers of the readings that rows with more than half of the weight call far, and errors rather than not."""
    return tuple(mixture.data.numbers[mixture.errors > LIKELY].tolist())


def sample(space: Space) -> Array:
    """The points at which effects are measured: every candidate, or SAMPLE random points of a box."""
    if space.points is not None:
        return space.points
    return space.sample(generator(0), limits.rows(space.dim, most=SAMPLE))


def effects(X: Array, values: Array, space: Space) -> dict[str, float]:
    """The first-order Sobol' index of every parameter: Var(E[values | parameter]) / Var(values).

    The conditional mean is taken in bins, and corrected for the variance that bins of finite size show by chance.

    >>> from driftwise import Float
    >>> from driftwise.spaces import Box
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
    part, parameter = X[:, space.slices[j]], space.parameters[j][1]
    if isinstance(parameter, Choice):
        return np.argmax(parameter.flags(part), axis=1)
    column = part[:, 0]
    levels, place = np.unique(column, return_inverse=True)
    return place if len(levels) <= BINS else np.argsort(np.argsort(column, kind="stable")) * BINS // len(column)
