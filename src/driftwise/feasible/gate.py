"""Where an ask may go: the settings that probably work and at which the limits probably hold."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from driftwise.feasible.failures import Failures
from driftwise.feasible.limits import Limit, probability
from driftwise.gp.belief import Belief
from driftwise.records import Array, Ask, Point
from driftwise.rng import Stream, generator
from driftwise.spaces import Space
from driftwise.spaces.restricted import examples, may, with_fixed

SAMPLED = 512  # settings of a box that are drawn to see whether anything passes
EXAMPLES = 64  # settings that pass, and with which the search for the maximum begins


@dataclass(frozen=True)
class Levels:
    """The probabilities that are enough: of working, if `failed` of the last RECENT entries failed, and of a limit."""

    risk: float  # of failing, if nothing failed lately
    holding: float
    few: float = 4.0  # failures that halve the risk
    hiding: bool = False  # whether a success hides the failures behind it

    def working(self, failed: int) -> float:
        """1 − risk/(1 + failed/few): the more failed lately, the less is risked."""
        return 1 - self.risk / (1 + failed / self.few)


RECENT = 20  # entries
ASKED = Levels(risk=0.2, holding=0.7)  # chosen by measurement (benchmarks/feasible.py)
# for what is recommended: a setting that worked again and again is not given up because others failed lately
CAUTIOUS = Levels(risk=0.1, holding=0.9, few=math.inf, hiding=True)
EVEN = 0.5  # the probability of working below which a setting is no longer in doubt: it is taken to fail


@dataclass(frozen=True, eq=False)
class MeasuredLimit:
    """What is known of a measure, its limit, and the probability that is enough."""

    belief: Belief
    limit: Limit
    enough: float
    backoff: float = 0.0  # from the limit
    freedom: float = math.inf  # degrees of freedom of the scale of the measure; ∞ if it is known

    def holds(self, X: Array) -> Array:
        """The probability that the limit holds: (m,)."""
        return probability(self.belief, self.limit, X, backoff=self.backoff, freedom=self.freedom)


@dataclass(frozen=True, eq=False)
class Gate:
    """The settings that pass in step `number`: every probability is high enough."""

    number: int
    failures: Failures | None  # None: nothing failed
    working: float  # the probability of working that is enough
    measured: tuple[MeasuredLimit, ...]  # of the limits whose measure was seen
    hiding: bool = False  # whether a success hides the failures behind it

    def works(self, X: Array) -> Array:
        """The probability that each row of X works: (m,)."""
        return np.ones(len(X)) if self.failures is None else self.failures.works(X, self.number, hiding=self.hiding)

    def __call__(self, X: Array) -> NDArray[np.bool_]:
        kept = self.works(X) >= self.working
        for measured in self.measured:
            some = X if kept.all() else X[kept]  # all candidates, as they are, are looked up and not computed
            kept[kept] = measured.holds(some) >= measured.enough
        return kept

    def in_doubt(self, X: Array) -> NDArray[np.bool_]:
        """Whether each row of X works more probably than not, but not probably enough: (m,)."""
        works = self.works(X)
        return (works >= EVEN) & (works < self.working)

    def probability(self, X: Array) -> Array:
        """That a setting works and that all limits hold, as if these were independent: (m,)."""
        total = self.works(X)
        for measured in self.measured:
            total = total * measured.holds(X)
        return total


@dataclass(frozen=True, eq=False)
class Passing:
    """A gate that knows some settings that pass."""

    gate: Gate
    examples: Array  # (k, d)

    def __call__(self, X: Array) -> NDArray[np.bool_]:
        return self.gate(X)


@dataclass(frozen=True, eq=False)
class Only:
    """Only these settings."""

    examples: Array  # (k, d)

    def __call__(self, X: Array) -> NDArray[np.bool_]:
        return (X[:, None, :] == self.examples[None, :, :]).all(axis=2).any(axis=1)


@dataclass(frozen=True, eq=False)
class Recommendable:
    """What may be recommended, as an ask, and the settings that may not because it is in doubt whether they work."""

    ask: Ask
    doubted: Array  # (k, d)


def passing(gate: Gate, X: Array) -> Passing | None:
    """The gate, with examples out of the rows of X; None if none of them passes."""
    kept = X[gate(X)]
    if not len(kept):
        return None
    return Passing(gate, np.resize(kept, (max(len(kept), EXAMPLES), X.shape[1])))


def settings(space: Space, ask: Ask, tried: tuple[Point, ...]) -> Array:
    """Settings that may be chosen: all there are if they are listed, else those tried and some at random: (m, d)."""
    if (listed := space.listed(ask)) is not None:
        kept = may(ask, listed)
        return listed if kept.all() else listed[kept]
    drawn = space.sample(generator(ask.seed, ask.number, Stream.RESTRICTED), SAMPLED)
    known = [np.array(tried).reshape(-1, space.dim), examples(ask.allowed).reshape(-1, space.dim), drawn]
    X = with_fixed(ask, np.vstack(known))
    return X[may(ask, X)]


def likeliest(gate: Gate, X: Array) -> Array:
    """The row of X that passes with the largest probability, the first of equals: (d,)."""
    return np.asarray(X[int(np.argmax(gate.probability(X)))])
