"""Drift-aware GP-UCB: R- or SW-GP-UCB that widens its band at x by how far drift can have moved the mean there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.gp.belief import Belief, Conditioned
from driftwise.gp.grid import REFRESH, GridPosterior
from driftwise.gp.posterior import Posterior
from driftwise.policies.base import Decision, UcbPolicy, in_last_units
from driftwise.policies.setup import BAND, DRIFT, LENGTH, MODEL, Setup, takes
from driftwise.records import Array, Ask, Observation
from driftwise.theory import schedules
from driftwise.theory.dual import Envelope
from driftwise.theory.widths import DualBand

FORGETS = ("window", "restart")
SPREADS = ("even", "any")


@dataclass(frozen=True, eq=False)
class Dated:
    """The belief, of block `index`, and the numbers of the observations it rests on."""

    index: int
    belief: Conditioned
    numbers: Array  # (w,), oldest first


@dataclass(frozen=True, eq=False)
class Band:
    """μ(x) + β σ(x) + Σ_s V_s |α_s(x)|: what drift by V_s since observation s can have done to μ is the last term."""

    belief: Conditioned
    beta: float
    drift: Array  # V, (w,)

    def __call__(self, X: Array) -> Array:
        mean, std = self.belief.predict(X)
        return mean + self.beta * std + self.bias(X)

    def bias(self, X: Array) -> Array:
        """Σ_s V_s |α_s(x)|: (m,)."""
        return np.abs(self.belief.weights(X)) @ self.drift

    def gradient(self, X: Array) -> tuple[Array, Array]:
        mean, std, dmean, dstd = self.belief.predict_gradient(X)
        assert isinstance(self.belief, Posterior)
        alpha = self.belief.weights(X)
        slope = self.belief.weights_slope(X, np.sign(alpha) * self.drift)
        return mean + self.beta * std + np.abs(alpha) @ self.drift, dmean + self.beta * dstd + slope

    def anchors(self) -> Array:
        return self.belief.observed


@dataclass(frozen=True)
class DriftAwareUcb(UcbPolicy[Dated]):
    """x_t = argmax μ + β_t σ + Σ_s V_s |α_s|, α(x) = (K + λI)⁻¹k(x), on the last `length` samples or since a restart.

    V_s bounds |f_t − f_s| in sup-norm: `drift` times the age t − s of the observation, and the sizes of the `jumps` at
    steps s + 1 to t, which are known in advance, as the times of releases are; or `total` for all of them. The
    mean is αᵀy, so drift moves it by Σ α_s(f_s − f_t)(x_s) at most, and the band holds where β σ does without drift
    (docs/theory.md). Must be known: the drift, in the rewards' own units. Where horizon T and budget P are given, the
    length is γ_T^⅓ (T/P)^⅔, and the drift P/(T − 1), if it is even; with spread="any" all of P may come at one step, so
    that it is the total. O(w² + w·n) per step, some 2.2 times sw-gp-ucb's.

    >>> from driftwise import Candidates
    >>> policy = DriftAwareUcb.of(Candidates([[0.0], [1.0]]), drift=0.1, noise=1.0)
    >>> state = policy.update(policy.start(), Observation(1, 1.0, (0.0,), 0.0))
    >>> bias = policy.band(state, Ask(number=3, at=3.0)).bias(policy.space.points)
    >>> round(float(bias[0]), 9)  # α = ½, two steps of drift
    0.1
    """

    name: ClassVar[str] = "drift-aware"
    shared = takes(*MODEL, *BAND, *DRIFT)

    length: int
    drift: float
    total: float | None = None
    forget: str = "window"
    jumps: tuple[tuple[int, float], ...] = ()

    def __post_init__(self) -> None:
        self.settle(
            length=checks.count,
            drift=checks.nonnegative,
            total=checks.optional(checks.nonnegative),
            forget=partial(checks.one_of, known=FORGETS),
            jumps=as_jumps,
        )

    @classmethod
    def of(
        cls,
        space: Any,
        *,
        length: Annotated[int | None, "number of newest samples in use, or of steps between restarts"] = None,
        drift: Annotated[float | None, "how far the rewards may move per step"] = None,
        total: Annotated[float | None, "how far the rewards may move in all while a sample is in use"] = None,
        forget: Annotated[str, "window: the oldest sample at a time; restart: all at once"] = "window",
        jumps: Annotated[Any, "steps before which the world may jump, and how far: pairs, or a dict"] = (),
        spread: Annotated[str, "of the budget. even: P/(T − 1) per step; any: all of it may come at one step"] = "even",
        **given: Any,
    ) -> DriftAwareUcb:
        setup = cls.setup(space, given)
        kept = _length(setup, length)
        restarts = checks.one_of("forget", forget, FORGETS) == "restart"
        beta = setup.beta(events=lambda T: -(-T // kept) if restarts else T, knows_drift=True)
        if checks.one_of("spread", spread, SPREADS) == "any" and total is None:
            total = _all_at_once(setup, drift)
        return cls(
            setup.model, beta, kept, _rate(setup) if drift is None else drift, total, forget, as_jumps("", jumps)
        )

    @property
    def memory(self) -> int:
        return self.length if self.forget == "restart" else self.length + REFRESH

    def start(self) -> Dated:
        return self._fresh(0)

    def decide(self, state: Dated, ask: Ask) -> Decision:
        jitter = self._now(state, ask.number).belief.jitter
        return Decision(self.space.argmax(self.band(state, ask), ask), jitter)

    def band(self, state: Dated, ask: Ask) -> Band | Envelope:
        """The upper end of the band that f is in."""
        now = self._now(state, ask.number)
        belief = now.belief
        V = self.moved(now.numbers, ask.number) / belief.units[1]
        if isinstance(self.width, DualBand):
            return self.width.index(belief, ask.pending, drift=V)
        V = np.append(V, np.zeros(len(ask.pending)))  # what is imagined has not aged
        return Band(belief.imagine(ask.pending), self.width(belief, ask.number), V)

    def moved(self, since: Array, number: int) -> Array:
        """V_s: how far the world may have moved from step s to step `number`, for every s of `since`."""
        if self.total is not None:
            return np.full(len(since), self.total)
        steps, sizes = np.array(self.jumps or [(0, 0.0)]).T
        between = (since[:, None] < steps) & (steps <= number)
        return self.drift * (number - since) + between @ sizes

    def update(self, state: Dated, seen: Observation) -> Dated:
        now = self._now(state, seen.number)
        full = self.forget == "window" and len(now.belief) >= self.length
        belief = now.belief.observe(seen, keep=self.length if full else None)
        return Dated(now.index, belief, np.append(now.numbers, seen.number)[-len(belief) :])

    def belief(self, state: Dated, ask: Ask) -> Belief:
        return in_last_units(self._now(state, ask.number).belief, state.belief)

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        return self._block(number) == self._block(newest + 1) if self.forget == "restart" else newer < self.length

    def _block(self, number: int) -> int:
        """Which block `number` is in, where there are restarts."""
        return (number - 1) // self.length if self.forget == "restart" else 0

    def _now(self, state: Dated, number: int) -> Dated:
        index = self._block(number)
        return state if state.index == index else self._fresh(index)

    def _fresh(self, index: int) -> Dated:
        prior = self.model.prior()
        return Dated(index, prior.weighing() if isinstance(prior, GridPosterior) else prior, np.zeros(0))


def as_jumps(name: str, given: Any) -> tuple[tuple[int, float], ...]:
    """Pairs of a step and of how far f may be from what it was before: in the order of the steps.

    >>> as_jumps("jumps", {200: 0.5, 100: 1})
    ((100, 1.0), (200, 0.5))
    """
    pairs = checks.each("jumps", list(given.items()) if isinstance(given, dict) else given, _jump, "[(100, 0.5)]")
    return tuple(sorted(pairs))


def _jump(name: str, given: Any) -> tuple[int, float]:
    if isinstance(given, str) or not isinstance(given, Sequence) or len(given) != 2:
        raise InvalidInput(f"a jump must be a step and a size, as (100, 0.5), got {checks.shown(given)}")
    return checks.count("a jump's step", given[0]), checks.nonnegative("a jump's size", given[1])


def _all_at_once(setup: Setup, drift: float | None) -> float:
    """P, all of which may come at any one step."""
    if setup.budget is None or drift is not None:
        raise InvalidInput("spread='any' is of a budget, which needs horizon=… and budget=…, and no drift")
    return setup.budget


def _length(setup: Setup, given: int | None) -> int:
    """As given, else γ_T^⅓ (T/P)^⅔ if the horizon is known, with P = 1 if the budget is not."""
    if given is not None:
        return checks.count("length", given, fix="use gp-ucb to keep everything")
    if setup.horizon is None:
        return LENGTH
    return schedules.drift_aware(setup.gain(setup.horizon), setup.horizon, setup.variation)


def _rate(setup: Setup) -> float:
    """P/(T − 1) per step, of which there are T − 1; a thousandth of the prior's deviation if nothing is known."""
    return 1e-3 if setup.horizon is None else setup.variation / max(setup.horizon - 1, 1)
