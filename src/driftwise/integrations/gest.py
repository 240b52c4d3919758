"""A generator of the gest-api standard, for Xopt, libEnsemble and optimas: `DriftGenerator`.

docs/integrations/gest.md says what it does and what it cannot do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from driftwise import checks
from driftwise.errors import InvalidInput, missing_extra
from driftwise.feasible import Feasible, Limit
from driftwise.integrations.history import History
from driftwise.records import Ask, Observation, Point, Recommendation, failure, time_of_next
from driftwise.spaces import Box, Choice, Float, Int
from driftwise.study.description import PATIENCE
from driftwise.study.given import policy_of
from driftwise.study.inputs import LARGEST

try:
    from gest_api import vocs as gest
    from gest_api.generator import Generator as GestGenerator
except ImportError:
    raise missing_extra("xopt", "gest-api") from None


class DriftGenerator(GestGenerator):
    """Suggests points by a policy of driftwise, given by its name and its `options`.

    `at` is the name of the result that has the time of an evaluation; by default time is counted in evaluations. A
    point that was suggested counts as pending until it is ingested, and at most while the next 32 are suggested.
    """

    returns_id = False

    def __init__(
        self, vocs: Any, policy: str = "auto", *, seed: int = 0, at: str | None = None, **options: Any
    ) -> None:
        super().__init__(vocs)
        self.vocs, self.at, self.seed = vocs, at, checks.seed("seed", seed)
        ((self.objective, kind),) = vocs.objectives.items()
        limits = tuple((name, _limit(each)) for name, each in vocs.constraints.items())
        self._box = Box(tuple((name, _parameter(name, each)) for name, each in vocs.variables.items()))
        inner = policy_of((policy, options), self._box, {})
        self._history = History(Feasible(inner, limits=limits), _sign(kind))
        self._log: list[Observation] = []
        self._pending: list[Point] = []
        self._made = 0  # suggestions and results that nobody asked for

    def _validate_vocs(self, vocs: Any) -> None:
        if len(vocs.objectives) != 1:
            raise InvalidInput(f"DriftGenerator is for one objective, got {len(vocs.objectives)}")
        for name, each in vocs.variables.items():
            if isinstance(each, gest.ContextualVariable):
                raise InvalidInput(f"the variable {name!r} is contextual, for which suggest has no place; use a Study")

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """The next points, one if no number is given; they spread out."""
        state = self._history.state(tuple(self._log))
        constants = {name: each.value for name, each in self.vocs.constants.items()}
        points = []
        for _ in range(1 if num_points is None else checks.count("num_points", num_points)):
            x = self._history.choose(state, self._next(tuple(self._pending)))
            self._made += 1
            self._pending = [*self._pending, x][-PATIENCE:]
            points.append(self._box.from_unit(x) | constants)
        return points

    def ingest(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Take in results. One whose objective is missing or not a number is a failure of the setting."""
        for result in results:
            x = self._box.to_unit({name: _plain(result[name]) for name in self._box.names})
            if x in self._pending:
                self._pending.remove(x)
            else:
                self._made += 1
            number = len(self._log) + 1
            at = float(number) if self.at is None else checks.real(self.at, result[self.at])
            self._log.append(self._entry(number, at, x, result))

    def _entry(self, number: int, at: float, x: Point, result: Mapping[str, Any]) -> Observation:
        values = ((name, _number(result.get(name))) for name, _ in self._history.policy.limits)
        measures = tuple(sorted((name, value) for name, value in values if value is not None))
        y = _number(result.get(self.objective))
        return failure(number, at, x, measures) if y is None else Observation(number, at, x, y, measures=measures)

    def _next(self, pending: tuple[Point, ...] = ()) -> Ask:
        number = self._made + 1
        at = time_of_next(number, self._log[-1] if self._log else None)
        return Ask(number, at, pending, seed=self.seed)

    def best_now(self) -> Recommendation:
        """The best setting now that is known, as `Study.recommend` says it."""
        if all(seen.failed for seen in self._log):
            raise InvalidInput("nothing was ingested yet that has a value; ingest some results first")
        return self._history.recommend(self._history.state(tuple(self._log)), self._next())[1]


def _parameter(name: str, variable: Any) -> Float | Int | Choice:
    if isinstance(variable, gest.DiscreteVariable):
        return Choice(sorted(variable.values, key=lambda value: (type(value).__name__, value)))
    low, high = variable.domain
    return Int(math.ceil(low), math.floor(high)) if variable.dtype in (int, "int") else Float(low, high)


def _limit(constraint: Any) -> Limit:
    if isinstance(constraint, gest.BoundsConstraint):
        return Limit(*constraint.range)
    low = isinstance(constraint, gest.GreaterThanConstraint)
    return Limit(low=constraint.value) if low else Limit(high=constraint.value)


def _sign(objective: Any) -> float:
    if isinstance(objective, gest.ExploreObjective):
        raise InvalidInput("DriftGenerator minimises or maximises, got an objective to explore")
    return 1.0 if isinstance(objective, gest.MaximizeObjective) else -1.0


def _number(value: Any) -> float | None:
    """A finite number, or None."""
    return float(value) if value is not None and abs(float(value)) <= LARGEST else None  # nor is nan


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
