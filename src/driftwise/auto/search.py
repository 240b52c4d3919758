"""The whole bank on a window, and the experts that the window itself suggests.

Some of what may have happened has too many variants to be in the bank beforehand: a change at any date, a cycle of any
period. So it is looked for in the window when it is surveyed:

- lengthscales of their own for each coordinate: some matter more than others, some not at all;
- a noise below or above all of the bank's;
- restarts, which believe nothing from before a date, at dates all over the window and then around the best;
- a noise that is another from a date on, the function being the same;
- outliers, which are left out;
- cycles: what was so a period ago is so again. All periods are tried with the best kernel and noise;
- tides: the level of the function moves on its own, so that its best setting may stand still while rewards do not.

What is found joins the others with a small prior weight. It is held to what it would have forecast, as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from driftwise.auto.data import Memory, Seen
from driftwise.auto.experts import Bank, Expert, Fit, Forecast, Tide
from driftwise.gp.time_kernels import Cyclic, Forgetting, MaternInTime, TimeKernel
from driftwise.records import Array

STEP = 8  # observations between two dates of changes
YOUNG = (4, 8, 12, 16, 20, 24)  # observations after which there is one in any case
FAMILIES = 4  # of which there are restarts
FOUND = 0.1  # the prior weight of an expert that a scan found, of the bank's
AHEAD = 6.0  # nats by which the best of so many periods must be ahead of the bank's best; a tide need not be behind it
PERIODS = tuple(float(p) for p in (*range(4, 49), *range(54, 97, 6), 120, 144, 168, 288))  # in typical gaps
TURNS = 2.5  # that a cycle must have made
ROUGHNESS, WANING = (0.7, 1.5), (0.0003, 0.003)  # of cycles
Times = tuple[TimeKernel, ...]
FAST: Times = (*map(Forgetting, (0.03, 0.1, 0.5)), MaternInTime(2.5, 15.0), MaternInTime(2.5, 60.0))  # how a tide moves
SLOW: Times = (*map(Forgetting, (0.0, 0.003, 0.01)), MaternInTime(2.5, 60.0), MaternInTime(2.5, 200.0))  # and all else
TIDES = tuple(Tide(variance, time) for variance in (0.3, 1.0, 3.0) for time in FAST)
STRETCHES, LIMITS = (0.5, 2.0), (0.25, 8.0)  # of one lengthscale at a time, and of each in all
COORDINATES = 64  # up to which they have lengthscales of their own
QUIETER, NOISIER, BEYOND = 0.1, 3.0, (1e-7, 3.0)  # steps of the noise beyond those of the bank, and where they end
CLEARLY, PASSES = 3.0, 8  # nats that each of these must bring; how many there are at most
OUTLIERS = 4  # that are left out at most
LEAST = 12  # observations before anything is scanned for

What = TypeVar("What", Cyclic, Tide)


@dataclass(frozen=True, eq=False)
class Survey:
    """The whole bank on what is remembered: which experts to follow until the next survey, and their weights."""

    bank: Bank
    memory: Memory

    @property
    def seen(self) -> Seen:
        return self.memory.kept

    @cached_property
    def weighted(self) -> tuple[tuple[Expert, ...], Array]:
        """Every expert, those that were found included, and their weights now."""
        experts, fits = self.bank.experts, self.bank.forecasts(self.bank.experts, self.seen)
        found = self._found(fits)
        prior = np.concatenate([np.ones(len(experts)), np.full(len(found), FOUND)])
        experts, fits = experts + found, fits + self.bank.forecasts(found, self.seen)
        path = self.bank.weights(fits, prior, self.seen)
        for changes in (self._changes, self._around, self._again):
            born = changes(experts, path)
            if not born:
                break
            experts, fits = experts + born, fits + self.bank.forecasts(born, self.seen)
            prior = np.concatenate([prior, np.zeros(len(born))])
            path = self.bank.weights(fits, prior, self.seen)
        return experts, path[-1]

    @cached_property
    def live(self) -> tuple[tuple[Expert, ...], Array]:
        """The heaviest experts and their weights, which add up to 1."""
        experts, w = self.weighted
        order = np.argsort(-w, kind="stable")[: self.bank.most]
        kept = order[w[order] >= self.bank.least * w[order[0]]]
        return tuple(experts[i] for i in kept), w[kept] / w[kept].sum()

    @cached_property
    def fits(self) -> tuple[Fit, ...]:
        """These on what was seen."""
        return tuple(self.bank.fits(self.live[0], self.seen))

    # --- ways to move -------------------------------------------------------------------------------------------

    def _found(self, fits: Sequence[Forecast]) -> tuple[Expert, ...]:
        """What says more of the window than the bank's best does: a shape, a cycle, or a tide, for every family."""
        if len(self.seen) < LEAST:
            return ()
        best = self._refined(max(fits, key=lambda f: f.evidence))
        new = [best.expert.shape] if best.expert.stretch else []
        beyond = () if best.expert.noise in self.bank.noises else (best.expert.noise,)
        cycle = self._best({replace(best.expert, time=cycle): cycle for cycle in self._cycles}, best.evidence + AHEAD)
        beside = {replace(best.expert, time=t, tide=tide): tide for tide in self._tides for t in SLOW}
        tide = self._best(beside, best.evidence)
        shapes, noises = self.bank.shapes + new, (*self.bank.noises, *beyond)
        found = self.bank.families_of(self.bank.times, new) + self.bank.families_of(self.bank.times, shapes, beyond)
        if cycle:
            cycles = [Cyclic(cycle.period, r, e) for r in ROUGHNESS for e in WANING]
            found += self.bank.families_of(cycles, shapes, noises)
        if tide:
            found += self.bank.families_of(SLOW, shapes, noises, tide)
        return found

    def _refined(self, best: Forecast) -> Forecast:
        """`best` with lengthscales of their own, or another noise, one step at a time while it says clearly more."""
        for _ in range(PASSES):
            near = _stretches(best.expert, self.seen.X.shape[1]) if self.bank.ard else []
            near += _noises(best.expert, self.bank)
            better = max(self.bank.forecasts(near, self.seen), key=lambda f: f.evidence, default=best)
            if better.evidence < best.evidence + CLEARLY:
                break
            best = better
        return best

    def _best(self, scan: Mapping[Expert, What], bar: float) -> What | None:
        """What the best of these experts tries, if its evidence is above the bar."""
        best = max(self.bank.forecasts(tuple(scan), self.seen), key=lambda f: f.evidence, default=None)
        return scan[best.expert] if best and best.evidence > bar else None

    @property
    def _cycles(self) -> list[Cyclic]:
        span = float(np.ptp(self.seen.clock))
        return [Cyclic(p, 1.0, 0.001) for p in PERIODS if TURNS * p <= span] if self.bank.cycles else []

    @property
    def _tides(self) -> Sequence[Tide]:
        return TIDES if self.bank.tides else ()

    # --- changes ------------------------------------------------------------------------------------------------

    @property
    def _places(self) -> list[int]:
        """Where changes may have been."""
        n = len(self.seen)
        return sorted({*range(STEP, n, STEP), *(n - age for age in YOUNG if age < n)})

    def _changes(self, experts: Sequence[Expert], path: Array) -> tuple[Expert, ...]:
        """At dates all over the window: restarts of the heaviest families, standing still, and changes of noise."""
        if not self.bank.changes or len(self.seen) < STEP:
            return ()
        families = self.bank.families(experts)
        heads = dict(zip(families.tolist(), experts, strict=True))
        heaviest = np.argsort(-np.bincount(families, path[-1]), kind="stable")[:FAMILIES].tolist()
        still = self.bank.times[0]
        again = (Expert(heads[f].kernel, still, heads[f].noise, stretch=heads[f].stretch) for f in heaviest)
        restarts = tuple(self._dated(e, place) for e in again for place in self._places)
        return restarts + self._louder(experts, path, self._places) + self._without_outliers(experts, path)

    def _without_outliers(self, experts: Sequence[Expert], path: Array) -> tuple[Expert, ...]:
        """Whoever was heaviest when they came, without them, one after the other."""
        were = {experts[i]: None for i in np.argmax(path[:-1], axis=1) if not experts[i].since}
        return tuple(
            e for f in self.bank.forecasts(tuple(were), self.seen) for e in without_outliers(self.bank, f, self.seen)
        )

    def _louder(self, experts: Sequence[Expert], path: Array, places: Iterable[int]) -> tuple[Expert, ...]:
        """Whoever is heaviest at each of these places, with every other noise from there on."""
        made: list[Expert] = []
        for place in places:
            e, number = experts[int(np.argmax(path[place]))], int(self.seen.numbers[place])
            if e.changed < number and not e.since:
                then = (*e.earlier, (number, e.noise))
                made += (replace(e, noise=noise, earlier=then) for noise in self.bank.noises if noise != e.noise)
        return tuple(made)

    def _around(self, experts: Sequence[Expert], path: Array) -> tuple[Expert, ...]:
        """The best of those that changed, at dates around it."""
        changed = np.array([e.changed > 0 for e in experts])
        best = experts[int(np.argmax(np.where(changed, path[-1], -1.0)))]
        place, there = self.seen.place(best.changed), set(experts)
        places = range(max(place - STEP, 0) + 1, min(place + STEP, len(self.seen)))
        return tuple(e for e in (self._dated(best, p) for p in places) if e not in there)

    def _again(self, experts: Sequence[Expert], path: Array) -> tuple[Expert, ...]:
        """Where the noise changed, it may have changed again."""
        once = [place for place in self._places if experts[int(np.argmax(path[place]))].earlier]
        return self._louder(experts, path, once)

    def _dated(self, expert: Expert, place: int) -> Expert:
        """The same with its last change at `place`."""
        number = int(self.seen.numbers[place])
        if not expert.earlier:
            return replace(expert, since=number)
        *earlier, (_, noise) = expert.earlier
        return replace(expert, earlier=(*earlier, (number, noise)))


def without_outliers(bank: Bank, fit: Forecast, seen: Seen, since: int = 0) -> list[Expert]:
    """The same without the first that it takes for an outlier, from number `since` on; then without the next, too."""
    made: list[Expert] = []
    while len(made) < OUTLIERS:
        numbers = seen.numbers[fit.first + fit.outliers]
        outliers = numbers[(numbers >= max(since, fit.expert.changed)) & (numbers < seen.numbers[-1])]
        if not len(outliers):
            break
        made.append(fit.expert.without(int(outliers[0])))
        [fit] = bank.forecasts(made[-1:], seen)
    return made


def _stretches(expert: Expert, dim: int) -> list[Expert]:
    """The same with one lengthscale shorter or longer; of one the bank has enough, of too many none is tried."""
    if not 1 < dim <= COORDINATES:
        return []
    now = expert.stretch or (1.0,) * dim
    longer = [(j, now[j] * factor) for j in range(dim) for factor in STRETCHES]
    within = [(j, length) for j, length in longer if LIMITS[0] <= length <= LIMITS[1]]
    return [replace(expert, stretch=(*now[:j], length, *now[j + 1 :])) for j, length in within]


def _noises(expert: Expert, bank: Bank) -> list[Expert]:
    """The same with a noise further out where it has the bank's least or largest, and every way to move."""
    lower = [expert.noise * QUIETER] if expert.noise <= min(bank.noises) else []
    higher = [expert.noise * NOISIER] if expert.noise >= max(bank.noises) else []
    within = [noise for noise in (*lower, *higher) if BEYOND[0] <= noise <= BEYOND[1]]
    return [replace(expert, noise=noise, time=time) for noise in within for time in bank.times]
