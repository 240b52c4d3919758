"""What pages show, computed beside the studies that are asked: an ask never waits for a page."""

from __future__ import annotations

import asyncio
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from driftwise.service.open_studies import OpenStudies, log_of
from driftwise.service.settings import ServiceSettings
from driftwise.study import Study

MOST = 500  # documents that are kept; the largest have some ten thousand bytes

Document = dict[str, Any]


class Pages:
    """Documents of studies, each computed once for all pages until its study changes.

    They come from open studies of their own, whose states the policies of asks never touch. One thread computes all of
    them: more would not be faster, because Python runs one at a time, and would take more from everybody else.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._studies = OpenStudies(settings.store, settings.studies)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="pages")
        self._seconds = settings.seconds
        self._kept: OrderedDict[Hashable, Document] = OrderedDict()

    async def start(self) -> None:
        """The thread starts when it is first needed."""

    async def stop(self) -> None:
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def document(self, name: str, view: Callable[..., Document], **given: Any) -> Document:
        """What `view` makes of the study of this name."""

        def work(study: Study) -> Document:
            about = (log_of(study).study, study.name, study.describe().counts)
            key = (*about, view.__qualname__, json.dumps(given, sort_keys=True))
            found = self._kept.pop(key, None)
            self._kept[key] = view(study, **given) if found is None else found
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
            return self._kept[key]

        async with asyncio.timeout(self._seconds):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._studies.run, name, work)
