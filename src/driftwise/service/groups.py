"""Group commit: tells that arrive together are written in one transaction, and answered after it.

A commit waits for the disk, which takes longer than all statements of a tell. While one group waits, the next gathers.
A group never waits for a study that somebody else has locked: its tells go to a second lane, whose groups do.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from driftwise.errors import DriftwiseError, StoreError
from driftwise.log import Store, Told, telling
from driftwise.records import Params, Receipt
from driftwise.service.open_studies import OpenStudies
from driftwise.study import Study

MOST = 128  # calls of one transaction


@dataclass(eq=False)
class GroupedCall:
    """One who waits: what to store in which study, as `Study.entry` takes it."""

    name: str
    of: str | Params
    given: dict[str, Any]
    answer: asyncio.Future[Receipt]
    study: Study | None = None
    result: Receipt | Exception | None = None


class Lane:
    """A thread that writes groups, one after the other. What is locked goes to the lane `slow`, if there is one."""

    def __init__(self, store: Store, studies: OpenStudies, slow: Lane | None = None) -> None:
        self._store, self._studies, self._slow = store, studies, slow
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="group")
        self._waiting: list[GroupedCall] = []
        self._task: asyncio.Task[None] | None = None  # while anybody waits

    async def store(self, name: str, of: str | Params, given: dict[str, Any]) -> Receipt:
        """Store an entry with others."""
        call = GroupedCall(name, of, given, asyncio.get_running_loop().create_future())
        self._put(call)
        return await call.answer

    def _put(self, call: GroupedCall) -> None:
        self._waiting.append(call)
        self._task = self._task or asyncio.create_task(self._run())

    def stop(self) -> None:
        self._thread.shutdown()

    async def _run(self) -> None:
        while group := [call for call in self._waiting[:MOST] if not call.answer.done()]:  # the others have gone
            self._waiting = self._waiting[MOST:]
            await asyncio.get_running_loop().run_in_executor(self._thread, self._write, group)
            for call in group:
                if call.result is None and self._slow is not None:
                    self._slow._put(call)
                elif isinstance(call.result, Receipt) and not call.answer.done():
                    call.answer.set_result(call.result)
                elif isinstance(call.result, Exception) and not call.answer.done():
                    call.answer.set_exception(call.result)
        self._task = None

    def _write(self, group: list[GroupedCall]) -> None:
        """Write a group, and once more those whose study is another one by now, which has the same name."""
        self._store_all(group)
        self._store_all([call for call in group if isinstance(call.result, StoreError) and self._is_another(call)])

    def _store_all(self, group: list[GroupedCall]) -> None:
        ready: list[tuple[GroupedCall, telling.Given]] = []
        for call in group:
            try:
                call.study, call.result = self._studies.get(call.name), None
                ready.append((call, call.study.entry(call.of, **call.given)))
            except Exception as error:
                call.result = error
        try:
            found = telling.store(self._store, [given for _, given in ready], wait=self._slow is None)
        except Exception as error:  # the store is full, or away
            for call, _ in ready:
                call.result = error
            return
        for (call, _), told in zip(ready, found, strict=True):
            assert call.study is not None
            call.result = call.study.receipt(told) if isinstance(told, Told) else told

    def _is_another(self, call: GroupedCall) -> bool:
        self._studies.forget(call.name)
        try:
            return call.study is not None and self._studies.get(call.name).number != call.study.number
        except DriftwiseError as error:
            call.result = error
            return False
