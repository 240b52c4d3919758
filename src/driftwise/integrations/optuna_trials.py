"""The trials of an Optuna study as a log: what a trial says, in which search space, and what a policy makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from driftwise import checks
from driftwise.errors import missing_extra
from driftwise.feasible import Feasible, FeasibleState
from driftwise.integrations.history import History
from driftwise.integrations.optuna_space import SearchSpace
from driftwise.records import Ask, Observation, Point, failure
from driftwise.study.inputs import LARGEST

try:
    from optuna.distributions import BaseDistribution
    from optuna.study import Study, StudyDirection
    from optuna.trial import FrozenTrial, TrialState
except ImportError:
    raise missing_extra("optuna", "optuna") from None

SHARED = 100  # a parameter is chosen together with others if each of so many trials, the last ones, has it
STEADY = 10  # and if it has the same range in so many
FINISHED = (TrialState.COMPLETE, TrialState.PRUNED, TrialState.FAIL)
Distributions = dict[str, BaseDistribution]


class TrialLog:
    """The finished trials of a study as observations in a search space, and what a policy makes of them."""

    def __init__(
        self, policy: Feasible, study: Study, space: SearchSpace, at: Callable[[FrozenTrial], float] | None
    ) -> None:
        self.space, self.at = space, at
        self.history = History(policy, -1.0 if study.direction == StudyDirection.MINIMIZE else 1.0)
        self.log: list[Observation] = []
        self._known: dict[Any, Observation | None] = {}

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in the finished trials, which never change: one that was read before is not read again."""
        known = self._known
        keys = [(trial.number, trial.datetime_complete) for trial in trials]
        known.update((key, self._entry(t)) for key, t in zip(keys, trials, strict=True) if key not in known)
        self.log = [seen for key in keys if (seen := known[key]) is not None]

    @property
    def state(self) -> FeasibleState:
        return self.history.state(self.log)

    def _entry(self, trial: FrozenTrial) -> Observation | None:
        x = self.space.point(trial.params)
        return None if x is None else entry(trial, x, self._time(trial))

    def ask(
        self,
        trial: FrozenTrial,
        pending: tuple[Point, ...] = (),
        seed: int = 0,
        fixed: tuple[tuple[int, float], ...] = (),
    ) -> Ask:
        return Ask(trial.number + 1, self._time(trial), pending, seed=seed, fixed=fixed)

    def next(self, newest: FrozenTrial) -> Ask:
        """The ask of the trial after `newest`, if that were made at once."""
        ask = self.ask(newest)
        return replace(ask, number=ask.number + 1, at=ask.at + 1 if self.at is None else ask.at)

    def _time(self, trial: FrozenTrial) -> float:
        return float(trial.number + 1) if self.at is None else checks.real("at", self.at(trial))


def entry(trial: FrozenTrial, x: Point, at: float) -> Observation | None:
    """A finished trial as an observation at `x`.

    A pruned trial counts with its last intermediate value, and not at all if it has none. A trial that failed, or whose
    value or constraint is infinite, is a failure of the setting.
    """
    number, value = trial.number + 1, None if trial.state == TrialState.FAIL else trial.value
    if value is None and trial.state == TrialState.PRUNED:
        return None
    measures = tuple(sorted((name, float(c)) for name, c in trial.constraints.items() if abs(c) <= LARGEST))
    broken = any(c > LARGEST for c in trial.constraints.values())
    if value is None or not abs(value) <= LARGEST or broken:
        return failure(number, at, x, measures)
    return Observation(number, at, x, float(value), measures=measures)


def shared_space(trials: Sequence[FrozenTrial]) -> Distributions:
    """The parameters that each of the last trials has, with their present ranges, if these did not just change."""
    last = [trial for trial in trials[-SHARED:] if trial.state != TrialState.FAIL]
    if not last:
        return {}
    names = set.intersection(*({*trial.distributions} for trial in last))
    present = {name: last[-1].distributions[name] for name in sorted(names)}
    return {name: each for name, each in present.items() if not each.single() and steady(name, each, last)}


def steady(name: str, distribution: BaseDistribution, trials: Sequence[FrozenTrial]) -> bool:
    """Whether the last trials that have this parameter have it with this distribution."""
    having = [trial.distributions[name] for trial in trials if name in trial.distributions]
    return all(each == distribution for each in having[-STEADY:])


def finished(trials: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """The trials that have ended, which never change."""
    return [trial for trial in trials if trial.state in FINISHED]
