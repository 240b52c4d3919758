"""feasible: a policy that chooses where settings probably work and limits probably hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from driftwise import checks
from driftwise.errors import InvalidInput
from driftwise.feasible.failures import ENTRIES, Failures
from driftwise.feasible.gate import (
    ASKED,
    CAUTIOUS,
    RECENT,
    Gate,
    Levels,
    MeasuredLimit,
    Only,
    Recommendable,
    likeliest,
    passing,
    settings,
)
from driftwise.feasible.limits import Limit, as_limits, kept_back, probability
from driftwise.gp.belief import Belief
from driftwise.policies.base import (
    AnyPolicy,
    Around,
    Decision,
    a_policy,
    check_restrictable,
    decision,
    replay,
    restrictable,
)
from driftwise.records import Array, Ask, Observation, Point
from driftwise.spaces import Space, all_of
from driftwise.spaces.restricted import may, with_fixed


@dataclass(frozen=True, eq=False)
class Track:
    """The state of a policy after the values of one measure, of the entries since the oldest reward in memory.

    It is always that of folding `recent`, to the last bit. While these are as many as the policy remembers, its state
    moves on from one to the next. If they are fewer, because not every entry has the measure, the ones that drop out
    would be missed, and the state is folded from them when it is needed.
    """

    policy: AnyPolicy
    recent: tuple[Observation, ...] = ()
    folded: Any = None  # None: not yet

    @cached_property
    def state(self) -> Any:
        return replay(self.policy, self.recent) if self.folded is None else self.folded

    def after(self, new: Observation | None, since: int) -> Track:
        """The track after the next entry, of which `new` is what it can use, when numbers below `since` drop out."""
        if (memory := self.policy.memory) is None:
            return self if new is None else replace(self, folded=self.policy.update(self.state, new))
        old = next((i for i, seen in enumerate(self.recent) if seen.number >= since), len(self.recent))
        recent = self.recent[old:] if new is None else (*self.recent[old:], new)
        if len(recent) < memory and (old or self.folded is None):
            return Track(self.policy, recent)
        return Track(self.policy, recent, self.state if new is None else self.policy.update(self.state, new))


@dataclass(frozen=True, eq=False)
class FeasibleState:
    """The last entries of the log, the state of the user's policy, and a track for the measure of each limit."""

    space: Space
    entries: tuple[Observation, ...]  # those that say where settings fail
    reward: Any  # the state of the user's policy
    measures: tuple[Track, ...] = ()
    numbers: tuple[int, ...] = ()  # of the rewards in memory; known only if there are limits

    @cached_property
    def failures(self) -> Failures | None:
        """Where settings fail; None if all that count worked."""
        return Failures.of(self.entries, self.space) if any(seen.failed for seen in self.entries) else None


@dataclass(frozen=True)
class Feasible(Around):
    """The choice of `inner` among the settings that probably work, at which the limits probably hold.

    Its memory is that of `inner`, counted in rewards: the failures between them are folded, too.

    `where` are the constraints that are known. A failed observation never reaches `inner`; it counts for where settings
    fail (`failures`). Each limit has a copy of `inner`, which learns its measure as `inner` learns the reward. With
    `safe`, every limit must hold with probability 1 − delta/(number of limits), and the first asks are for `begin`. If
    nothing passes, the choice is the setting that passes with the largest probability; with `safe`, of those that were
    tried. If nothing failed and there are no constraints, choices are those of `inner` to the last bit.
    """

    name: ClassVar[str] = "feasible"

    inner: AnyPolicy
    where: Any = None
    limits: tuple[tuple[str, Limit], ...] = ()
    safe: bool = False
    begin: Point | None = None  # known to be safe; coordinates that an ask fixes are replaced by its own
    delta: float = 0.05

    def __post_init__(self) -> None:
        at = checks.optional(lambda name, given: checks.point(name, given, self.inner.space.dim))
        self.settle(inner=a_policy, limits=as_limits, safe=checks.flag)
        self.settle(begin=at)
        if len({name for name, _ in self.limits}) < len(self.limits):
            raise InvalidInput(
                f"limits must be on different measures, got {', '.join(name for name, _ in self.limits)}"
            )
        if self.where is not None or self.limits:
            check_restrictable(self.inner, "limits" if self.limits else "where")
        if self.limits:
            self._check_belief()
        if self.safe and (self.begin is None or not self.limits):
            missing = "limits" if not self.limits else "a setting that is known to be safe"
            raise InvalidInput(f"safe=True needs limits and a setting known to be safe to start from, got no {missing}")

    def _check_belief(self) -> None:
        try:
            self.inner.belief(self.inner.start(), Ask(1, 1.0))
        except InvalidInput as error:
            raise InvalidInput(f"limits need a policy that has a belief, got {self.inner.name}: {error}") from None

    @cached_property
    def _obeys(self) -> bool:
        """Whether `inner` can be told where to choose; if not, failures are recorded, and it is left alone."""
        return restrictable(self.inner)

    def within(self) -> AnyPolicy:
        return self.inner

    # --- the fold -----------------------------------------------------------------------------------------------

    @cached_property
    def _counting(self) -> int:
        """How many of the last entries say where settings fail: no more than the rewards in memory."""
        return ENTRIES if self.memory is None else min(self.memory, ENTRIES)

    def start(self) -> FeasibleState:
        nothing = self.inner.start()
        return FeasibleState(self.space, (), nothing, (Track(self.inner, (), nothing),) * len(self.limits))

    def update(self, state: FeasibleState, seen: Observation) -> FeasibleState:
        entries = (*state.entries, seen)[-self._counting :] if self._counting else ()
        reward = state.reward if seen.failed else self.inner.update(state.reward, seen)
        if not self.limits:
            return FeasibleState(self.space, entries, reward)
        numbers = state.numbers if seen.failed else (*state.numbers, seen.number)
        if self.memory is not None:
            numbers = numbers[len(numbers) - self.memory :] if len(numbers) > self.memory else numbers
        since = numbers[0] if numbers and len(numbers) == self.memory else 0
        tracks = zip(self.limits, state.measures, strict=True)
        measures = tuple(track.after(measured(seen, name), since) for (name, _), track in tracks)
        return FeasibleState(self.space, entries, reward, measures, numbers if self.memory is not None else ())

    def remembers(self, number: int, *, newest: int, newer: int) -> bool:
        """Whether it may count for where settings fail, or for `inner`."""
        return newer < self._counting or self.inner.remembers(number, newest=newest, newer=newer)

    # --- what it chooses ------------------------------------------------------------------------------------------

    def decide(self, state: FeasibleState, ask: Ask) -> Decision:
        ask = self._known(ask)
        gate = self._gate(state, ask, ASKED)
        X = np.zeros((0, 0)) if gate is None else settings(self.space, ask, self._points(state))
        if gate is None or not len(X):
            return decision(self.inner, state.reward, ask)
        tried = self._tried(state, ask) if self.safe else X
        if self.safe and len(tried) and len(gate.measured) < len(self.limits):  # nothing is known yet of some of them
            return Decision(tried[0])
        if (through := passing(gate, X)) is not None:
            return decision(self.inner, state.reward, replace(ask, allowed=all_of(ask.allowed, through)))
        return Decision(likeliest(gate, tried if len(tried) else X))

    def _known(self, ask: Ask) -> Ask:
        """The ask with the constraints that are known."""
        return ask if self.where is None else replace(ask, allowed=all_of(ask.allowed, self.where))

    def _gate(self, state: FeasibleState, ask: Ask, levels: Levels) -> Gate | None:
        """What is restricted beyond that; None: nothing."""
        if not self._obeys:
            return None
        every = [self._measured(state, name, limit, ask, levels) for name, limit in self.limits]
        measured = tuple(known for known in every if len(known.belief))
        if state.failures is None and not measured and not self.safe:
            return None
        failed = sum(seen.failed for seen in state.entries[-RECENT:])
        return Gate(ask.number, state.failures, levels.working(failed), measured, levels.hiding)

    def _measured(self, state: FeasibleState, name: str, limit: Limit, ask: Ask, levels: Levels) -> MeasuredLimit:
        belief = self.measure(state, name, ask)
        if not self.safe:
            return MeasuredLimit(belief, limit, levels.holding)
        delta, recent = self.delta / len(self.limits), state.entries
        values = (seen.y for entry in recent if (seen := measured(entry, name)))
        known = belief.units == (0.0, 1.0)  # the scale of the measure; else it is estimated from what was measured
        freedom = math.inf if known else float(max(len(belief) - 1, 1))
        return MeasuredLimit(belief, limit, 1 - delta, kept_back(values, limit, delta), freedom)

    def _points(self, state: FeasibleState) -> tuple[Point, ...]:
        """The settings tried, after the one known to be safe."""
        tried = dict.fromkeys(seen.x for seen in reversed(state.entries) if not seen.failed)
        return (*(() if self.begin is None else (self.begin,)), *tried)

    def _tried(self, state: FeasibleState, ask: Ask) -> Array:
        """The same, those of them that may be chosen: (k, d)."""
        X = with_fixed(ask, np.array(self._points(state)))
        return X[may(ask, X)]

    # --- what it says, for a study ----------------------------------------------------------------------------------

    def belief(self, state: FeasibleState, ask: Ask) -> Belief:
        """What `inner` thinks of the reward."""
        return self.inner.belief(state.reward, ask)

    def measure(self, state: FeasibleState, name: str, ask: Ask) -> Belief:
        """What is known of the measure of the limit `name`."""
        for (known, _), track in zip(self.limits, state.measures, strict=True):
            if known == name:
                return self.inner.belief(track.state, ask)
        names = ", ".join(known for known, _ in self.limits) or "no limits"
        raise InvalidInput(f"a measure must be one that has a limit, got {checks.shown(name)}; there are {names}")

    def works(self, state: FeasibleState, X: Array, ask: Ask) -> Array:
        """The probability that each row of X works: (m,); 1 if nothing failed."""
        return np.ones(len(X)) if state.failures is None else state.failures.works(X, ask.number)

    def holds(self, state: FeasibleState, X: Array, ask: Ask) -> dict[str, Array]:
        """The probability that each limit holds at the rows of X, by the name of its measure: (m,) each."""
        beliefs = {name: self.measure(state, name, ask) for name, _ in self.limits}
        return {name: probability(beliefs[name], limit, X) for name, limit in self.limits}

    def recommendable(self, state: FeasibleState, ask: Ask) -> Recommendable:
        """What may be recommended: more probably feasible than what is asked for. Settings that worked may be in doubt.

        If nothing is, it allows the one setting that is feasible with the largest probability, and that is in doubt.
        """
        ask = self._known(ask)
        gate = self._gate(state, ask, CAUTIOUS)
        X = np.zeros((0, self.space.dim)) if gate is None else settings(self.space, ask, self._points(state))
        if gate is None or not len(X):
            return Recommendable(ask, X)
        if (through := passing(gate, X)) is None:
            one = likeliest(gate, X)[None]
            return Recommendable(replace(ask, allowed=all_of(ask.allowed, Only(one))), one)
        tried = self._tried(state, ask)
        return Recommendable(replace(ask, allowed=all_of(ask.allowed, through)), tried[gate.in_doubt(tried)])

    @property
    def diagnose(self) -> Callable[[FeasibleState, Ask], Any]:
        """How the world moves, if `inner` says so."""
        explain = self.inner.diagnose  # type: ignore[attr-defined]
        return lambda state, ask: explain(state.reward, ask)


def measured(seen: Observation, name: str) -> Observation | None:
    """The observation of a measure, with its value in the place of the reward; None if there is none."""
    values = dict(seen.measures)
    return Observation(seen.number, seen.at, seen.x, values[name], repeats=seen.repeats) if name in values else None
