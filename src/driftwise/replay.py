"""The state of a study, cached between calls.

The state is the fold of the policy over the log. New observations advance it; late ones make it go back and fold again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from driftwise.policies import AnyPolicy
from driftwise.records import Observation, signed
from driftwise.store import View

KEPT = 8  # states cached for rewards that come a little late
KEPT_WHOLE = 2  # of policies that remember everything, whose states are large


class Folded(NamedTuple):
    """The state after every observation up to `number`."""

    number: int
    state: Any


@dataclass(frozen=True)
class Cache:
    """The last few states of a log. The number of observations and their head identify the log."""

    told: int
    head: int
    kept: tuple[Folded, ...]


@dataclass(frozen=True)
class Missing:
    """What a cache lacks: the states to continue from, and the observations to fold into the last of them."""

    told: int
    head: int
    known: tuple[Folded, ...]
    log: list[Observation]


@dataclass(eq=False)
class Fold:
    """The cache of one process. It affects how fast the state is available, never what it is.

    The state is always that of folding the whole log in the order of its numbers, to the last bit. Folding the last
    `policy.memory` observations gives the same state, and every cached state is exact. Missing observations are read in
    a transaction and folded after it. The cache is replaced as a whole, so that an interrupt cannot leave half of it.
    """

    policy: AnyPolicy
    sign: float  # −1 if rewards are minimised
    cache: Cache | None = None

    def missing(self, view: View) -> Missing:
        """What has to be folded to get the state after everything that `view` sees."""
        known, log = self._missing(view, self.cache)
        return Missing(view.counts.told, view.head, known, log)

    def _missing(self, view: View, cache: Cache | None) -> tuple[tuple[Folded, ...], list[Observation]]:
        memory = self.policy.memory
        if cache is None or (memory is not None and view.counts.told - cache.told >= memory):
            return self._everything(view)
        if cache.told and not cache.head:  # of the old format, which has no heads
            return self._everything(view)
        new = sorted(view.arrived(cache.told, cache.head), key=lambda seen: seen.number)
        if not new or new[0].number > cache.kept[-1].number:
            return cache.kept, new
        if memory is not None:
            start = view.start_of_tail(memory)
            new = [seen for seen in new if seen.number >= start]  # the others are too old to change anything
        if not new:
            return cache.kept, []
        known = tuple(folded for folded in cache.kept if folded.number < new[0].number)
        return (known, view.tail(above=known[-1].number)) if known else self._everything(view)

    def _everything(self, view: View) -> tuple[tuple[Folded, ...], list[Observation]]:
        memory = self.policy.memory
        # KEPT more than needed, so that each cached state was folded from enough observations
        return (Folded(0, self.policy.start()),), view.tail(None if memory is None else memory + KEPT)

    def state(self, missing: Missing) -> Any:
        """The state after `missing` was folded in."""
        kept = deque(missing.known, maxlen=KEPT_WHOLE if self.policy.memory is None else KEPT)
        for seen in missing.log:
            kept.append(Folded(seen.number, self.policy.update(kept[-1].state, signed(seen, self.sign))))
        self.cache = Cache(missing.told, missing.head, tuple(kept))
        return kept[-1].state
