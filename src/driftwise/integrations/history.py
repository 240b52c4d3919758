"""The state of a policy after a log that somebody else keeps, and hands over as a whole each time."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from driftwise.concurrency.threads import one_thread
from driftwise.feasible import Feasible, FeasibleState
from driftwise.policies import decision
from driftwise.records import Ask, Observation, Point, Recommendation, signed
from driftwise.replay import KEPT, KEPT_WHOLE, Folded
from driftwise.study import answers

T = TypeVar("T")


@dataclass(eq=False)
class History:
    """A policy, and the last few of its states, each with the log up to it.

    The state is always that of folding the whole log in the order of its numbers. What was folded before is folded
    again only from the first observation on that is not as it was. The cache is replaced as a whole, so that threads
    may share it: they may do the same work twice, and never see half of it.
    """

    policy: Feasible
    sign: float = 1.0  # −1 if rewards are minimised
    cache: tuple[Sequence[Observation], tuple[Folded, ...]] = field(default=((), ()), repr=False)

    @one_thread
    def state(self, log: Sequence[Observation]) -> FeasibleState:
        """The state after `log`, which is in the order of its numbers."""
        before, known = self.cache
        same = _alike(before, log)
        last = log[same - 1].number if same else 0
        kept = deque(
            (folded for folded in known if 0 < folded.number <= last),
            maxlen=KEPT_WHOLE if self.policy.memory is None else KEPT,
        )
        todo = self._todo(log, kept)
        if not kept:
            kept.append(Folded(0, self.policy.start()))
        for seen in todo:
            kept.append(Folded(seen.number, self.policy.update(kept[-1].state, signed(seen, self.sign))))
        self.cache = (log, tuple(kept))
        state: FeasibleState = kept[-1].state
        return state

    def _todo(self, log: Sequence[Observation], kept: Sequence[Folded]) -> Sequence[Observation]:
        """What has to be folded into the last state that is kept, or from the start as far as the policy remembers."""
        if kept:
            return [seen for seen in log if seen.number > kept[-1].number]
        if self.policy.memory is None:
            return log
        rewards = [i for i, seen in enumerate(log) if not seen.failed]
        needed = self.policy.memory + KEPT  # each state that is kept was folded from enough
        return log[rewards[-needed] :] if len(rewards) > needed else log

    @one_thread
    def choose(self, state: FeasibleState, ask: Ask) -> Point:
        """What the policy chooses."""
        return tuple(float(v) for v in decision(self.policy, state, ask).x)

    @one_thread
    def recommend(self, state: FeasibleState, ask: Ask) -> tuple[Point, Recommendation]:
        """The best setting now that is known, as a point and as a study would say it, in the rewards' own units."""
        inner, space = self.policy.inner, self.policy.space
        belief = inner.belief(state.reward, ask)
        may = self.policy.recommendable(state, ask)
        x = answers.cautious(space, belief, may.ask)
        mean, std = answers.in_users_units(belief, x[None, :], self.sign)
        recent: Any = getattr(inner, "just_changed", None)
        known = answers.is_known(space, belief, x) and not answers.is_limited(belief, x, may.doubted)
        sure = known and not (recent is not None and recent(state.reward, ask))
        point = tuple(float(v) for v in x)
        return point, Recommendation(space.from_unit(point), float(mean[0]), float(std[0]), sure)


def _alike(before: Sequence[Observation], now: Sequence[Observation]) -> int:
    """How many observations both logs begin with."""
    pairs = enumerate(zip(before, now, strict=False))
    return next((i for i, (a, b) in pairs if a is not b and a != b), min(len(before), len(now)))


class Newest:
    """A cache of what was put last: `most` entries."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._entries: OrderedDict[Any, Any] = OrderedDict()

    def get(self, key: Any) -> Any:
        """The entry; None if there is none."""
        return self._entries.get(key)

    def put(self, key: Any, value: T) -> T:
        """Keep `value`, and return it."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        while len(self._entries) > self.most:
            self._entries.popitem(last=False)
        return value
