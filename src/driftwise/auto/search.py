"""A search through a window for the experts that suit it: the whole bank, and experts that the window itself suggests.

Some of what may have happened has too many variants to be in the bank: a change at any date, a cycle of any period. A
search looks for

- length scales of each coordinate's own: some coordinates matter more than others, some not at all;
- a noise below or above all of the bank's;
- restarts, which use nothing from before a date, at dates all over the window and then around the best date;
- a noise that changes at a date while the function stays the same;
- cycles: the function comes back after a period. All periods are tried with the best kernel and noise;
- waves: functions that turn, and levels that swing, of long periods of which not one need be over;
- moving levels: rewards move together, so that the best setting may stay the same while rewards do not.

What is found joins the bank with a small prior weight, and is weighted by its forecasts like every expert.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import product

import numpy as np

from driftwise.auto.bank import Bank
from driftwise.auto.data import SPAN, Memory, Observations
from driftwise.auto.experts import Expert, MovingLevel
from driftwise.auto.forecasts import Fit
from driftwise.auto.panel import Forecaster, nobody
from driftwise.auto.pieces import Pieces, Piecework
from driftwise.auto.pool import AHEAD, CLEARLY, Pool, Scored, best_of, better
from driftwise.auto.refined import refined
from driftwise.auto.waves import CLOSER, fan, other_periods, other_sizes, periods, swinging, turning, wave_of
from driftwise.auto.weights import families, heaviest, weight_path
from driftwise.gp.time_kernels import Cyclic, Forgetting, MaternInTime, TimeKernel
from driftwise.records import Array

STEP = 8  # observations between two dates at which a change is tried
AGES = (*range(4, 24, 4), *range(24, SPAN, STEP))  # of dates at which one is tried, in observations
FAINT = 1e-3  # weight below which a family is given up halfway, and a change is not looked at again
FAMILIES = 2  # the heaviest families have restarts
FOUND_WEIGHT = 0.1  # the prior weight of an expert that was found; one of the bank's has 1
PERIODS = tuple(
    map(float, (*range(4, 24), *range(24, 49, 2), *range(54, 97, 6), 120, 144, 168, 288))
)  # in typical gaps
REPEATS = 2.5  # periods that the window must span
PROMISING = 4  # periods that suit the newer half of the window best are tried on all of it
ROUGHNESS, WANING = (0.7, 1.5), (0.0003, 0.003)  # of cycles
Times = tuple[TimeKernel, ...]
Moves = list[tuple[Times, MovingLevel | None]]  # kernels of time, each with a level
FAST: Times = (
    *map(Forgetting, (0.03, 0.1, 0.5)),
    MaternInTime(2.5, 15.0),
    MaternInTime(2.5, 60.0),
)  # of levels
SLOW: Times = (*map(Forgetting, (0.0, 0.003, 0.01)), MaternInTime(2.5, 60.0), MaternInTime(2.5, 200.0))  # of the rest
LEVELS = (0.3, 1.0, 3.0)  # variances of levels, relative to the signal's
LEAST = 12  # observations before anything is searched for
SOME = 0.1  # weight from which on an expert that changed once may change again


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
    def job(self) -> Piecework[tuple[tuple[Expert, ...], Array]]:
        """The search itself, in pieces: every expert, those that were found included, and their weights now."""
        return Piecework(self._pieces)

    def go_on(self, part: float, like: Search) -> None:
        """Do this part of the search, if all of it costs as much for each expert as the search `like` did."""
        growth = (len(self.data) / max(len(like.data), 1)) ** 3
        self.job.advance(part * growth * like.job.cost)
        if self.job.done:
            _ = self.fits

    @property
    def weighted(self) -> tuple[tuple[Expert, ...], Array]:
        return self.job.result

    def _pieces(self) -> Pieces[tuple[tuple[Expert, ...], Array]]:
        forecaster = Forecaster(self.bank, self.data)
        pool = Pool(forecaster, nobody(len(self.data)), np.zeros(0))
        pool = yield from pool.joined((yield from self._promising(self.bank.experts)), 1.0)
        found = yield from self._found(pool)
        pool = yield from pool.joined((yield from self._promising(found)), FOUND_WEIGHT)
        rounds = (
            self._changes,
            self._redated,
            self._instead_of_restarts,
            self._second_changes,
            self._redated,
            self._in_every_family,
        )
        for changes in rounds if self.bank.changes and len(self.data) >= STEP else ():
            pool = yield from pool.joined(changes(pool), 0.0)
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

    def _promising(self, experts: tuple[Expert, ...]) -> Pieces[tuple[Expert, ...]]:
        """Those of the families that have some weight in the second quarter: the others hardly ever come back."""
        half = len(self.data) // 2
        if half < LEAST or not experts:
            return experts
        data, family = self.data.only(np.arange(half)), families(experts)
        panel = yield from Forecaster(self.bank, data).panel(experts, nobody(half))
        path = weight_path(panel, np.ones(len(experts)), data)[half // 2 :]
        some = np.array([np.bincount(family, w) for w in path]).max(axis=0) >= FAINT
        return tuple(e for e, wanted in zip(experts, some[family], strict=True) if wanted)

    # --- shapes, noises, cycles and levels -----------------------------------------------------------------------

    def _found(self, pool: Pool) -> Pieces[tuple[Expert, ...]]:
        """New families whose shape, noise, cycle or level predicts the window better than the bank's best expert."""
        if len(self.data) < LEAST:
            return ()
        best = yield from refined(pool, best_of(pool.panel), self.bank)
        shape = [best.expert.shape] if best.expert.stretch else []
        noise = () if best.expert.noise in self.bank.noises else (best.expert.noise,)
        shapes, noises = self.bank.shapes + shape, (*self.bank.noises, *noise)
        moving = yield from self._moving(pool, best)
        return (
            self.bank.families_of(self.bank.times, shape)
            + self.bank.families_of(self.bank.times, shapes, noise)
            + tuple(e for times, level in moving for e in self.bank.families_of(times, shapes, noises, level))
        )

    def _moving(self, pool: Pool, best: Scored) -> Pieces[Moves]:
        """Kernels of time, and of a level, with which the best expert predicts better: levels that move, and cycles.

        A cycle, of the function or of the level, has many periods to choose from, and must be clearly better.
        """
        found: Moves = []
        level = yield from self._level(pool, best)
        if level is not best:
            found.append((SLOW, level.expert.level))
        likely = yield from self._likely_cycles(best.expert, level.expert)
        cycle = yield from better(pool, level, likely, AHEAD)
        found += yield from self._waves(pool, best, cycle)
        if cycle is level:
            return found
        cycle = yield from better(pool, cycle, _other_periods(cycle.expert))
        if cycle.expert.level is None:
            assert isinstance(cycle.expert.time, Cyclic)
            return [*found, (_cycles(cycle.expert.time.period), None)]
        assert isinstance(cycle.expert.level.time, Cyclic)
        waves = product(LEVELS, _cycles(cycle.expert.level.time.period))
        each = [replace(cycle.expert, level=MovingLevel(v, time)) for v, time in waves]
        wave = yield from better(pool, cycle, each)
        return [*found, (SLOW, wave.expert.level)]

    def _waves(self, pool: Pool, best: Scored, rival: Scored) -> Pieces[Moves]:
        """A wave of the function or of the level, if clearly better than `best`, and no worse than `rival`."""
        tried = periods(self.data) if self.bank.cycles else []
        if not tried:
            return []
        if self.bank.levels:
            swing = yield from self._adjusted(pool, swinging(best.expert, tried))
            rival = swing if swing.log_likelihood > rival.log_likelihood else rival
        turn = yield from self._adjusted(pool, turning(best.expert, tried))
        if turn.log_likelihood > rival.log_likelihood + CLEARLY:
            return [(fan(wave_of(turn.expert)), None)]
        wanted = self.bank.levels and rival is swing and rival.log_likelihood > best.log_likelihood + CLEARLY
        return [(SLOW, swing.expert.level)] if wanted else []

    def _adjusted(self, pool: Pool, tried: Sequence[Expert]) -> Pieces[Scored]:
        """The best of these, and then of others near it: first of another size, and then of other periods."""
        wave = best_of((yield from pool.forecaster.panel(tried, pool.panel)))
        wave = yield from better(pool, wave, other_sizes(wave.expert))
        for factor in CLOSER:
            wave = yield from better(pool, wave, other_periods(wave.expert, factor))
        return wave

    def _level(self, pool: Pool, best: Scored) -> Pieces[Scored]:
        """`best` with the level that suits it best, if one does: first of the middle variance, then of others."""
        if not self.bank.levels:
            return best
        middle = [replace(best.expert, time=t, level=MovingLevel(1.0, h)) for h in FAST for t in SLOW]
        panel = yield from pool.forecaster.panel(middle, pool.panel)
        e = best_of(panel).expert
        others = [replace(e, level=replace(e.level, variance=v)) for v in LEVELS if e.level]
        return (yield from better(pool, best, [e, *others]))

    def _likely_cycles(self, best: Expert, level: Expert) -> Pieces[list[Expert]]:
        """`best` with a cycle, and `level` with one of the level, of the few periods that the newer half suggests.

        Those that are too long for it are all among them.
        """
        spans = float(np.ptp(self.data.clock)), float(np.ptp(self.data.clock[len(self.data) // 2 :]))
        longest, short = (max((p for p in PERIODS if REPEATS * p <= span), default=0.0) for span in spans)
        half = self.data.only(np.arange(len(self.data) // 2, len(self.data)))
        newer = Forecaster(self.bank, half)
        likely = list[Expert]()
        for cyclic in (_with_cycle(best), _with_tide(level)) if self.bank.levels else (_with_cycle(best),):
            likely += [cyclic(p) for p in PERIODS if short < p <= longest]
            tried = [cyclic(p) for p in PERIODS if p <= short]
            if tried:
                panel = yield from newer.panel(tried, nobody(len(half)))
                likely += [tried[i] for i in heaviest(panel.log_likelihoods, most=PROMISING, least=-np.inf)]
        return likely if self.bank.cycles else []

    # --- changes ------------------------------------------------------------------------------------------------

    @property
    def _places(self) -> list[int]:
        """The indices of observations at which a change is tried."""
        n = len(self.data)
        return sorted(n - age for age in AGES if age < n)

    def _changes(self, pool: Pool) -> tuple[Expert, ...]:
        """Restarts, and changes of the noise or the level, at dates all over the window."""
        return self._restarts(pool) + self._partial_changes(pool, self._places)

    def _restarts(self, pool: Pool) -> tuple[Expert, ...]:
        """Restarts of the heaviest families at every date, and shifts of their level, with a function that is still."""
        family, still = families(pool.experts), self.bank.times[0]
        member = dict(zip(family.tolist(), pool.experts, strict=True))
        leading = np.argsort(-np.bincount(family, pool.path[-1]), kind="stable")[:FAMILIES].tolist()
        heads = [Expert(e.kernel, still, e.noise, stretch=e.stretch) for e in map(member.__getitem__, leading)]
        numbers = [self._number(place) for place in self._places]
        restarts = tuple(replace(e, since=number) for e in heads for number in numbers)
        return restarts + tuple(replace(e, shifts=(number,)) for e in heads for number in numbers if self.bank.levels)

    def _partial_changes(self, pool: Pool, places: Iterable[int]) -> tuple[Expert, ...]:
        """The heaviest expert at each of these places, with every other noise, or another level, from there on."""
        return tuple(e for p in places for e in self._partly_changed(pool.heaviest_at(p), self._number(p)))

    def _partly_changed(self, expert: Expert, number: int) -> list[Expert]:
        """`expert` with every other noise, or another level, from `number` on, unless it restarted or changed later."""
        if expert.since or expert.last_change >= number:
            return []
        earlier = (*expert.earlier, (number, expert.noise))
        noises = [noise for noise in self.bank.noises if noise != expert.noise]
        shifted = [replace(expert, shifts=(*expert.shifts, number))] if self.bank.levels else []
        return [replace(expert, noise=noise, earlier=earlier) for noise in noises] + shifted

    def _redated(self, pool: Pool) -> tuple[Expert, ...]:
        """The best expert of each kind of change, and those that led at some time, at dates around their last change.

        One date that is wrong by a few observations can leave a change of the noise behind a restart.
        """
        last = np.array([(e.since, e.noise_changed, e.shifted) for e in pool.experts])
        kinds = (last > 0) & (last == last.max(axis=1, keepdims=True))
        weights = np.where(kinds, pool.path[-1][:, None], 0.0)
        best = [i for i in np.argmax(weights, axis=0).tolist() if weights[i].max() >= FAINT]
        leading = dict.fromkeys([*best, *np.argmax(pool.path[::-1], axis=1).tolist()])
        dates = dict.fromkeys(e for i in leading if kinds[i].any() for e in self._around(pool.experts[i]))
        return tuple(e for e in dates if e not in pool.known)

    def _instead_of_restarts(self, pool: Pool) -> tuple[Expert, ...]:
        """Changes of the noise or the level alone where restarts lead, which may be at none of the dates tried."""
        new = self._partial_changes(pool, self._restarted(pool))
        return tuple(e for e in new if e not in pool.known)

    def _restarted(self, pool: Pool) -> list[int]:
        """The places at which those restarts began that led at some time."""
        led = (pool.experts[i] for i in np.unique(np.argmax(pool.path, axis=1)).tolist())
        return sorted({self.data.place(e.since) for e in led if e.since})

    def _around(self, expert: Expert) -> Iterator[Expert]:
        """Copies whose last change was a few observations earlier or later; restarts at those that are believed."""
        place, end = self.data.place(expert.last_change), len(self.data)
        end = self.data.believed if expert.since == expert.last_change else end
        for p in range(max(place - STEP, 0) + 1, min(place + STEP, end)):
            yield expert.dated(self._number(p))

    def _in_every_family(self, pool: Pool) -> tuple[Expert, ...]:
        """The best restart or shift, for every shape and noise: those that lead without it are not those with it."""
        changed = np.array([e.last_change > e.noise_changed for e in pool.experts])
        best = pool.experts[int(np.argmax(np.where(changed, pool.path[-1], -1.0)))]
        shapes = dict.fromkeys(e.shape for e in pool.experts)
        each = (replace(best, kernel=k, stretch=s, noise=noise) for k, s in shapes for noise in self.bank.noises)
        return tuple(e for e in each if e not in pool.known) if not best.earlier and best.last_change else ()

    def _second_changes(self, pool: Pool) -> tuple[Expert, ...]:
        """Further changes of noise or level of the heaviest expert that had one before, wherever it has some weight."""
        weights = np.where([e.last_change > 0 for e in pool.experts], pool.path, 0.0)
        places = sorted({*self._places, *self._restarted(pool)})
        leading = [(p, int(np.argmax(weights[p]))) for p in places]
        changed = ((p, pool.experts[i]) for p, i in leading if weights[p, i] >= SOME)
        new = (e for p, expert in changed for e in self._partly_changed(expert, self._number(p)))
        return tuple(e for e in new if e not in pool.known)

    def _number(self, place: int) -> int:
        return int(self.data.numbers[place])


_cyclic = lru_cache(maxsize=256)(Cyclic)  # the same periods in every search


def _with_cycle(expert: Expert) -> Callable[[float], Expert]:
    return lambda period: replace(expert, time=_cyclic(period, 1.0, 0.001))


def _with_tide(expert: Expert) -> Callable[[float], Expert]:
    return lambda period: replace(expert, level=MovingLevel(1.0, _cyclic(period, 1.0, 0.001)))


def _other_periods(expert: Expert) -> list[Expert]:
    """With half the period, since what comes back every day does so every two days, too, and a little beside it."""
    time = expert.level.time if expert.level else expert.time
    assert isinstance(time, Cyclic)
    others = [replace(time, period=factor * time.period) for factor in (0.5, 0.96, 1.04)]
    if expert.level is None:
        return [replace(expert, time=each) for each in others]
    return [replace(expert, level=replace(expert.level, time=each)) for each in others]


def _cycles(period: float) -> Times:
    return tuple(Cyclic(period, roughness, waning) for roughness in ROUGHNESS for waning in WANING)
