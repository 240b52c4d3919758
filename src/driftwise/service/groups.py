"""Group commit: tells that arrive together are written in one transaction, and answered after it.

A commit waits for the disk, which takes longer than all statements of a tell. While one group waits, the next gathers.
Whatever raises an error is taken out, and the rest is written without it, so that nobody notices the others.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, TypeVar, cast

import sqlalchemy as sa

from driftwise.errors import StoreError
from driftwise.service.open_studies import number_of
from driftwise.store.log import SqlLog
from driftwise.store.sql_store import SqlStore
from driftwise.study import Study

Result = TypeVar("Result")
MOST = 128  # calls of one transaction


class Inside:
    """The transactions of a log, all within one that is open already. `log.Transactions` says what the methods do."""

    def __init__(self, store: SqlStore) -> None:
        self.where = store.where
        self.connection: sa.Connection | None = None

    def writing(self, work: Callable[[sa.Connection], Result], *, again: bool = False) -> Result:
        assert self.connection is not None, "a log of a group is used within its transaction alone"
        return work(self.connection)

    def reading(self, work: Callable[[sa.Connection], Result]) -> Result:
        return self.writing(work)

    def numbering(self, study: int, work: Callable[[], Result]) -> Result:
        """A number that is taken within the transaction needs no turn: an ask that lost it chooses again."""
        return work()

    def upgrade(self) -> None:
        """Nothing: the store was upgraded before."""


@dataclass(eq=False)
class GroupedCall:
    """One who waits."""

    name: str
    work: Callable[[Study], Any]
    answer: asyncio.Future[Any]
    study: Study | None = None
    result: Any = None
    error: BaseException | None = None


@dataclass(eq=False)
class Lane:
    """A thread that writes groups, one after the other. Each lane has studies of its own."""

    store: SqlStore
    open: Callable[[str], Study]
    forget: Callable[[str], None]
    loop: asyncio.AbstractEventLoop
    waiting: list[GroupedCall] = field(default_factory=list)
    there: threading.Condition = field(default_factory=threading.Condition)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.inside = Inside(self.store)
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
        for call in group:
            try:
                call.study = self._study(call.name)
            except Exception as error:
                call.error = error
        left = [call for call in group if call.error is None]
        left.sort(key=lambda call: call.name)  # replicas lock studies in one order, so that none waits in a circle
        while left:
            failed: list[GroupedCall] = []
            try:
                self.store.upgrade()
                self.store.writing(partial(self._all, left, failed), again=True)
                return
            except Exception as error:
                for call in failed or left:  # none failed: it is the store, which is full or away
                    self._fails(call, error)
            left = [call for call in left if call.error is None]

    def _fails(self, call: GroupedCall, error: Exception) -> None:
        """Note an error; but if the study is another one by now, which has the same name, try that."""
        call.error = error
        if isinstance(error, StoreError):
            self.forget(call.name)
            try:
                fresh = self._study(call.name)
                if call.study is None or number_of(fresh) != number_of(call.study):
                    call.study, call.error = fresh, None
            except Exception as other:
                call.error = other

    def _all(self, group: list[GroupedCall], failed: list[GroupedCall], connection: sa.Connection) -> None:
        self.inside.connection = connection
        try:
            for call in group:
                assert call.study is not None
                try:
                    call.result = call.work(call.study)
                except Exception:
                    failed[:] = [call]
                    raise
        finally:
            self.inside.connection = None

    def _study(self, name: str) -> Study:
        """The study, which writes within our transaction."""
        study = self.open(name)
        log = cast(SqlLog, study._log)
        if log.store is not self.inside:
            study._log = replace(log, store=self.inside)
        return study


def _answer(group: list[GroupedCall]) -> None:
    for call in group:
        if call.answer.done():  # whoever asked has gone
            continue
        if call.error is not None:
            call.answer.set_exception(call.error)
        else:
            call.answer.set_result(call.result)
