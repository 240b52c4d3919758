"""What pages show, computed beside the studies that are asked: an ask never waits for a page."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from cachetools import LRUCache

from driftwise.service.open_studies import OpenStudies
from driftwise.service.settings import ServiceSettings
from driftwise.study import Study

MOST = 500  # documents that are kept; the largest have some ten thousand bytes

Document = dict[str, Any]


class Pages:
    """Documents of studies, each computed once for all pages until its study changes.

    One thread computes all of them, and another one those that take seconds: more would not be faster, as Python runs
    one at a time, and would take more from everybody else. Whoever waits for a document that is being computed gets
    that one; what nobody waits for any more is not begun.
    """

    def __init__(self, settings: ServiceSettings, studies: OpenStudies) -> None:
        self._studies = studies
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pages")
        self._slow = ThreadPoolExecutor(1, thread_name_prefix="slow-pages")
        self._seconds = settings.seconds
        self._kept: LRUCache[Hashable, Document] = LRUCache(MOST)
        self._lock = threading.Lock()

    async def start(self) -> None:
        """The thread starts when it is first needed."""

    async def stop(self) -> None:
        for each in (self._thread, self._slow):
            await asyncio.to_thread(each.shutdown, cancel_futures=True)

    async def document(
        self, name: str, view: Callable[..., Document], *, takes_long: bool = False, **given: Any
    ) -> Document:
        """What `view` makes of the study of this name."""

        def work(study: Study) -> Document:
            about = (study.number, study.name, study.describe().counts)
            key = (*about, view.__qualname__, json.dumps(given, sort_keys=True))
            with self._lock:
                found = self._kept.get(key)
            if found is None:
                found = view(study, **given)
                with self._lock:
                    self._kept[key] = found
            return found

        async with asyncio.timeout(self._seconds):
            loop = asyncio.get_running_loop()
            thread = self._slow if takes_long else self._thread
            return await loop.run_in_executor(thread, self._studies.run, name, work)
