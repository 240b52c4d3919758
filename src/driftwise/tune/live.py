"""One setting of a system that runs: it is applied, and after a while its reward is measured.

The service and `driftwise tune --apply` do the same here. Every part may be repeated: after a crash a step goes on
where it was. What does not answer says nothing about the setting; it is waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

import httpx

from driftwise.errors import InvalidInput
from driftwise.records import Suggestion
from driftwise.tune.apply import NotApplied, apply
from driftwise.tune.live_plan import LivePlan
from driftwise.tune.prometheus import SourceAway, SourceRefused, averaged, value

AGAIN = 5.0  # seconds until something that did not work is tried again
NO_DATA = "there are no data for the query"

Result = TypeVar("Result")


class Desk(Protocol):
    """Whom a step asks and tells, and who writes down where it stands."""

    async def ask(self) -> Suggestion: ...  # the same one until it is told
    async def held_up(self, problem: str) -> None: ...  # until what comes next
    async def applied(self, at: float) -> None: ...
    async def tell(self, suggestion: Suggestion, reward: float | None, trouble: str) -> None: ...


@dataclass(frozen=True)
class System:
    """A system that runs, the study that tunes it, and the folder into which files are written, if any."""

    study: str
    plan: LivePlan
    folder: str | None = None

    async def step(self, client: httpx.AsyncClient, desk: Desk, applied: float | None = None) -> None:
        """Ask, apply, wait, measure and tell. `applied` is when this was done, if it was done before a crash."""
        suggestion = await _patiently(desk, desk.ask)
        setting = {"study": self.study, "suggestion": suggestion.id, "params": dict(suggestion.params)}
        if applied is None:
            try:
                await _patiently(desk, lambda: apply(client, self.plan, self.folder, setting))
            except NotApplied as refused:
                trouble = str(refused)
                await _patiently(desk, lambda: desk.tell(suggestion, None, trouble))
                return
            applied = time.time()
            await desk.applied(applied)
        end = applied + self.plan.seconds
        await asyncio.sleep(end - time.time())
        # the query is for the moment at which the average ends, so that it may be made later as well
        query = averaged(self.plan.query, self.plan.average_seconds)
        reward = await _patiently(desk, lambda: value(client, self.plan.prometheus, query, end))
        await _patiently(desk, lambda: desk.tell(suggestion, reward, NO_DATA if reward is None else ""))


async def _patiently(desk: Desk, work: Callable[[], Awaitable[Result]]) -> Result:
    """Until it works. A setting that is refused is an answer."""
    while True:
        try:
            return await work()
        except (NotApplied, SourceAway, SourceRefused, InvalidInput) as error:
            if isinstance(error, NotApplied) and error.refused:
                raise
            await desk.held_up(str(error).replace("\0", ""))
            await asyncio.sleep(AGAIN)
