"""Abrupt changes as a study reports them: found again from the log when it is opened, then followed as it grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from driftwise.auto.changes import REACH, SETTLED, NoticedChange, Watch
from driftwise.log import Mark, View
from driftwise.records import Observation, signed


@dataclass(frozen=True)
class Followed:
    """A log up to some point, and the changes noticed in it."""

    mark: Mark
    since: int  # observations up to this number were not judged
    watch: Watch


@dataclass(eq=False)
class Watching:
    """The changes of one process. What was followed is continued if the log has only grown at its end."""

    policy: Any  # the policy `auto`
    sign: float
    followed: Followed | None = None

    def read(self, view: View, since: int | None) -> tuple[Followed, Sequence[Observation]]:
        """What is known already, and the observations that have to be judged, too."""
        counts = view.counts
        first = counts.last - REACH if since is None else since
        known = self.followed
        if known is not None and known.since <= first:
            news = view.since(known.mark)
            new = sorted(news.arrived, key=lambda seen: seen.number)
            if not news.corrected and (not new or new[0].number > known.watch.last):
                return Followed(view.mark, known.since, known.watch), new
        # changes are judged until SETTLED observations after they were noticed: as many more are needed before `first`
        begin = max(min(first - SETTLED, counts.last), 0)
        memory = self.policy.memory
        needed = None if memory is None else memory + counts.last - begin
        return Followed(view.mark, begin, Watch.of(self.policy)), view.tail(needed)

    def changes(self, known: Followed, new: Sequence[Observation], since: int | None) -> list[NoticedChange]:
        """The changes after `new`, of those noticed after observation `since`."""
        watch = known.watch
        for seen in new:
            if not seen.failed:
                watch = watch.update(signed(seen, self.sign), judged=seen.number > known.since)
        self.followed = Followed(known.mark, known.since, watch)
        first = watch.last - REACH if since is None else since
        return [change for change in watch.changes if change.noticed > first]
