"""Where policies compute: threads of their own, or with `workers` processes; one call at a time for each study.

Nothing else waits for them: reads and tells have other threads. Python runs one thread at a time in each process, and a
policy such as `auto` computes for up to a tenth of a second, mostly in Python. In processes it takes no time from the
event loop. A study always goes to the same process, which keeps it open with its state.
"""

from __future__ import annotations

import asyncio
import math
import multiprocessing
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar
from zlib import crc32

from driftwise.concurrency.deadline import Deadline, within
from driftwise.errors import StoreError
from driftwise.service.open_studies import OpenStudies
from driftwise.service.problems import Refused
from driftwise.service.settings import ServiceSettings
from driftwise.study import Study

Result = TypeVar("Result")

WAITING, ALL_WAITING = 16, 128  # calls that wait for one study, and for all

_kept: OpenStudies | None = None  # of a worker


def _begin(store: str, most: int) -> None:
    global _kept
    _kept = OpenStudies(store, most)


def _work(name: str, work: Callable[[Study], Any], seconds: float) -> Any:
    assert _kept is not None
    with within(Deadline(seconds)):
        return _kept.run(name, work)


def _forget(name: str) -> None:
    assert _kept is not None
    _kept.forget(name)


class Worker:
    """A process with open studies of its own, which starts when it is first needed. One that dies is replaced."""

    def __init__(self, settings: ServiceSettings) -> None:
        self._given = settings.store, settings.studies
        self._pool = self._made()

    def _made(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # a fork would copy threads and connections
        return ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=self._given)

    async def run(self, name: str, work: Callable[[Study], Result], seconds: float = math.inf) -> Result:
        """What `work` returns for the study of this name."""
        pool = self._pool
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, _work, name, work, seconds)
        except BrokenProcessPool as error:
            if self._pool is pool:
                pool.shutdown(wait=False)
                self._pool = self._made()
            raise StoreError("the process of the study ended before its answer; try again") from error

    async def forget(self, name: str) -> None:
        await asyncio.get_running_loop().run_in_executor(self._pool, _forget, name)

    async def stop(self) -> None:
        await asyncio.to_thread(partial(self._pool.shutdown, cancel_futures=True))


class Turns:
    """One call at a time for each name, and short queues. What nobody waits for is forgotten."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[asyncio.Lock, int]] = {}

    async def take(self, name: str) -> None:
        """Wait for the turn, or be refused where many wait already."""
        lock, users = self._locks.get(name, (asyncio.Lock(), 0))
        if users > WAITING or sum(users for _, users in self._locks.values()) > ALL_WAITING:
            raise Refused(429, f"too many calls wait for study {name!r:.80}; try again later", Retry_After="5")
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
        lock, users = self._locks.pop(name)
        if users > 1:
            self._locks[name] = (lock, users - 1)

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        await self.take(name)
        try:
            yield
        finally:
            self.give(name)


class Choosing:
    """Calls that need a policy."""

    def __init__(self, settings: ServiceSettings, kept: OpenStudies) -> None:
        self.turns = Turns()
        self._settings, self._kept = settings, kept
        self._threads = ThreadPoolExecutor(settings.threads, thread_name_prefix="policy")
        self._workers = [Worker(settings) for _ in range(settings.workers)]

    async def call(self, name: str, work: Callable[[Study], Result], done: Callable[[], object]) -> Result:
        """What `work` returns for the study of this name. `done` is called when it was computed, also if in vain."""
        left = threading.Event()
        try:
            async with asyncio.timeout(self._settings.seconds):  # also of waiting: what nobody waits for does not begin
                await self.turns.take(name)
                job = asyncio.ensure_future(self._run(name, work, left))
                job.add_done_callback(partial(self._finished, name, done))
                return await asyncio.shield(job)  # a choice keeps its turn to its end
        finally:
            left.set()

    def _finished(self, name: str, done: Callable[[], object], job: asyncio.Future[Any]) -> None:
        self.turns.give(name)
        done()
        if not job.cancelled():
            job.exception()  # perhaps nobody waits for it any more

    async def _run(self, name: str, work: Callable[[Study], Result], left: threading.Event) -> Result:
        seconds = self._settings.seconds
        if self._workers:
            return await self._worker_of(name).run(name, work, seconds)
        deadline, loop = Deadline(seconds, left.is_set), asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._here, name, work, deadline)

    def _worker_of(self, name: str) -> Worker:
        return self._workers[crc32(name.encode()) % len(self._workers)]

    def _here(self, name: str, work: Callable[[Study], Result], deadline: Deadline) -> Result:
        if deadline.is_left():
            raise TimeoutError
        with within(deadline):
            return self._kept.run(name, work)

    async def forget(self, name: str) -> None:
        """The study is gone, or is another one."""
        self._kept.forget(name)
        if self._workers:
            await self._worker_of(name).forget(name)

    async def stop(self) -> None:
        await asyncio.to_thread(partial(self._threads.shutdown, cancel_futures=True))
        for each in self._workers:
            await each.stop()
