"""The state of a study, cached between calls.

The state is the fold of the policy over the log as it holds now. New observations advance it; late ones and corrections
make it go back and fold again.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, NamedTuple

from driftwise.log import Mark, View
from driftwise.policies import AnyPolicy
from driftwise.records import Observation, signed

KEPT = 8  # states cached for rewards that come a little late
SLACK = 64  # entries
KEPT_WHOLE = 2  # of policies that remember everything, whose states are large


class Folded(NamedTuple):
    """The state after every observation up to `number`."""

    number: int
    state: Any


@dataclass(frozen=True)
class Cache:
    """The last few states of a log.

    Changes to observations up to number `ignored` were too old to matter, and are not in these states.
    """

    mark: Mark  # of the log
    kept: tuple[Folded, ...]
    ignored: int = 0


@dataclass(frozen=True)
class Missing:
    """What a cache lacks: the states to continue from, and the observations to fold into the last of them."""

    mark: Mark  # of the log
    known: tuple[Folded, ...]
    log: list[Observation]
    ignored: int = 0


@dataclass(eq=False)
class Fold:
    """The cache of one process. It affects how fast the state is available, never what it is.

    The state is always that of folding the whole log, as it holds now, in the order of its numbers, to the last bit.
    Folding the last `policy.memory` rewards gives the same state, and every cached state is exact. Missing observations
    are read in a transaction and folded after it. The cache is replaced as a whole, so that an interrupt cannot leave
    half of it.
    """

    policy: AnyPolicy
    sign: float  # −1 if rewards are minimised
    cache: Cache | None = None

    def missing(self, view: View) -> Missing:
        """What has to be folded to get the state after everything that `view` sees."""
        return self._everything(view) if self.cache is None else self._after(view, self.cache)

    def _after(self, view: View, cache: Cache) -> Missing:
        """What has to be folded into a state of the cache."""
        memory, known = self.policy.memory, cache.mark.seq
        # of each reward there are at most a suggestion and an observation: more entries are read only if there are
        # corrections, and then in vain
        if memory is not None and view.mark.seq - known > 2 * memory + SLACK:
            return self._everything(view)
        news = view.since(cache.mark)  # raises if the log is another one
        new = sorted(news.arrived, key=lambda seen: seen.number)
        if not news.corrected and (not new or new[0].number > cache.kept[-1].number):
            return Missing(view.mark, cache.kept, new, cache.ignored)
        return self._back(view, cache, {*news.corrected, *(seen.number for seen in new)})

    def _back(self, view: View, cache: Cache, changed: set[int]) -> Missing:
        """Go back to the newest state before the first of the numbers at which the log changed."""
        start = 0 if self.policy.memory is None else view.start_of_tail(self.policy.memory)
        ignored = max((cache.ignored, *(number for number in changed if number < start)))
        if start <= ignored and ignored:
            # A retraction moved the start back, to where changes were ignored that now matter.
            return self._everything(view)
        first = min((number for number in changed if number >= start), default=None)
        if first is None:  # all are too old to change anything
            return Missing(view.mark, cache.kept, [], ignored)
        known = tuple(folded for folded in cache.kept if folded.number < first)
        if not known:
            return self._everything(view)
        return Missing(view.mark, known, view.tail(above=known[-1].number), ignored)

    def _everything(self, view: View) -> Missing:
        memory = self.policy.memory
        # KEPT more than needed, so that each cached state was folded from enough observations
        log = view.tail(None if memory is None else memory + KEPT)
        return Missing(view.mark, (Folded(0, self.policy.start()),), log)

    def state(self, missing: Missing) -> Any:
        """The state after `missing` was folded in."""
        kept = deque(missing.known, maxlen=KEPT_WHOLE if self.policy.memory is None else KEPT)
        for seen in missing.log:
            kept.append(Folded(seen.number, self.policy.update(kept[-1].state, signed(seen, self.sign))))
        self.cache = Cache(missing.mark, tuple(kept), missing.ignored)
        return kept[-1].state
