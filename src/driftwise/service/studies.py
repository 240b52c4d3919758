"""The studies of a store by name. Work on them never runs on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from driftwise.errors import ConflictError
from driftwise.log import open_store
from driftwise.records import Params, Receipt
from driftwise.service.choosing import Choosing
from driftwise.service.database import Database
from driftwise.service.events import Events, StudyEvent
from driftwise.service.groups import Lane
from driftwise.service.open_studies import OpenStudies, opened
from driftwise.service.settings import ServiceSettings
from driftwise.study import Study

Result = TypeVar("Result")
Work = Callable[[Study], Result]  # picklable, because it may run in another process: operator.methodcaller, a partial


class Studies:
    """The studies of the store that `settings` names. Use it as `async with`, on one event loop."""

    def __init__(self, settings: ServiceSettings, database: Database) -> None:
        self.settings = settings
        self.store = open_store(settings.store)
        self.kept = OpenStudies(settings.store, settings.studies)
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="study")
        self._choosing = Choosing(settings, self.kept)
        self._events = Events(settings, database)
        slow = Lane(self.store, self.kept)
        # SQLite has one writer, which locks everything
        self._lanes = [Lane(self.store, self.kept, slow), slow] if settings.is_postgres else [slow]

    async def __aenter__(self) -> Studies:
        self._events.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.stop()
        await self._choosing.stop()
        for lane in self._lanes:
            await asyncio.to_thread(lane.stop)
        await asyncio.to_thread(self._threads.shutdown)
        self.store.close()

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, in a thread. It must not compute for long."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, name: str, work: Work[Result]) -> Result:
        """What `work` returns for the study of this name: one call at a time per study, other studies side by side.

        It is for whatever needs the policy. `work` must be picklable, as `methodcaller("ask", key="a")` is.
        """
        return await self._choosing.call(name, work, lambda: self.nudge(name))

    async def log(self, name: str, work: Work[Result]) -> Result:
        """The same for what reads or writes the log alone, as `correct`: it does not wait for the policy's choices."""
        return await self._timely(name, self.run(lambda: self.kept.run(name, work)))

    async def store_entry(self, name: str, of: str | Params, **given: Any) -> Receipt:
        """What `Study.tell` or `Study.observe` returns. Calls that come together are one transaction."""
        return await self._timely(name, self._lanes[0].store(name, of, given))

    async def _timely(self, name: str, answer: Awaitable[Result]) -> Result:
        try:
            async with asyncio.timeout(self.settings.seconds):
                return await answer
        finally:
            self.nudge(name)

    async def names(self) -> list[str]:
        """The names of all studies, sorted."""
        return sorted(await self.run(self.store.names))

    async def create(self, name: str, make: Callable[[], bool]) -> bool:
        """Make a study of this name; `make` says whether it is new."""
        new = await self.run(make)
        self.nudge(name)
        return new

    async def rename(self, name: str, new: str) -> None:
        async with self._choosing.turns.of(name):
            await self.run(lambda: opened(name, self.settings.store).rename(new))
            await self._gone(name)
            self.nudge(new)

    async def delete(self, name: str) -> None:
        async with self._choosing.turns.of(name):
            await self.run(lambda: opened(name, self.settings.store).delete())
            await self._gone(name)

    async def copy(self, name: str, new: str) -> None:
        await self.run(lambda: opened(name, self.settings.store).copy(new))
        self.nudge(new)

    async def free(self, name: str) -> None:
        """Refuse a name that is taken."""
        if name in await self.names():
            raise ConflictError(f"there is a study {name!r:.80} already; use another name, or delete that one")

    async def _gone(self, name: str) -> None:
        await self._choosing.forget(name)
        self.nudge(name)

    # --- what changed -------------------------------------------------------------------------------------------

    def nudge(self, name: str) -> None:
        """Say that a study may have changed: whoever follows its events is told, if it has."""
        self._events.nudge()

    def finish(self) -> None:
        """End all streams of events, so that the service can stop."""
        self._events.finish()

    def events(self, name: str | None = None, pause: float | None = None) -> AsyncIterator[StudyEvent | None]:
        """The changes of one study or of all, from now on, made by this process or by another."""
        return self._events.follow(name, pause)
