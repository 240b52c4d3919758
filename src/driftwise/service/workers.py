"""Processes in which policies choose, so that a slow policy takes no time from the event loop or from other studies.

A study always goes to the same process, which keeps it open with its state. Python runs one thread at a time in each
process; a policy such as `auto` computes for up to a tenth of a second, mostly in Python.
"""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, TypeVar
from zlib import crc32

from driftwise.errors import StoreError
from driftwise.service.open_studies import OpenStudies
from driftwise.study import Study

Result = TypeVar("Result")

_kept: OpenStudies | None = None  # of a worker


def _begin(store: str, most: int) -> None:
    global _kept
    _kept = OpenStudies(store, most)


def _work(name: str, work: Callable[[Study], Any]) -> Any:
    assert _kept is not None
    return _kept.run(name, work)


def _forget(name: str) -> None:
    assert _kept is not None
    _kept.forget(name)


class Workers:
    """So many processes. One that dies is replaced; whoever waited for it is told to try again."""

    def __init__(self, count: int, store: str, most: int) -> None:
        self._given = (store, most)
        self._pools = [self._made() for _ in range(count)]

    def _made(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")  # a fork would copy threads and connections
        return ProcessPoolExecutor(1, mp_context=context, initializer=_begin, initargs=self._given)

    async def run(self, name: str, work: Callable[[Study], Result]) -> Result:
        """What `work` returns for this study."""
        place = crc32(name.encode()) % len(self._pools)
        pool = self._pools[place]
        try:
            return await asyncio.get_running_loop().run_in_executor(pool, _work, name, work)
        except BrokenProcessPool as error:
            if self._pools[place] is pool:
                pool.shutdown(wait=False)
                self._pools[place] = self._made()
            raise StoreError("the process of the study ended before its answer; try again") from error

    async def forget(self, name: str) -> None:
        """The study is gone, or is another one."""
        pool = self._pools[crc32(name.encode()) % len(self._pools)]
        await asyncio.get_running_loop().run_in_executor(pool, _forget, name)

    def stop(self) -> None:
        for pool in self._pools:
            pool.shutdown()
