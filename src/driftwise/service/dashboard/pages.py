"""What pages show, computed once for everybody and beside the studies that are asked: an ask never waits for a page."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from cachetools import LRUCache

from driftwise.log import Counts
from driftwise.service.choosing import Worker
from driftwise.service.open_studies import OpenStudies
from driftwise.service.settings import ServiceSettings
from driftwise.study import Study

MOST = 500  # documents that are kept; the largest have some ten thousand bytes

Document = dict[str, Any]
Result = TypeVar("Result")


class Pages:
    """Documents of studies, each computed once for all pages until its study changes.

    One thread computes them. What takes seconds has a process of its own: in a thread it would hold up the tells,
    because Python runs one thread at a time. Whoever waits for a document that is being computed gets that one, and one
    that nobody waits for any more is not begun.
    """

    def __init__(self, settings: ServiceSettings, studies: OpenStudies) -> None:
        self._settings, self._studies = settings, studies
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pages")
        self._process = Worker(settings)
        self._kept: LRUCache[Hashable, Document] = LRUCache(MOST)
        self._jobs: dict[Hashable, tuple[asyncio.Future[Document], int]] = {}  # with how many wait for each

    async def start(self) -> None:
        """The thread and the process start when they are first needed."""

    async def stop(self) -> None:
        await asyncio.to_thread(partial(self._thread.shutdown, cancel_futures=True))
        await self._process.stop()

    async def document(
        self, name: str, view: Callable[..., Document], *, takes_long: bool = False, **given: Any
    ) -> Document:
        """What `view` makes of the study of this name."""
        async with asyncio.timeout(self._settings.seconds):
            about, work = await self._in_thread(name, _state), partial(view, **given)
            key = (about, view.__qualname__, json.dumps(given, sort_keys=True))
            if key in self._kept:
                return self._kept[key]
            if key not in self._jobs:
                run = self._process.run if takes_long else self._in_thread
                self._jobs[key] = asyncio.ensure_future(run(name, work)), 0
            return await self._found(key)

    async def _in_thread(self, name: str, work: Callable[[Study], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._studies.run, name, work)

    async def _found(self, key: Hashable) -> Document:
        job, waiting = self._jobs[key]
        self._jobs[key] = job, waiting + 1
        try:
            found = self._kept[key] = await asyncio.shield(job)
        finally:
            job, waiting = self._jobs.pop(key)
            if waiting > 1:
                self._jobs[key] = job, waiting - 1
            else:
                job.cancel()
        return found


def _state(study: Study) -> tuple[int, str, Counts]:
    """What a document depends on."""
    return study.number, study.name, study.describe().counts
