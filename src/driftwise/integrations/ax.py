"""A generation node for Ax: `DriftNode`, for experiments whose metric changes from trial to trial.

docs/integrations/ax.md says what it does and what it cannot do.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput, missing_extra
from driftwise.feasible import Feasible, Limit
from driftwise.integrations.history import History
from driftwise.policies import checked
from driftwise.policies.base import weighs_noise
from driftwise.records import Ask, Observation, Recommendation, failure
from driftwise.spaces import Box, Choice, Float, Int, Where
from driftwise.study.given import policy_of
from driftwise.study.inputs import LARGEST

try:
    from ax.core.parameter import FixedParameter, ParameterType, RangeParameter
    from ax.core.types import ComparisonOp
    from ax.generation_strategy.external_generation_node import ExternalGenerationNode
except ImportError:
    raise missing_extra("ax", "ax-platform") from None

Row = Mapping[str, Any]


@dataclass(frozen=True)
class AxProblem:
    """What an experiment asks for: the box, the metric with its direction, and the limits on other metrics."""

    box: Box
    fixed: tuple[tuple[str, Any], ...]  # parameters of one value
    metric: str
    minimise: bool
    limits: tuple[tuple[str, Limit], ...]
    rules: tuple[str, ...]

    @classmethod
    def of(cls, experiment: Any) -> AxProblem:
        space, config = experiment.search_space, experiment.optimization_config
        if config is None or len(config.objective.metric_names) != 1:
            raise InvalidInput("DriftNode is for one objective; give one, as configure_optimization(objective='y')")
        single = {name: p.value for name, p in space.parameters.items() if isinstance(p, FixedParameter)}
        several = ((name, parameter(p)) for name, p in space.parameters.items() if name not in single)
        return cls(
            Box(tuple(several)),
            tuple(single.items()),
            config.objective.metric_names[0],
            config.objective.minimize,
            tuple(limit(each) for each in config.outcome_constraints),
            tuple(rule(each) for each in space.parameter_constraints),
        )

    def point(self, params: Mapping[str, Any]) -> tuple[float, ...]:
        return self.box.to_unit({name: params[name] for name in self.box.names})

    def entry(self, trial: Any, rows: Sequence[Row], *, weighed: bool) -> Observation | None:
        """A trial as an observation; None if it has no outcome, or lies outside of the space."""
        number = trial.index + 1
        try:
            x = self.point(trial.arm.parameters)
        except (InvalidInput, KeyError):
            return None
        means = {row["metric_name"]: float(row["mean"]) for row in rows}
        measures = tuple((name, means[name]) for name, _ in self.limits if abs(means.get(name, math.nan)) <= LARGEST)
        if trial.status.is_failed:
            return failure(number, float(number), x, measures)
        if self.metric not in means:
            return None
        if not abs(means[self.metric]) <= LARGEST:
            return failure(number, float(number), x, measures)
        sem = next(float(row["sem"]) for row in rows if row["metric_name"] == self.metric)
        known = sem if weighed and 0 < sem <= LARGEST else None
        return Observation(number, float(number), x, means[self.metric], std=known, measures=measures)


class DriftNode(ExternalGenerationNode):
    """Generates candidates by a policy of driftwise, given by its name and its `options`.

    A trial's index, plus one, is the number and the time of its observation. The standard errors of a metric are used.
    """

    def __init__(self, policy: str = "auto", *, seed: int = 0, name: str = "driftwise", **options: Any) -> None:
        began = time.monotonic()
        # a setting may be the best again, so that repeated candidates are no mistake
        super().__init__(name=name, should_deduplicate=False)
        self.policy, self.seed = (policy, checked(policy, options)), checks.seed("seed", seed)
        self.fit_time_since_gen += time.monotonic() - began
        self._problem: AxProblem | None = None
        self._history: History | None = None
        self._log: list[Observation] = []
        self._asked = 0  # the number of the last candidate

    def update_generator_state(self, experiment: Any, data: Any) -> None:
        """Take in the experiment as it is now. What was taken in before is not processed again."""
        problem = AxProblem.of(experiment)
        if self._history is None or problem != self._problem:
            self._problem, self._history = problem, self._made(problem)
        rows: dict[int, list[Row]] = {}
        for row in data.df.to_dict("records"):
            rows.setdefault(int(row["trial_index"]), []).append(row)
        weighed = weighs_noise(self._history.policy)
        entries = (problem.entry(trial, rows.get(i, []), weighed=weighed) for i, trial in experiment.trials.items())
        self._log = sorted((seen for seen in entries if seen is not None), key=lambda seen: seen.number)
        self._asked = max(experiment.trials, default=-1) + 1

    def _made(self, problem: AxProblem) -> History:
        inner = policy_of(self.policy, problem.box, {})
        where = Where.of(problem.rules, problem.box) if problem.rules else None
        return History(Feasible(inner, where, problem.limits), -1.0 if problem.minimise else 1.0)

    def get_next_candidate(self, pending_parameters: list[dict[str, Any]]) -> dict[str, Any]:
        """The next candidate, away from those that are pending."""
        problem, history = self._ready()
        pending = tuple(problem.point(params) for params in pending_parameters)
        self._asked += 1
        ask = Ask(self._asked, float(self._asked), pending, seed=self.seed)
        return problem.box.from_unit(history.choose(history.state(self._log), ask)) | dict(problem.fixed)

    def best_now(self) -> Recommendation:
        """The best setting now that is known, as of the last candidate; Ax's own best is that of all times alike."""
        _, history = self._ready()
        if all(seen.failed for seen in self._log):
            raise InvalidInput("no trial had a value when the last candidate was generated; complete some first")
        ask = Ask(self._asked + 1, float(self._asked + 1))
        return history.recommend(history.state(self._log), ask)[1]

    def _ready(self) -> tuple[AxProblem, History]:
        if self._problem is None or self._history is None:
            raise InvalidInput("the node has not seen an experiment yet; ask the client for a trial first")
        return self._problem, self._history


def parameter(theirs: Any) -> Float | Int | Choice:
    """A parameter of Ax as one of ours."""
    if isinstance(theirs, RangeParameter):
        kind = Int if theirs.parameter_type == ParameterType.INT else Float
        return kind(theirs.lower, theirs.upper, log=theirs.log_scale)
    return Choice(theirs.values)


def limit(constraint: Any) -> tuple[str, Limit]:
    """An outcome constraint as a limit on its metric."""
    (name,) = constraint.metric_names if hasattr(constraint, "metric_names") else (constraint.metric.name,)
    if constraint.relative:
        raise InvalidInput(f"the constraint on {name!r} is relative to a status quo; give an absolute bound")
    bound = float(constraint.bound)
    return name, Limit(high=bound) if constraint.op == ComparisonOp.LEQ else Limit(low=bound)


def rule(constraint: Any) -> str:
    """A linear constraint on parameters as a rule.

    >>> from types import SimpleNamespace
    >>> rule(SimpleNamespace(constraint_dict={"x": 1.0, "y": -2.0}, bound=3.0))
    '1.0 * x + -2.0 * y <= 3.0'
    """
    terms = " + ".join(f"{float(weight)!r} * {name}" for name, weight in constraint.constraint_dict.items())
    return f"{terms} <= {float(constraint.bound)!r}"
