"""The studies of a store by name. Work on them never runs on the event loop."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from zlib import crc32

from driftwise.errors import ConflictError, NotFoundError, StoreError
from driftwise.service.database import Database
from driftwise.service.events import Events, StudyEvent
from driftwise.service.groups import GroupedCall, Lane, number_of
from driftwise.service.settings import ServiceSettings
from driftwise.store import open_store
from driftwise.study import Study

Result = TypeVar("Result")
LANES = 3  # groups that are written at the same time, each of other studies
Work = Callable[[Study], Result]  # picklable, because it may run in another process: operator.methodcaller, a partial


@dataclass
class OpenStudies:
    """The studies that are open, the last used ones; safe for threads."""

    store: str
    most: int
    _open: OrderedDict[str, Study] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, name: str) -> Study:
        with self._lock:
            study = self._open.get(name)
            if study is not None:
                self._open.move_to_end(name)
                return study
        study = opened(name, self.store)
        with self._lock:
            study = self._open.setdefault(name, study)
            while len(self._open) > self.most:
                self._open.popitem(last=False)
        return study

    def forget(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)


def opened(name: str, store: str) -> Study:
    """The study of this name. The error names no other study: whoever asks may not know of them."""
    try:
        return Study.open(name, path=store)
    except NotFoundError:
        raise NotFoundError(f"there is no study {name!r:.80}; create it first, or give another name") from None


class Turns:
    """One call at a time for each name. What nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        lock, users = self._locks.get(name, (asyncio.Lock(), 0))
        self._locks[name] = (lock, users + 1)
        try:
            async with lock:
                yield
        finally:
            lock, users = self._locks[name]
            if users == 1:
                del self._locks[name]
            else:
                self._locks[name] = (lock, users - 1)


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

    async def __aenter__(self) -> Studies:
        await self._events.start()
        count = LANES if self.settings.is_postgres else 1  # SQLite has one writer
        self._lanes = [self._lane() for _ in range(count)]
        return self

    def _lane(self) -> Lane:
        kept = OpenStudies(self.settings.store, self.settings.studies)
        return Lane(self.store, kept.get, kept.forget, asyncio.get_running_loop())

    async def __aexit__(self, *_: object) -> None:
        await self._events.stop()
        for lane in self._lanes:
            await asyncio.to_thread(lane.stop)
        await asyncio.to_thread(self._threads.shutdown)
        self.store.close()

    async def run(self, work: Callable[[], Result]) -> Result:
        """What `work` returns, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def call(self, name: str, work: Work[Result]) -> Result:
        """What `work` returns for the study of this name: one call at a time per study, other studies side by side.

        It is for whatever needs the policy. `work` must be picklable, as `methodcaller("ask", key="a")` is.
        """
        async with self._turns.of(name):
            return await self._now(name, work)

    async def log(self, name: str, work: Work[Result]) -> Result:
        """The same for what reads or writes the log alone, as `tell`: it does not wait for the policy's choices."""
        return await self._now(name, work)

    async def write(self, name: str, work: Work[Result]) -> Result:
        """The same for what writes the log and needs no policy: together with other calls, in one transaction."""
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(self.settings.seconds):
                self._lanes[crc32(name.encode()) % len(self._lanes)].put(GroupedCall(name, work, answer))
                return await answer
        finally:
            self.nudge(name)

    async def _now(self, name: str, work: Work[Result]) -> Result:
        try:
            async with asyncio.timeout(self.settings.seconds):
                return await self.run(lambda: self._on_study(name, work))
        finally:
            self.nudge(name)

    def _on_study(self, name: str, work: Work[Result]) -> Result:
        study = self._kept.get(name)
        try:
            return work(study)
        except StoreError:
            self._kept.forget(name)  # another process may have renamed it
            fresh = self._kept.get(name)
            if number_of(fresh) == number_of(study):
                raise
            return work(fresh)

    async def names(self) -> list[str]:
        """The names of all studies, sorted."""
        return sorted(await self.run(self.store.names))

    async def create(self, make: Callable[[], Study]) -> tuple[str, bool]:
        """The name of the study that `make` makes, and whether it is new."""

        def work() -> tuple[str, bool]:
            before = set(self.store.names())
            study = make()
            return study.name, study.name not in before

        name, new = await self.run(work)
        self.nudge(name)
        return name, new

    async def rename(self, name: str, new: str) -> None:
        async with self._turns.of(name):
            await self.run(lambda: opened(name, self.settings.store).rename(new))
            self._gone(name)
            self.nudge(new)

    async def delete(self, name: str) -> None:
        async with self._turns.of(name):
            await self.run(lambda: opened(name, self.settings.store).delete())
            self._gone(name)

    async def copy(self, name: str, new: str) -> None:
        await self.run(lambda: opened(name, self.settings.store).copy(new))
        self.nudge(new)

    async def free(self, name: str) -> None:
        """Refuse a name that is taken."""
        if name in await self.names():
            raise ConflictError(f"there is a study {name!r:.80} already; use another name, or delete that one")

    def _gone(self, name: str) -> None:
        self._kept.forget(name)
        for lane in self._lanes:
            lane.forget(name)
        self.nudge(name)

    # --- what changed -------------------------------------------------------------------------------------------

    def nudge(self, name: str) -> None:
        """Say that a study may have changed: whoever follows its events is told, if it has."""
        self._events.nudge(name)

    def events(self, name: str | None = None) -> AsyncIterator[StudyEvent]:
        """The changes of one study or of all, from now on, made by this process or by another."""
        return self._events.follow(name)
