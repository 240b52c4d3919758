"""A search through a window for the experts that suit it: the whole bank, and experts that the window itself suggests.

Some of what may have happened has too many variants to be in the bank: a change at any date, a cycle of any period. A
search looks for

- length scales of each coordinate's own: some coordinates matter more than others, some not at all;
- a noise below or above all of the bank's;
- restarts, which use nothing from before a date, at dates all over the window and then around the best date;
- a noise that changes at a date while the function stays the same;
- outliers, which are ignored;
- cycles: the function comes back after a period. All periods are tried with the best kernel and noise;
- moving levels: rewards move together, so that the best setting may stay the same while rewards do not.

What is found joins the bank with a small prior weight, and is weighted by its forecasts like every expert.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from driftwise.auto.data import Memory, Observations
from driftwise.auto.experts import Bank, Expert, Fit, Forecast, MovingLevel
from driftwise.auto.weights import families, heaviest, weight_path
from driftwise.gp.time_kernels import Cyclic, Forgetting, MaternInTime, TimeKernel
from driftwise.records import Array

STEP = 8  # observations between two dates at which a change is tried
YOUNG = (4, 8, 12, 16, 20, 24)  # ages, in observations, at which one is tried in any case
FAMILIES = 4  # the heaviest families have restarts
FOUND_WEIGHT = 0.1  # the prior weight of an expert that was found; one of the bank's has 1
AHEAD = 6.0  # nats by which the best of so many periods must be ahead of the bank's best; a level need only be ahead
PERIODS = tuple(float(p) for p in (*range(4, 49), *range(54, 97, 6), 120, 144, 168, 288))  # in typical gaps
REPEATS = 2.5  # periods that the window must span
ROUGHNESS, WANING = (0.7, 1.5), (0.0003, 0.003)  # of cycles
Times = tuple[TimeKernel, ...]
FAST: Times = (
    *map(Forgetting, (0.03, 0.1, 0.5)),
    MaternInTime(2.5, 15.0),
    MaternInTime(2.5, 60.0),
)  # of levels
SLOW: Times = (*map(Forgetting, (0.0, 0.003, 0.01)), MaternInTime(2.5, 60.0), MaternInTime(2.5, 200.0))  # of the rest
LEVELS = tuple(MovingLevel(variance, time) for variance in (0.3, 1.0, 3.0) for time in FAST)
STRETCHES, LIMITS = (0.5, 2.0), (0.25, 8.0)  # factors of one length scale at a time, and bounds of their product
COORDINATES = 64  # up to which coordinates have length scales of their own
QUIETER, NOISIER, BEYOND = 0.1, 3.0, (1e-7, 3.0)  # factors of the noise beyond the bank's, and its bounds
CLEARLY, PASSES = 3.0, 8  # nats that each of these steps must gain; how many steps there are at most
OUTLIERS = 4  # that one expert ignores at most
LEAST = 12  # observations before anything is searched for


@dataclass(frozen=True, eq=False)
class Pool:
    """Experts with their forecasts of a window and their prior weights; those with prior weight 0 enter later."""

    data: Observations
    experts: tuple[Expert, ...]
    forecasts: tuple[Forecast, ...]
    prior: Array  # (E,)

    @cached_property
    def path(self) -> Array:
        """The weights before each observation and after the last: (n + 1, E)."""
        return weight_path(self.forecasts, self.prior, self.data)

    def heaviest_at(self, place: int) -> Expert:
        """The expert with the largest weight before the observation at index `place`."""
        return self.experts[int(np.argmax(self.path[place]))]


@dataclass(frozen=True, eq=False)
class Search:
    """The whole bank on the memory: which experts to follow until the next search, and their weights."""

    whole: Bank
    memory: Memory

    @cached_property
    def bank(self) -> Bank:
        """The bank; if the noise of every observation is known, with one noise only, as they would all be the same."""
        noises = self.whole.noises
        return replace(self.whole, noises=noises[len(noises) // 2 :][:1]) if self.data.all_known else self.whole

    @property
    def data(self) -> Observations:
        return self.memory.selected

    @cached_property
    def weighted(self) -> tuple[tuple[Expert, ...], Array]:
        """Every expert, those that were found included, and their weights now."""
        nobody = Pool(self.data, (), (), np.zeros(0))
        pool = self._joined(nobody, self.bank.experts, 1.0)
        pool = self._joined(pool, self._found(pool.forecasts), FOUND_WEIGHT)
        for changes in (self._changes, self._redated, self._second_noise_changes):
            new = changes(pool)
            if not new:
                break
            pool = self._joined(pool, new, 0.0)
        return pool.experts, pool.path[-1]

    @cached_property
    def leading(self) -> tuple[tuple[Expert, ...], Array]:
        """The heaviest experts and their weights, which add up to 1."""
        experts, w = self.weighted
        kept = heaviest(w, most=self.bank.most, least=self.bank.least)
        return tuple(experts[i] for i in kept), w[kept] / w[kept].sum()

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        """The leading experts, fitted to the data."""
        return tuple(self.bank.fits(self.leading[0], self.data))

    def _joined(self, pool: Pool, new: tuple[Expert, ...], prior: float) -> Pool:
        """`pool` and new experts, each with this prior weight."""
        forecasts = pool.forecasts + tuple(self.bank.forecasts(new, self.data))
        return Pool(self.data, pool.experts + new, forecasts, np.append(pool.prior, np.full(len(new), prior)))

    # --- shapes, noises, cycles and levels -----------------------------------------------------------------------

    def _found(self, forecasts: Sequence[Forecast]) -> tuple[Expert, ...]:
        """New families whose shape, noise, cycle or level predicts the window better than the bank's best expert."""
        if len(self.data) < LEAST:
            return ()
        best = self._refined(max(forecasts, key=lambda f: f.log_likelihood))
        shape = [best.expert.shape] if best.expert.stretch else []
        noise = () if best.expert.noise in self.bank.noises else (best.expert.noise,)
        shapes, noises = self.bank.shapes + shape, (*self.bank.noises, *noise)
        level = self._level(best)
        return (
            self.bank.families_of(self.bank.times, shape)
            + self.bank.families_of(self.bank.times, shapes, noise)
            + self.bank.families_of(self._cycles(best), shapes, noises)
            + self.bank.families_of(SLOW if level else (), shapes, noises, level)
        )

    def _refined(self, best: Forecast) -> Forecast:
        """`best` with length scales of their own, or another noise, one step at a time while it predicts better."""
        for _ in range(PASSES):
            near = _stretches(best.expert, self.data.X.shape[1]) if self.bank.ard else []
            near += _noises(best.expert, self.bank)
            better = max(self.bank.forecasts(near, self.data), key=lambda f: f.log_likelihood, default=best)
            if better.log_likelihood < best.log_likelihood + CLEARLY:
                break
            best = better
        return best

    def _cycles(self, best: Forecast) -> list[Cyclic]:
        """Cycles of the period with which the best expert predicts best, if that is clearly better; else none."""
        span = float(np.ptp(self.data.clock))
        periods = [p for p in PERIODS if REPEATS * p <= span] if self.bank.cycles else []
        cyclic = [replace(best.expert, time=Cyclic(p, 1.0, 0.001)) for p in periods]
        found = self._best_above(best.log_likelihood + AHEAD, cyclic)
        if found is None:
            return []
        assert isinstance(found.time, Cyclic)
        return [Cyclic(found.time.period, roughness, waning) for roughness in ROUGHNESS for waning in WANING]

    def _level(self, best: Forecast) -> MovingLevel | None:
        """The moving level with which the best expert predicts best, if that is better than without."""
        levels = LEVELS if self.bank.levels else ()
        moving = [replace(best.expert, time=time, level=level) for level in levels for time in SLOW]
        found = self._best_above(best.log_likelihood, moving)
        return found.level if found else None

    def _best_above(self, bar: float, experts: Sequence[Expert]) -> Expert | None:
        """The expert that predicts the window best, if its log likelihood is above the bar."""
        best = max(self.bank.forecasts(experts, self.data), key=lambda f: f.log_likelihood, default=None)
        return best.expert if best and best.log_likelihood > bar else None

    # --- changes ------------------------------------------------------------------------------------------------

    @property
    def _places(self) -> list[int]:
        """The indices of observations at which a change is tried."""
        n = len(self.data)
        return sorted({*range(STEP, n, STEP), *(n - age for age in YOUNG if age < n)})

    def _changes(self, pool: Pool) -> tuple[Expert, ...]:
        """Restarts and changes of noise at dates all over the window, and experts that ignore outliers."""
        if not self.bank.changes or len(self.data) < STEP:
            return ()
        return self._restarts(pool) + self._noise_changes(pool, self._places) + self._ignoring_outliers(pool)

    def _restarts(self, pool: Pool) -> tuple[Expert, ...]:
        """Restarts of the heaviest families at every date, with a function that does not drift."""
        family, still = families(pool.experts), self.bank.times[0]
        member = dict(zip(family.tolist(), pool.experts, strict=True))
        leading = np.argsort(-np.bincount(family, pool.path[-1]), kind="stable")[:FAMILIES].tolist()
        heads = (Expert(e.kernel, still, e.noise, stretch=e.stretch) for e in map(member.__getitem__, leading))
        return tuple(e.dated(self._number(place)) for e in heads for place in self._places)

    def _noise_changes(self, pool: Pool, places: Iterable[int]) -> tuple[Expert, ...]:
        """The heaviest expert at each of these places, with every other noise from there on."""
        return tuple(e for p in places for e in self._other_noises(pool.heaviest_at(p), self._number(p)))

    def _other_noises(self, expert: Expert, number: int) -> list[Expert]:
        """`expert` with every other noise from `number` on, unless it is a restart or changed later."""
        if expert.since or expert.last_change >= number:
            return []
        earlier = (*expert.earlier, (number, expert.noise))
        return [replace(expert, noise=noise, earlier=earlier) for noise in self.bank.noises if noise != expert.noise]

    def _ignoring_outliers(self, pool: Pool) -> tuple[Expert, ...]:
        """Every expert that was the heaviest at some time, without its outliers."""
        leaders = (pool.experts[i] for i in np.argmax(pool.path[:-1], axis=1))
        leaders_once = tuple(dict.fromkeys(e for e in leaders if not e.since))
        forecasts = self.bank.forecasts(leaders_once, self.data)
        return tuple(e for f in forecasts for e in without_outliers(self.bank, f, self.data))

    def _redated(self, pool: Pool) -> tuple[Expert, ...]:
        """The best expert with a change, at dates around that change."""
        changed = np.array([e.last_change > 0 for e in pool.experts])
        best = pool.experts[int(np.argmax(np.where(changed, pool.path[-1], -1.0)))]
        place, known = self.data.place(best.last_change), set(pool.experts)
        places = range(max(place - STEP, 0) + 1, min(place + STEP, len(self.data)))
        return tuple(e for e in (best.dated(self._number(p)) for p in places) if e not in known)

    def _second_noise_changes(self, pool: Pool) -> tuple[Expert, ...]:
        """Further changes of noise at the dates at which the heaviest expert already had one."""
        return self._noise_changes(pool, [p for p in self._places if pool.heaviest_at(p).earlier])

    def _number(self, place: int) -> int:
        return int(self.data.numbers[place])


def without_outliers(bank: Bank, forecast: Forecast, data: Observations, since: int = 0) -> list[Expert]:
    """Its expert without the first outlier from number `since` on; that one without the next, too; and so on."""
    made: list[Expert] = []
    while len(made) < OUTLIERS:
        numbers = data.numbers[forecast.first + forecast.outliers]
        outliers = numbers[(numbers >= max(since, forecast.expert.last_change)) & (numbers < data.numbers[-1])]
        if not len(outliers):
            break
        made.append(forecast.expert.without(int(outliers[0])))
        [forecast] = bank.forecasts(made[-1:], data)
    return made


def _stretches(expert: Expert, dim: int) -> list[Expert]:
    """Copies with one length scale shorter or longer; none in one dimension, for which the bank has enough."""
    if not 1 < dim <= COORDINATES:
        return []
    now = expert.stretch or (1.0,) * dim
    changed = [(j, now[j] * factor) for j in range(dim) for factor in STRETCHES]
    within = [(j, length) for j, length in changed if LIMITS[0] <= length <= LIMITS[1]]
    return [replace(expert, stretch=(*now[:j], length, *now[j + 1 :])) for j, length in within]


def _noises(expert: Expert, bank: Bank) -> list[Expert]:
    """Copies with a noise beyond the bank's, if it has the bank's smallest or largest, and every kernel of time."""
    lower = [expert.noise * QUIETER] if expert.noise <= min(bank.noises) else []
    higher = [expert.noise * NOISIER] if expert.noise >= max(bank.noises) else []
    within = [noise for noise in (*lower, *higher) if BEYOND[0] <= noise <= BEYOND[1]]
    return [replace(expert, noise=noise, time=time) for noise in within for time in bank.times]
