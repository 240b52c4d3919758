"""The studies that a process has open: those that were used last."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from cachetools import LRUCache

from driftwise.errors import NotFoundError, StoreError
from driftwise.log.study_log import Log
from driftwise.study import Study

Result = TypeVar("Result")


@dataclass
class OpenStudies:
    """At most so many studies of a store. Threads may share it."""

    store: str
    most: int
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._open: LRUCache[str, Study] = LRUCache(self.most)

    def get(self, name: str) -> Study:
        with self._lock:
            study = self._open.get(name)
        if study is None:
            study = opened(name, self.store)
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
            if log_of(fresh).study == log_of(study).study:
                raise
            return work(fresh)


def opened(name: str, store: str) -> Study:
    """The study of this name. The error names no other study: whoever asks may not know of them."""
    try:
        return Study.open(name, path=store)
    except NotFoundError:
        raise NotFoundError(f"there is no study {name!r:.80}; create it first, or give another name") from None


def log_of(study: Study) -> Log:
    """The log of a study that is in a database."""
    return study._log
