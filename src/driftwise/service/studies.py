"""The studies of a store by name. Work on them never runs on the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from driftwise.errors import ConflictError
from driftwise.log import NewEntry, open_store
from driftwise.records import Params, Receipt
from driftwise.service.database import Database
from driftwise.service.events import Events, StudyEvent
from driftwise.service.groups import GroupedCall, Lane, observe_entry, tell_entry
from driftwise.service.open_studies import OpenStudies, opened
from driftwise.service.problems import Refused
from driftwise.service.settings import ServiceSettings
from driftwise.service.workers import Workers
from driftwise.study import Study

Result = TypeVar("Result")
Work = Callable[[Study], Result]  # picklable, because it may run in another process: operator.methodcaller, a partial


WAITING = 16  # calls that wait for one study


class Turns:
    """One call at a time for each name, and a short queue. What nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def take(self, name: str) -> None:
        """Wait for the turn, or be refused where many wait already."""
        lock, users = self._locks.get(name, (asyncio.Lock(), 0))
        if users > WAITING:
            raise Refused(429, f"{WAITING} calls wait for study {name!r:.80}; try again later", Retry_After="5")
        self._locks[name] = (lock, users + 1)
        try:
            await lock.acquire()
        except BaseException:
            self._left(name)
            raise

    def give(self, name: str) -> None:
        self._locks[name][0].release()
        self._left(name)

    def _left(self, name: str) -> None:
        lock, users = self._locks[name]
        if users == 1:
            del self._locks[name]
        else:
            self._locks[name] = (lock, users - 1)

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        await self.take(name)
        try:
            yield
        finally:
            self.give(name)


class Studies:
    """The studies of the store that `settings` names. Use it as `async with`, on one event loop."""

    def __init__(self, settings: ServiceSettings, database: Database) -> None:
        self.settings = settings
        self.store = open_store(settings.store)
        self._kept = OpenStudies(settings.store, settings.studies)
        self._turns = Turns()
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="study")
        self._events = Events(settings, database)
        self._lanes: list[Lane] = []
        self._workers = Workers(settings.workers, settings.store, settings.studies) if settings.workers else None

    async def __aenter__(self) -> Studies:
        await self._events.start()
        loop = asyncio.get_running_loop()
        slow = Lane(self.store, self._kept, loop)
        # SQLite has one writer, which locks everything
        self._lanes = [Lane(self.store, self._kept, loop, slow), slow] if self.settings.is_postgres else [slow]
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._events.stop()
        for lane in self._lanes:
            await asyncio.to_thread(lane.stop)
        if self._workers is not None:
            await asyncio.to_thread(self._workers.stop)
        await asyncio.to_thread(self._threads.shutdown)
        self.store.close()

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, name: str, work: Work[Result]) -> Result:
        """What `work` returns for the study of this name: one call at a time per study, other studies side by side.

        It is for whatever needs the policy. `work` must be picklable, as `methodcaller("ask", key="a")` is.
        """
        async with asyncio.timeout(self.settings.seconds):  # also of waiting: what nobody waits for does not begin
            await self._turns.take(name)
            job = asyncio.ensure_future(self._computed(name, work))
            job.add_done_callback(lambda done: self._finished(name, done))
            return await asyncio.shield(job)  # a choice that takes too long cannot be stopped, and keeps its turn

    async def _computed(self, name: str, work: Work[Result]) -> Result:
        if self._workers is None:
            return await self.run(lambda: self._kept.run(name, work))
        return await self._workers.run(name, work)

    def _finished(self, name: str, job: asyncio.Future[Any]) -> None:
        self._turns.give(name)
        self.nudge(name)
        if not job.cancelled():
            job.exception()  # perhaps nobody waits for it any more

    async def log(self, name: str, work: Work[Result]) -> Result:
        """The same for what reads or writes the log alone, as `tell`: it does not wait for the policy's choices."""
        return await self._now(name, work)

    async def tell(self, name: str, suggestion: str, **given: Any) -> Receipt:
        """What `Study.tell` returns. Calls that come together are one transaction."""
        return await self._store(name, lambda study: tell_entry(study, suggestion, **given))

    async def observe(self, name: str, params: Params, **given: Any) -> Receipt:
        """What `Study.observe` returns, likewise."""
        return await self._store(name, lambda study: observe_entry(study, params, **given))

    async def _store(self, name: str, work: Work[NewEntry]) -> Receipt:
        answer: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._lanes[0].put(GroupedCall(name, work, answer))
        return await self._timely(name, answer)

    async def _now(self, name: str, work: Work[Result]) -> Result:
        return await self._timely(name, self.run(lambda: self._kept.run(name, work)))

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
        async with self._turns.of(name):
            await self.run(lambda: opened(name, self.settings.store).rename(new))
            await self._gone(name)
            self.nudge(new)

    async def delete(self, name: str) -> None:
        async with self._turns.of(name):
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
        self._kept.forget(name)
        if self._workers is not None:
            await self._workers.forget(name)
        self.nudge(name)

    # --- what changed -------------------------------------------------------------------------------------------

    def nudge(self, name: str) -> None:
        """Say that a study may have changed: whoever follows its events is told, if it has."""
        self._events.nudge(name)

    def finish(self) -> None:
        """End all streams of events, so that the service can stop."""
        self._events.finish()

    def events(self, name: str | None = None) -> AsyncIterator[StudyEvent]:
        """The changes of one study or of all, from now on, made by this process or by another."""
        return self._events.follow(name)
