"""R-PERP (Iwazaki & Takeno 2025): phased elimination in randomly permuted batches, begun afresh every H steps."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from driftwise import checks, limits
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief
from driftwise.gp.grid import Grid
from driftwise.gp.kernels import RBF, Kernel, Matern
from driftwise.gp.noise import pair_of
from driftwise.gp.posterior import Posterior
from driftwise.policies.base import Decision, UcbPolicy, finite
from driftwise.policies.beliefs.repeated import pooled
from driftwise.policies.opkb_design import greedy
from driftwise.policies.setup import BAND, LENGTH, MODEL, PROVED, Setup, takes
from driftwise.records import Array, Ask, Observation
from driftwise.rng import Stream, generator
from driftwise.theory.widths import Constant, Permuted

BATCHES = "its band is about the mean of f over a batch in random order; give width='proof'"


@dataclass(frozen=True, eq=False)
class Phase:
    """Batch `batch` of interval `interval`, whose first step is `begun`, and what was seen in the two."""

    interval: int
    batch: int
    begun: int
    survivors: NDArray[np.bool_]  # (n,): the candidates not yet eliminated
    points: tuple[int, ...]  # the batch: candidates of largest variance, in the order they were picked
    counts: Array  # (2, n): how often each candidate was seen, in the batch and in the interval
    sums: Array  # (2, n): and what it gave
    known: Array  # (2, 2, n): Σ 1/std² and Σ y/std² of the observations of known noise, which are not in the counts
    units: tuple[float, float] | None = None  # those of the last interval, until this one has a reward


@dataclass(frozen=True)
class RPerp(UcbPolicy[Phase]):
    """Query a batch of largest variance inside the survivors, in random order; keep {x : ucb ≥ max lcb}; and again.

    Only the batch just finished is fitted: its points depend on no reward in it, and its order is random, so that noise
    and drift within it average out. Finite spaces only. It needs to know the interval H, or the horizon T and the
    variation V in sup-norm. O(n·N²) when a batch of N begins, O(N) a step else. The authors find it behind r-gp-ucb.
    width="proof" is the width of their theorem, with B, R and δ; it needs the horizon.

    >>> from driftwise import Candidates
    >>> RPerp.of(Candidates([[0.0], [1.0]]), interval=100).batches(0)
    (10, 32, 57, 1)
    """

    name: ClassVar[str] = "r-perp"
    restrictable: ClassVar[bool] = False  # a batch is planned before its asks come
    shared = takes(*MODEL, *BAND, "horizon")

    interval: int
    horizon: int | None = None

    def __post_init__(self) -> None:
        two = partial(checks.count, least=2)
        self.settle(interval=two, horizon=checks.optional(two))
        n = finite(self.name, self.space)
        limits.check(self.name, n**2, f"a matrix of {n:,} × {n:,} candidates", "give fewer, or use r-gp-ucb")

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        interval: Annotated[int | None, "number of steps between restarts"] = None,
        variation: Annotated[float, "how much the world changes in all over the horizon, in sup-norm"] = 1.0,
        **given: Any,
    ) -> RPerp:
        setup = cls.setup(space, given)
        kernel, d, T = setup.model.kernel, setup.space.dim, setup.horizon
        if interval is None:
            interval = LENGTH if T is None else best_interval(kernel, d, T, variation)
        made = cls(setup.model, Constant(0.0), interval, T)
        beta = setup.beta(unproved=dict.fromkeys(PROVED, BATCHES), own={"proof": lambda: made.proof(setup)})
        return replace(made, width=beta)

    def proof(self, setup: Setup) -> Permuted:
        """The width that holds for all batches of all intervals."""
        last = self.block(setup.planned("width='proof'"))  # all intervals before it are alike
        Q = last * len(self.batches(0)) + len(self.batches(last))
        return Permuted(finite(self.name, self.space), Q, setup.B, setup.sub_gaussian, setup.delta)

    @property
    def _cut(self) -> int:
        """How many steps short of H the horizon's last interval is; it is followed by whole ones."""
        return -self.horizon % self.interval if self.horizon else 0

    def block(self, number: int) -> int:
        """Which interval step `number` is in."""
        past = self.horizon is not None and number > self.horizon
        return (number - 1 + (self._cut if past else 0)) // self.interval

    def first(self, interval: int) -> int:
        """The number of the interval's first step."""
        number = interval * self.interval + 1
        return number - self._cut if self.horizon is not None and number > self.horizon else number

    def batches(self, interval: int) -> tuple[int, ...]:
        """N_j = min(⌈√(T_i·N_{j−1})⌉, what is left), N_0 = 1, until the interval's T_i steps are used."""
        length = self.first(interval + 1) - self.first(interval)
        sizes, size, left = [], 1, length
        while left:
            size = min(math.isqrt(length * size - 1) + 1, left)  # ⌈√·⌉, exactly
            sizes.append(size)
            left -= size
        return tuple(sizes)

    @property
    def memory(self) -> int:
        return self.interval

    def start(self) -> Phase:
        return self._interval(0)

    def decide(self, state: Phase, ask: Ask) -> Decision:
        state = self._advance(state, ask.number)
        order = generator(ask.seed, state.begun, Stream.SCHEDULE).permutation(len(state.points))
        return Decision(self._grid.points[state.points[order[ask.number - state.begun]]])

    def update(self, state: Phase, seen: Observation) -> Phase:
        state = self._advance(state, seen.number)
        i, (square, _) = self._grid.index(seen.x), pair_of(seen)
        counts, sums, known = state.counts.copy(), state.sums.copy(), state.known
        if square:
            known = known.copy()
            known[:, :, i] += np.array([1.0, seen.y]) / square
        else:
            counts[:, i] += seen.repeats
            sums[:, i] += seen.repeats * seen.y
        return self._advance(replace(state, counts=counts, sums=sums, known=known, units=None), seen.number + 1)

    def belief(self, state: Phase, ask: Ask) -> Belief:
        """The GP posterior of the interval's data: for `recommend` only, the algorithm fits one batch at a time."""
        state = self._advance(state, ask.number)
        return replace(self._fit(state, 1), fixed_units=state.units)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self.block(number) == self.block(newest + 1)

    # --- its parts ----------------------------------------------------------------------------------------------

    def eliminate(self, state: Phase) -> NDArray[np.bool_]:
        """The survivors with μ + βσ ≥ max (μ − βσ), both from this batch alone. Never empty."""
        belief = self._fit(state, 0)
        mean, std = belief.predict(self._grid.points)
        beta = self.width(belief, state.begun + len(state.points))
        best = np.max((mean - beta * std)[state.survivors])
        return state.survivors & (mean + beta * std >= best)

    @cached_property
    def _grid(self) -> Grid:
        assert self.space.points is not None
        return Grid(self.space.points, self.model.kernel, self.model.noise)

    def _fit(self, state: Phase, which: int) -> Posterior:
        model, points = self.model, self._grid.points
        counts, sums, known = state.counts[which], state.sums[which], state.known[which]
        return pooled(model.kernel, model.noise, points, counts, sums, known=known, standardise=model.standardise)

    def _advance(self, state: Phase, number: int) -> Phase:
        """The phase that step `number` is in: batches without a reward pass, too, and eliminate nothing."""
        if self.block(number) != state.interval:
            units = state.units if state.units is not None else self._fit(state, 1).units
            state = replace(self._interval(self.block(number)), units=units)
        while number >= state.begun + len(state.points):
            state = self._batch(state, state.batch + 1, state.begun + len(state.points), self.eliminate(state))
        return state

    def _interval(self, index: int) -> Phase:
        nothing = np.zeros((2, len(self._grid.points)))
        everything = np.ones(len(self._grid.points), dtype=bool)
        empty = Phase(index, 0, 0, everything, (), nothing, nothing, np.zeros((2, *nothing.shape)))
        return self._batch(empty, 0, self.first(index), everything)

    def _batch(self, state: Phase, batch: int, begun: int, survivors: NDArray[np.bool_]) -> Phase:
        where = np.flatnonzero(survivors)
        X = self._grid.points[where]
        picks = greedy(self.model.kernel(X, X), self.batches(state.interval)[batch], self.model.noise)
        counts, sums, known = state.counts.copy(), state.sums.copy(), state.known.copy()
        counts[0] = sums[0] = known[0] = 0.0
        points = tuple(where[picks].tolist())
        return Phase(state.interval, batch, begun, survivors, points, counts, sums, known, state.units)


def best_interval(kernel: Kernel, dim: int, horizon: int, variation: float) -> int:
    """H = ⌈(T/V)^{2/3} (ln T)^{(d+2)/3}⌉ (SE), ⌈(T/V)^{(2ν+d)/(3ν+d)} (ln T)^{(4ν+d)/(6ν+2d)}⌉ (Matérn), at most T.

    >>> best_interval(RBF(0.2), 2, 5000, 1.0)
    5000
    """
    T, V = checks.count("horizon", horizon, least=2), checks.positive("variation", variation)
    if isinstance(kernel, RBF):
        H = (T / V) ** (2 / 3) * math.log(T) ** ((dim + 2) / 3)
    elif isinstance(kernel, Matern):
        nu = kernel.nu
        H = (T / V) ** ((2 * nu + dim) / (3 * nu + dim)) * math.log(T) ** ((4 * nu + dim) / (6 * nu + 2 * dim))
    else:
        raise InvalidInput(f"there is no formula for the interval of r-perp with {checks.shown(kernel)}; give interval")
    return max(2, min(math.ceil(H), T))
