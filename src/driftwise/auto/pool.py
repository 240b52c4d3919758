"""Experts in a search, and the one among them that predicts a window best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from driftwise.auto.experts import Expert
from driftwise.auto.panel import Forecaster, ForecastPanel
from driftwise.auto.pieces import Pieces
from driftwise.auto.weights import weight_path
from driftwise.records import Array

PATH_COST = 3000.0  # about that of a weight, where a factor of n observations costs n³
CLEARLY = 3.0  # nats by which one of a few variants must be ahead
AHEAD = 6.0  # and one of many, as of all periods of a cycle


@dataclass(frozen=True, eq=False)
class Pool:
    """Experts with their forecasts of a window and their prior weights; those with prior weight 0 enter later."""

    forecaster: Forecaster
    panel: ForecastPanel
    prior: Array  # (E,)

    @property
    def experts(self) -> tuple[Expert, ...]:
        return self.panel.experts

    @cached_property
    def path(self) -> Array:
        """The weights before each observation and after the last: (n + 1, E)."""
        return weight_path(self.panel, self.prior, self.forecaster.data)

    @cached_property
    def known(self) -> frozenset[Expert]:
        return frozenset(self.experts)

    def heaviest_at(self, place: int) -> Expert:
        """The expert with the largest weight before the observation at index `place`."""
        return self.experts[int(np.argmax(self.path[place]))]

    def joined(self, new: tuple[Expert, ...], prior: float) -> Pieces[Pool]:
        """This and new experts, each with this prior weight."""
        if not new:
            return self
        panel = yield from self.forecaster.panel(new, self.panel)
        yield PATH_COST * (len(self.experts) + len(new)) * len(self.forecaster.data)
        return Pool(self.forecaster, self.panel.followed_by(panel), np.append(self.prior, np.full(len(new), prior)))


@dataclass(frozen=True)
class Scored:
    """An expert and its log likelihood of a window."""

    expert: Expert
    log_likelihood: float


def best_of(panel: ForecastPanel) -> Scored:
    i = int(np.argmax(panel.log_likelihoods))
    return Scored(panel.experts[i], float(panel.log_likelihoods[i]))


def better(pool: Pool, best: Scored, others: Sequence[Expert], ahead: float = 0.0) -> Pieces[Scored]:
    """The one of the others that predicts the window best, if it is so far ahead of `best`; else that."""
    if not others:
        return best
    panel = yield from pool.forecaster.panel(others, pool.panel)
    other = best_of(panel)
    return other if other.log_likelihood > best.log_likelihood + ahead else best
