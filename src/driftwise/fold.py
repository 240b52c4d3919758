"""A study's state, kept between asks: the fold over its log, advanced by what is new, refolded where it came late."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from driftwise.policies import AnyPolicy
from driftwise.records import Observation
from driftwise.store import View

KEPT = 8  # states kept for rewards that come a little late
KEPT_WHOLE = 2  # of policies that remember everything, whose states are large


class Folded(NamedTuple):
    """The state after every observation up to `number`."""

    number: int
    state: Any


@dataclass(eq=False)
class Fold:
    """The cache of one process. It never changes what the state is, only how soon it is there.

    The state is always that of folding the whole log in the order of its numbers, to the last bit: folding the last
    `policy.memory` observations gives the same, and every state kept is exact.
    """

    policy: AnyPolicy
    sign: float  # −1 where rewards are minimised
    kept: deque[Folded] = field(default_factory=deque)
    told: int = -1  # how many of the log's observations are in, by arrival; −1: nothing was read yet

    def state(self, view: View) -> Any:
        """The state after everything that `view` sees."""
        told = view.counts.told
        if told != self.told:
            self._catch_up(view)
            self.told = told
        return self.kept[-1].state

    def _catch_up(self, view: View) -> None:
        memory = self.policy.memory
        missed = view.counts.told - self.told
        if self.told < 0 or (memory is not None and missed >= memory):
            return self._refold(view)
        new = sorted(view.arrived(self.told), key=lambda seen: seen.number)
        if new[0].number > self.kept[-1].number:
            return self._advance(new)
        if memory is not None:
            start = view.start_of_tail(memory)
            new = [seen for seen in new if seen.number >= start]  # the others are too old to change anything
        if new:
            self._go_back(view, new[0].number)
        return None

    def _go_back(self, view: View, number: int) -> None:
        """Fold again from the newest state that is older than `number`."""
        while self.kept and self.kept[-1].number > number:
            self.kept.pop()
        if self.kept:
            self._advance(view.tail(above=self.kept[-1].number))
        else:
            self._refold(view)

    def _refold(self, view: View) -> None:
        memory = self.policy.memory
        # KEPT more than it takes, so that each of the states kept was folded from enough
        log = view.tail(None if memory is None else memory + KEPT)
        self.kept = deque([Folded(0, self.policy.start())], maxlen=KEPT_WHOLE if memory is None else KEPT)
        self._advance(log)

    def _advance(self, log: list[Observation]) -> None:
        for seen in log:
            state = self.policy.update(self.kept[-1].state, signed(seen, self.sign))
            self.kept.append(Folded(seen.number, state))


def signed(seen: Observation, sign: float) -> Observation:
    """As policies see it, who maximise."""
    return seen if sign > 0 else replace(seen, y=-seen.y)
