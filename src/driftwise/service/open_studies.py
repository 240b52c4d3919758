"""The studies that a process has open: those that were used last. Each is folded once, for asks and pages alike."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

from cachetools import LRUCache

from driftwise.errors import NotFoundError, StoreError
from driftwise.log import is_address
from driftwise.study import Study

Result = TypeVar("Result")


class OpenStudies:
    """At most so many studies of a store. Threads may share it."""

    def __init__(self, store: str, most: int) -> None:
        self._store, self._lock = store, threading.Lock()
        self._open: LRUCache[str, Study] = LRUCache(most)

    def get(self, name: str) -> Study:
        with self._lock:
            study = self._open.get(name)
        if study is None:
            study = opened(name, self._store)
            with self._lock:
                study = self._open.setdefault(name, study)
        return study

    def forget(self, name: str) -> None:
        with self._lock:
            self._open.pop(name, None)

    def run(self, name: str, work: Callable[[Study], Result]) -> Result:
        """What `work` returns for this study. If another one has its name by now, it is that one's."""
        study = self.get(name)
        try:
            return work(study)
        except StoreError:
            self.forget(name)  # another process may have renamed it
            fresh = self.get(name)
            if fresh.number == study.number:
                raise
            return work(fresh)


def opened(name: str, store: str) -> Study:
    """The study of this name. The error names no other study: whoever asks may not know of them."""
    try:
        return Study.open(name, path=store)
    except NotFoundError:
        if not is_address(store) and not os.path.exists(store):
            raise StoreError("the file of the studies is not there; put it back") from None
        raise NotFoundError(f"there is no study {name!r:.80}; create it first, or give another name") from None
