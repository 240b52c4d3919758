"""The engine for every policy: each key has the state that its policy folds, as in a study of its own, bit for bit."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from functools import reduce
from typing import Any

import numpy as np

from driftwise.fleet.engine import Numbers, most_cautious
from driftwise.fleet.streams import Places, Rows, Streams
from driftwise.fleet.together import lesson, taught
from driftwise.gp.belief import Belief
from driftwise.policies import AnyPolicy, decision
from driftwise.records import Array, Ask, Observation, Point
from driftwise.spaces.mesh import block_of

STATES = 4096  # that are held in memory at most; the others are folded again when they are needed
NUMBERS = 1 << 21  # states × candidates that are held at most: a state has a row of numbers for each of its samples


class FoldingEngine:
    """One policy state a key, in Python: right for all policies, and as fast as a policy is."""

    name = "numpy"

    def __init__(self, policy: AnyPolicy, points: Array, streams: Streams, seed: int, *, states: int = STATES) -> None:
        self.policies, self.streams, self.seed = [policy], streams, seed
        self.most = min(states, max(NUMBERS // len(points), 1))
        self.points, self.block = points, block_of(policy.space)
        self._listed: list[Point] = [tuple(x) for x in points.tolist()]
        self._index = {x: i for i, x in reversed(list(enumerate(self._listed)))}
        self._states: OrderedDict[int, Any] = OrderedDict()

    def choose(self, rows: Rows, numbers: Numbers) -> Places:
        waits = self.streams.waits(rows)
        asks = zip(rows.tolist(), numbers.tolist(), waits.tolist(), strict=True)
        return np.array([self._choose(*each) for each in asks], np.int32)

    def _choose(self, row: int, number: int, waits: bool) -> int:
        pending = tuple(self._listed[i] for i in self.streams.awaited_by(row)) if waits else ()
        found = decision(self._policy(row), self._state(row), self._ask(number, pending))
        return self._index[tuple(found.x.tolist())]

    def observe(self, rows: Rows, numbers: Numbers, where: Places, y: Array) -> Array:
        seen = zip(rows.tolist(), numbers.tolist(), where.tolist(), y.tolist(), strict=True)
        return np.array([self._observe(*each) for each in seen])

    def _observe(self, row: int, number: int, where: int, y: float) -> float:
        state = self._state(row)
        policy = self._policy(row)
        surprise = self._surprise(policy.belief(state, self._ask(number)), where, y)
        self._keep(row, policy.update(state, self._observation(number, where, y)))
        return surprise

    def _surprise(self, belief: Belief, where: int, y: float) -> float:
        if not len(belief):
            return 0.0
        mean, std = (float(each[where]) for each in belief.predict(self.points))
        location, scale = belief.units
        return float(((y - location) / scale - mean) / np.sqrt(std**2 + belief.noise))

    def forget(self, row: int) -> None:
        self._states.pop(row, None)

    def predict(self, rows: Rows, numbers: Numbers) -> tuple[Array, Array]:
        """μ and σ at every candidate in the units of rewards, (r, n) each."""
        means, stds = np.empty((2, len(rows), len(self.points)))
        for i, (row, number) in enumerate(zip(rows.tolist(), numbers.tolist(), strict=True)):
            belief = self._policy(row).belief(self._state(row), self._ask(number))
            mean, std = belief.predict(self.points)
            location, scale = belief.units
            means[i], stds[i] = location + scale * mean, scale * std
        return means, stds

    def advise(self, rows: Rows, numbers: Numbers, caution: float) -> tuple[Places, Array, Array]:
        return most_cautious(*self.predict(rows, numbers), caution, self.block)

    # --- keys that learn from each other ------------------------------------------------------------------------

    def lesson(self, rows: Rows) -> dict[str, Any]:
        """What these keys, who were taught nothing, know of the next one."""
        return lesson(self.policies[0], [self._state(row) for row in rows.tolist()])

    def teach(self, said: dict[str, Any]) -> None:
        """New keys begin with this from now on."""
        self.policies.append(taught(self.policies[0], said))

    # --- states -----------------------------------------------------------------------------------------------------

    def _ask(self, number: int, pending: tuple[Point, ...] = ()) -> Ask:
        return Ask(number, float(number), pending, seed=self.seed)

    def _state(self, row: int) -> Any:
        if row in self._states:
            self._states.move_to_end(row)
            return self._states[row]
        policy = self._policy(row)
        return self._keep(row, reduce(policy.update, self._log(row), policy.start()))

    def _policy(self, row: int) -> AnyPolicy:
        return self.policies[self.streams.lesson[row]]

    def _log(self, row: int) -> Iterable[Observation]:
        return map(self._observation, *(each.tolist() for each in self.streams.contents(row)))

    def _observation(self, number: int, where: int, y: float) -> Observation:
        return Observation(number, float(number), self._listed[where], y)

    def _keep(self, row: int, state: Any) -> Any:
        self._states[row] = state
        if len(self._states) > self.most:
            self._states.popitem(last=False)
        return state
