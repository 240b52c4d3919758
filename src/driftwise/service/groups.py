"""Group commit: tells that arrive together are written in one transaction, and answered after it.

A commit waits for the disk, which takes longer than all statements of a tell. While one group waits, the next gathers.
A group never waits for a study that somebody else has locked: its tells go to a second lane, whose groups do.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from driftwise.errors import DriftwiseError, StoreError
from driftwise.log import NewEntry, Store, telling
from driftwise.records import Params, Point, Receipt
from driftwise.service.open_studies import OpenStudies, log_of
from driftwise.study import Study, inputs

MOST = 128  # calls of one transaction


@dataclass(eq=False)
class GroupedCall:
    """One who waits: `work` says what to store in the study."""

    name: str
    work: Callable[[Study], NewEntry]
    answer: asyncio.Future[Receipt]
    study: Study | None = None
    result: Receipt | None = None
    error: Exception | None = None


@dataclass(eq=False)
class Lane:
    """A thread that writes groups, one after the other. What is locked goes to the lane `slow`, if there is one."""

    store: Store
    studies: OpenStudies
    loop: asyncio.AbstractEventLoop
    slow: Lane | None = None
    waiting: list[GroupedCall] = field(default_factory=list)
    there: threading.Condition = field(default_factory=threading.Condition)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run, name="group", daemon=True)
        self.thread.start()

    def put(self, call: GroupedCall) -> None:
        with self.there:
            self.waiting.append(call)
            self.there.notify()

    def stop(self) -> None:
        with self.there:
            self.stopped = True
            self.there.notify()
        self.thread.join()

    def _run(self) -> None:
        while True:
            with self.there:
                while not self.waiting and not self.stopped:
                    self.there.wait()
                group, self.waiting = self.waiting[:MOST], self.waiting[MOST:]
            if not group:
                return
            self._write(group)
            self.loop.call_soon_threadsafe(_answer, group)

    def _write(self, group: list[GroupedCall]) -> None:
        """Write a group, and once more those whose study is another one by now, which has the same name."""
        again = [call for call in self._refused(group) if self._is_another(call)]
        self._refused(again)

    def _refused(self, group: list[GroupedCall]) -> list[GroupedCall]:
        """Write a group. Returned are those whose study is damaged, or gone."""
        ready: list[tuple[GroupedCall, telling.Given]] = []
        for call in group:
            try:
                call.study, call.error = self.studies.get(call.name), None
                ready.append((call, (log_of(call.study), call.work(call.study))))
            except Exception as error:
                call.error = error
        try:
            found = telling.store(self.store, [given for _, given in ready], wait=self.slow is None)
        except Exception as error:  # the store is full, or away
            for call, _ in ready:
                call.error = error
            return []
        for (call, _), told in zip(ready, found, strict=True):
            if isinstance(told, DriftwiseError):
                call.error = told
            elif told is not None and call.study is not None:
                call.result = call.study._receipt(told)
            elif self.slow is not None:
                self.slow.put(call)
        return [call for call, _ in ready if isinstance(call.error, StoreError)]

    def _is_another(self, call: GroupedCall) -> bool:
        self.studies.forget(call.name)
        try:
            return call.study is None or log_of(self.studies.get(call.name)).study != log_of(call.study).study
        except DriftwiseError as error:
            call.error = error
            return False


def _answer(group: list[GroupedCall]) -> None:
    for call in group:
        if call.answer.done():  # whoever asked has gone
            continue
        if call.error is not None:
            call.answer.set_exception(call.error)
        elif call.result is not None:  # else the slow lane has it
            call.answer.set_result(call.result)


def tell_entry(study: Study, suggestion: str, **given: Any) -> NewEntry:
    """What `Study.tell` would store."""
    return _entry(study, inputs.suggestion_id(suggestion), **given)


def observe_entry(study: Study, params: Params, context: Params | None = None, **given: Any) -> NewEntry:
    """What `Study.observe` would store."""
    return _entry(study, study.description.point(params, context), **given)


def _entry(
    study: Study,
    of: str | Point,
    reward: float | None = None,
    at: float | None = None,
    key: str | None = None,
    failed: bool = False,
    std: float | None = None,
    repeats: int = 1,
    measures: Mapping[str, float] | None = None,
) -> NewEntry:
    outcome = study._outcome(reward, failed, std, repeats, measures)
    return NewEntry(of, outcome, inputs.time(at), inputs.key(key), study.policy.memory)
